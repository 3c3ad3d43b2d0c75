"""Exact instruction counts by function: valgrind's callgrind around a command, or steered in a running server."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from cpubisect.base.disk.scratch import temporary
from cpubisect.base.metrics import INSTRUCTIONS, L1_MISSES, LL_MISSES, MISPREDICTIONS, Counter, Simulation
from cpubisect.base.process import Finished, run
from cpubisect.base.sandbox import inside
from cpubisect.base.sandbox.policy import Sandbox
from cpubisect.base.tools import Tool
from cpubisect.workloads.addresses import fixed_addresses
from cpubisect.workloads.check import Check, Files, Status
from cpubisect.workloads.counters.attribution import is_library
from cpubisect.workloads.counters.counting import TRIAL, TRIAL_MINIMUM, HeavyCounter, Profile
from cpubisect.workloads.probe import ProbeError

EVENTS = {
    INSTRUCTIONS: ("Ir",),
    L1_MISSES: ("I1mr", "D1mr", "D1mw"),
    LL_MISSES: ("ILmr", "DLmr", "DLmw"),
    MISPREDICTIONS: ("Bcm", "Bim"),
}
"""The events of callgrind that add up to a metric."""

CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
"""The caches that are simulated: size, ways and bytes in a line. They are the same on every host, so that counts are;
left to itself callgrind takes those of the host, or what a virtual machine says of them."""

_ANSWER_TIMEOUT_S = 120.0

_CLONE = re.compile(
    r"(?: \[clone [^\]]*\]"
    r"|\.(?:isra|constprop|part|cold|lto_priv|localalias|llvm)(?:\.\d+)*"
    r"|@@?[A-Z][\w.]*)+$"
)
_RECURSION = re.compile(r"'\d+$")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+$")
_NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


_Key = tuple[str, str]
"""A function as callgrind names it, and the object file it is in."""


class _Names:
    """One name space of callgrind's compression: `(12) name` defines, `(12)` refers."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def resolve(self, text: str) -> str:
        match = _NAME.match(text)
        if match is None:
            return text
        if match[2]:
            self._known[match[1]] = match[2]
        return self._known.get(match[1], "???")


def normalise(name: str) -> str:
    """A function's name without what a compiler, linker or callgrind added: `.isra.0`, `[clone .cold]`, `'2`."""
    before = ""
    while name != before:
        before = name
        name = _CLONE.sub("", _RECURSION.sub("", name)) or name
    return name


def parse_profile(text: str, metric: str = INSTRUCTIONS) -> Profile:
    """Read callgrind's output format (version 1, any `positions:` and events, several parts in one text are added up).
    Functions and calls have what they cost in `metric`.

    Lines below `fi=`/`fe=` are inlined code and belong to the function they are inlined into; the inclusive cost
    line after `calls=` belongs to the edge from that function to the one called. Raises ValueError if the text holds no
    event `Ir`, or not those of the metric.
    """
    functions, objects = _Names(), _Names()
    costs: dict[_Key, int] = {}
    calls: dict[tuple[_Key, _Key], int] = {}
    totals: dict[str, int] = {}
    positions, events, columns = 1, list[str](), [0]
    name, binary = "???", "???"
    called, called_binary = "???", ""
    inclusive = False
    for line in text.splitlines():
        if not line:
            continue
        if line[0] in "0123456789+-*":
            fields = line.split()[positions:]
            cost = sum(int(fields[column]) for column in columns if len(fields) > column)
            key = (name, binary)
            if inclusive:
                edge = (key, (called, called_binary or binary))
                calls[edge] = calls.get(edge, 0) + cost
                # Each call names its object anew, unless it is the caller's.
                inclusive, called_binary = False, ""
            elif len(fields) > columns[0]:
                costs[key] = costs.get(key, 0) + cost
            continue
        if line.startswith("fn="):
            name = functions.resolve(line[3:])
        elif line.startswith("cfn="):
            called = functions.resolve(line[4:])
        elif line.startswith("ob="):
            binary = objects.resolve(line[3:])
        elif line.startswith("cob="):
            called_binary = objects.resolve(line[4:])
        elif line.startswith("calls="):
            inclusive = True
        elif line.startswith("positions:"):
            positions = len(line.split()) - 1
        elif line.startswith("events:"):
            events = line.split()[1:]
            if not {"Ir", *EVENTS[metric]} <= {*events}:
                raise ValueError(f"callgrind profile without {metric}: {line!r}")
            columns = sorted(events.index(event) for event in EVENTS[metric])
        elif line.startswith("totals:"):
            for metric, total in _totals(events, line.split()[1:]).items():
                totals[metric] = totals.get(metric, 0) + total
    if not events:
        raise ValueError("not a callgrind profile: no 'events:' line")
    summed: dict[str, int] = {}
    for key, cost in costs.items():
        summed[_display(key)] = summed.get(_display(key), 0) + cost
    edges: dict[tuple[str, str], int] = {}
    for (caller, callee), cost in calls.items():
        named = (_display(caller), _display(callee))
        edges[named] = edges.get(named, 0) + cost
    everything = costs.keys() | {end for edge in calls for end in edge}
    own = {_display(key) for key in everything if not is_library(normalise(key[0]), key[1])}
    library = frozenset(_display(key) for key in everything) - own
    total = totals.pop(INSTRUCTIONS, sum(summed.values()))
    return Profile(total, summed, edges, library, totals)


