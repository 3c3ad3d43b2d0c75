"""RocksDB's db_bench and its kin: the tests, the database they start from, and what one operation costs.

**The database.** Each artifact loads its own, natively, so that it holds what that commit writes. Background threads
must not decide its shape, or no two probes would see the same one. Therefore every benchmark of `load` is a run of its
own, with automatic compaction off: those that write have a memtable as large as needed and leave everything in the
log; the next open, with the test's own `write_buffer_size`, recovers that log, and recovery flushes in the opening
thread, into level-0 files of just that size; `compact` then rewrites them into level 1, which depends on their content
only. Every measured run starts from a fresh copy of the result.

**Parameters.** `rows` is db_bench's num, `clients` its threads. `load` lists the loading runs, `NAME` or
`NAME:WRITES`; empty: no database. `instructions_ops` and `clock_ops` are `LOW,HIGH`: operations of each client in the
short and in the long run of which the slope is taken (`readseq` rounds them to whole passes); `repeats` is how often
the clock is read; `background_writes` how many writes accompany 100 reads. Every other parameter is a flag of
db_bench: `NAME` sets it everywhere, `load.NAME` in the writing runs of `load`, `run.NAME` in measured runs. A version
that lacks a flag among the test's defaults runs without it; one that lacks a flag only the user names fails its probe,
since it cannot do what was asked. Examples:

- only level-0 files: `load=filluniquerandom rows=10000`
- only a memtable: `load=filluniquerandom rows=10000 write_buffer_size=1073741824 avoid_flush_during_recovery=true`

**Cost.** Instructions and CPU time are slopes between two runs that differ in the number of operations alone: start,
open and close cancel. Client and engine are one process and all of its threads count: flushing is part of a write.
Instructions of whole probes agree to 0.01 % in tests that read, 0.02 % in tests that write, and 0.05 % where another
thread writes meanwhile (docs/repeatability.md): most of it is some 20,000 instructions for the digits of timestamps in
the engine's log, so cheap operations want more of them in `instructions_ops`. With several `clients`,
`cache_numshardbits` should be raised: the defaults have a cache of one shard.
"""

import errno
import os
import re
import shlex
import signal
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copy2
from typing import Self, TypeVar

from cpubisect.base.metrics import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS
from cpubisect.base.process import Finished, run
from cpubisect.base.sandbox import inside
from cpubisect.base.sandbox.policy import Kind, Sandbox
from cpubisect.base.sandbox.surroundings import confined
from cpubisect.base.tools import Tool
from cpubisect.workloads.addresses import fixed_addresses
from cpubisect.workloads.counters.choice import counter_for
from cpubisect.workloads.counters.counting import (
    Companion,
    HeavyCounter,
    LightCounter,
    PerOperation,
    slope,
)
from cpubisect.workloads.counters.hardware import recorder
from cpubisect.workloads.db_bench_command import CommandLines, accepts, number, parse_load
from cpubisect.workloads.db_bench_flags import refusal
from cpubisect.workloads.db_bench_tests import SHAPES, TESTS
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Samples, SettingRefused, Test, Workload

_RUN_TIMEOUT_S = 1800.0
_MOST_SAID = 200
_TOO_LARGE = re.compile(r"std::(?:bad_alloc|length_error)")
"""What a program in C++ says that was asked for more memory than there is."""

_RESULT = re.compile(r"^(\w+) *: +([\d.]+) micros/op (\d+) ops/sec", re.MULTILINE)
_FOUND_NONE = re.compile(r"\(0 of \d+ found\)")
_TELLING = re.compile(
    r"error|fail|corrupt|abort|assert|terminate|unknown|cannot|can't|invalid|exception|not supported|No such|"
    r"unimplemented|usage:",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"unknown (command line )?(flag|option)|(illegal|invalid|bad) (value|flag)|out of range|must be|too (large|small)",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"(^|/)[^/\n]*bench[^/\n]*\.(c|cc|cpp|h)$")
_Read = TypeVar("_Read")
_NOISE = re.compile(r"^(\.\.\. finished|==\d+==|--\d+--|Set seed to|DB path:)")


