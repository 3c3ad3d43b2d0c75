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
from cpubisect.search.costs import by_bare_name
from cpubisect.search.question import Find
from cpubisect.views.comparison import OneRow, Version, gather_row

FUNCTIONS_SHOWN = 25


@dataclass(frozen=True)
class Grown(Plain):
    """The self cost per query, before and after, of all functions of one name, whatever their arguments."""

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
    told = gather_row(comparisons, comparison, asked, row)
    base, number = told.base or 0, asked.sides.index(side)
    shown = list(dict.fromkeys((base, number)))
    sides = tuple(_side(told.versions[one], told.probes[one]) for one in shown)
    measured = {metric for one in sides for probe in one.probes for metric in probe.readings}
    comparable = len(sides) > 1 and all(any(probe.readings for probe in one.probes) for one in sides)
    return CellView(
        comparison=comparison,
        repository=asked.repository,
        label=label,
        row=row,
        base=asked.sides[base].name,
        version=version,
        sides=sides,
        metrics=tuple(metric for metric in METRICS if metric in measured),
        grown=_grown(comparisons, comparison, [told.probes[one] for one in shown]),
        onward=_onward(asked, row, asked.sides[base], side, _find(told, number)) if comparable else None,
    )


def _side(version: Version, probes: Sequence[Probed]) -> CellSide:
    return CellSide(version.name, version.sha, version.problem, tuple(_probe(probe) for probe in probes))


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
    return grown(*profiles)


def grown(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[Grown, ...]:
    """Of two profiles the functions whose cost changed most: by their bare names, since between releases a signature
    changes more easily than what a function does."""
    old, new = by_bare_name(before), by_bare_name(after)
    changes = [Grown(name, old.get(name, 0.0), new.get(name, 0.0)) for name in old.keys() | new.keys()]
    changes.sort(key=lambda one: (-abs(one.after - one.before), one.function))
    return tuple(one for one in changes[:FUNCTIONS_SHOWN] if abs(one.after - one.before) >= 0.1)


def _onward(asked: Asked, row: Row, base: Side, side: Side, find: Find) -> Onward:
    clients = {"clients": str(row.clients)} if row.clients > 1 else {}
    return Onward(
        good=base.name,
        bad=side.name,
        test=row.test,
        find=find,
        settings={**asked.given, **clients},
        flags=asked.flags,
        toolchain=asked.toolchain,
        counter=asked.counter,
    )


def _find(told: OneRow, version: int) -> Find:
    """An improvement if the version is surely better in the first of the metrics in which it is sure."""
    tones = {table.metric: table.groups[0].lines[0].cells[version].tone for table in told.tables}
    sure = next((tones[metric] for metric in COMPARED if tones.get(metric)), Tone.NONE)
    return Find.IMPROVEMENT if sure is Tone.BETTER else Find.REGRESSION
