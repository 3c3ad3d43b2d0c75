import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.search.price import Prices, build_share, full_build, positions_of


@pytest.mark.parametrize(
    ("distance", "percent"), [(1, 19), (2, 29), (5, 58), (10, 76), (20, 87), (100, 94), (1000, 99)]
)
def test_the_share_fits_what_was_measured(distance: int, percent: int) -> None:
    assert build_share(distance) * 100 == pytest.approx(percent, abs=6)


@given(st.integers(0, 10_000), st.integers(1, 100))
def test_farther_commits_cost_more(distance: int, more: int) -> None:
    assert 0.0 <= build_share(distance) < build_share(distance + more) < 1.0


def test_what_is_there_costs_a_probe_and_a_neighbour_less_than_a_far_commit() -> None:
    prices = Prices(full_build_s=600.0, probe_s=10.0, positions=(0, 100), free=frozenset({7}))
    assert prices.seconds(7, 70) == 10.0
    assert 10.0 < prices.seconds(1, 1) < prices.seconds(50, 50) < 610.0
    assert Prices(600.0, 10.0, ()).seconds(3, 3) == pytest.approx(610.0, abs=1.0)


def test_a_build_from_the_cache_tells_what_a_cold_one_takes() -> None:
    assert full_build(600.0, 0, 346) == 600.0
    assert full_build(10.0, 346, 0) == pytest.approx(600.0)
    assert full_build(5.0, 0, 0) == 5.0


def test_positions_count_commits() -> None:
    assert positions_of((("a",), ("b", "c", "d"), ("e", "f"))) == [0, 1, 5]
    assert positions_of((("a", "b"),)) == [0]
