"""Runs queued bisections one after another, each in a process of its own that ends when the worker does."""

import signal
import sys
import threading
from collections.abc import Callable

from cpubisect.base.process import Guarded
from cpubisect.records.queries import queued
from cpubisect.records.registry import Registry
from cpubisect.search import events

POLL_S = 0.5
"""A new bisection waits at most so long for an idle worker."""

GRACE_S = 20.0
"""A bisection that was asked to stop has so long to record that; then it is killed, and `resume` still goes on."""


class Worker:
    """The one worker of a home directory: a second one would only wait for the first one's probes."""

    def __init__(self, registry: Registry, say: Callable[[str], None]) -> None:
        self._registry = registry
        self._say = say

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set, run what is queued, oldest first; what is running then goes back to the queue.

        Raises UserError if another worker is at work for this home directory.
        """
        with self._registry.alone_at_work():
            while not stop.is_set():
                waiting = queued(self._registry.store)
                if waiting:
                    self._run(waiting[0], stop)
                else:
                    stop.wait(POLL_S)

    def _run(self, bisection: int, stop: threading.Event) -> None:
        self._say(f"bisection {bisection} begins")
        log = self._registry.home.logs / f"worker-{bisection}.log"
        command = [sys.executable, "-m", "cpubisect.cli", "resume", "--queued", "--quiet", str(bisection)]
        with log.open("ab") as output, Guarded(command, output=output) as child:
            while not child.wait(POLL_S):
                if stop.is_set():
                    child.signal(signal.SIGTERM)
                    child.wait(GRACE_S)
                    break
        state = self._registry.store.bisection(bisection).state
        if stop.is_set():
            self._registry.store.change_state(bisection, ("running", "interrupted"), "queued", owner=None)
        elif state == "queued":
            # It ended before it took the bisection: without this it would be begun for ever.
            self._registry.store.change_state(bisection, ("queued",), "interrupted")
            self._registry.store.add_event(bisection, events.Stopped(why=f"it could not be started: see {log}"))
        self._say(f"bisection {bisection} is {self._registry.store.bisection(bisection).state}")