class DbBench:
    """The tests of RocksDB and of engines with a driver like its db_bench."""

    tests: Sequence[Test] = TESTS
    programs: Sequence[Tool] = ()

    def accepts(self, test: Test, name: str) -> bool:
        """True for a parameter of the test and for any flag of db_bench, `NAME`, `load.NAME` or `run.NAME`."""
        return accepts(test, name)

    def refusal(self, test: Test, name: str) -> str:
        """What speaks against a user's setting a flag; empty for a parameter of the test and for harmless flags."""
        return "" if name in test.parameters else refusal(name)

    def flag(self, test: Test, name: str) -> str:
        """The flag, without the phase that it is for."""
        return "" if name in test.parameters else name.rpartition(".")[2]

    def declares(self, path: str) -> bool:
        """The sources of the benchmark: `tools/db_bench_tool.cc`, `db/db_bench.cc` and the like."""
        return _SOURCE.search(path) is not None

    def check(self, test: Test, parameters: Mapping[str, str]) -> None:
        """Raises UserError if a parameter of a test has a value that makes no sense."""
        CommandLines(Path("db_bench"), SHAPES[test.name], parameters, test.parameters).check()

    def variable(self, name: str, *, lenient: bool = False) -> str:
        """The flag itself: db_bench has no other variables. A version that lacks it fails its probe."""
        return name

    def variables(self, request: ProbeRequest) -> Mapping[str, str]:
        """None: a flag that is not given has no name that could be asked for."""
        return {}

    def probe(self, request: ProbeRequest) -> Samples:
        """Load a database with the artifact and measure the test on copies of it.

        Raises ProbeError if a run of db_bench crashes, does not end within half an hour, or reports nothing; UserError
        if a parameter makes no sense.
        """
        started = time.monotonic()
        runs = _Runs.of(request)
        try:
            runs.load()
            return self._measured(runs, request, started)
        except ProbeError as failure:
            own = {name: text for name, text in request.parameters.items() if request.test.parameters.get(name) != text}
            if name := refused_flag(str(failure), own):
                raise SettingRefused(f"db_bench refuses {name}={own[name]}: {failure}", failure.log) from failure
            if own and _TOO_LARGE.search(str(failure)):
                given = " ".join(f"{name}={text}" for name, text in own.items())
                raise SettingRefused(f"db_bench cannot do with {given}: {failure}", failure.log) from failure
            raise

    def _measured(self, runs: "_Runs", request: ProbeRequest, started: float) -> Samples:
        values: dict[str, tuple[float, ...]] = {}
        counted = PerOperation(0.0, {}, {}, {})
        counter = counter_for(request)
        if isinstance(counter, HeavyCounter):
            counted = runs.count(counter)
            values |= {metric: (cost,) for metric, cost in {INSTRUCTIONS: counted.total, **counted.others}.items()}
        light = counter if isinstance(counter, LightCounter) else None
        if request.clock or light:
            companion = light or recorder(confined=request.sandbox is Kind.BUBBLEWRAP)
            costs = [runs.clock(companion) for _ in range(runs.repeats)]
            for metric in dict.fromkeys(metric for cost in costs for metric in cost.counted):
                values[metric] = tuple(cost.counted[metric] for cost in costs if metric in cost.counted)
            if request.clock:
                values[CPU] = tuple(cost.cpu_us for cost in costs)
                values[CONTEXT_SWITCHES] = tuple(cost.context_switches for cost in costs)
                values[QPS] = tuple(cost.qps for cost in costs)
        return Samples(
            values=values,
            counter=request.counter,
            parameters=dict(request.parameters),
            seconds=time.monotonic() - started,
            profile=counted.functions,
            commands=tuple(runs.commands),
            attributed=counted.attributed,
            calls=counted.calls,
        )


@dataclass(frozen=True)
class _Cost:
    """What one operation cost in a pair of ordinary runs, and by metric what was `counted` of it; `qps` is the long
    one's rate."""

    cpu_us: float
    context_switches: float
    qps: float
    counted: Mapping[str, float]


