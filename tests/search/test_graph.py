from itertools import pairwise

from graphs import grown, nested
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.search.graph import members


def test_a_commit_came_in_by_the_merges_that_lead_to_it() -> None:
    graph = nested(3)
    assert graph.branches
    assert graph.entered("m1") == graph.entered("m3") == ()
    assert graph.entered("a1") == ("m2",)
    assert graph.entered("b2") == ("m2", "b1")
    assert graph.entered("a3") == ("m2", "b1", "b2")
    assert not nested(0).branches


def test_first_parents_end_where_the_range_does() -> None:
    graph = nested(1)
    assert graph.first_parents("m3") == ["m3", "m2", "m1"]
    assert graph.first_parents("b1") == ["b1", "a1"]
    assert graph.first_parents("start") == []


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_a_commit_contains_itself_and_what_its_parents_do(seed: int, size: int) -> None:
    graph = grown(seed, size)
    for number, node in enumerate(graph.nodes, start=1):
        held = {number}
        for parent in node.parents:
            held |= {*members(graph.within[graph.numbers[parent]])}
        assert members(graph.within[number]) == sorted(held)
    assert graph.within[-1] == graph.everything


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_merges_a_commit_came_in_by_contain_one_another(seed: int, size: int) -> None:
    graph = grown(seed, size)
    for node in graph.nodes:
        chain = [*graph.entered(node.sha), node.sha]
        for outer, inner in pairwise(chain):
            assert graph.within[graph.numbers[outer]] >> graph.numbers[inner] & 1
            assert inner not in graph.first_parents(outer)


def test_its_line_has_each_commit_with_its_first_parent() -> None:
    line = nested(1).line(("outer",))
    assert line.commits() == ("start", "m1", "a1", "b1", "m2", "m3")
    assert line.parents["m2"] == "m1"
    assert line.parents["a1"] == "start"
    assert line.merges == {"m2"}
    assert (line.name, nested(1).line().name) == ("outer", "graph")
