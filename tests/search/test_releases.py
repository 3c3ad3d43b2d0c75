"""Tagged releases are preferred among what tells as much, and that costs next to no builds."""

from collections.abc import Callable, Mapping
from statistics import fmean

import pytest
from graphs import grown
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.search.chase import Chase
from cpubisect.search.chase import next_move as chase_on
from cpubisect.search.costs import Cost
from cpubisect.search.exact import SPARE, Measure, State, halvings, next_move
from cpubisect.search.graph import Graph, Node
from cpubisect.search.splits.interval import RELEASE
from cpubisect.search.stats import entropy

ENDS: Mapping[int, Cost] = {0: Cost(100.0), 99: Cost(110.0)}


def alike(number: int) -> float:
    return 1.0


def next_of(state: State, weights: list[float] | None = None, price: Callable[[int], float] = alike) -> int:
    move = next_move(state, lambda low, high: weights or [1.0] * (high - low), price)
    assert isinstance(move, Measure)
    return move.number


def straight(size: int) -> Graph:
    return Graph("n0", tuple(Node(f"n{n}", (f"n{n - 1}",)) for n in range(1, size + 1)))


def tried(size: int, culprit: int, released: frozenset[int]) -> tuple[int, ...]:
    """What a search on a line for one step measures."""
    costs = {number: Cost(110.0 if number >= culprit else 100.0) for number in range(size)}
    state = State(size, {0: costs[0], size - 1: costs[size - 1]}, released=released)
    while isinstance(move := next_move(state), Measure):
        state = state.with_cost(move.number, costs[move.number])
    assert [(step.low, step.high) for step in move.steps] == [(culprit - 1, culprit)]
    return state.tried


def asked(graph: Graph, culprit: int, released: frozenset[int]) -> tuple[int, ...]:
    """What a chase of one step measures."""
    size = len(graph.nodes)
    chase = Chase(graph, [1.0] * size, {size: 1.0}, released=released)
    while isinstance(move := chase_on(chase, alike), Measure):
        chase = chase.with_share(move.number, float(graph.within[move.number] >> culprit & 1))
    assert getattr(move, "number", 0) == culprit
    return chase.tried


@pytest.mark.parametrize(
    ("released", "chosen"),
    [((), 49), ((60,), 60), ((40, 55), 55), ((30,), 49), ((70,), 49), ((0, 99), 49), ((49, 50), 49)],
)
def test_a_release_is_measured_if_it_tells_as_much(released: tuple[int, ...], chosen: int) -> None:
    assert next_of(State(100, ENDS, released=frozenset(released))) == chosen


def test_how_much_less_a_release_may_tell_is_stated() -> None:
    telling = {n: float(entropy([n / 99])[0]) for n in range(1, 99)}
    for number, bits in telling.items():
        taken = next_of(State(100, ENDS, released=frozenset({number}))) == number
        assert taken == (bits >= RELEASE * max(telling.values()))


def test_a_strong_suspect_comes_before_a_release() -> None:
    weights = [30.0 if number == 45 else 1.0 for number in range(1, 100)]
    assert next_of(State(100, ENDS), weights) in (44, 45)
    assert next_of(State(100, ENDS, released=frozenset({49})), weights) in (44, 45)


def test_a_release_that_is_dear_to_build_is_not_preferred() -> None:
    def price(number: int) -> float:
        return 1.2 if number == 50 else 1.0

    assert next_of(State(100, ENDS, released=frozenset({50})), price=price) != 50


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 140), st.data())
def test_on_a_line_releases_cost_next_to_no_builds(size: int, data: st.DataObject) -> None:
    released = frozenset(data.draw(st.sets(st.integers(0, size - 1))))
    without = [len(tried(size, culprit, frozenset())) for culprit in range(1, size)]
    counts = [len(tried(size, culprit, released)) for culprit in range(1, size)]
    assert fmean(counts) <= fmean(without) / RELEASE + 1e-9
    assert max(counts) <= halvings(size - 1) + SPARE


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 50), st.data())
def test_through_a_graph_releases_cost_next_to_no_builds(seed: int, steps: int, data: st.DataObject) -> None:
    graph = grown(seed, steps)
    size = len(graph.nodes)
    released = frozenset(data.draw(st.sets(st.integers(1, size))))
    without = [len(asked(graph, culprit, frozenset())) for culprit in range(1, size + 1)]
    counts = [len(asked(graph, culprit, released)) for culprit in range(1, size + 1)]
    # A release may lead to parts of the graph that halve less well than those beside it.
    assert fmean(counts) <= fmean(without) / RELEASE + 0.5
    assert max(counts) <= max(without) + SPARE


def test_a_chase_asks_a_release_too() -> None:
    graph = straight(99)
    assert asked(graph, 20, frozenset())[0] != 55
    assert asked(graph, 20, frozenset({55}))[0] == 55
    assert asked(graph, 20, frozenset({80}))[0] != 80
