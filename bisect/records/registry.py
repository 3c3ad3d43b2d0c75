"""All bisections of one home directory and the state that each is really in; showing them starts nothing."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import hold, is_held
from cpubisect.records.lifecycle import Lifecycle
from cpubisect.records.rows import BisectionRow, Host
from cpubisect.records.store import Store
from cpubisect.search.question import Question

WORKER_TAKEN = "another worker runs queued bisections of this home directory"


class Registry(Lifecycle):
    """Records, queues and cancels bisections; who runs one holds its lock."""

    kind = "bisection"
    worked_on = "run"
    shown = "`bisect status {}` shows it"
    lock_name = "{}.lock"

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

    def row(self, number: int) -> BisectionRow:
        """One bisection; raises Missing if there is none with that id."""
        return self.store.bisection(number)

    def change_state(self, number: int, among: Sequence[str], state: str, **values: Any) -> bool:
        """As the store does."""
        return self.store.change_state(number, among, state, **values)

    def alone_at_work(self) -> AbstractContextManager[None]:
        """Held by the one worker of the home directory; entering raises UserError if another one holds it."""
        return hold(self._worker_lock, UserError(WORKER_TAKEN, "`bisect list` shows what it does"))

    def is_working(self) -> bool:
        """Whether a worker is there that runs what is queued."""
        return is_held(self._worker_lock)

    @property
    def _worker_lock(self) -> Path:
        return self.home.running / "worker.lock"
