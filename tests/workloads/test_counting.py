"""Counts are made until they are steady: when that is, which of them count, and what is said when it never is."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cpubisect.workloads.counters.counting import (
    MOST_COUNTS,
    STEADY_PERCENT,
    PerOperation,
    Steady,
    agree,
    until_steady,
)
from cpubisect.workloads.mysql.plan import Plan
from cpubisect.workloads.mysql.tests import SCRIPTS

WARMING = (40_460.24, 38_334.99, 34_767.03, 33_202.86, 33_948.82, 32_238.20, 32_236.91, 32_236.75)
"""What MySQL 5.6.27 with its own defaults took for a point query, one count after the other."""


def counted(totals: Sequence[float], wanted: int, most: int = MOST_COUNTS) -> tuple[Steady, int]:
    """What comes of a server that costs this much one count after the other, the last cost for good, and how often it
    was counted."""

    def costs() -> Iterator[float]:
        yield from totals
        while True:
            yield totals[-1]

    made: list[PerOperation] = []
    following = costs()

    def count() -> PerOperation:
        made.append(PerOperation(next(following), {}, {}, {}))
        return made[-1]

    return until_steady(count, wanted, most), len(made)


def totals_of(steady: Steady) -> list[float]:
    return [one.total for one in steady.counts]


def test_what_was_counted_while_the_server_warmed_up_is_left_out() -> None:
    steady, made = counted(WARMING, 2)
    assert totals_of(steady) == [32_238.20, 32_236.91]
    assert (steady.note, made) == ("", 7)


def test_counts_that_agree_at_once_cost_no_more_than_before() -> None:
    steady, made = counted([36_396.5, 36_396.9], 2)
    assert (totals_of(steady), made) == ([36_396.5, 36_396.9], 2)


def test_a_server_that_is_never_steady_is_said_to_be_so() -> None:
    steady, made = counted([100.0 + number % 2 for number in range(50)], 2)
    assert made == MOST_COUNTS
    assert steady.note == f"not steady: the last 2 of {MOST_COUNTS} counts are 0.990 % apart"


def test_a_single_count_is_taken_as_it_is() -> None:
    assert counted(WARMING, 1) == (Steady((PerOperation(WARMING[0], {}, {}, {}),)), 1)


@given(
    totals=st.lists(st.floats(1.0, 1e9), min_size=1, max_size=12),
    wanted=st.integers(1, 6),
    most=st.integers(0, 12),
)
def test_the_last_counts_agree_or_it_is_said(totals: list[float], wanted: int, most: int) -> None:
    steady, made = counted(totals, wanted, most)
    last = totals_of(steady)
    assert len(last) == wanted <= made <= max(wanted, most)
    assert bool(steady.note) == (not agree(last, STEADY_PERCENT))
    # It stopped as early as it could, and what it took is the end of what was counted.
    series = [*totals, *[totals[-1]] * made][:made]
    assert last == series[-wanted:]
    assert not any(agree(series[end - wanted : end], STEADY_PERCENT) for end in range(wanted, made))


@given(base=st.floats(1.0, 1e9), apart=st.floats(0.0, 5.0), percent=st.floats(0.01, 5.0))
def test_agreeing_is_within_the_tolerance(base: float, apart: float, percent: float) -> None:
    assume(abs(apart - percent) > 1e-6)
    away = base * (1 - apart / 100)
    assert agree([base, away], percent) == agree([away, base], percent) == (apart < percent)


@pytest.mark.parametrize(("rows", "most"), [("100000", MOST_COUNTS), ("13007", 3), ("9005", 2)])
def test_a_draining_test_counts_as_often_as_it_has_rows_for(rows: str, most: int) -> None:
    script = SCRIPTS["delete"]
    plan = Plan.read({**script.test.parameters, "rows": rows})
    plan.check(script)
    assert plan.most_counts(script) == most
    assert plan.most_counts(SCRIPTS["insert"]) == MOST_COUNTS
    plan.deck(script).take(1 + plan.warm_queries + most * (2 + plan.queries))
