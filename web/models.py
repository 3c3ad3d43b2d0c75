"""The shapes of everything that pages show and the API answers; one shape serves a page and its JSON twin.

What reports have too is not described again: it is what the views gather and the search found. Times are epoch seconds,
durations seconds, steps percent, shares and probabilities ratios.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import COUNTERS, Simulation
from cpubisect.records.rows import Host, Repair
from cpubisect.search.comparing.question import LEAST_SIDES, MOST_ROUNDS, MOST_SIDES, ROUNDS
from cpubisect.search.question import Find, MetricChoice
from cpubisect.search.stats import Level
from cpubisect.search.verdict import Culprit, Kind, Verdict
from cpubisect.views.bisection import End
from cpubisect.views.other_flags import OtherFlags
from cpubisect.views.totals import Totals


class Shape(BaseModel):
    """Nothing is changed after it was read from the store."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class WorkerState(Shape):
    """Who runs what is queued."""

    working: bool = Field(description="a worker is there for this home directory")
    running: list[int] = Field(description="bisections that a process is running now")
    queued: list[int] = Field(description="bisections that wait, the next one first")


class Listed(Shape):
    """A bisection in the list of all."""

    id: int
    state: str = Field(description="queued, running, interrupted, cancelled or finished")
    engine: str
    good: str
    bad: str
    tests: list[str]
    kind: Kind | None = Field(description="the kind of its verdict, null before there is one")
    answer: str
    now: str = Field(description="what it did last, empty once it is finished")
    host: str
    created: float
    finished: float | None
    builds: int
    build_seconds: float = Field(description="as in the totals of one bisection")
    probes: int
    probe_seconds: float


class Listing(Shape):
    """Some of all bisections, newest first."""

    bisections: list[Listed]
    total: int
    page: int
    pages: int
    worker: WorkerState


class CommitLine(Shape):
    """A commit that was built or tried, or whose place matters."""

    path: str = Field(description="main, or the merge that brought it")
    position: int | None = Field(description="commits since good on its path; null for the fork point")
    skipped: int = Field(description="candidates between this and the line before that were not measured")
    sha: str
    subject: str
    role: str = Field(description="good, bad, fork point, culprit, or empty")
    outcome: str = Field(description="built, failed, … as the build ended")
    error: str = Field(description="why it cannot be measured")
    equal_to: str | None = Field(description="the commit whose code is equal, and whose probes count for both")
    counted: Level | None = Field(description="its counts of the metric that is counted")
    instructions: Level | None
    cpu_us: Level | None
    step_percent: float | None = Field(description="the search's metric against the measured commit before it")
    build: int = Field(description="id of its build")
    made: bool = Field(description="built for this bisection, not found in the store")
    build_seconds: float
    build_cpu_seconds: float
    cache_hits: int
    cache_misses: int
    toolchain: str
    repairs: int
    probes: int


class Said(Shape):
    """A line of the journal."""

    id: int
    at: float
    kind: str
    text: str
    sha: str = ""


class Coming(Shape):
    """The commit that is measured next, or was last, and why."""

    sha: str
    why: str


class Standing(Shape):
    """How far a bisection is and what it expects."""

    now: str
    building: bool = Field(description="a build is under way, whose output can be read")
    since: float | None
    next: Coming | None
    price: str = Field(description="what the search is likely to cost, said before it starts")
    posterior: str = Field(description="where the search thinks the step is")
    suspects: str
    classes: int | None = Field(description="groups of candidates that cannot differ in the binary")
    expected_builds: int | None = Field(description="builds that are likely in all")
    stopped: str = Field(description="why it does not go on by itself")
    hosts: list[str] = Field(description="what each host of the cluster does now, and what waits for one, in lines")


class Overview(Shape):
    """One bisection: its question, how far it is, what was measured, and its answer."""

    id: int
    state: str
    engine: str
    repository: str
    good: End
    bad: End
    test: str = Field(description="the test that is shown")
    tests: list[str]
    parameters: Mapping[str, str] = Field(description="the shown test's settings")
    given: Mapping[str, str]
    find: Find
    metric: MetricChoice
    counted: str = Field(description="the metric that is counted")
    regime: str | None
    counter: str | None
    min_step: float | None
    toolchain: str | None
    flags: Flags = Field(description="those that commits are compiled by")
    created: float
    finished: float | None
    host: Host
    totals: Totals
    progress: Standing
    verdict: Verdict | None = Field(description="of the shown test")
    other_flags: OtherFlags | None = Field(description="what other flags say of the difference, if it is much another")
    commits: list[CommitLine]
    said: list[Said] = Field(description="the last lines of the journal")


class Journal(Shape):
    """What happened in a bisection, in order."""

    id: int
    said: list[Said]


class Candidate(Shape):
    """A commit between good and bad."""

    path: str
    position: int
    sha: str
    same_binary_as: str
    subject: str


class Candidates(Shape):
    """Some of the candidates of a bisection."""

    id: int
    total: int
    offset: int
    candidates: list[Candidate]


class BuildView(Shape):
    """One build of a bisection with its whole record."""

    bisection: int
    id: int
    sha: str
    subject: str
    outcome: str
    first_error: str
    recipe: Mapping[str, Any] = Field(description="everything that decides the binary")
    repairs: tuple[Repair, ...]
    diff: str
    cpu_seconds: float
    wall_seconds: float
    cache_hits: int
    cache_misses: int
    sandbox: str = Field(description="what it was made in, bubblewrap or none")
    log: str = Field(description="the end of its output")
    log_bytes: int = Field(description="length of the whole output")
    probes: list[int]


