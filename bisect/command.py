"""What every command of the command line shares: bad input is one line, never a traceback."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click

from cpubisect.errors import UserError

BAD_INPUT = 2

P = ParamSpec("P")
R = TypeVar("R")


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Turn a UserError into one line on standard error and exit code 2."""

    @wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except UserError as error:
            click.echo(f"bisect: {error}", err=True)
            sys.exit(BAD_INPUT)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)

    return wrapper


class Commands(click.Group):
    """A group of commands; arguments that fit none of them are one line on standard error and exit code 2 too."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """As in click, for the options before the command."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """As in click, for the command and its arguments."""
        with _in_one_line():
            return super().invoke(ctx)


@contextlib.contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        problem = " ".join(error.format_message().split()).removesuffix(".")
        asked = error.ctx.command_path if error.ctx else "bisect"
        click.echo(f"bisect: {problem}: `{asked} --help` says more", err=True)
        sys.exit(BAD_INPUT)
