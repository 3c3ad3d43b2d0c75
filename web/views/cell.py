"""What is behind a cell of a comparison: the probes of both, what changed, and the bisection to ask for next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cpubisect.base.errors import Missing
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import METRICS, Counter, reading
from cpubisect.base.plain import Plain
from cpubisect.records.comparisons import Comparisons, Probed
from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import mean_profile
from cpubisect.search.comparing.question import Asked, Row, Side
from cpubisect.search.comparing.relative import COMPARED, Tone
from cpubisect.search.question import Find
from cpubisect.views.comparison import BUILT, SideBySide, gather_comparison

FUNCTIONS_SHOWN = 25


@dataclass(frozen=True)
class Grown(Plain):
    """A function's self cost per query, before and after."""

    function: str
    before: float
    after: float


@dataclass(frozen=True)
class CellProbe(Plain):
    """A probe with one reading for each metric; `error` says why it failed, `note` what must be known of it."""

    id: int
    seconds: float
    readings: Mapping[str, float]
    error: str | None
    note: str


@dataclass(frozen=True)
class CellSide(Plain):
    """A version in a row; `problem` says why it could not be built."""

    name: str
    sha: str
    problem: str
    probes: tuple[CellProbe, ...]


@dataclass(frozen=True)
class Onward(Plain):
    """The bisection that would ask what a cell shows; None is what is left to the matrix and the host."""

    good: str
    bad: str
    test: str
    find: Find
    settings: Mapping[str, str]
    flags: Flags
    toolchain: str | None
    counter: Counter | None


@dataclass(frozen=True)
class CellView(Plain):
    """What is behind the cell of a `version` in a `row`: `sides` are the base and, unless it is the base, the version;
    `metrics` those that were measured, `grown` the functions whose cost changed most; `onward` is None where there are
    no two sides with readings."""

    comparison: int
    repository: str
    label: str
    row: Row
    base: str
    version: str
    sides: tuple[CellSide, ...]
    metrics: tuple[str, ...]
    grown: tuple[Grown, ...]
    onward: Onward | None


def cell_view(comparisons: Comparisons, comparison: int, label: str, version: str) -> CellView:
    """What is behind the cell of a version in a row; raises Missing if there is no such row or version."""
    asked = comparisons.row(comparison).asked
    row = next((one for one in asked.rows if asked.label(one) == label), None)
    side = next((one for one in asked.sides if one.name == version), None)
    if row is None or side is None:
        raise Missing("there is no such cell", "go back to the comparison")
    told = gather_comparison(comparisons, comparison)
    base = _base(asked, told)
    own = [probe for probe in comparisons.probes(comparison) if (probe.test, probe.clients) == (row.test, row.clients)]
    made = {one: [probe for probe in own if probe.sha == one.sha] for one in (base, side)}
    sides = tuple(_side(one, told, probes) for one, probes in made.items())
    measured = {metric for one in sides for probe in one.probes for metric in probe.readings}
    comparable = len(sides) > 1 and all(any(probe.readings for probe in one.probes) for one in sides)
    return CellView(
        comparison=comparison,
        repository=asked.repository,
        label=label,
        row=row,
        base=base.name,
        version=version,
        sides=sides,
        metrics=tuple(metric for metric in METRICS if metric in measured),
        grown=_grown(comparisons, comparison, list(made.values())),
        onward=_onward(asked, told, row, base, side) if comparable else None,
    )


def _base(asked: Asked, told: SideBySide) -> Side:
    built = (side for side, known in zip(asked.sides, told.versions, strict=True) if known.outcome == BUILT)
    return next(built, asked.sides[0])


def _side(side: Side, told: SideBySide, probes: Sequence[Probed]) -> CellSide:
    problem = next(version.problem for version in told.versions if version.name == side.name)
    return CellSide(side.name, side.sha, problem, tuple(_probe(probe) for probe in probes))


def _probe(probe: Probed) -> CellProbe:
    readings = {metric: reading(metric, samples) for metric, samples in probe.values.items()}
    return CellProbe(probe.id, probe.seconds, readings, probe.error, probe.note)


def _grown(comparisons: Comparisons, comparison: int, sides: Sequence[Sequence[Probed]]) -> tuple[Grown, ...]:
    """From the profiles of the counts of both; none where one has none."""
    profiles = []
    for probes in sides:
        counted = [probe.id for probe in probes if probe.purpose == Purpose.SEARCH and not probe.error]
        rows = [row for one in counted for row in comparisons.store.probes(comparison, probe=one) if row.profile]
        profiles.append(mean_profile(rows))
    if len(profiles) < 2 or not all(profiles):
        return ()
    before, after = profiles
    changes = [Grown(name, before.get(name, 0.0), after.get(name, 0.0)) for name in before.keys() | after.keys()]
    changes.sort(key=lambda one: (-abs(one.after - one.before), one.function))
    return tuple(one for one in changes[:FUNCTIONS_SHOWN] if abs(one.after - one.before) >= 0.1)


def _onward(asked: Asked, told: SideBySide, row: Row, base: Side, side: Side) -> Onward:
    clients = {"clients": str(row.clients)} if row.clients > 1 else {}
    return Onward(
        good=base.name,
        bad=side.name,
        test=row.test,
        find=_find(told, asked.label(row), side.name),
        settings={**asked.given, **clients},
        flags=asked.flags,
        toolchain=asked.toolchain,
        counter=asked.counter,
    )


def _find(told: SideBySide, label: str, version: str) -> Find:
    """An improvement if the version is surely better in the first of the metrics in which it is sure."""
    number = [one.name for one in told.versions].index(version)
    tones = {
        table.metric: line.cells[number].tone
        for table in told.tables
        for group in table.groups
        for line in group.lines
        if line.label == label
    }
    sure = next((tones[metric] for metric in COMPARED if tones.get(metric)), Tone.NONE)
    return Find.IMPROVEMENT if sure is Tone.BETTER else Find.REGRESSION