def _totals(events: Sequence[str], fields: Sequence[str]) -> dict[str, int]:
    """The totals of every metric whose events are all there; trailing zeros may be left out of the fields."""
    found = dict.fromkeys(events, 0) | {event: int(text) for event, text in zip(events, fields, strict=False)}
    return {name: sum(found[one] for one in parts) for name, parts in EVENTS.items() if found.keys() >= {*parts}}


def _display(key: _Key) -> str:
    function, binary = key
    if function == "???" or _ADDRESS.match(function):
        return f"[{os.path.basename(binary)}]"  # noqa: PTH119 - a name inside a profile, not a path of this host
    return normalise(function)


def command(
    argv: Sequence[str | os.PathLike[str]],
    out: Path,
    *,
    toggle: str = "",
    instrument: bool = True,
    simulations: Sequence[Simulation] = (),
) -> tuple[str, ...]:
    """The command line that runs `argv` under callgrind with its profile in `out`, with some `simulations`.

    `toggle` collects only inside functions of that name (with wildcards); `instrument=False` starts without
    counting until `callgrind_control -i on`. Addresses are not randomised, because hash tables keyed by pointers
    would make counts vary.
    """
    options = ["--tool=callgrind", f"--callgrind-out-file={out}", "--error-limit=no"]
    options += [f"--instr-atstart={'yes' if instrument else 'no'}"]
    if instrument:
        # Nobody steers it, and the pipes for that would be left among temporary files if it is killed.
        options.append("--vgdb=no")
    options += [f"--{simulation}=yes" for simulation in simulations]
    if Simulation.CACHE in simulations:
        options += CACHES
    if toggle:
        options += ["--collect-atstart=no", f"--toggle-collect={toggle}"]
    return (*fixed_addresses(), "valgrind", *options, *(os.fspath(word) for word in argv))


def count(
    argv: Sequence[str | os.PathLike[str]],
    out: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 3600.0,
    log: Path | None = None,
) -> tuple[Finished, Profile | None]:
    """Run a command to its end under callgrind; the profile is None if the command failed or left none."""
    finished = run(command(argv, out), cwd=cwd, env=env, timeout_s=timeout_s, log=log)
    if not finished.ok or not out.is_file():
        return finished, None
    return finished, parse_profile(inside.read_text(out, out.parent))


