"""The hardware's events, counted by one perf for all of them: of a command, or of a running process for a while."""

import os
import re
import select
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from cpubisect.base.disk.scratch import temporary
from cpubisect.base.metrics import BRANCH_MISSES, CACHE_MISSES, CYCLES, HARDWARE_INSTRUCTIONS
from cpubisect.base.process import Guarded, run
from cpubisect.base.sandbox import inside
from cpubisect.base.sandbox.surroundings import confined as sandboxed
from cpubisect.workloads.counters.counting import TRIAL
from cpubisect.workloads.probe import ProbeError

RECORDED = {
    CYCLES: "cycles:u",
    HARDWARE_INSTRUCTIONS: "instructions:u",
    BRANCH_MISSES: "branch-misses:u",
    CACHE_MISSES: "cache-misses:u",
}
"""The events that are recorded with the clock, by metric: in user mode, for without privileges perf counts no other."""

_ANSWER_TIMEOUT_S = 10.0


def parse_perf(text: str, event: str) -> float:
    """The count of `event` in the output of `perf stat -x,`, summed over kinds of cores.

    Raises ValueError with perf's own words if the event was not counted.
    """
    name, _, modifier = event.partition(":")
    pattern = re.compile(rf"(?:\w+/)?{re.escape(name)}(?:[:/]{re.escape(modifier)})?/?")
    counted: list[float] = []
    problem = ""
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) < 3 or pattern.fullmatch(fields[2]) is None:
            continue
        if fields[0].startswith("<"):
            problem = f"{event} {fields[0].strip('<>')}"
        else:
            counted.append(float(fields[0]))
    if counted:
        return sum(counted)
    raise ValueError(problem or f"perf printed no count of {event}")


@dataclass(frozen=True)
class Events:
    """Events by the metric that they are samples of. Without that of the metric `needed` there is no count; any other
    that perf does not count is left out."""

    by_metric: Mapping[str, str]
    needed: str = ""

    def command(self, argv: Sequence[str | os.PathLike[str]], out: Path) -> tuple[str, ...]:
        """The command line that runs `argv` with the events counted; `counts` understands `out`."""
        return (*self.perf(out), "--", *(os.fspath(word) for word in argv))

    def perf(self, out: Path) -> tuple[str, ...]:
        """What such a command line begins with."""
        return ("perf", "stat", "-x,", "-e", ",".join(dict.fromkeys(self.by_metric.values())), "-o", str(out))

    def counts(self, out: Path) -> dict[str, float]:
        """What was counted, by metric; raises ValueError with perf's own words if what is needed was not, and OSError
        if there is no file."""
        text = inside.read_text(out, out.parent) if self.needed or out.exists() else ""
        found = {}
        for metric, event in self.by_metric.items():
            try:
                found[metric] = parse_perf(text, event)
            except ValueError:
                if metric == self.needed:
                    raise
        return found

    def watch(self, pid: int, scratch: Path) -> "Counting":
        """Counts a running process, all its threads, for as long as the `with` block lasts."""
        return Counting(self, pid, scratch)


class Counting:
    """Counts events of one running process, all its threads, for as long as the `with` block lasts.

    `values` is set when the block is left. Where a metric is needed, ProbeError is raised on entry if perf does not
    start counting, on leaving if it did not count that; otherwise there are then no values.
    """

    def __init__(self, events: Events, pid: int, scratch: Path) -> None:
        self.values: Mapping[str, float] = {}
        self._events = events
        self._pid = pid
        self._out = scratch / f"perf-{pid}.csv"
        self._messages = scratch / f"perf-{pid}.log"
        self._control = scratch / f"perf-{pid}.control"
        self._answers = scratch / f"perf-{pid}.answers"
        self._counts = False

    def __enter__(self) -> Self:
        for fifo in (self._control, self._answers):
            fifo.unlink(missing_ok=True)
            os.mkfifo(fifo)
        self._out.unlink(missing_ok=True)
        # Both ends are held open, so that neither opening nor writing waits for perf.
        self._control_fd = os.open(self._control, os.O_RDWR)
        self._answers_fd = os.open(self._answers, os.O_RDWR)
        # Started disabled: only perf's answer to `enable` tells that counting has begun.
        argv = [*self._events.perf(self._out), "-p", str(self._pid)]
        argv += ["--delay=-1", f"--control=fifo:{self._control},{self._answers}"]
        with self._messages.open("wb") as messages:
            self._perf = Guarded(argv, output=messages)
        try:
            self._say("enable")
            self._counts = True
        except ProbeError:
            self._close()
            if self._events.needed:
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._counts:
            return
        try:
            if kind is None:
                self._end()
        finally:
            self._close()
        if kind is None:
            try:
                self.values = self._events.counts(self._out)
            except (OSError, ValueError) as problem:
                raise ProbeError(f"perf: {problem}", self._messages) from problem

    def _end(self) -> None:
        try:
            self._say("disable")
        except ProbeError:
            if self._events.needed:
                raise
        self._perf.signal(signal.SIGINT)
        self._perf.wait(_ANSWER_TIMEOUT_S)

    def _say(self, message: str) -> None:
        os.write(self._control_fd, f"{message}\n".encode())
        deadline = time.monotonic() + _ANSWER_TIMEOUT_S
        while time.monotonic() < deadline:
            if select.select([self._answers_fd], [], [], 0.05)[0]:
                os.read(self._answers_fd, 64)
                return
            if not self._perf.poll():
                break
        said = self._messages.read_text(errors="replace").strip().splitlines()
        raise ProbeError(f"perf did not {message} counting: {said[0] if said else 'no answer'}", self._messages)

    def _close(self) -> None:
        self._perf.__exit__(None, None, None)
        os.close(self._control_fd)
        os.close(self._answers_fd)


@cache
def supported(*, confined: bool = False) -> Mapping[str, str]:
    """Those of `RECORDED` that really count on this host, or in a sandbox on it; each is tried by itself, once in a
    process."""
    if shutil.which("perf") is None:
        return {}
    return {metric: event for metric, event in RECORDED.items() if _counts(metric, event, confined)}


def _counts(metric: str, event: str, confined: bool) -> bool:
    """Whether there is any of an event in a long loop."""
    with temporary() as scratch:
        out, alone = scratch / "perf.csv", Events({metric: event})
        sandbox = sandboxed(writable=(scratch,)) if confined else None
        tried = run(alone.command(TRIAL, out), timeout_s=30, sandbox=sandbox)
        return tried.ok and alone.counts(out).get(metric, 0.0) > 0


def recorder(*, confined: bool = False) -> Events | None:
    """What records the hardware's events with the clock; None where perf counts none of them."""
    found = supported(confined=confined)
    return Events(found) if found else None
