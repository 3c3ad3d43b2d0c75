"""Command lines of db_bench for a test and its parameters; see `db_bench.py` for what the parameters mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.workloads.probe import Test

RESERVED = frozenset(("rows", "clients", "load", "instructions_ops", "clock_ops", "repeats", "background_writes"))
# What the probe itself sets; `rows`, `clients`, `load` and the pairs of operations stand for them.
_OURS = frozenset(("num", "threads", "reads", "writes", "duration", "benchmarks", "db", "use_existing_db", "undefok"))
_FLAG = re.compile(r"(?:(?:load|run)\.)?([a-z][a-z0-9_]*)")
# Far from the seeds of loading: else measured reads would follow the order of the writes.
_MEASURED_SEED = 1000
_MAINTENANCE = ("compact", "flush", "waitforcompaction")


class Unit(Enum):
    """What db_bench is told, to make it do a number of operations."""

    READS = "reads"
    WRITES = "writes"
    PASSES = "passes"


LARGEST = 2**31 - 1
"""Rows and the like: db_bench's keys go further, but 2,000 million of them are 200 GB and more."""

MOST_CLIENTS = 1024
"""Each is a thread of db_bench with a latency histogram; a sandbox takes 4,096 processes and threads."""

_MOST_DIGITS = len(str(LARGEST))


@dataclass(frozen=True)
class Shape:
    """How a test runs: `benchmark` is db_bench's name for it; `background` says that a thread writes meanwhile; `then`
    names a benchmark that the same process runs after it, whose cost belongs to it."""

    benchmark: str
    unit: Unit
    background: bool = False
    then: str = ""


@dataclass(frozen=True)
class Span:
    """Operations of each client in the short and the long run; 0 < low < high."""

    low: int
    high: int

    @classmethod
    def parse(cls, name: str, text: str) -> "Span":
        """Read `LOW,HIGH`; raises UserError for anything else."""
        match = re.fullmatch(rf"\s*(\d{{1,{_MOST_DIGITS}}})\s*,\s*(\d{{1,{_MOST_DIGITS}}})\s*", text, re.ASCII)
        if match is None or not 0 < int(match[1]) < int(match[2]):
            raise UserError(f"parameter {name} must be LOW,HIGH with 0 < LOW < HIGH, not {text!r}")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class Step:
    """One loading run: a benchmark and the number of its writes (0: as many as rows)."""

    benchmark: str
    writes: int

    @property
    def maintains(self) -> bool:
        """True for a benchmark that only rearranges what is there."""
        return self.benchmark.startswith(_MAINTENANCE)


def accepts(test: Test, name: str) -> bool:
    """True for a parameter of the test and for any flag of db_bench that the probe does not set itself, `NAME`,
    `load.NAME` or `run.NAME`; `noNAME` is another way to write `NAME=false`."""
    if name in test.parameters:
        return True
    match = _FLAG.fullmatch(name)
    return match is not None and not {match[1], match[1].removeprefix("no")} & (RESERVED | _OURS)


def number(parameters: Mapping[str, str], name: str, least: int = 1) -> int:
    """A parameter that must be a whole number; raises UserError if it is not, below `least`, or too large."""
    text, most = parameters[name], MOST_CLIENTS if name == "clients" else LARGEST
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and least <= int(text) <= most):
        raise UserError(f"parameter {name} must be a number from {least} to {most}, not {text!r}")
    return int(text)


def parse_load(text: str) -> tuple[Step, ...]:
    """Read `filluniquerandom,compact,overwrite:2000`; raises UserError if a count is no number."""
    steps = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, _, writes = word.partition(":")
        if writes and not (writes.isascii() and writes.isdigit() and len(writes) <= _MOST_DIGITS):
            raise UserError(f"parameter load: {word!r} is not NAME or NAME:WRITES")
        steps.append(Step(name, int(writes or 0)))
    return tuple(steps)


def flags(parameters: Mapping[str, str], phase: str = "") -> dict[str, str]:
    """The db_bench flags that the parameters set in a phase: `load`, `run`, or `` for what holds everywhere."""
    own = {"num": str(number(parameters, "rows")), "threads": str(number(parameters, "clients"))}
    general = {name: text for name, text in parameters.items() if "." not in name and name not in RESERVED}
    prefix = f"{phase}."
    special = {name[len(prefix) :]: text for name, text in parameters.items() if phase and name.startswith(prefix)}
    return {**own, **general, **special}


