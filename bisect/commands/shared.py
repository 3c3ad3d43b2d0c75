"""What every command of the command line shares: bad input is one line, never a traceback."""

import contextlib
import errno
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from cpubisect.base.errors import UserError, shortened
from cpubisect.base.home import Home
from cpubisect.base.sandbox import secrets
from cpubisect.base.sandbox.policy import Wish

BAD_INPUT = 2
CANCELLED = 4
INTERRUPTED = 130

WISHES = [wish.value for wish in Wish]

MOST_JOBS = 1024
"""No host compiles more at once, and a sandbox takes 4,096 processes and threads."""


def something(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """An option that is given has a value: an empty one, as of a shell's unset variable, is no wish for the default."""
    if value == "":
        raise click.BadParameter("it is empty")
    return value


def file(context: click.Context, parameter: click.Parameter, value: str | None) -> Path | None:
    """The callback of an option that names a file: the empty name would be the current directory."""
    found = something(context, parameter, value)
    return Path(found) if found else None


def finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """The callback of a range, which lets pass what is not a number, since no comparison with it is true."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


def say(text: str) -> None:
    """A line with the time of day on standard error."""
    click.echo(f"{time.strftime('%H:%M:%S')} {text}", err=True)


def put(content: bytes, output: Path | None, name: Callable[[], str]) -> None:
    """Print something, or write it to `output`, in which it gets a name if that is a directory.

    Raises UserError if it cannot be written.
    """
    if output is None:
        try:
            click.echo(content, nl=False)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise UserError(f"cannot write to standard output ({error.strerror})", "send it elsewhere") from error
        return
    target = output / name() if output.is_dir() else output
    try:
        target.write_bytes(content)
    except OSError as error:
        raise _unwritable(target, error) from error
    click.echo(f"wrote {target}", err=True)


def check_writable(output: Path | None) -> None:
    """Raises UserError if nothing can be written to a file, or into a directory, of that name: told before what is to
    be written takes hours to make."""
    if output is None:
        return
    try:
        if output.is_dir() or not output.exists():
            tempfile.TemporaryFile(dir=output if output.is_dir() else output.absolute().parent).close()
        elif not os.access(output, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(output, error) from error


def _unwritable(target: Path, error: OSError) -> UserError:
    return UserError(f"cannot write {target} ({error.strerror})", "name another file with --output")


class Commands(click.Group):
    """A group of commands; a UserError, and arguments that no command takes, are one line on standard error and exit
    code 2."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The program itself, as it is started from a shell: children get nothing that only it needs."""
        secrets.withhold()
        return super().__call__(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """As in click, for the options before the command."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """As in click, for the command and its arguments."""
        with _in_one_line():
            return super().invoke(ctx)


def pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """The callback of an option that is given as NAME=VALUE, repeatedly."""
    found = {}
    for value in values:
        name, equals, setting = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
        found[name] = setting
    return found


def on_cluster(command: Any) -> Any:
    """Gives a command the options that say where builds and probes are carried out."""
    for option in (
        click.option("--certificates", type=click.Path(path_type=Path), metavar="DIR",
                     help="This host's certificates for that [default: those in the home directory]."),
        click.option("--cluster", metavar="ADDRESS",
                     help="Build and measure on the hosts of this head, e.g. tls://head:8786 "
                     "[default: $CPUBISECT_CLUSTER, else on this host]."),
    ):  # fmt: skip
        command = option(command)
    return command


@contextlib.contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        problem = shortened(" ".join(error.format_message().split()).removesuffix("."))
        asked = error.ctx.command_path if error.ctx else "bisect"
        click.echo(f"bisect: {problem}: `{asked} --help` says more", err=True)
        sys.exit(BAD_INPUT)
    except UserError as error:
        click.echo(f"bisect: {' '.join(str(error).splitlines())}", err=True)
        sys.exit(BAD_INPUT)
    except (click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        click.echo("bisect: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            click.echo(f"bisect: {shortened(str(error.filename))} is too long a name: give a shorter one", err=True)
            sys.exit(BAD_INPUT)
        if not (damage := _damage()):
            raise
        click.echo(f"bisect: {damage}", err=True)
        sys.exit(BAD_INPUT)


def _damage() -> str:
    """One line about a damaged store, which may be why anything went wrong; empty if it is sound."""
    from cpubisect.records.care.health import problems

    store = Home.locate().store
    found = problems(store)
    return f"the store {store} is damaged ({found[0]}): `bisect store repair` saves what can be read" if found else ""