@dataclass
class _Runs:
    """The runs of db_bench that make up one probe; everything they write is in `own`, what they print in `log`."""

    lines: CommandLines
    own: Path
    log: Path
    sandbox: Sandbox | None
    repeats: int
    commands: list[str] = field(default_factory=list)
    has_database: bool = False

    @classmethod
    def of(cls, request: ProbeRequest) -> Self:
        binary = request.artifact.resolve() / "db_bench"
        if not os.access(binary, os.X_OK):
            raise ProbeError(f"the artifact holds no db_bench: {binary}")
        lines = CommandLines(binary, SHAPES[request.test.name], request.parameters, request.test.parameters)
        own = request.scratch / "own"
        own.mkdir(parents=True, exist_ok=True)
        confining = request.sandbox is Kind.BUBBLEWRAP
        sandbox = confined(writable=(own,), readable=(request.artifact.resolve(),)) if confining else None
        repeats = number(request.parameters, "repeats")
        return cls(lines, own, request.scratch / "db_bench.log", sandbox, repeats)

    def load(self) -> None:
        """Make the database that every measured run starts from a copy of."""
        loaded = self.own / "loaded"
        steps = parse_load(self.lines.parameters["load"])
        for position, step in enumerate(steps):
            self._run((*fixed_addresses(), *self.lines.load(step, position, loaded)), step.benchmark)
        if steps and not steps[-1].maintains:
            self._run((*fixed_addresses(), *self.lines.settle(loaded)), "open")
        self.has_database = bool(steps)

    def count(self, counter: HeavyCounter) -> PerOperation:
        """Instructions per operation, in total and by function."""
        span = self.lines.span("instructions_ops")
        profiles = []
        for wanted in (span.low, span.high):
            out = self.own / f"{wanted}.{counter.name}"
            finished = self._run(counter.command(self._measured(wanted), out), self.lines.shape.benchmark)
            self._qps(finished)
            profiles.append(self._read(counter.read, out))
        return slope(profiles[0], profiles[1], self.lines.difference(span))

    def clock(self, companion: Companion | None) -> _Cost:
        """One short and one long run, in which a companion counts if there is one."""
        span = self.lines.span("clock_ops")
        cpu_s: list[float] = []
        counts: list[Mapping[str, float]] = []
        for wanted in (span.low, span.high):
            argv: Sequence[str] = (*_pinned(self.lines.clients), *self._measured(wanted))
            out = self.own / f"{wanted}.counts"
            if companion:
                argv = companion.command(argv, out)
            finished = self._run((*fixed_addresses(), *argv), self.lines.shape.benchmark)
            qps = self._qps(finished)
            cpu_s.append(finished.cpu_seconds)
            counts.append(self._read(companion.counts, out) if companion else {})
        difference = self.lines.difference(span)
        return _Cost(
            cpu_us=(cpu_s[1] - cpu_s[0]) * 1e6 / difference,
            context_switches=finished.context_switches / self.lines.operations(span.high),
            qps=qps,
            counted={name: (counts[1][name] - counts[0][name]) / difference for name in counts[0] if name in counts[1]},
        )

    def _read(self, read: Callable[[Path], _Read], out: Path) -> _Read:
        try:
            return read(out)
        except (OSError, ValueError) as problem:
            raise ProbeError(str(problem), self.log) from problem

    def _measured(self, wanted: int) -> tuple[str, ...]:
        database = self.own / "db"
        try:
            inside.remove(database)
            if self.has_database:
                loaded = self.own / "loaded"
                inside.copy_tree(loaded, database, _link_table_or_copy, without=("LOG", "LOG.old*", "LOCK"))
        except OSError as problem:
            if problem.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise ProbeError(f"the database cannot be copied: {problem}", self.log) from problem
        return self.lines.measure(wanted, database, existing=self.has_database)

    def _run(self, argv: Sequence[str], what: str) -> Finished:
        self.commands.append(shlex.join(argv))
        finished = run(argv, env=_environment(), timeout_s=_RUN_TIMEOUT_S, log=self.log, sandbox=self.sandbox)
        if not finished.ok:
            raise ProbeError(f"{what}: {why(finished)}", self.log)
        return finished

    def _qps(self, finished: Finished) -> float:
        qps = parse_qps(finished.output, self.lines.shape.benchmark)
        if qps is None:
            raise ProbeError(f"{self.lines.shape.benchmark}: {why(finished)}", self.log)
        if _FOUND_NONE.search(finished.output):
            raise ProbeError(
                f"{self.lines.shape.benchmark}: none of the keys was found: the database is empty", self.log
            )
        return qps


def refused_flag(message: str, given: Mapping[str, str]) -> str:
    """The parameter among those `given` that a failed run's message says is unknown or has a wrong value; empty if it
    says that of none."""
    if not _REFUSES.search(message):
        return ""
    return next((name for name in given if re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", message)), "")


def parse_qps(output: str, benchmark: str) -> float | None:
    """Operations per second from db_bench's result lines, old or new form; None if it printed none.

    Several passes of one benchmark do the same number of operations each, so their harmonic mean is the rate of all.
    """
    lines = _RESULT.finditer(output.replace("\r", "\n"))
    rates = [float(line[3]) for line in lines if line[1] == benchmark]
    if not rates or min(rates) <= 0:
        return None
    return statistics.harmonic_mean(rates)


def why(finished: Finished) -> str:
    """The first line of a failed run that says why it failed, or how it ended if none does."""
    lines = [line.strip() for line in finished.output.replace("\r", "\n").splitlines()]
    lines = [line for line in lines if line and not _NOISE.match(line)]
    if finished.timed_out:
        return f"not finished after {_RUN_TIMEOUT_S / 60:.0f} minutes"
    told = next((line for line in lines if _TELLING.search(line)), "")
    if finished.returncode < 0:
        ended = f"killed by {signal.Signals(-finished.returncode).name}"
        return f"{told} ({ended})" if told else ended
    if told:
        return told
    if finished.returncode:
        said = f", having said {lines[-1][:_MOST_SAID]!r}" if lines else ""
        return f"ended with status {finished.returncode}{said}"
    return f"no result line, only {lines[-1]!r}" if lines else "printed nothing"


def _pinned(clients: int) -> tuple[str, ...]:
    """One client stays on one core: moving costs cache; several need the others."""
    if clients > 1:
        return ()
    return ("taskset", "-c", str(max(os.sched_getaffinity(0))))


def _environment() -> dict[str, str]:
    """The same for every run: its size moves the stack, and so the numbers."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C"}


def _link_table_or_copy(source: Path, target: Path) -> None:
    # Table files are never written again, only unlinked.
    if source.suffix == ".sst":
        os.link(source, target)
    else:
        copy2(source, target)


WORKLOAD: Workload = DbBench()