@dataclass(frozen=True)
class CommandLines:
    """Command lines of one artifact's db_bench for one test with its parameters."""

    binary: Path
    shape: Shape
    parameters: Mapping[str, str]
    defaults: Mapping[str, str]

    @property
    def clients(self) -> int:
        """Threads that do the measured operations."""
        return number(self.parameters, "clients")

    def check(self) -> None:
        """Raises UserError if a parameter that the probe itself reads makes no sense."""
        for name in ("rows", "clients", "repeats"):
            number(self.parameters, name)
        number(self.parameters, "seed", least=0)
        if self.shape.background:
            number(self.parameters, "background_writes")
        parse_load(self.parameters["load"])
        for name in ("instructions_ops", "clock_ops"):
            self.span(name)

    def span(self, name: str) -> Span:
        """The two numbers of operations that a parameter gives; raises UserError if they make the same run."""
        span = Span.parse(name, self.parameters[name])
        if self.difference(span) == 0:
            raise UserError(
                f"parameter {name}: {self.parameters[name]} is the same number of passes over all rows twice",
                f"set it further apart, or rows lower: {span.high} or less",
            )
        return span

    def difference(self, span: Span) -> int:
        """Operations that the long run does more than the short one."""
        return self.operations(span.high) - self.operations(span.low)

    def operations(self, wanted: int) -> int:
        """Operations that all clients really do when each is asked for `wanted`."""
        if self.shape.unit is Unit.PASSES:
            wanted = self._passes(wanted) * number(self.parameters, "rows")
        return wanted * self.clients

    def load(self, step: Step, position: int, database: Path) -> tuple[str, ...]:
        """The loading run at a position of `load`, from 0."""
        settings = flags(self.parameters, "" if step.maintains else "load")
        settings |= {"threads": "1", "use_existing_db": "true" if position else "false"}
        # Each run draws other keys: with one seed the overwrites would follow the order of the fill.
        settings["seed"] = str(number(settings, "seed") + position)
        if step.writes:
            settings["writes"] = str(step.writes)
        return self._command(step.benchmark, settings, database)

    def settle(self, database: Path) -> tuple[str, ...]:
        """An open that turns what is left in the log into files."""
        settings = flags(self.parameters) | {"threads": "1", "use_existing_db": "true", "reads": "1"}
        return self._command("readrandom", settings, database)

    def measure(self, wanted: int, database: Path, *, existing: bool) -> tuple[str, ...]:
        """A measured run in which each client does `wanted` operations."""
        settings = flags(self.parameters, "run") | {"use_existing_db": "true" if existing else "false"}
        settings["seed"] = str(number(settings, "seed") + _MEASURED_SEED)
        benchmarks = self.shape.benchmark
        if self.shape.unit is Unit.PASSES:
            settings["reads"] = self.parameters["rows"]
            benchmarks = ",".join([benchmarks] * self._passes(wanted))
        else:
            settings[self.shape.unit.value] = str(wanted)
        if self.shape.background:
            writes = wanted * self.clients * number(self.parameters, "background_writes") // 100
            settings |= {"writes": str(max(1, writes)), "finish_after_writes": "true"}
        return self._command(",".join(filter(None, (benchmarks, self.shape.then))), settings, database)

    def _passes(self, wanted: int) -> int:
        return max(1, wanted // number(self.parameters, "rows"))

    def _command(self, benchmarks: str, settings: Mapping[str, str], database: Path) -> tuple[str, ...]:
        asked = {name.rpartition(".")[2] for name in self.parameters.keys() - self.defaults.keys()}
        optional = sorted(settings.keys() - asked - {"num", "reads", "writes", "threads", "use_existing_db"})
        return (
            str(self.binary),
            *(f"--{name}={text}" for name, text in settings.items()),
            # Last: of several, the last one holds.
            f"--benchmarks={benchmarks}",
            f"--db={database}",
            f"--undefok={','.join(optional)}",
        )
