"""PURE: samples of several versions → tables of relative values with intervals, test by test and by groups.

Below 1 is always worse: QPS is the version's over the base's, and what a query costs is the base's over the version's.
So one rule colours all tables, and a version that is bound by its CPU has the same value in QPS and in CPU time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from statistics import fmean, median

from cpubisect.base.metrics import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS
from cpubisect.base.plain import Plain
from cpubisect.search.stats import step

COMPARED = (QPS, INSTRUCTIONS, CPU, CONTEXT_SWITCHES)
"""The metrics that have a table, in this order."""

MORE_IS_BETTER = (QPS,)

WORSE_BELOW, BETTER_ABOVE = 0.95, 1.05
"""A value beyond these is coloured: the limits of the relative-QPS tables that are published for releases of MySQL."""

Values = Mapping[str, Sequence[Sequence[float]]]
"""By metric, the readings of each version in one test, one per probe; none where there are no probes."""


class Tone(StrEnum):
    """How a value is coloured: worse yellow, better blue, and not at all if that is not sure or not much."""

    WORSE = "worse"
    BETTER = "better"
    NONE = ""


@dataclass(frozen=True)
class Cell(Plain):
    """What one version has in one test and metric: the mean `value` of so many `samples`, and `relative` to the base
    with its 99 % interval; None where it has not been measured, and where nothing bounds it."""

    value: float | None = None
    relative: float | None = None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    tone: Tone = Tone.NONE


@dataclass(frozen=True)
class Line(Plain):
    """One test: its label in the tables, and a cell for each version."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Spread(Plain):
    """What the tests of a group come to for one version: the least, middle and largest relative value of so many
    `tests`, and how many of them are coloured."""

    least: float
    median: float
    largest: float
    tests: int
    worse: int
    better: int


@dataclass(frozen=True)
class Group(Plain):
    """Tests of one kind; a spread for each version, None where no test has a relative value."""

    name: str
    lines: tuple[Line, ...]
    spreads: tuple[Spread | None, ...]


@dataclass(frozen=True)
class MetricTable(Plain):
    """All groups in one metric."""

    metric: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Measured:
    """The readings of one test: `label` and `group` as shown; counts of one build of it are known to be
    `spread_percent` apart."""

    label: str
    group: str
    values: Values
    spread_percent: float = 0.0


def tables(rows: Sequence[Measured], sides: int, base: int = 0) -> tuple[MetricTable, ...]:
    """The tables of all metrics that were measured, for so many versions, relative to the one at `base`."""
    return tuple(
        _table(metric, rows, sides, base)
        for metric in COMPARED
        if any(any(own) for row in rows if (own := row.values.get(metric)))
    )


def cell(metric: str, base: Sequence[float], own: Sequence[float], spread_percent: float = 0.0) -> Cell:
    """One version's readings against the base's: the ratio of their means with Welch's interval on the log scale, of
    instructions never narrower than counts of one build are apart. Readings whose mean is not positive have no ratio.
    """
    if not own:
        return Cell()
    value = fmean(own)
    if not base or fmean(base) <= 0 or value <= 0:
        return Cell(value=value, samples=len(own))
    found = step(base, own) if metric in MORE_IS_BETTER else step(own, base)
    relative = 1 + found.percent / 100
    if not found.bounded:
        return Cell(value, relative, samples=len(own))
    least = relative * spread_percent / 100 if metric == INSTRUCTIONS else 0.0
    low, high = min(1 + found.low / 100, relative - least), max(1 + found.high / 100, relative + least)
    return Cell(value, relative, low, high, len(own), tone(relative, low, high))


def tone(relative: float, low: float | None, high: float | None) -> Tone:
    """The colour of a value: none where its interval holds 1 or is unknown."""
    if low is None or high is None or low <= 1 <= high:
        return Tone.NONE
    if relative < WORSE_BELOW:
        return Tone.WORSE
    return Tone.BETTER if relative > BETTER_ABOVE else Tone.NONE


def spread(cells: Sequence[Cell]) -> Spread | None:
    """What the cells of one version come to; None if none has a relative value."""
    known = [one.relative for one in cells if one.relative is not None and isfinite(one.relative)]
    if not known:
        return None
    tones = [one.tone for one in cells]
    return Spread(min(known), median(known), max(known), len(known), tones.count(Tone.WORSE), tones.count(Tone.BETTER))


def _table(metric: str, rows: Sequence[Measured], sides: int, base: int) -> MetricTable:
    groups = []
    for name in dict.fromkeys(row.group for row in rows):
        lines = tuple(_line(metric, row, sides, base) for row in rows if row.group == name)
        spreads = tuple(spread([line.cells[side] for line in lines]) for side in range(sides))
        groups.append(Group(name, lines, spreads))
    return MetricTable(metric, tuple(groups))


def _line(metric: str, row: Measured, sides: int, base: int) -> Line:
    found = row.values.get(metric) or [()] * sides
    of_base = found[base]
    return Line(
        row.label,
        tuple(
            Cell(fmean(own), 1.0, 1.0, 1.0, len(own))
            if side == base and own and fmean(own) > 0
            else cell(metric, of_base, own, row.spread_percent)
            for side, own in enumerate(found)
        ),
    )
