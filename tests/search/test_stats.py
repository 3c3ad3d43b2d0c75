import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_ind

from cpubisect.search.stats import Step, spread_percent, step, widened

positive = st.floats(min_value=1.0, max_value=1e9)


def test_a_clear_step_is_sure_and_has_its_size() -> None:
    found = step([100.0, 100.2, 99.8], [112.0, 112.3, 111.7])
    assert found.sure
    assert found.low < 12.0 < found.high
    assert found.percent == pytest.approx(12.0)


def test_noise_larger_than_the_step_is_not_sure() -> None:
    found = step([90.0, 110.0, 100.0], [95.0, 113.0, 99.0])
    assert not found.sure
    assert found.low < 0 < found.high


def test_equal_exact_counts_have_a_point_interval() -> None:
    assert step([5.0, 5.0], [5.0, 5.0]) == step([7.0, 7.0], [7.0, 7.0])
    assert step([5.0, 5.0], [5.0, 5.0]).visible == 0.0


@given(positive, positive, st.integers(2, 8), st.integers(2, 8))
def test_equal_counts_of_any_size_have_a_point_interval(before: float, after: float, few: int, many: int) -> None:
    found = step([before] * few, [after] * many)
    assert (found.low, found.high, found.visible) == (found.percent, found.percent, 0.0)


@given(st.lists(st.floats(1, 100), min_size=2, max_size=8))
def test_a_single_sample_takes_the_spread_of_the_other_side(after: list[float]) -> None:
    found, count = step(after[:1], after), len(after)
    error = statistics.stdev(after) / statistics.fmean(after) * math.sqrt(1 + 1 / count)
    freedom = (1 + 1 / count) ** 2 / (1 + 1 / count**2 / (count - 1))
    if found.bounded:
        half = (math.log1p(found.high / 100) - math.log1p(found.low / 100)) / 2
        assert half == pytest.approx(student.ppf(0.995, freedom) * error, rel=1e-9, abs=1e-9)


def test_one_sample_a_side_says_nothing() -> None:
    found = step([5.0], [6.0])
    assert found.low == -math.inf
    assert found.high == math.inf
    assert not found.sure


def test_samples_that_bound_nothing_have_no_interval() -> None:
    found = step([100.0, 300.0], [100.0, 900.0])
    assert found.percent == pytest.approx(150.0)
    assert not found.bounded
    assert not found.sure
    assert found.visible == math.inf


@pytest.mark.parametrize(("before", "after"), [([], [1.0]), ([1.0], [])])
def test_both_sides_need_samples(before: list[float], after: list[float]) -> None:
    with pytest.raises(ValueError, match="both sides"):
        step(before, after)


@pytest.mark.parametrize(("before", "after"), [([0.0, 0.0], [1.0, 2.0]), ([1.0, 2.0], [-1.0, 0.5])])
def test_a_mean_that_is_not_positive_says_nothing(before: list[float], after: list[float]) -> None:
    assert step(before, after) == step([5.0], [5.0])


def test_single_samples_below_zero_only_widen_the_interval() -> None:
    assert not step([0.3, -0.1, 0.4], [0.2, 0.5, 0.1]).sure


@given(st.lists(positive, min_size=2, max_size=8), st.lists(positive, min_size=2, max_size=8))
def test_the_interval_holds_the_estimate_and_turns_round(before: list[float], after: list[float]) -> None:
    forth, back = step(before, after), step(after, before)
    assert forth.low <= forth.percent * (1 + 1e-9) + 1e-6
    assert forth.percent <= forth.high * (1 + 1e-9) + 1e-6
    assert forth.sure == back.sure or min(abs(forth.low), abs(forth.high)) < 1e-6


@given(st.lists(positive, min_size=2, max_size=8), st.lists(positive, min_size=2, max_size=8), positive)
def test_the_unit_does_not_matter(before: list[float], after: list[float], scale: float) -> None:
    plain = step(before, after)
    scaled = step([x * scale for x in before], [x * scale for x in after])
    assert scaled.percent == pytest.approx(plain.percent, rel=1e-6, abs=1e-6)
    assert scaled.sure == plain.sure or min(abs(plain.low), abs(plain.high)) < 1e-4


def test_agrees_with_welchs_test_for_small_relative_noise() -> None:
    before, after = [100.0, 101.0, 99.0, 100.5], [101.0, 102.0, 100.0, 101.5, 103.0]
    for confidence in (0.5, 0.7, 0.9, 0.95):
        expected = ttest_ind(before, after, equal_var=False).pvalue < 1 - confidence
        assert step(before, after, confidence).sure == expected


def test_spread() -> None:
    assert spread_percent([99.0, 101.0]) == pytest.approx(2.0)
    assert spread_percent([5.0]) == 0.0


def test_an_interval_is_as_wide_as_what_the_turns_show() -> None:
    told = Step(2.0, 1.5, 2.5, 0.9)
    assert widened(told, [2.0, 2.1, 1.9]) == told
    assert widened(told, [1.9, 2.0, 2.1] * 4) == told
    wide = widened(told, [-1.0, 5.0, 2.0] * 4)
    half = 3.106 * statistics.stdev([-1.0, 5.0, 2.0] * 4) / math.sqrt(12)
    assert wide.percent == 2.0
    assert (wide.low, wide.high) == pytest.approx((2.0 - half, 2.0 + half), rel=1e-3)
    assert wide.visible > told.visible
