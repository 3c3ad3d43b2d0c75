import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.metrics import INSTRUCTIONS, MISPREDICTIONS
from cpubisect.search.ends import (
    DEFAULT_MIN_STEP,
    MOST_REPEATS,
    NOISE_FACTOR,
    ChangedVariable,
    Counts,
    changed_defaults,
    changed_variables,
    counting_plan,
    least_step,
    ruled_out,
)
from cpubisect.search.stats import Step, spread_percent


def test_an_exact_counter_needs_one_probe_and_sees_small_steps() -> None:
    plan = counting_plan(Counts([1000.0, 1000.01], [1128.0, 1128.01]), 12.8, None)
    assert plan.repeats == 1
    assert plan.min_step == pytest.approx(1.28)
    assert plan.visible < 0.01


def test_the_users_smallest_step_wins_over_the_default() -> None:
    assert counting_plan(Counts([1000.0, 1000.0], [1128.0, 1128.0]), 12.8, 0.2).min_step == 0.2
    assert counting_plan(Counts([1000.0, 1000.0], [1001.0, 1001.0]), 0.1, None).min_step == DEFAULT_MIN_STEP


def test_what_moving_code_may_make_is_not_looked_for_unless_it_is_asked_for() -> None:
    counts, least = Counts([100.0, 100.0], [120.0, 120.0]), least_step(MISPREDICTIONS)
    assert counting_plan(counts, 20.0, None, 0.0, least).min_step == least > 20.0
    assert counting_plan(counts, 20.0, 1.0, 0.0, least).min_step == 1.0
    assert least_step(INSTRUCTIONS) == DEFAULT_MIN_STEP


@given(st.floats(0.0, 30.0), st.floats(0.1, 20.0))
def test_noise_raises_repeats_and_never_promises_more_than_it_can_see(spread: float, wanted: float) -> None:
    plan = counting_plan(Counts([100.0 - spread / 2, 100.0 + spread / 2], [100.0, 100.0]), 5.0, wanted)
    assert 1 <= plan.repeats <= MOST_REPEATS
    assert plan.min_step >= plan.visible
    assert plan.min_step >= wanted


@given(st.floats(0.0, 3.0), st.floats(0.01, 3.0), st.floats(0.1, 20.0))
def test_ends_that_agree_by_chance_are_not_taken_for_exact(seen: float, expected: float, wanted: float) -> None:
    counts = Counts([100.0 - seen / 2, 100.0 + seen / 2], [100.0, 100.0])
    plan, naive = counting_plan(counts, 5.0, wanted, expected), counting_plan(counts, 5.0, wanted)
    if expected <= spread_percent(counts.good):
        assert plan == naive
    else:
        assert plan.visible == pytest.approx(NOISE_FACTOR * expected / plan.repeats**0.5)
        assert plan.repeats >= naive.repeats


def test_a_step_is_ruled_out_where_its_interval_leaves_no_room_for_it() -> None:
    assert not ruled_out(Step(5.0, 4.0, 6.0, 1.0), 1, 2.0)
    assert not ruled_out(Step(1.0, -1.0, 3.0, 1.0), 1, 2.0)
    assert ruled_out(Step(1.0, 0.9, 1.1, 1.0), 1, 2.0)
    assert ruled_out(Step(5.0, 4.0, 6.0, 1.0), -1, 2.0)
    assert not ruled_out(Step(-1.0, -3.0, 1.0, 1.0), -1, 2.0)


def test_changed_variables_are_in_order_and_those_of_one_server_only_too() -> None:
    good = {"z_limit": "10", "Version_comment": "x", "old_only": "1", "same": "ON"}
    bad = {"z_limit": "200", "Version_comment": "y", "new_only": "", "same": "ON"}
    assert changed_variables(good, bad) == (
        ChangedVariable("new_only", None, ""),
        ChangedVariable("old_only", "1", None),
        ChangedVariable("z_limit", "10", "200"),
    )
    assert changed_variables(good, good) == changed_variables(good, {}) == changed_variables({}, bad) == ()


def test_changed_defaults_are_those_both_servers_have_and_nobody_must_differ_in() -> None:
    good = {"a_limit": "10", "datadir": "/x", "version": "5.6", "old_only": "1", "same": "ON"}
    bad = {"a_limit": "200", "datadir": "/y", "version": "5.7", "new_only": "1", "same": "ON"}
    assert changed_defaults(good, bad) == {"a_limit": ("10", "200")}