@dataclass
class Steering:
    """Callgrind in a server that is started behind `launcher`, counting inside `function` (with wildcards) only.

    Profiles go to `out` with a running number; the server listens on named pipes, `pipes` being their prefix.
    """

    out: Path
    pipes: Path
    function: str
    simulations: Sequence[Simulation] = ()
    profiled: str = INSTRUCTIONS
    _pid: int = field(default=0, init=False)
    _sandbox: Sandbox | None = field(default=None, init=False)
    _dumps: int = field(default=0, init=False)

    @property
    def launcher(self) -> tuple[str, ...]:
        """What stands before the server's command line: callgrind, not counting yet."""
        return command([], self.out, toggle=self.function, instrument=False, simulations=self.simulations)

    @property
    def environment(self) -> dict[str, str]:
        """The variable by which valgrind is told to listen."""
        return {"VALGRIND_OPTS": f"--vgdb=yes --vgdb-prefix={self.pipes}"}

    def begin(self, pid: int, sandbox: Sandbox | None = None) -> None:
        """Begin to count in the server, from zero; raises ProbeError if callgrind does not answer.

        What tells it interrupts it as a debugger does, which must be done from its own sandbox.
        """
        self._pid, self._sandbox = pid, sandbox
        self._tell("instrumentation", "on")

    def profile(self) -> Profile:
        """What was counted since the last call, or since counting began; raises ProbeError if there is no answer."""
        self._tell("dump")
        self._dumps += 1
        path = self.out.with_name(f"{self.out.name}.{self._dumps}")
        try:
            return parse_profile(inside.read_text(path, path.parent), self.profiled)
        except (OSError, ValueError) as error:
            raise ProbeError(f"callgrind left no profile: {error}") from error

    def _tell(self, *words: str) -> None:
        # A server without work sits in system calls, where it must be interrupted to listen: at once.
        argv: Sequence[str] = (
            "vgdb",
            f"--vgdb-prefix={self.pipes}",
            f"--pid={_own_pid(self._pid)}",
            "--max-invoke-ms=1",
            *words,
        )
        beside = self._pid if self._sandbox else None
        finished = run(argv, env=_telling(), timeout_s=_ANSWER_TIMEOUT_S, sandbox=self._sandbox, beside=beside)
        if not finished.ok:
            lines = [line for line in finished.output.splitlines() if line.strip()]
            raise ProbeError(f"callgrind does not take '{' '.join(words)}': {(lines or ['no answer'])[0]}")


@dataclass(frozen=True)
class Callgrind(HeavyCounter):
    """Valgrind's callgrind, which counts every instruction and slows a program many times, and more with
    `simulations`. Its profiles are of the metric `profiled`."""

    simulations: tuple[Simulation, ...] = ()
    profiled: str = INSTRUCTIONS

    name = Counter.CALLGRIND
    tools = (
        Tool("valgrind", "valgrind", "exact instruction counts"),
        Tool("callgrind_control", "valgrind", "exact instruction counts of a server"),
    )
    merit = "callgrind is exact and tells functions"

    def problem(self) -> str:
        """Count the trial; empty if that works, else why not."""
        if shutil.which("valgrind") is None:
            return "valgrind is not installed"
        with temporary() as scratch:
            finished, profile = count(TRIAL, scratch / "trial.callgrind", timeout_s=60)
        if profile is None:
            return finished.first_line
        return "" if profile.total >= TRIAL_MINIMUM else f"callgrind counted only {profile.total} in a long loop"

    def check(self, files: Files) -> Check:
        """Whether it counts; without it there may be no exact counts at all."""
        if problem := self.problem():
            return Check("callgrind", Status.MISSING, problem, "apt-get install -y valgrind")
        return Check("callgrind", Status.OK, "counts instructions")

    def command(self, argv: Sequence[str | os.PathLike[str]], out: Path) -> tuple[str, ...]:
        """The command line that runs `argv` to its end with its profile in `out`."""
        return command(argv, out, simulations=self.simulations)

    def simulating(self, simulations: Sequence[Simulation], profiled: str = INSTRUCTIONS) -> Self:
        """The same with caches or branches simulated, and profiles of a metric that is counted then."""
        return replace(self, simulations=tuple(simulations), profiled=profiled)

    def read(self, out: Path) -> Profile:
        """The profile in `out`; raises ValueError if it is none, OSError if it is not there."""
        return parse_profile(inside.read_text(out, out.parent), self.profiled)

    def steered(self, out: Path, scratch: Path, function: str) -> Steering:
        """Counting inside `function` of a server, with the pipes to steer it in `scratch`."""
        return Steering(out, scratch / "vgdb", function, self.simulations, self.profiled)


def _own_pid(pid: int) -> int:
    """The id that a process has for itself: in a sandbox it is another one."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return pid
    return next((int(line.split()[-1]) for line in status.splitlines() if line.startswith("NSpid:")), pid)


def _telling() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


COUNTER = Callgrind()
