"""How a tracker says what it can be asked for on the command line, and makes a ticket of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cpubisect.attach.access import Patience
from cpubisect.attach.ticket import Ticket


@dataclass(frozen=True)
class Asked:
    """What a user gave: the values of all `options` by their parameters' names, `to` where files should go (None where
    that is left to us), the `bisection`, the `environment` with the tokens, and the `patience` with the tracker."""

    options: Mapping[str, Any]
    to: Path | None
    bisection: int
    environment: Mapping[str, str]
    patience: Patience

    @property
    def folder(self) -> Path:
        """The folder for files."""
        return (self.to or Path(f"bisection-{self.bisection}")).absolute()


@dataclass(frozen=True)
class Tracker:
    """One tracker, as it declares itself in the module of its own; nothing that takes long is imported for that.

    The first of its `options` names a ticket; all are given together or none is, else `together` is the next step.
    `examples` are arguments that may follow `bisect attach ID`. `ticket` is called once all options are there, and
    raises UserError if one is malformed; a missing token is told only when it is needed.
    """

    options: tuple[click.Option, ...]
    examples: tuple[str, ...]
    ticket: Callable[[Asked], Ticket]
    together: str = ""

    @property
    def flags(self) -> list[str]:
        """The options as they are typed."""
        return [option.opts[0] for option in self.options]

    def given(self, options: Mapping[str, Any]) -> list[bool]:
        """Which of its options have a value."""
        return [options.get(option.name or "") is not None for option in self.options]
