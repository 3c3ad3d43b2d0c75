"""Runs queued bisections and comparisons one after another, each in a process of its own that ends when the worker
does."""

import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cpubisect.base.process import Guarded
from cpubisect.base.sandbox.policy import Wish
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.queries import queued
from cpubisect.records.registry import Registry
from cpubisect.search import events
from cpubisect.service.executors import named_cluster
from cpubisect.service.sandboxing import settled

POLL_S = 0.5
"""A new bisection waits at most so long for an idle worker."""

GRACE_S = 20.0
"""A bisection that was asked to stop has so long to record that; then it is killed, and `resume` still goes on."""


@dataclass(frozen=True)
class _Job:
    """A bisection or a comparison that is queued: what it is called, the words of the command that runs it, and where
    its state is."""

    name: str
    words: tuple[str, ...]
    log: str
    state: Callable[[], str]
    change: Callable[[Sequence[str], str, Mapping[str, Any]], bool]
    tell: Callable[[events.Event], None]


class Worker:
    """The one worker of a home directory: a second one would only wait for the first one's probes.

    `launcher` is put before each command: a program that becomes what it starts; `sandbox` counts, whatever the queued
    ones ask for.
    """

    def __init__(
        self,
        registry: Registry,
        say: Callable[[str], None],
        *,
        launcher: Sequence[str] = (),
        sandbox: Wish = Wish.REQUIRE,
    ) -> None:
        self._launcher = launcher
        self._registry = registry
        self._sandbox = sandbox
        self._comparisons = Comparisons.of(registry.home)
        self._say = say

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set, run what is queued, oldest first; what is running then goes back to the queue.

        Raises UserError if another worker is at work for this home directory, or there is no sandbox and must be.
        """
        if not named_cluster():
            settled(self._sandbox, lambda event: self._say(event.sentence))
        with self._registry.alone_at_work():
            while not stop.is_set():
                if job := self._next():
                    self._run(job, stop)
                else:
                    stop.wait(POLL_S)

    def _next(self) -> _Job | None:
        """The oldest bisection that waits, else the oldest comparison."""
        for number in queued(self._registry.store):
            return self._bisection(number)
        for number in self._comparisons.queued():
            return self._comparison(number)
        return None

    def _bisection(self, number: int) -> _Job:
        store = self._registry.store
        return _Job(
            f"bisection {number}",
            ("resume", "--queued", "--quiet", "--sandbox", self._sandbox.value, str(number)),
            f"worker-{number}.log",
            lambda: store.bisection(number).state,
            lambda among, state, values: store.change_state(number, among, state, **values),
            lambda event: store.add_event(number, event),
        )

    def _comparison(self, number: int) -> _Job:
        comparisons = self._comparisons
        return _Job(
            f"comparison {number}",
            ("compare", "--queued", "--quiet", "--sandbox", self._sandbox.value, "--resume", str(number)),
            f"worker-comparison-{number}.log",
            lambda: comparisons.row(number).state,
            lambda among, state, values: comparisons.change_state(number, among, state, **values),
            lambda event: comparisons.store.add_event(number, event),
        )

    def _run(self, job: _Job, stop: threading.Event) -> None:
        self._say(f"{job.name} begins")
        log = self._registry.home.logs / job.log
        command = [*self._launcher, sys.executable, "-m", "cpubisect.cli", *job.words]
        with log.open("ab") as output, Guarded(command, output=output) as child:
            while not child.wait(POLL_S):
                if stop.is_set():
                    child.signal(signal.SIGTERM)
                    child.wait(GRACE_S)
                    break
        state = job.state()
        if stop.is_set():
            job.change(("running", "interrupted"), "queued", {"owner": None})
        elif state == "queued":
            # It ended before it took the job: without this it would be begun for ever.
            job.change(("queued",), "interrupted", {})
            job.tell(events.Stopped(why=f"it could not be started: see {log}"))
        self._say(f"{job.name} is {job.state()}")
