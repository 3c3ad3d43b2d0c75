"""What is asked of whoever carries out builds and probes, and what comes back: plain data, which can be sent to another
host, and the interface that is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self, TypeVar

from cpubisect.base.engine import Engine
from cpubisect.base.metrics import INSTRUCTIONS, Counter, Simulation
from cpubisect.base.sandbox.policy import Kind, Wish
from cpubisect.base.version import Version
from cpubisect.builders.build import BuildResult, Outcome, Recipe, Toolchain
from cpubisect.search.events import HostThere, Watch
from cpubisect.workloads.probe import Samples, Test

Result_co = TypeVar("Result_co", covariant=True)


class Cancelled(Exception):
    """What was ordered was cancelled before it was done."""


@dataclass(frozen=True)
class BuildOrder:
    """A recipe to be carried out: `repository` is the clone that has the commit; `patches_dir` is where its patches
    are; `jobs` compile at once; `addresses` are where files of its libraries can be fetched, by name; what the build
    prints goes to the file `log`. Where `repository` is a copy that goes, `origin` is what it is known by;
    `shared_cache` is the address of a compiler cache that hosts share, empty if there is none."""

    recipe: Recipe
    engine: Engine
    repository: Path
    patches_dir: Path
    log: Path
    jobs: int = 2
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sandbox: Kind = Kind.NONE
    origin: str = ""
    shared_cache: str = ""


@dataclass(frozen=True)
class Built:
    """A recipe carried out: its `result`, without output; `artifact` is the digest under which that is kept in the home
    directory of whoever ordered it, None unless built; `started` in epoch seconds; `host` is empty for this one."""

    result: BuildResult
    artifact: str | None
    started: float
    host: str = ""


@dataclass(frozen=True)
class DrawOrder:
    """A recipe to be carried out once more, and its program linked in other orders: one for each number of `links`."""

    build: BuildOrder
    links: tuple[int, ...]


@dataclass(frozen=True)
class Drawn:
    """What came of it: the digests under which the redraws are kept, by their numbers; else as in
    `builders.redraw.Redrawn`."""

    outcome: Outcome
    artifacts: Mapping[int, str]
    wall_seconds: float
    first_error: str
    cache_hits: int
    cache_misses: int
    code: str
    host: str = ""


@dataclass(frozen=True)
class ProbeOrder:
    """A probe to be made of the artifact with a digest, which was built of the commit `sha`; with `only_asks` nothing
    is measured but the variables are asked for; `purpose` is told; else as in `workloads.probe.ProbeRequest`."""

    engine: Engine
    sha: str
    artifact: str
    version: Version
    test: Test
    parameters: Mapping[str, str]
    counter: Counter
    purpose: str
    only_asks: bool = False
    instructions: bool = True
    clock: bool = True
    simulations: tuple[Simulation, ...] = ()
    profiled: str = INSTRUCTIONS
    sandbox: Kind = Kind.NONE


@dataclass(frozen=True)
class Probed:
    """What came of a probe: samples, or the `error`; whether a setting of the user's was `refused`, or the disk was
    `full`; `seconds` is what it took, `started` in epoch seconds; `host` is empty for this one."""

    samples: Samples | None
    error: str | None
    started: float
    seconds: float
    refused: bool = False
    full: bool = False
    host: str = ""


class Handle(Protocol[Result_co]):
    """Something that was ordered."""

    def done(self) -> bool:
        """Whether it has ended, however that was."""

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end; False if `timeout_s` passed first. What is carried out by the asker itself is carried out
        now, however long that takes."""

    def result(self) -> Result_co:
        """What came of it, once it has ended; raises UserError if it could not be carried out, Cancelled."""

    def cancel(self) -> None:
        """End it; nothing of it is kept."""


class Executor(Protocol):
    """Who carries out builds and probes. What happens on the way is told while a handle is waited for."""

    @property
    def here(self) -> bool:
        """Whether all is done on this host, with its compilers and libraries."""

    @property
    def toolchains(self) -> Sequence[Toolchain]:
        """The compilers that builds can be made with."""

    @property
    def redraws(self) -> str:
        """Why builds cannot be linked in other orders, in one line; empty if they can."""

    @property
    def builders(self) -> int:
        """So many builds can be made at once."""

    def hosts(self) -> Sequence[HostThere]:
        """The other hosts that are there, by their names; empty without any. Raises UserError if that cannot be
        asked."""

    @property
    def fingerprint(self) -> Mapping[str, str | int]:
        """What is known of the host that probes run on."""

    def at(self, host: Mapping[str, str | int]) -> Self:
        """The same for what began with a host of that fingerprint; raises UserError if its probes cannot be made."""

    def counters(self) -> Mapping[Counter, str]:
        """By its name why a counter does not work where probes run; empty if it does."""

    def sandbox(self, wish: Wish, tell: Watch) -> Kind:
        """What builds and probes can run in; `tell` is told where that is less than was wished. Raises UserError where
        it must not be."""

    def build(self, order: BuildOrder, tell: Watch) -> Handle[Built]:
        """Have a recipe carried out."""

    def draw(self, order: DrawOrder, tell: Watch) -> Handle[Drawn]:
        """Have a build linked in other orders."""

    def probe(self, order: ProbeOrder, tell: Watch) -> Handle[Probed]:
        """Have a probe made."""

    def close(self) -> None:
        """Cancel what has not ended, and let go of all hosts."""
