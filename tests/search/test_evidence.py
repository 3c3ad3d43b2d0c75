"""When readings that had no part in finding a step show it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from cpubisect.search.evidence import (
    FEWEST_ROUNDS,
    MOST_PLANNED,
    PLANNED_SIGMAS,
    far,
    median_step,
    rounds_for,
    shown,
)
from cpubisect.search.stats import step

percents = st.floats(0.01, 50.0)
counts = st.lists(st.floats(900.0, 1100.0), min_size=3, max_size=7)


@given(percents, percents)
def test_as_many_rounds_as_make_the_step_clear(percent: float, noise: float) -> None:
    rounds = rounds_for(percent, noise)
    assert FEWEST_ROUNDS <= rounds <= MOST_PLANNED
    sigmas = percent / (noise * math.sqrt(2 / rounds))
    assert sigmas >= PLANNED_SIGMAS * (1 - 1e-9) or rounds == MOST_PLANNED
    assert rounds_for(-percent, noise) == rounds
    assert rounds_for(2 * percent, noise) <= rounds


def test_only_the_expected_way_confirms() -> None:
    assert shown(3.5)
    assert not shown(3.4)
    assert not shown(-9.0)


@given(counts, st.floats(0.01, 5.0))
def test_far_counts_are_those_that_differ_from_the_median(values: list[float], tolerance: float) -> None:
    found = far(values, tolerance)
    middle = (
        sorted(values)[len(values) // 2] if len(values) % 2 else sum(sorted(values)[len(values) // 2 - 1 :][:2]) / 2
    )
    assert all(abs(value / middle - 1) * 100 > tolerance * (1 - 1e-9) for value in found)
    assert far([100.0] * len(values), tolerance) == []


def test_one_wrong_count_of_three_moves_nothing() -> None:
    assert math.isclose(median_step([1000.0, 1000.0, 1010.0], [1100.0] * 3).percent, 10.0)
    assert far([1000.0, 1000.0, 1010.0], 0.125) == [1010.0]


@given(counts, counts)
def test_the_interval_is_as_wide_as_that_of_the_means(before: list[float], after: list[float]) -> None:
    means, found = step(before, after), median_step(before, after)
    assert found.low <= found.percent <= found.high
    assert math.isclose(found.high - found.low, means.high - means.low, rel_tol=1e-9, abs_tol=1e-9)
