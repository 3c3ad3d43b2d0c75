"""A recorded bisection is run to its verdict: interrupted, resumed, cancelled or finished, nothing is lost."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from cpubisect.base.disk.scratch import tidied
from cpubisect.base.errors import UserError
from cpubisect.base.metrics import Counter
from cpubisect.base.sandbox.policy import Wish
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.history.history import History
from cpubisect.records.lifecycle import RESUMABLE
from cpubisect.records.registry import Registry
from cpubisect.run.bench.orders import Executor
from cpubisect.run.lab import HostLab
from cpubisect.search import events
from cpubisect.search.events import Event, Watch
from cpubisect.search.question import MetricChoice, Question
from cpubisect.search.verdict import Answer
from cpubisect.service.executors import in_process
from cpubisect.service.panel import answer
from cpubisect.workloads.catalog import find_test
from cpubisect.workloads.counters.choice import choose


class Stopped(BaseException):
    """The process was asked to end (SIGTERM, SIGHUP); like KeyboardInterrupt, nothing below may swallow it."""


def begin(registry: Registry, question: Question, *, queued: bool = False, executor: Executor | None = None) -> int:
    """Record a new bisection on this host, or that of the `executor`, to be run by the caller or, if `queued`, by a
    worker, and return its id."""
    return registry.add(question, (executor or in_process(registry.home)).fingerprint, queued=queued)


def run(
    registry: Registry,
    bisection: int,
    watch: Watch,
    *,
    among: Sequence[str] = RESUMABLE,
    sandbox: Wish | None = None,
    executor: Executor | None = None,
) -> Answer | None:
    """Run or continue a bisection to its verdict, with another wish for a `sandbox` than it was asked with if one is
    given; builds and probes are carried out by the `executor`, or here. None if it was cancelled meanwhile.

    Raises UserError if its state is not `among` some, it is being run by another process, or the host can't go on;
    KeyboardInterrupt or Stopped when interrupted. In every case all that was finished is kept and `run` may be
    called again.
    """
    with registry.alone(bisection), stoppable(), tidied(registry.home.work):
        owner = {"pid": os.getpid(), "since": time.time()}
        registry.store.must_be_sound()
        row = registry.store.bisection(bisection)
        if not registry.store.change_state(bisection, among, "running", owner=owner):
            raise UserError(f"bisection {bisection} is {row.state}", f"`bisect report {bisection}` shows its answer")
        try:
            lab = lab_of(registry, bisection, watch, sandbox, executor)
            found = answer(lab, row.verdict, lambda v: registry.store.update_bisection(bisection, verdict=v))
        except BaseException as error:
            cancelled = registry.store.bisection(bisection).state == "cancelled"
            if cancelled:
                return None
            with contextlib.suppress(UserError):
                registry.store.change_state(bisection, ("running",), "interrupted", owner=None)
                if isinstance(error, Exception):
                    registry.store.add_event(bisection, events.Stopped(why=str(error)))
            raise
        registry.store.update_bisection(bisection, state="finished", finished=time.time(), owner=None, verdict=found)
        return found


def lab_of(
    registry: Registry, bisection: int, watch: Watch, sandbox: Wish | None = None, executor: Executor | None = None
) -> HostLab:
    """Where a bisection's builds and probes are made; raises UserError if the host lacks the counter or the sandbox it
    asks for, or must have as `sandbox` says."""
    row = registry.store.bisection(bisection)
    executor = (executor or in_process(registry.home)).at(row.host)
    question = row.question
    matrix = Matrix.load(Path(question.matrix))
    engine = matrix.engine(question.engine)
    tests = tuple(find_test(engine, name) for name in question.tests)
    counter = (
        Counter(row.counter)
        if row.counter
        else choose(executor.counters(), question.counter, question.simulations).counter
    )
    if counter is Counter.NONE and question.metric is MetricChoice.INSTRUCTIONS:
        instead = "--metric cpu, without --screen" if question.screen else "--metric cpu"
        raise UserError("this host cannot count instructions", f"`bisect doctor` says why; or use {instead}")
    if row.counter is None:
        registry.store.update_bisection(bisection, counter=counter.value)

    def journal(event: Event) -> None:
        if event.kept:
            registry.store.add_event(bisection, event)
        watch(event)

    kind = executor.sandbox(sandbox or question.sandbox, journal)
    return HostLab(
        bisection=bisection,
        question=question,
        engine=engine,
        test=tests[0],
        tests=tests,
        matrix=matrix,
        toolchains=executor.toolchains,
        counter=counter,
        history=History(Path(question.repository), engine),
        home=registry.home,
        store=registry.store,
        watch=journal,
        executor=executor,
        sandbox=kind,
    )


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """While this lasts SIGTERM and SIGHUP raise Stopped, unless they are ignored."""

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
