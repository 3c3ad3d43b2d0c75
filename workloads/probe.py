"""What probing means, for every engine: one run of a test against one artifact, and the samples it yields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cpubisect.base.metrics import INSTRUCTIONS, Counter, Simulation
from cpubisect.base.sandbox.policy import Kind
from cpubisect.base.tools import Tool
from cpubisect.base.version import Version


class ProbeError(Exception):
    """The artifact could not be probed: the server does not start, crashes, or the client reports an error.

    The message is the first line that says why; `log` is where the rest is.
    """

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log


class SettingRefused(ProbeError):
    """What is probed refuses a setting that the user gave; the message says which, and its own words."""


KILLED = "killed by SIGKILL"
"""Says the message of a ProbeError where a program did not end by itself."""


def was_killed(message: str) -> bool:
    """Whether a probe failed because somebody killed a program of it, as a host does that is short of memory."""
    return KILLED in message


@dataclass(frozen=True)
class Test:
    """A named workload: `group` as in the catalogue; `parameters` are its settings with their defaults; counts of one
    build are `spread_percent` apart, None where that is not known."""

    __test__ = False  # not a pytest class

    name: str
    engine: str
    group: str
    summary: str
    writes: bool
    parameters: Mapping[str, str]
    spread_percent: float | None = None


@dataclass(frozen=True)
class ProbeRequest:
    """One probe to make: `artifact` is a build's output directory, `parameters` the test's defaults with the user's
    settings applied; `scratch` is an empty private directory; `instructions` and `clock` say what is wanted,
    `simulations` what the counter is to simulate with the former, `profiled` the metric of the profile; `sandbox` is
    what servers, clients and profilers run in."""

    artifact: Path
    version: Version
    test: Test
    parameters: Mapping[str, str]
    counter: Counter
    scratch: Path
    instructions: bool = True
    clock: bool = True
    simulations: tuple[Simulation, ...] = ()
    profiled: str = INSTRUCTIONS
    sandbox: Kind = Kind.NONE


@dataclass(frozen=True)
class Samples:
    """What one probe measured.

    `values` maps a metric of `METRICS` to its samples, one per repeated run; `profile` maps a function to its
    instructions per query, or what else is profiled (self cost; empty if the counter does not tell functions);
    `attributed` is the same cost with what libraries did added to the functions that called them; `calls` maps (caller,
    callee) to what those calls cost, with all that they call (without the smallest: counting.LEAST_CALL); `variables`
    are the server's settings as read from it (empty for db_bench); `commands` are the measuring command lines;
    `seconds` is the wall time of the probe; `note` is what must be known of the samples, empty if that is nothing.
    """

    values: Mapping[str, tuple[float, ...]]
    counter: Counter
    parameters: Mapping[str, str]
    seconds: float
    profile: Mapping[str, float] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    attributed: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[tuple[str, str], float] = field(default_factory=dict)
    note: str = ""


class Workload(Protocol):
    """What one engine's file offers, as a module-level object named `WORKLOAD`."""

    @property
    def tests(self) -> Sequence[Test]:
        """The tests of every engine that it serves, in the order of the catalogue."""

    @property
    def programs(self) -> Sequence[Tool]:
        """What every probe runs, beside the artifact itself and the counter."""

    def accepts(self, test: Test, name: str) -> bool:
        """Whether a user may give the test a parameter of that name."""

    def refusal(self, test: Test, name: str) -> str:
        """Why a user may give the test a parameter of that name only after saying that it need not be safe: "is about
        files", say. Empty if it cannot do more than change what is measured."""

    def flag(self, test: Test, name: str) -> str:
        """What a parameter that the user may give is called where the program declares it; empty if it is one of the
        test's own, or only the program itself can tell what it knows."""

    def declares(self, path: str) -> bool:
        """Whether the file at a path of a tree is one in which flags of the program are declared."""

    def check(self, test: Test, parameters: Mapping[str, str]) -> None:
        """Raises UserError if a parameter of the test has a value that makes no sense."""

    def variable(self, name: str, *, lenient: bool = False) -> str:
        """The parameter that starts what is probed with a value of its variable `name` (of `Samples.variables`); if
        `lenient`, one that a version without that variable passes over. Empty for one that must keep its own value."""

    def variables(self, request: ProbeRequest) -> Mapping[str, str]:
        """The variables of what is probed, started as a request says and not measured; empty where it has none. Raises
        ProbeError if it does not start, UserError for an unfit parameter."""

    def probe(self, request: ProbeRequest) -> Samples:
        """Run a test against an artifact; raises ProbeError if that fails, UserError for an unfit parameter."""
