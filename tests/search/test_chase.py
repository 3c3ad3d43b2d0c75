from collections.abc import Callable, Sequence

import pytest
from graphs import grown, nested
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.search.chase import Caught, Chase, Lost, next_move
from cpubisect.search.exact import SPARE, Measure, halvings
from cpubisect.search.graph import Graph, Node


def run(
    graph: Graph,
    culprit: int,
    weights: Sequence[float] | None = None,
    dead: frozenset[int] = frozenset(),
    price: Callable[[int], float] = lambda number: 1.0,
) -> tuple[Caught | Lost, Chase]:
    """A chase to its end: a commit shows the step if it contains the culprit."""
    size = len(graph.nodes)
    chase = Chase(graph, weights or [1.0] * size, {size: 1.0})
    while isinstance(move := next_move(chase, price), Measure):
        assert move.number not in chase.tried
        if move.number in dead:
            chase = chase.with_failure(move.number, "no")
        else:
            chase = chase.with_share(move.number, float(graph.within[move.number] >> culprit & 1))
    return move, chase


@given(st.integers(0, 10**6), st.integers(1, 60), st.data())
def test_whatever_the_weights_the_culprit_is_caught(seed: int, size: int, data: st.DataObject) -> None:
    graph = grown(seed, size)
    culprit = data.draw(st.integers(1, len(graph.nodes)))
    weights = data.draw(st.lists(st.floats(0.001, 1000.0), min_size=len(graph.nodes), max_size=len(graph.nodes)))
    found, _ = run(graph, culprit, weights)
    assert found == Caught(culprit)


@given(st.integers(1, 300), st.data())
def test_wrong_weights_cost_two_builds_where_halving_can_be_done(size: int, data: st.DataObject) -> None:
    graph = Graph("start", tuple(Node(f"n{n}", (f"n{n - 1}" if n else "start",)) for n in range(size)))
    culprit = data.draw(st.integers(1, size))
    wrong = data.draw(st.integers(1, size))
    weights = [1000.0 if number == wrong else 1.0 for number in range(1, size + 1)]
    found, chase = run(graph, culprit, weights)
    assert found == Caught(culprit)
    assert len(chase.tried) <= halvings(size) + SPARE


def test_a_strong_suspect_and_its_parent_are_asked_first_wherever_they_lie() -> None:
    graph = nested(4)
    suspect = graph.numbers["b4"]
    weights = [500.0 if number == suspect else 1.0 for number in range(1, len(graph.nodes) + 1)]
    found, chase = run(graph, suspect, weights)
    assert found == Caught(suspect)
    assert {*chase.tried} == {suspect, graph.numbers["a4"]}


def test_of_a_suspect_that_has_the_step_what_lies_before_it_is_asked_next() -> None:
    graph = Graph("start", tuple(Node(f"n{n}", (f"n{n - 1}" if n else "start",)) for n in range(40)))
    suspect, between = 20, (18, 19)
    weights = [50.0 if n == suspect else 0.0 if n in between else 1.0 for n in range(1, 41)]
    _, chase = run(graph, suspect, weights)
    assert chase.tried == (suspect, 17)


def test_commits_that_cannot_be_it_are_never_left() -> None:
    graph = nested(2)
    only = graph.numbers["a2"]
    weights = [1.0 if number == only else 0.0 for number in range(1, len(graph.nodes) + 1)]
    assert next_move(Chase(graph, weights, {len(graph.nodes): 1.0}), lambda number: 1.0) == Caught(only)


def test_what_cannot_be_measured_ends_it_honestly() -> None:
    graph = nested(1)
    found, _ = run(graph, graph.numbers["a1"], dead=frozenset({graph.numbers["a1"], graph.numbers["b1"]}))
    assert isinstance(found, Lost)
    assert "cannot be measured" in found.why


def test_answers_that_contradict_each_other_end_it() -> None:
    graph = nested(1)
    shares = {graph.numbers["m3"]: 1.0, graph.numbers["a1"]: 1.0, graph.numbers["b1"]: 0.0}
    found = next_move(Chase(graph, [1.0] * len(graph.nodes), shares), lambda number: 1.0)
    assert isinstance(found, Lost)
    assert "contradict" in found.why


@pytest.mark.parametrize("cheap", ["a1", "b1"])
def test_of_commits_that_tell_alike_the_cheap_one_is_asked(cheap: str) -> None:
    graph = nested(1)
    weights = [0.0, 1.0, 1.0, 1.0, 0.0]
    costs = {number: 1.0 if graph.nodes[number - 1].sha == cheap else 30.0 for number in range(1, 6)}
    move = next_move(Chase(graph, weights, {5: 1.0}), costs.__getitem__)
    assert isinstance(move, Measure)
    assert graph.nodes[move.number - 1].sha == cheap
