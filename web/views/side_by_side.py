"""A comparison's page: the tables, and what is behind one of their cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cpubisect.base.errors import Missing
from cpubisect.base.metrics import METRICS, reading
from cpubisect.records.comparisons import Comparisons, Probed
from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import mean_profile
from cpubisect.search.comparing.question import Asked, Row, Side
from cpubisect.search.comparing.relative import COMPARED, Tone
from cpubisect.views.comparison import BUILT, SideBySide, gather_comparison

MOST_LISTED = 50
FUNCTIONS_SHOWN = 25
EVENTS_SHOWN = 12


@dataclass(frozen=True)
class Listed:
    """A comparison in one line."""

    id: int
    state: str
    engine: str
    versions: tuple[str, ...]
    tests: tuple[str, ...]
    created: float


@dataclass(frozen=True)
class Grown:
    """A function's self cost per query, before and after."""

    function: str
    before: float
    after: float


@dataclass(frozen=True)
class CellView:
    """What is behind a cell: the probes of the base and of the version in a row, by metric one reading each, and the
    functions whose cost changed most; `find` is what a bisection between them would look for."""

    told: SideBySide
    label: str
    row: Row
    base: Side
    side: Side
    probes: tuple[tuple[Side, tuple[Probed, ...]], ...]
    metrics: tuple[str, ...]
    readings: Mapping[int, Mapping[str, float]]
    grown: tuple[Grown, ...]
    find: str


def comparisons_listed(comparisons: Comparisons) -> list[Listed]:
    """The newest comparisons."""
    return [
        Listed(
            row.id,
            comparisons.state(row.id, row.state),
            row.engine,
            tuple(side.name for side in row.asked.sides),
            row.asked.tests,
            row.created,
        )
        for row in comparisons.all()[:MOST_LISTED]
    ]


def said(comparisons: Comparisons, comparison: int) -> list[tuple[float, str]]:
    """The last lines of a comparison's journal, each with when it happened."""
    entries = comparisons.store.events(comparison)
    lines = [(entry.at, entry.event.sentence) for entry in entries if entry.event.sentence]
    return lines[-EVENTS_SHOWN:]


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
    sides = [base] if side == base else [base, side]
    found = tuple((one, tuple(probe for probe in own if probe.sha == one.sha)) for one in sides)
    values = {probe.id: {metric: reading(metric, some) for metric, some in probe.values.items()} for probe in own}
    measured = {metric for known in values.values() for metric in known}
    return CellView(
        told,
        label,
        row,
        base,
        side,
        found,
        tuple(metric for metric in METRICS if metric in measured),
        values,
        _grown(comparisons, comparison, [probes for _, probes in found]),
        _find(told, label, version),
    )


def _base(asked: Asked, told: SideBySide) -> Side:
    built = (side for side, known in zip(asked.sides, told.versions, strict=True) if known.outcome == BUILT)
    return next(built, asked.sides[0])


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


def _find(told: SideBySide, label: str, version: str) -> str:
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
    return "improvement" if sure is Tone.BETTER else "regression"
