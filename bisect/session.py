"""The life of a bisection: begun, run, interrupted, resumed, cancelled, finished; one runner at a time each."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

from cpubisect.bench import Bench, Watch
from cpubisect.builders.matrix import Matrix
from cpubisect.builders.toolchain import installed_toolchains
from cpubisect.engine import Engine
from cpubisect.errors import UserError
from cpubisect.history import History
from cpubisect.locks import hold, is_held
from cpubisect.panel import answer
from cpubisect.paths import Home
from cpubisect.question import MetricChoice, Question
from cpubisect.scratch import remove_leftovers
from cpubisect.store import Store
from cpubisect.workloads.catalog import find_test
from cpubisect.workloads.counters import choose, examine
from cpubisect.workloads.host import fingerprint
from cpubisect.workloads.probe import Counter

UNFINISHED = ("queued", "running", "interrupted")
RESUMABLE = (*UNFINISHED, "cancelled")


class Stopped(BaseException):
    """The process was asked to end (SIGTERM, SIGHUP); like KeyboardInterrupt, nothing below may swallow it."""


class Session:
    """Begins and continues bisections of one home directory."""

    def __init__(self, home: Home, store: Store) -> None:
        self.home = home
        self.store = store

    def begin(self, question: Question, *, queued: bool = False) -> int:
        """Record a new bisection, to be run by the caller or, if `queued`, by a worker, and return its id."""
        state = "queued" if queued else "running"
        return self.store.create_bisection(question.engine, question.to_json(), fingerprint(), state)

    def run(self, bisection: int, watch: Watch, *, among: Sequence[str] = RESUMABLE) -> dict[str, Any] | None:
        """Run or continue a bisection to its verdict, as plain data; None if it was cancelled meanwhile.

        Raises UserError if its state is not `among` some, it is being run by another process, or the host can't go on;
        KeyboardInterrupt or Stopped when interrupted. In every case all that was finished is kept and `run` may be
        called again.
        """
        with self._alone(bisection), _stoppable():
            owner = {"pid": os.getpid(), "since": time.time()}
            row = self.store.bisection(bisection)
            if not self.store.change_state(bisection, among, "running", owner=owner):
                raise UserError(
                    f"bisection {bisection} is {row.state}", f"`bisect report {bisection}` shows its answer"
                )
            try:
                remove_leftovers(self.home.work)
                bench = self.bench(bisection, watch)
                verdict = answer(bench, row.verdict, lambda v: self.store.update_bisection(bisection, verdict=v))
            except BaseException as error:
                cancelled = self.store.bisection(bisection).state == "cancelled"
                if cancelled:
                    return None
                with contextlib.suppress(UserError):
                    self.store.change_state(bisection, ("running",), "interrupted", owner=None)
                    if isinstance(error, Exception):
                        self.store.add_event(bisection, "stopped", {"why": str(error)})
                raise
            self.store.update_bisection(bisection, state="finished", finished=time.time(), owner=None, verdict=verdict)
            if not bench.several:
                watch("verdict", kind_of=verdict["kind"], summary=verdict["summary"])
            return verdict

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

    def bench(self, bisection: int, watch: Watch) -> Bench:
        """All that a bisection's builds and probes need; raises UserError if the host lacks the counter it asks for."""
        row = self.store.bisection(bisection)
        question = Question.from_json(row.question)
        matrix = Matrix.load(Path(question.matrix))
        engine = engine_named(matrix, question.engine)
        tests = tuple(find_test(engine, name) for name in question.tests)
        counter = Counter(row.counter) if row.counter else choose(examine(), question.counter).counter
        if counter is Counter.NONE and question.metric is MetricChoice.INSTRUCTIONS:
            raise UserError("this host cannot count instructions", "`bisect doctor` says why; or use --metric cpu")
        if row.counter is None:
            self.store.update_bisection(bisection, counter=counter.value)

        def journal(kind: str, **data: Any) -> None:
            if kind != "progress":
                self.store.add_event(bisection, kind, data)
            watch(kind, **data)

        return Bench(
            bisection=bisection,
            question=question,
            engine=engine,
            test=tests[0],
            tests=tests,
            matrix=matrix,
            toolchains=installed_toolchains(),
            counter=counter,
            history=History(Path(question.repository), engine),
            home=self.home,
            store=self.store,
            watch=journal,
        )

    def _alone(self, bisection: int) -> AbstractContextManager[None]:
        hint = f"`bisect status {bisection}` shows it"
        return hold(self._lock(bisection), UserError(f"bisection {bisection} is being run by another process", hint))

    def _lock(self, bisection: int) -> Path:
        return self.home.running / f"{bisection}.lock"


def engine_named(matrix: Matrix, name: str) -> Engine:
    """The engine with that name; raises UserError naming those there are."""
    engines = {engine.name: engine for engine in matrix.engines()}
    if name not in engines:
        raise UserError(f"there is no engine {name!r} in the matrix", f"it has {', '.join(engines)}")
    return engines[name]


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    def stop(number: int, _frame: FrameType | None) -> None:
        raise Stopped(signal.Signals(number).name)

    before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
