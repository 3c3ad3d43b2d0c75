"""What counting instructions means, for every counter: how one is asked, and what it finds out per operation.

A counter is a module of this room that is named as in `Counter` and offers an object `COUNTER`, of one of two kinds:
one that counts beside the clock, in the same runs, or one that needs runs of its own.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, Self, TypeVar

from cpubisect.base.metrics import INSTRUCTIONS, Counter, Simulation
from cpubisect.base.sandbox.policy import Sandbox
from cpubisect.base.tools import Tool
from cpubisect.workloads.check import Check, Files
from cpubisect.workloads.counters.attribution import attribute

LEAST_CALL = 1e-5
"""Calls that cost less than this part of an operation are not kept. All of those together are 0.01 % of a RocksDB seek
and 0.2 % of a transaction in MySQL 5.6 (with a limit of 0.01 %: 0.4 % and 2.3 %). What is left are 410 and 1,536 calls,
in the store 8 and 25 kB: 1.3 and 1.5 times what the profile takes."""

TRIAL = ("sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done")
"""A loop that shows whether a counter really counts."""

TRIAL_MINIMUM = 100_000
"""The loop retires millions of instructions; a counter that exists but does not count shows (almost) nothing."""


STEADY_PERCENT = 0.1
"""Successive counts of one server that differ by more are not steady yet. In MySQL 5.6.27 those of a test that reads
differ by 0.03 % at most; while it builds its adaptive hash index, by 2 to 9 %."""

STEADY_WRITES_PERCENT = 1.0
"""The same where the test writes: there each count works on what those before have left, and MySQL 5.6.27 takes up to
0.3 % more or less for it."""

MOST_COUNTS = 12
"""So often a server is counted at most until its counts are steady: MySQL 5.6.27 with its own defaults, whose adaptive
hash index grows all the while, takes seven counts of 4,000 point queries each."""


@dataclass(frozen=True)
class Profile:
    """What was counted; without functions if the counter does not tell them.

    `total` is all instructions that were collected; `functions` maps a function to the instructions executed in its
    own code (self cost), summed over files, objects, clones and recursion levels. Code without a symbol is summed under
    the name of its object in brackets, e.g. `[libz.so.1]`. `calls` maps (caller, callee) to the instructions executed
    during those calls (inclusive cost); `library` names the functions that only serve others. `others` are the totals
    of other metrics, as far as they were simulated. Where another metric is profiled, functions and calls have its
    counts instead of instructions.
    """

    total: int
    functions: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    library: frozenset[str] = frozenset()
    others: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PerOperation:
    """Instructions per operation: in total, by function (self cost), by function with what libraries did for it, and by
    (caller, callee) during those calls (inclusive cost; from LEAST_CALL of all that functions cost on). `others` is
    what an operation costs in other metrics; all but the total is of the metric that was profiled."""

    total: float
    functions: Mapping[str, float]
    attributed: Mapping[str, float]
    calls: Mapping[tuple[str, str], float]
    others: Mapping[str, float] = field(default_factory=dict)


class InstructionCounter(ABC):
    """One way to count instructions: says whether it works on this host, and counts."""

    name: ClassVar[Counter]
    tools: ClassVar[Sequence[Tool]]
    """The programs that it runs."""
    merit: ClassVar[str]
    """Why it is taken where it works."""

    @abstractmethod
    def problem(self) -> str:
        """Count the trial for real, in under three seconds; empty if that works, else why it does not."""

    @abstractmethod
    def check(self, files: Files) -> Check:
        """What `bisect doctor` says of it: whether it really counts here, and what to do if not."""

    @abstractmethod
    def command(self, argv: Sequence[str | os.PathLike[str]], out: Path) -> tuple[str, ...]:
        """The command line that runs `argv` to its end and leaves the count in `out`."""

    @abstractmethod
    def read(self, out: Path) -> Profile:
        """What a command left in `out`; raises ValueError or OSError that says why it is no count."""


class Count(Protocol):
    """What was counted while a process was watched, by metric: `values` is set when that is over."""

    values: Mapping[str, float]


class Companion(Protocol):
    """Counts beside the clock, in the same runs."""

    def command(self, argv: Sequence[str | os.PathLike[str]], out: Path) -> tuple[str, ...]:
        """The command line that runs `argv` to its end and leaves the counts in `out`."""

    def counts(self, out: Path) -> Mapping[str, float]:
        """What a command left in `out`, by metric; raises ValueError or OSError that says why it is no count."""

    def watch(self, pid: int, scratch: Path) -> AbstractContextManager[Count]:
        """Counts a running process, all its threads, for as long as the `with` block lasts; raises ProbeError."""


class LightCounter(InstructionCounter):
    """Does not slow what it counts, so that it is a companion of the clock."""

    @abstractmethod
    def confined(self) -> Self:
        """The same for commands that run in a sandbox, where there may be fewer events."""

    @abstractmethod
    def counts(self, out: Path) -> Mapping[str, float]:
        """What a command left in `out`, by metric, instructions among them; raises as `read` does."""

    @abstractmethod
    def watch(self, pid: int, scratch: Path) -> AbstractContextManager[Count]:
        """Counts a running process, all its threads, for as long as the `with` block lasts.

        ProbeError is raised on entry if counting does not begin, on leaving if no instructions were counted.
        """


class Steered(Protocol):
    """Counts one function of a running server, with all it calls, once that was started so that it can."""

    @property
    def launcher(self) -> Sequence[str]:
        """What stands before the server's command line."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that the server is started with."""

    def begin(self, pid: int, sandbox: Sandbox | None = None) -> None:
        """Begin to count in the server, from zero, which runs in a sandbox if there is one; raises ProbeError if it
        does not answer."""

    def profile(self) -> Profile:
        """What was counted since the last call, or since counting began; raises ProbeError if there is no answer."""