class FunctionCost(Shape):
    """A function's own cost in the metric that is counted."""

    function: str
    cost: float


class ProbeView(Shape):
    """One probe of a bisection with all its samples."""

    bisection: int
    id: int
    build: int
    sha: str
    test: str
    purpose: str
    started: float
    seconds: float
    error: str | None
    note: str = Field(description="what must be known of the samples; empty if nothing")
    commands: list[str]
    values: dict[str, list[float]]
    variables: dict[str, str]
    counted: str = Field(description="the metric of its functions")
    functions: list[FunctionCost] = Field(description="the most expensive ones")


class CulpritView(Shape):
    """A commit that was named, with all that a bug report needs."""

    bisection: int
    state: str
    engine: str
    test: str
    good: End
    bad: End
    culprit: Culprit
    counted: str = Field(description="the metric of its functions and its flame graph")
    builds: list[BuildView] = Field(description="of the parent and of the culprit, where they are known")
    host: Host
    reproduce: str


class ComparedBuild(Shape):
    """A build that is compared: a commit with the names it was asked for by."""

    engine: str
    sha: str
    name: str
    host: str


class Cell(Shape):
    """One build in one test: values per query, and each relative to the base column's (a ratio)."""

    qps: float | None
    instructions: float | None
    cpu_us: float | None
    relative_qps: float | None
    relative_instructions: float | None
    relative_cpu: float | None


class ComparedTest(Shape):
    """One test with the same settings everywhere; `cells` are in the order of the columns."""

    test: str
    settings: dict[str, str] = Field(description="those that differ from the test's defaults")
    cells: list[Cell]


class ComparedGroup(Shape):
    """Tests of one kind."""

    name: str
    lines: list[ComparedTest]


class Comparison(Shape):
    """Builds side by side, relative to the first column."""

    columns: list[ComparedBuild]
    choices: list[ComparedBuild] = Field(description="all builds that were probed")
    groups: list[ComparedGroup]


class Repository(Shape):
    """A repository that bisections may be started in."""

    name: str
    here: bool = Field(description="a clone is on this host; otherwise one is made on first use")


class TestChoice(Shape):
    """A test that bisections may be started with."""

    __test__ = False  # not a pytest class

    engine: str
    name: str
    group: str
    summary: str
    parameters: dict[str, str]


class Choices(Shape):
    """What a bisection can be started with."""

    repositories: list[Repository]
    tests: list[TestChoice]
    toolchains: list[str]

    def menu(self) -> list[tuple[str, list[TestChoice]]]:
        """The tests for a list to choose from, each name once, by groups under the engines that have any of them."""
        engines: dict[str, dict[str, None]] = {}
        for test in self.tests:
            engines.setdefault(test.name, {})[test.engine] = None
        found: dict[tuple[str, str], dict[str, TestChoice]] = {}
        for test in self.tests:
            found.setdefault((next(iter(engines[test.name])), test.group), {}).setdefault(test.name, test)
        return [
            (f"{', '.join(dict.fromkeys(one for name in tests for one in engines[name]))}: {group}", [*tests.values()])
            for (_, group), tests in found.items()
        ]


class Wanted(BaseModel):
    """What is said of every measurement that is to be started."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    repository: str = Field(min_length=1, max_length=200, description="a name from /api/choices")
    settings: dict[str, str] = Field(default={}, description="parameters of the tests, as with --set")
    toolchain: str | None = Field(default=None, max_length=100)
    flags: str = Field(
        default="pinned",
        pattern=f"^({'|'.join(Flags)})$",
        description="one set for all, or those of each release build",
    )
    counter: str | None = Field(
        default=None, pattern=f"^({'|'.join(COUNTERS)})$", description="default: the host's best"
    )


class Request(Wanted):
    """A bisection to be started, as the arguments of `bisect start`."""

    good: str = Field(min_length=1, max_length=200, description="a version, tag, branch or commit")
    bad: str = Field(min_length=1, max_length=200)
    tests: list[str] = Field(min_length=1, max_length=50)
    metric: str = Field(default="auto", pattern=f"^({'|'.join(MetricChoice)})$")
    find: str = Field(default="regression", pattern="^(regression|improvement)$")
    min_step: float | None = Field(default=None, ge=0.001, le=1000, description="percent")
    first: bool = Field(default=False, description="the largest step is enough")
    both_sides: bool = Field(default=False, description="search also what good's own branch saved since the fork point")
    screen: bool = Field(default=False, description="search by cheaper builds, and confirm by ordinary ones")
    simulations: list[Simulation] = Field(
        default=[], max_length=len(Simulation), description="what callgrind simulates"
    )


class ComparisonRequest(Wanted):
    """A comparison to be started, as the arguments of `bisect compare`."""

    versions: list[str] = Field(min_length=LEAST_SIDES, max_length=MOST_SIDES, description="the base first")
    tests: list[str] = Field(default=[], max_length=200)
    groups: list[str] = Field(default=[], max_length=50, description="of tests, as with --tests")
    clients: list[Annotated[int, Field(ge=1, le=10_000)]] = Field(
        default=[], max_length=20, description="a row for each number of them; default: as the test says"
    )
    rounds: int = Field(default=ROUNDS, ge=2, le=MOST_ROUNDS)


class Started(Shape):
    """What became of a request."""

    id: int
    state: str


class Problem(Shape):
    """Why a request was refused, and what to do."""

    problem: str
    next_step: str = ""
