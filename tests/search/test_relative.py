"""From samples to relative values: what is coloured, and what the groups come to."""

from statistics import fmean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.metrics import CPU, INSTRUCTIONS, QPS
from cpubisect.search.comparing.relative import (
    BETTER_ABOVE,
    WORSE_BELOW,
    Cell,
    Measured,
    MetricTable,
    Tone,
    cell,
    spread,
    tables,
    tone,
)

READINGS = st.lists(st.floats(0.01, 1e9), min_size=1, max_size=6)
METRIC = st.sampled_from((QPS, CPU, INSTRUCTIONS))


@given(metric=METRIC, base=READINGS, own=READINGS, apart=st.floats(0, 5))
def test_the_interval_holds_the_value_and_no_colour_is_unsure(
    metric: str, base: list[float], own: list[float], apart: float
) -> None:
    found = cell(metric, base, own, apart)
    assert found.relative is not None
    expected = fmean(own) / fmean(base) if metric == QPS else fmean(base) / fmean(own)
    assert found.relative == pytest.approx(expected)
    if found.low is not None and found.high is not None:
        assert found.low <= found.relative * (1 + 1e-9)
        assert found.high >= found.relative * (1 - 1e-9)
    if found.tone is not Tone.NONE:
        assert found.low is not None
        assert found.high is not None
        assert not found.low <= 1 <= found.high
        assert (found.tone is Tone.WORSE) == (found.relative < WORSE_BELOW)
        assert (found.tone is Tone.BETTER) == (found.relative > BETTER_ABOVE)


@given(base=READINGS, own=READINGS, scale=st.floats(0.01, 100))
def test_the_unit_does_not_matter(base: list[float], own: list[float], scale: float) -> None:
    one, other = cell(CPU, base, own), cell(CPU, [b * scale for b in base], [o * scale for o in own])
    assert one.relative == pytest.approx(other.relative)


@given(base=READINGS, own=READINGS)
def test_a_cost_is_the_other_way_round_as_a_rate(base: list[float], own: list[float]) -> None:
    rate, cost = cell(QPS, base, own), cell(CPU, own, base)
    assert (rate.relative, rate.low, rate.high, rate.tone) == (cost.relative, cost.low, cost.high, cost.tone)


@pytest.mark.parametrize(
    ("metric", "base", "own", "expected"),
    [
        (QPS, [100.0, 101.0, 99.0], [80.0, 81.0, 79.0], Tone.WORSE),
        (QPS, [100.0, 101.0, 99.0], [120.0, 121.0, 119.0], Tone.BETTER),
        (QPS, [100.0, 101.0, 99.0], [97.0, 97.1, 96.9], Tone.NONE),
        (QPS, [100.0, 150.0, 50.0], [80.0, 120.0, 40.0], Tone.NONE),
        (CPU, [100.0, 101.0, 99.0], [120.0, 121.0, 119.0], Tone.WORSE),
        (CPU, [100.0, 101.0, 99.0], [80.0, 81.0, 79.0], Tone.BETTER),
        (INSTRUCTIONS, [100.0, 100.0], [110.0, 110.0], Tone.WORSE),
        (INSTRUCTIONS, [100.0], [110.0], Tone.NONE),
    ],
)
def test_what_is_coloured(metric: str, base: list[float], own: list[float], expected: Tone) -> None:
    assert cell(metric, base, own).tone is expected


def test_counts_that_are_known_to_scatter_have_an_interval_at_least_as_wide() -> None:
    sure, unsure = (cell(INSTRUCTIONS, [100.0] * 3, [107.0] * 3, apart) for apart in (0.0, 10.0))
    assert (sure.tone, unsure.tone) == (Tone.WORSE, Tone.NONE)
    assert unsure.low == pytest.approx(0.9 * 100 / 107)


@pytest.mark.parametrize(("base", "own"), [([], [1.0]), ([0.0], [1.0]), ([1.0], [0.0]), ([-1.0], [2.0])])
def test_what_has_no_ratio_has_no_colour(base: list[float], own: list[float]) -> None:
    found = cell(CPU, base, own)
    assert (found.value, found.relative, found.low, found.tone) == (fmean(own), None, None, Tone.NONE)
    assert cell(CPU, [1.0], []) == Cell()


@pytest.mark.parametrize(("low", "high"), [(None, 0.9), (0.5, None), (1.0, 1.0), (0.2, 1.0)])
def test_an_interval_that_holds_1_or_is_unknown_has_no_colour(low: float | None, high: float | None) -> None:
    assert tone(0.5, low, high) is Tone.NONE


@given(st.lists(st.one_of(st.none(), st.floats(0.01, 100)), max_size=9))
def test_a_spread_is_of_what_there_is(values: list[float | None]) -> None:
    found = spread([Cell(value=1.0, relative=value) for value in values])
    known = [value for value in values if value is not None]
    if not known:
        assert found is None
        return
    assert found is not None
    assert (found.least, found.median, found.largest) == (min(known), median(known), max(known))
    assert (found.tests, found.worse, found.better) == (len(known), 0, 0)


def measured(label: str, group: str, *values: list[float]) -> Measured:
    return Measured(label, group, {QPS: values})


def test_tests_are_grouped_in_their_order_and_the_base_is_1() -> None:
    rows = [
        measured("a", "point queries", [10.0, 10.0], [9.0, 9.0], []),
        measured("b", "writes", [], [4.0, 4.0], [5.0, 5.0]),
        measured("c", "point queries", [10.0, 10.0], [12.0, 12.0], [8.0, 8.0]),
    ]
    (table,) = tables(rows, 3)
    assert (table.metric, [group.name for group in table.groups]) == (QPS, ["point queries", "writes"])
    points, writes = table.groups
    assert [line.label for line in points.lines] == ["a", "c"]
    assert [line.cells[0].relative for line in points.lines] == [1.0, 1.0]
    assert [cell.relative for cell in points.lines[0].cells] == [1.0, pytest.approx(0.9), None]
    second = points.spreads[1]
    assert second is not None
    assert (second.least, second.median, second.largest) == pytest.approx((0.9, 1.05, 1.2))
    assert (second.worse, second.better) == (1, 1)
    assert [cell.relative for cell in writes.lines[0].cells] == [None, None, None]
    assert writes.spreads == (None, None, None)
    assert MetricTable.from_json(table.to_json()) == table


def test_another_version_can_be_the_base() -> None:
    (table,) = tables([measured("a", "writes", [], [4.0, 4.0], [5.0, 5.0])], 3, base=1)
    assert [cell.relative for cell in table.groups[0].lines[0].cells] == [None, 1.0, 1.25]


def test_a_metric_that_nobody_measured_has_no_table() -> None:
    assert tables([Measured("a", "writes", {QPS: [[1.0]], CPU: [[], []]})], 1)[0].metric == QPS
    assert tables([], 2) == ()
