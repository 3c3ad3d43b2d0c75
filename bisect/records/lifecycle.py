"""What bisections and comparisons have in common: who works on one holds its lock, and ends, queues or takes it up."""

import contextlib
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import hold, is_held

UNFINISHED = ("queued", "running", "interrupted")
RESUMABLE = (*UNFINISHED, "cancelled")
STATES = (*RESUMABLE, "finished")


class Row(Protocol):
    """What is known of each; `owner` identifies the process that works on it, if any."""

    @property
    def id(self) -> int: ...

    @property
    def state(self) -> str: ...

    @property
    def owner(self) -> Mapping[str, float] | None: ...


class Lifecycle(ABC):
    """All of one `kind` in a home directory; `worked_on` is what a process does to one, `shown` the hint that shows it,
    and `lock_name` the form of its lock's name, both with `{}` for its id."""

    kind: ClassVar[str]
    worked_on: ClassVar[str]
    shown: ClassVar[str]
    lock_name: ClassVar[str]
    home: Home

    @abstractmethod
    def row(self, number: int) -> Row:
        """One of them; raises Missing if there is none with that id."""

    @abstractmethod
    def change_state(self, number: int, among: Sequence[str], state: str, **values: Any) -> bool:
        """Set the state, and other columns, of one whose state is `among` some; False, and no change, if not."""

    def cancel(self, number: int) -> None:
        """End one; a process that works on it stops. Raises UserError if it is finished already."""
        self.row(number)
        changed = self.change_state(number, UNFINISHED, "cancelled")
        row = self.row(number)
        if not changed:
            raise UserError(f"{self.kind} {number} is {row.state}", "only an unfinished one can be cancelled")
        if self.is_running(number) and row.owner:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(row.owner["pid"]), signal.SIGTERM)

    def enqueue(self, number: int) -> None:
        """Have a worker go on with one; raises UserError if it is finished, queued already, or running."""
        row = self.row(number)
        state = self.state(row.id, row.state)
        if row.state == "cancelled" and self.is_running(number):
            raise UserError(f"{self.kind} {number} is still stopping", "resume it again in a moment")
        if state not in ("interrupted", "cancelled") or not self.change_state(
            number, (row.state,), "queued", owner=None
        ):
            raise UserError(f"{self.kind} {number} is {state}", "only an interrupted or cancelled one can be resumed")

    def state(self, number: int, stored: str) -> str:
        """The state as it really is: `running` in the store without a living process is `interrupted`."""
        return "interrupted" if stored == "running" and not self.is_running(number) else stored

    def is_running(self, number: int) -> bool:
        """True if a process holds the lock of this one."""
        return is_held(self._lock(number))

    def alone(self, number: int) -> AbstractContextManager[None]:
        """Held by the process that works on one; entering raises UserError if another one holds it. Raises Missing if
        there is none with that id."""
        self.row(number)
        taken = f"{self.kind} {number} is being {self.worked_on} by another process"
        return hold(self._lock(number), UserError(taken, self.shown.format(number)))

    def _lock(self, number: int) -> Path:
        return self.home.running / self.lock_name.format(number)
