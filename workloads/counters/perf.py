"""The hardware's instruction counter, read by perf, with other events of the hardware."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from cpubisect.base.disk.scratch import temporary
from cpubisect.base.metrics import HARDWARE_INSTRUCTIONS, INSTRUCTIONS, Counter
from cpubisect.base.process import run
from cpubisect.base.tools import Tool
from cpubisect.workloads.check import Check, Files, Status
from cpubisect.workloads.counters.counting import TRIAL, TRIAL_MINIMUM, LightCounter, Profile
from cpubisect.workloads.counters.hardware import Counting, Events, parse_perf, supported

EVENT = "instructions:u"


@dataclass(frozen=True)
class Perf(LightCounter):
    """Counts an event of the hardware, at no cost; `in_sandbox` says that its commands run in one."""

    event: str = EVENT
    in_sandbox: bool = False

    name = Counter.HARDWARE
    tools = (Tool("perf", "linux-perf", "hardware counters", vital=False),)
    merit = "perf counts instructions in hardware here, without functions"

    def problem(self) -> str:
        """Count the trial; empty if the count is real, else why not."""
        if shutil.which("perf") is None:
            return "perf is not installed"
        with temporary() as scratch:
            out = scratch / "perf.csv"
            finished = run(Events({INSTRUCTIONS: self.event}).command(TRIAL, out), timeout_s=30)
            try:
                counted = parse_perf(out.read_text(errors="replace") if out.exists() else "", self.event)
            except ValueError as problem:
                return str(problem) if finished.ok else finished.first_line
        return "" if counted >= TRIAL_MINIMUM else f"{self.event} counted only {counted:.0f} in a long loop"

    def check(self, files: Files) -> Check:
        """Whether it counts; a kernel that only forbids it can be told otherwise."""
        name, problem = "hardware counters", self.problem()
        if not problem:
            others = (event for event in supported().values() if event != self.event)
            return Check(name, Status.OK, f"perf counts {', '.join((self.event, *others))}")
        if shutil.which("perf") is None:
            return Check(name, Status.WARN, problem, "apt-get install -y linux-perf")
        paranoid = files.text("proc/sys/kernel/perf_event_paranoid") or ""
        if "not supported" not in problem and paranoid.isdigit() and int(paranoid) > 1:
            return Check(name, Status.WARN, problem, "sysctl -w kernel.perf_event_paranoid=1")
        return Check(name, Status.WARN, f"{problem} (callgrind does without them)")

    def command(self, argv: Sequence[str | os.PathLike[str]], out: Path) -> tuple[str, ...]:
        """The command line that runs `argv` with the events counted; `read` and `counts` understand `out`."""
        return self._events.command(argv, out)

    def confined(self) -> Self:
        """The same for commands in a sandbox."""
        return replace(self, in_sandbox=True)

    def read(self, out: Path) -> Profile:
        """The count in `out`; raises ValueError with perf's own words if there is none, OSError without the file."""
        return Profile(round(self.counts(out)[INSTRUCTIONS]))

    def counts(self, out: Path) -> dict[str, float]:
        """All counts in `out`, by metric; raises as `read` does."""
        return self._events.counts(out)

    def watch(self, pid: int, scratch: Path) -> Counting:
        """Counts a running process, all its threads, for as long as the `with` block lasts."""
        return replace(self, in_sandbox=False)._events.watch(pid, scratch)

    @property
    def _events(self) -> Events:
        found = supported(confined=self.in_sandbox)
        others = {metric: event for metric, event in found.items() if metric != HARDWARE_INSTRUCTIONS}
        return Events({INSTRUCTIONS: self.event, **others}, needed=INSTRUCTIONS)


COUNTER = Perf()