class HeavyCounter(InstructionCounter):
    """Slows what it counts many times, so that it needs runs of its own, without the clock."""

    @abstractmethod
    def simulating(self, simulations: Sequence[Simulation], profiled: str = INSTRUCTIONS) -> Self:
        """The same with some simulations, whose metrics are then among the `others` of its profiles; functions and
        calls have what they cost in the metric `profiled`."""

    @abstractmethod
    def steered(self, out: Path, scratch: Path, function: str) -> Steered:
        """Counting inside `function` (with wildcards) of a server that is yet to be started.

        `out` is where profiles go, with a running number; `scratch` a directory whose path is short enough for pipes.
        """


@dataclass(frozen=True)
class Steady:
    """The last of some successive counts of the same work; `note` says it if they do not agree, and is empty if they
    do."""

    counts: tuple[PerOperation, ...]
    note: str = ""


def agree(totals: Sequence[float], percent: float) -> bool:
    """Whether all of these are within so many percent of each other."""
    return max(totals) - min(totals) <= max(totals) * percent / 100


def until_steady(
    count: Callable[[], PerOperation], wanted: int, most: int = MOST_COUNTS, percent: float = STEADY_PERCENT
) -> Steady:
    """Count until the last `wanted` counts agree to `percent`, `most` times at most; what was counted before still
    warmed up.

    A single one has none to agree with, and is taken as it is.
    """
    counts: list[PerOperation] = []
    while len(counts) < wanted or (len(counts) < most and not agree(_totals(counts[-wanted:]), percent)):
        counts.append(count())
    last = tuple(counts[-wanted:])
    totals = _totals(last)
    if agree(totals, percent):
        return Steady(last)
    apart = (1 - min(totals) / max(totals)) * 100
    return Steady(last, f"not steady: the last {wanted} of {len(counts)} counts are {apart:.3f} % apart")


def _totals(counts: Sequence[PerOperation]) -> list[float]:
    return [one.total for one in counts]


def slope(low: Profile, high: Profile, operations: int) -> PerOperation:
    """Instructions per operation from two runs of which `high` did `operations` more.

    What both runs do alike (start, open, load, close) cancels, also in the calls by which library cost is attributed;
    functions without a difference are left out.
    """
    functions = _differences(low.functions, high.functions)
    calls = _differences(low.calls, high.calls)
    attributed = attribute(functions, calls, (low.library | high.library) - _own(low) - _own(high))
    by_function = {name: functions[name] / operations for name in sorted(functions)}
    with_library = {name: attributed[name] / operations for name in sorted(attributed)}
    total, least = high.total - low.total, LEAST_CALL * max(0, sum(functions.values()))
    kept = {edge: calls[edge] / operations for edge in sorted(calls) if calls[edge] >= least}
    others = {
        name: (high.others[name] - low.others[name]) / operations for name in low.others.keys() & high.others.keys()
    }
    return PerOperation(total / operations, by_function, with_library, kept, others)


def _own(profile: Profile) -> set[str]:
    return profile.functions.keys() - profile.library


_Name = TypeVar("_Name", str, tuple[str, str])


def _differences(low: Mapping[_Name, int], high: Mapping[_Name, int]) -> dict[_Name, int]:
    changes = {name: high.get(name, 0) - low.get(name, 0) for name in low.keys() | high.keys()}
    return {name: change for name, change in changes.items() if change}
