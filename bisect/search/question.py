"""What one bisection asks, resolved to commits; stored as it is, so that a resumed run asks exactly the same."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import INSTRUCTIONS, SIMULATED, Counter, Simulation
from cpubisect.base.plain import Plain
from cpubisect.base.sandbox.policy import Wish


class Find(StrEnum):
    """Which way the wanted step goes."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"

    @property
    def direction(self) -> int:
        """+1 if the wanted step raises the cost, else -1."""
        return 1 if self is Find.REGRESSION else -1

    @property
    def opposite(self) -> "Find":
        """The other way."""
        return Find.IMPROVEMENT if self is Find.REGRESSION else Find.REGRESSION


class MetricChoice(StrEnum):
    """What to search on: `auto` takes instructions where the ends differ in them, else CPU time; what is simulated is
    taken for regressions that instructions do not see."""

    AUTO = "auto"
    INSTRUCTIONS = "instructions"
    CPU = "cpu"
    L1_MISSES = "l1-misses"
    LL_MISSES = "ll-misses"
    MISPREDICTIONS = "branch-mispredictions"

    @property
    def counted(self) -> str:
        """The metric of which the counts are searched, and which profiles, call graphs and suspects are of."""
        own = f"{self}/query"
        return own if own in SIMULATED else INSTRUCTIONS

    @property
    def clocked(self) -> bool:
        """Whether CPU time may be searched on."""
        return self in (MetricChoice.AUTO, MetricChoice.CPU)

    def simulations(self, asked: Collection[Simulation] = ()) -> tuple[Simulation, ...]:
        """What is to be simulated for it, and what was asked for beside."""
        return tuple(one for one in Simulation if one in asked or one is SIMULATED.get(self.counted))


@dataclass(frozen=True)
class Question(Plain):
    """`good` and `bad` are the names given, `good_sha` and `bad_sha` what they resolved to; `repository` is a path.

    `parameters` are, per test, its settings with those of the user's, `given`, that it knows applied; `min_step` is
    the smallest step wanted, in percent, or None for the default; `toolchain` is a name of the matrix or None for its
    preference; `matrix` is the path of the compiler matrix in use; `jobs` compile at once; `counter` is how
    instructions are to be counted, None for the best that the host has; `simulations` are what that simulates beside,
    in every count; `first` says that the largest step is enough, `both_sides` that what good's own branch made of the
    cost since the fork point is to be searched too; `screen` that the search is to go by the engine's cheaper builds,
    and only what it finds is measured in ordinary ones; `flags` are those that commits are compiled by;
    `unsafe_settings` says that settings were let through which can do more than change what is measured; `sandbox` says
    if builds and probes are to run in one.
    """

    engine: str
    repository: str
    good: str
    bad: str
    good_sha: str
    bad_sha: str
    tests: tuple[str, ...]
    matrix: str
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    metric: MetricChoice = MetricChoice.AUTO
    find: Find = Find.REGRESSION
    min_step: float | None = None
    toolchain: str | None = None
    jobs: int = 2
    counter: Counter | None = None
    first: bool = False
    simulations: tuple[Simulation, ...] = ()
    flags: Flags = Flags.PINNED
    both_sides: bool = False
    screen: bool = False
    unsafe_settings: bool = False
    sandbox: Wish = Wish.AUTO
