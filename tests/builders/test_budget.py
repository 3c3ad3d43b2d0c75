import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.builders.build import Repair
from cpubisect.builders.repairs.budget import LEAST_BUILD_S, VAIN_SHARE, Budget, told, whole_build_s

RUNS = st.lists(st.tuples(st.floats(0.1, 500), st.booleans()))


@pytest.mark.parametrize(
    ("runs", "ends"),
    [
        ([], ""),
        ([(99, False)], ""),
        ([(60, False), (41, False)], "101 s passed without anything mended, and 100 s may"),
        ([(60, False), (300, True), (30, False)], ""),
        ([(200, True), (199, True)], ""),
        ([(200, True), (200, True)], "repairs took 400 s, and may take 400 s (2 builds)"),
    ],
)
def test_the_limit_is_two_builds_and_half_of_one_in_vain(runs: list[tuple[float, bool]], ends: str) -> None:
    budget = Budget(builds=2.0, build_s=200.0)
    for seconds, mended in runs:
        budget = budget.after(seconds, mended=mended)
    assert budget.ended() == ends


def test_a_small_tree_has_time_for_a_look() -> None:
    assert Budget(2.0, 1.0).after(LEAST_BUILD_S * 2 * VAIN_SHARE, mended=False).ended() == ""
    assert Budget(0.0, 1.0).ended()


@given(RUNS, st.floats(0, 1000))
def test_it_ends_for_good(runs: list[tuple[float, bool]], build_s: float) -> None:
    budget = Budget(2.0, build_s)
    for seconds, mended in runs:
        later = budget.after(seconds, mended=mended)
        assert later.spent_s >= budget.spent_s
        assert later.in_vain_s <= later.spent_s
        if budget.spent_s >= 2 * max(build_s, LEAST_BUILD_S):
            assert later.ended()
        budget = later


@pytest.mark.parametrize(
    ("spent", "done", "expected", "whole"),
    [(50, 100, 400, 200), (50, 0, 400, 50), (50, 100, 0, 50), (50, 400, 400, 50), (50, 9, 4, 50)],
)
def test_what_a_build_takes_follows_from_its_part(spent: float, done: int, expected: int, whole: float) -> None:
    assert whole_build_s(spent, done, expected) == whole


@pytest.mark.parametrize(
    ("tried", "then", "text"),
    [
        ([], "", "a.cc:1: error: x"),
        ([], "b.cc:2: error: y", "a.cc:1: error: x"),
        (["a.h"], "", 'a.cc:1: error: x (repairs tried: #include "a.h" in a.cc)'),
        (["a.h", "a.h"], "b", 'a.cc:1: error: x (repairs tried: #include "a.h" in a.cc; then b)'),
        (
            ["a.h", "b.h", "c.h", "d.h", "e.h"],
            "",
            'a.cc:1: error: x (repairs tried: #include "a.h" in a.cc, #include "b.h" in a.cc, #include "c.h" in a.cc '
            "and 2 more)",
        ),
    ],
)
def test_a_failure_names_what_was_tried(tried: list[str], then: str, text: str) -> None:
    repairs = [Repair("include", "a.cc", f'#include "{name}"', "why") for name in tried]
    assert told("a.cc:1: error: x", repairs, then) == text


def test_flags_are_of_no_file() -> None:
    assert told("x", [Repair("flag", "", "-fpermissive", "why")], "") == "x (repairs tried: -fpermissive)"
