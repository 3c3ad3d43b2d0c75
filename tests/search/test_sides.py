"""What of a difference is on which side of a fork point."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cpubisect.search.stats import Step, less, step
from cpubisect.search.verdict import Sides

COSTS = st.floats(10.0, 1000.0)


def exact(percent: float) -> Step:
    return Step(percent, percent, percent, 0.0)


def of(good: float, bad: float) -> Sides:
    return Sides.of("f" * 40, exact(good), exact(bad), 0.5)


@pytest.mark.parametrize(
    ("good", "bad", "shares"),
    [
        (0.0, 10.0, (0.0, 1.0)),
        (-10.0, 0.0, (1.0, 0.0)),
        (-4.0, 6.0, (0.4, 0.6)),
        (10.0, 30.0, (-0.5, 1.5)),
        (-30.0, -10.0, (1.5, -0.5)),
        (4.0, -6.0, (0.4, 0.6)),
    ],
)
def test_what_good_saved_counts_as_much_as_what_bad_added(good: float, bad: float, shares: tuple[float, float]) -> None:
    sides = of(good, bad)
    assert (sides.good_share, sides.bad_share) == pytest.approx(shares)


@given(COSTS, COSTS, COSTS)
def test_the_parts_are_those_of_the_costs_and_add_up(fork: float, good: float, bad: float) -> None:
    assume(abs(bad - good) > 0.1)
    sides = of((good / fork - 1) * 100, (bad / fork - 1) * 100)
    assert sides.good_share + sides.bad_share == pytest.approx(1.0)
    assert sides.bad_share == pytest.approx((bad - fork) / (bad - good), rel=1e-6, abs=1e-6)


@given(COSTS, COSTS, COSTS)
def test_what_is_left_of_a_step_is_the_step_between(fork: float, good: float, bad: float) -> None:
    left = less(step([fork], [bad]), step([good], [bad]))
    assert left.percent == pytest.approx((good / fork - 1) * 100, abs=1e-6)
    assert not left.bounded, "of single readings nothing is known but the step"


def test_what_is_left_is_less_sure_than_either() -> None:
    whole, part = Step(20.0, 18.0, 22.0, 3.0), Step(10.0, 9.0, 11.0, 1.5)
    left = less(whole, part)
    assert left.low < left.percent < left.high
    assert left.high - left.low > 4.0 / 1.1
    assert left.visible == pytest.approx(math.hypot(3.0, 1.5))
    assert less(exact(20.0), exact(20.0)) == exact(0.0)


def test_a_sentence_says_both_parts_and_no_negative_zero() -> None:
    said = of(-0.0001, 10.0).sentence("5.6.51", "5.7.44", "instructions/query")
    assert said.startswith("since the fork point ffffffffffff 5.7.44 changed by +10.00 % and 5.6.51 by -0.00 % instr")
    assert said.endswith("100 % of the difference is on 5.7.44's side and 0 % on 5.6.51's")


def test_sides_are_kept_as_they_are() -> None:
    sides = of(-4.0, 6.0)
    assert Sides.from_json(sides.to_json()) == sides
