"""Which instruction counter this host has, and counting with the hardware's: a command, or a process for a while."""

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

from cpubisect.errors import UserError
from cpubisect.process import Finished, Guarded, run
from cpubisect.workloads import callgrind
from cpubisect.workloads.probe import Counter, ProbeError

EVENT = "instructions:u"

# The trial loop retires millions; a counter that exists but does not count shows (almost) nothing.
_TRIAL_MINIMUM = 100_000
_TRIAL = ("sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done")
_ANSWER_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Available:
    """What a trial on this host found: a problem is empty if the counter works, else says why it does not."""

    hardware_problem: str
    callgrind_problem: str


@dataclass(frozen=True)
class Choice:
    """The counter to use, and why in one line."""

    counter: Counter
    reason: str


def choose(available: Available, wanted: Counter | None = None) -> Choice:
    """The counter for a bisection: the one wanted or, without a wish, hardware before callgrind before none.

    Raises UserError if the one wanted does not work here.
    """
    problems = {Counter.HARDWARE: available.hardware_problem, Counter.CALLGRIND: available.callgrind_problem}
    if wanted is not None:
        if problem := problems.get(wanted):
            raise UserError(f"{wanted} does not count here ({problem})", "leave out --counter, or see `bisect doctor`")
        return Choice(wanted, f"{wanted} was asked for")
    if not available.hardware_problem:
        return Choice(Counter.HARDWARE, "perf counts instructions in hardware here, at no cost")
    if not available.callgrind_problem:
        return Choice(Counter.CALLGRIND, f"no hardware counter ({available.hardware_problem}); callgrind is exact")
    return Choice(Counter.NONE, f"no perf ({available.hardware_problem}), no valgrind ({available.callgrind_problem})")


def examine() -> Available:
    """Try both counters on this host for real; takes under three seconds."""
    return Available(hardware_problem=try_hardware(), callgrind_problem=try_callgrind())


def try_hardware(event: str = EVENT) -> str:
    """Count a small loop with `perf stat`; empty if the count is real, else why not."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "perf.csv"
        finished = run(hardware_command(_TRIAL, out, event=event), timeout_s=30)
        try:
            counted = parse_perf(out.read_text(errors="replace") if out.exists() else "", event)
        except ValueError as problem:
            return str(problem) if finished.ok else _first_line(finished)
    return "" if counted >= _TRIAL_MINIMUM else f"{event} counted only {counted:.0f} in a long loop"


def try_callgrind() -> str:
    """Count a small loop with valgrind's callgrind; empty if that works, else why not."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    with tempfile.TemporaryDirectory() as scratch:
        finished, profile = callgrind.count(_TRIAL, Path(scratch) / "trial.callgrind", timeout_s=60)
    if profile is None:
        return _first_line(finished)
    return "" if profile.total >= _TRIAL_MINIMUM else f"callgrind counted only {profile.total} in a long loop"


def _first_line(finished: Finished) -> str:
    lines = (line.strip() for line in finished.output.splitlines())
    return next((line for line in lines if line), f"{finished.argv[0]} ended with {finished.returncode}")


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


def hardware_command(argv: Sequence[str | os.PathLike[str]], out: Path, *, event: str = EVENT) -> tuple[str, ...]:
    """The command line that runs `argv` with an event counted by perf; read `out` with `parse_perf`."""
    return ("perf", "stat", "-x,", "-e", event, "-o", str(out), "--", *(os.fspath(word) for word in argv))


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
