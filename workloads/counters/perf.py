"""The hardware's instruction counter, read by perf: of a command, or of a running process for a while."""

import os
import re
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from cpubisect.base.metrics import Counter
from cpubisect.base.process import Guarded, run
from cpubisect.base.tools import Tool
from cpubisect.workloads.check import Check, Files, Status
from cpubisect.workloads.counters.counting import TRIAL, TRIAL_MINIMUM, LightCounter, Profile
from cpubisect.workloads.probe import ProbeError

EVENT = "instructions:u"

_ANSWER_TIMEOUT_S = 10.0


def parse_perf(text: str, event: str = EVENT) -> float:
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


class Counting:
    """Counts an event of one running process, all its threads, for as long as the `with` block lasts.

    `value` is set when the block is left. ProbeError is raised on entry if perf does not start counting, on leaving
    if it counted nothing.
    """

    def __init__(self, pid: int, scratch: Path, *, event: str = EVENT) -> None:
        self.value = 0.0
        self._pid = pid
        self._event = event
        self._out = scratch / f"perf-{pid}.csv"
        self._messages = scratch / f"perf-{pid}.log"
        self._control = scratch / f"perf-{pid}.control"
        self._answers = scratch / f"perf-{pid}.answers"

    def __enter__(self) -> Self:
        for fifo in (self._control, self._answers):
            fifo.unlink(missing_ok=True)
            os.mkfifo(fifo)
        # Both ends are held open, so that neither opening nor writing waits for perf.
        self._control_fd = os.open(self._control, os.O_RDWR)
        self._answers_fd = os.open(self._answers, os.O_RDWR)
        # Started disabled: only perf's answer to `enable` tells that counting has begun.
        argv = ["perf", "stat", "-x,", "-e", self._event, "-o", str(self._out), "-p", str(self._pid)]
        argv += ["--delay=-1", f"--control=fifo:{self._control},{self._answers}"]
        with self._messages.open("wb") as messages:
            self._perf = Guarded(argv, output=messages)
        try:
            self._say("enable")
        except ProbeError:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._say("disable")
                self._perf.signal(signal.SIGINT)
                self._perf.wait(_ANSWER_TIMEOUT_S)
        finally:
            self._close()
        if kind is None:
            try:
                self.value = parse_perf(self._out.read_text(errors="replace"), self._event)
            except (OSError, ValueError) as problem:
                raise ProbeError(f"perf: {problem}", self._messages) from problem

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


@dataclass(frozen=True)
class Perf(LightCounter):
    """Counts an event of the hardware, at no cost."""

    event: str = EVENT

    name = Counter.HARDWARE
    tools = (Tool("perf", "linux-perf", "hardware counters", vital=False),)
    merit = "perf counts instructions in hardware here, without functions"

    def problem(self) -> str:
        """Count the trial; empty if the count is real, else why not."""
        if shutil.which("perf") is None:
            return "perf is not installed"
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "perf.csv"
            finished = run(self.command(TRIAL, out), timeout_s=30)
            try:
                counted = parse_perf(out.read_text(errors="replace") if out.exists() else "", self.event)
            except ValueError as problem:
                return str(problem) if finished.ok else finished.first_line
        return "" if counted >= TRIAL_MINIMUM else f"{self.event} counted only {counted:.0f} in a long loop"

    def check(self, files: Files) -> Check:
        """Whether it counts; a kernel that only forbids it can be told otherwise."""
        name, problem = "hardware counters", self.problem()
        if not problem:
            return Check(name, Status.OK, f"perf counts {self.event}")
        if shutil.which("perf") is None:
            return Check(name, Status.WARN, problem, "apt-get install -y linux-perf")
        paranoid = files.text("proc/sys/kernel/perf_event_paranoid") or ""
        if "not supported" not in problem and paranoid.isdigit() and int(paranoid) > 1:
            return Check(name, Status.WARN, problem, "sysctl -w kernel.perf_event_paranoid=1")
        return Check(name, Status.WARN, f"{problem} (callgrind does without them)")

    def command(self, argv: Sequence[str | os.PathLike[str]], out: Path) -> tuple[str, ...]:
        """The command line that runs `argv` with the event counted; `read` or `parse_perf` understands `out`."""
        return ("perf", "stat", "-x,", "-e", self.event, "-o", str(out), "--", *(os.fspath(word) for word in argv))

    def read(self, out: Path) -> Profile:
        """The count in `out`; raises ValueError with perf's own words if there is none, OSError without the file."""
        return Profile(round(parse_perf(out.read_text(errors="replace"), self.event)))

    def watch(self, pid: int, scratch: Path) -> Counting:
        """Counts a running process, all its threads, for as long as the `with` block lasts."""
        return Counting(pid, scratch, event=self.event)


COUNTER = Perf()
