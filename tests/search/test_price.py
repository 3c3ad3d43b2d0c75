from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.objects import ObjectFile
from cpubisect.search.price import (
    Built,
    Prices,
    build_share,
    common_s,
    full_build,
    likely_cost,
    positions_of,
    typical_s,
)


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


def test_what_a_build_must_compile_counts_more_than_its_distance() -> None:
    prices = Prices(full_build_s=600.0, probe_s=10.0, positions=(0,), free=frozenset({0}), build_s={0: 30.0, 1: 40.0})
    assert (prices.seconds(0, 0), prices.seconds(1, 90)) == (10.0, 50.0)
    assert prices.seconds(2, 90) > 500.0


def made(*seconds: float | None) -> dict[str, ObjectFile]:
    return {f"{number}.o": ObjectFile(f"{number}.c", (), one) for number, one in enumerate(seconds)}


COLD = Built(230.0, 0, 4, made(100.0, 100.0, 100.0, 100.0))
WARM = Built(40.0, 3, 1, made(None, None, None, 20.0))
FOUND = Built(10.0, 4, 0, made(None, None, None, None))


@pytest.mark.parametrize(
    ("builds", "typical", "common"),
    [
        ([COLD], 100.0, 30.0),
        ([WARM], 20.0, 20.0),
        ([FOUND], 2 * (10.0 * 60 - 10.0) / 4, 10.0),
        ([COLD, WARM, FOUND], 84.0, 20.0),
        ([Built(70.0, 0, 1, {**made(20.0), "checks": ObjectFile("", (), 30.0)})], 20.0, 20.0),
        ([COLD, Built(1.0, 0, 4, COLD.objects)], 100.0, 15.0),
    ],
)
def test_what_builds_took_tells_what_the_next_takes(builds: list[Built], typical: float, common: float) -> None:
    assert typical_s(builds, jobs=2) == pytest.approx(typical)
    assert common_s(builds, jobs=2) == pytest.approx(common)


def test_a_build_from_the_cache_tells_what_a_cold_one_takes() -> None:
    assert full_build(600.0, 0, 346) == 600.0
    assert full_build(10.0, 346, 0) == pytest.approx(600.0)
    assert full_build(5.0, 0, 0) == 5.0


def test_positions_count_commits() -> None:
    assert positions_of((("a",), ("b", "c", "d"), ("e", "f"))) == [0, 1, 5]
    assert positions_of((("a", "b"),)) == [0]


def alike(built: frozenset[int]) -> Callable[[int], float]:
    return lambda number: 10.0


@pytest.mark.parametrize(("size", "builds"), [(1, 0), (2, 1), (4, 2), (8, 3), (64, 6)])
def test_a_search_at_one_price_is_likely_to_halve(size: int, builds: int) -> None:
    assert likely_cost([1.0] * size, alike) == (builds, builds * 10.0)


def test_a_sure_suspect_is_likely_to_take_two_measurements() -> None:
    builds, seconds = likely_cost([0.01] * 40 + [1000.0] + [0.01] * 40, alike)
    assert (builds, seconds) == (pytest.approx(2.0), pytest.approx(20.0))


def test_what_is_built_makes_the_next_cheaper() -> None:
    def price(built: frozenset[int]) -> Callable[[int], float]:
        return lambda number: 100.0 if not built else 10.0

    assert likely_cost([1.0] * 8, price) == (3, 120.0)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.lists(st.floats(1, 100), min_size=41, max_size=41))
def test_a_forecast_is_between_the_cheapest_and_all(weights: list[float], prices: list[float]) -> None:
    builds, seconds = likely_cost(weights, lambda built: prices.__getitem__)
    assert 0 <= builds <= len(weights) - 1
    assert builds * min(prices) <= seconds + 1e-6
    assert seconds <= builds * max(prices) + 1e-6
