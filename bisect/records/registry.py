"""All bisections of one home directory and the state that each is really in; showing them starts nothing."""

import contextlib
import os
import signal
from contextlib import AbstractContextManager
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import hold, is_held
from cpubisect.records.store import Host, Store
from cpubisect.search.question import Question

UNFINISHED = ("queued", "running", "interrupted")
RESUMABLE = (*UNFINISHED, "cancelled")

WORKER_TAKEN = "another worker runs queued bisections of this home directory"


class Registry:
    """Records, queues and cancels bisections; who runs one holds its lock."""

    def __init__(self, home: Home, store: Store) -> None:
        self.home = home
        self.store = store

    @classmethod
    def open(cls) -> "Registry":
        """That of the user's home directory; raises UserError if it cannot be used."""
        home = Home.open()
        return cls(home, Store(home.store))

    def add(self, question: Question, host: Host, *, queued: bool = False) -> int:
        """Record a new bisection, to be run by the caller or, if `queued`, by a worker, and return its id."""
        state = "queued" if queued else "running"
        return self.store.create_bisection(question, host, state)

    def cancel(self, bisection: int) -> None:
        """End a bisection; a process that runs it stops. Raises UserError if it is finished already."""
        self.store.bisection(bisection)
        changed = self.store.change_state(bisection, UNFINISHED, "cancelled")
        row = self.store.bisection(bisection)
        if not changed:
            raise UserError(f"bisection {bisection} is {row.state}", "only an unfinished one can be cancelled")
        if self.is_running(bisection) and row.owner:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(row.owner["pid"]), signal.SIGTERM)

    def enqueue(self, bisection: int) -> None:
        """Have a worker go on with a bisection; raises UserError if it is finished, queued already, or running."""
        row = self.store.bisection(bisection)
        state = self.state(row.id, row.state)
        if row.state == "cancelled" and self.is_running(bisection):
            raise UserError(f"bisection {bisection} is still stopping", "resume it again in a moment")
        if state not in ("interrupted", "cancelled") or not self.store.change_state(
            bisection, (row.state,), "queued", owner=None
        ):
            raise UserError(f"bisection {bisection} is {state}", "only an interrupted or cancelled one can be resumed")

    def state(self, bisection: int, stored: str) -> str:
        """The state as it really is: `running` in the store without a living runner is `interrupted`."""
        if stored == "running" and not self.is_running(bisection):
            return "interrupted"
        return stored

    def is_running(self, bisection: int) -> bool:
        """True if a process holds this bisection's lock."""
        return is_held(self._lock(bisection))

    def alone(self, bisection: int) -> AbstractContextManager[None]:
        """Held by the process that runs a bisection; entering raises UserError if another one holds it."""
        hint = f"`bisect status {bisection}` shows it"
        return hold(self._lock(bisection), UserError(f"bisection {bisection} is being run by another process", hint))

    def _lock(self, bisection: int) -> Path:
        return self.home.running / f"{bisection}.lock"

    def alone_at_work(self) -> AbstractContextManager[None]:
        """Held by the one worker of the home directory; entering raises UserError if another one holds it."""
        return hold(self._worker_lock, UserError(WORKER_TAKEN, "`bisect list` shows what it does"))

    def is_working(self) -> bool:
        """Whether a worker is there that runs what is queued."""
        return is_held(self._worker_lock)

    @property
    def _worker_lock(self) -> Path:
        return self.home.running / "worker.lock"
