"""PURE: a bisection with everything that is told of it; as plain data that is the report in JSON.

`docs/verdicts.md` describes that form. Times are epoch seconds, durations seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import Counter, Simulation
from cpubisect.base.plain import Plain
from cpubisect.records.rows import Host, Repair
from cpubisect.search.ends import ChangedVariable
from cpubisect.search.question import Find, MetricChoice
from cpubisect.search.verdict import Answer
from cpubisect.views.measured import stand_in
from cpubisect.views.other_flags import OtherFlags
from cpubisect.views.totals import Totals


@dataclass(frozen=True)
class End(Plain):
    """Good or bad: the name that was given and the commit it stands for."""

    name: str
    sha: str

    @property
    def called(self) -> str:
        """What it is called in a sentence: its name, a whole sha cut as all others are."""
        return self.name[:12] if self.name == self.sha else self.name


@dataclass(frozen=True)
class Asked(Plain):
    """A bisection and what it asks: `state` is the one that it is really in; `origin` is the public URL of the clone at
    `repository`, empty if it has none; `parameters` are the settings of each test, of which the user gave `given`;
    `counter_asked` is how instructions were to be counted, None for the best, and `simulations` what was simulated with
    that; `min_step` is in percent; `first` and `both_sides` say that the largest step is enough, and that what
    good's own branch made was to be searched too, `screen` that the search was to go by cheaper builds; `flags` are
    those that commits are compiled by."""

    id: int
    state: str
    engine: str
    repository: str
    origin: str
    good: End
    bad: End
    tests: tuple[str, ...]
    parameters: Mapping[str, Mapping[str, str]]
    given: Mapping[str, str]
    find: Find
    min_step: float | None
    toolchain: str | None
    metric: MetricChoice
    counter_asked: Counter | None
    simulations: tuple[Simulation, ...]
    flags: Flags
    first: bool
    both_sides: bool
    screen: bool
    unsafe_settings: bool


@dataclass(frozen=True)
class Recipe(Plain):
    """How a commit was built, as it is told: `edits` are the edited files, each with the reason, `libraries` say where
    each was taken from; `variant` is the kind of a build that is no ordinary one."""

    compiler: str
    version: str
    system: str = ""
    std: str = ""
    cflags: tuple[str, ...] = ()
    cxxflags: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    forced_includes: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    flags: Flags = Flags.PINNED
    libraries: tuple[str, ...] = ()
    variant: str = ""


@dataclass(frozen=True)
class Built(Plain):
    """A commit that was built, or could not be, for this bisection (`made`) or for an earlier one.

    `values` are its own samples by test and metric, `notes` by test what must be known of them; `equal_to` is the
    commit whose code it has, and whose samples stand in for those that it lacks. `first_error` says why it could not be
    built or probed. `sandbox` is what it was built in, `none` or `bubblewrap`.
    """

    sha: str
    subject: str
    outcome: str
    first_error: str
    toolchain: str
    recipe: Recipe
    repairs: tuple[Repair, ...]
    made: bool
    build_seconds: float
    build_cpu_seconds: float
    cache_hits: int
    cache_misses: int
    sandbox: str
    log: str
    values: Mapping[str, Mapping[str, tuple[float, ...]]]
    equal_to: str | None
    notes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Bisection(Asked):
    """What is asked, how far it is, and what was found: `regime` is, by test, how it is searched, as far as that was
    chosen; `counter` is how instructions are counted, None before that is known; `verdict` is None until the first of
    the tests is answered; `variables` are the server's that differ from good to bad; `other_flags` is, by test, what
    other flags say of the difference, where that was measured and is much another one."""

    regime: Mapping[str, str]
    counter: str | None
    created: float
    finished: float | None
    host: Host
    verdict: Answer | None
    variables: tuple[ChangedVariable, ...]
    totals: Totals
    commits: tuple[Built, ...]
    other_flags: Mapping[str, OtherFlags] = field(default_factory=dict)

    def costs(self, sha: str, test: str, metric: str) -> tuple[float, ...]:
        """The samples of a commit, or of the one that stands in for it; empty if there are none."""
        known = {commit.sha: commit.values.get(test, {}).get(metric, ()) for commit in self.commits}
        equal = {commit.sha: commit.equal_to for commit in self.commits if commit.equal_to}
        return known.get(stand_in(sha, equal, lambda one: bool(known.get(one))), ())
