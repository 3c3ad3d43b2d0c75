from graphs import grown
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.search.chase import Caught, Chase, next_move
from cpubisect.search.exact import Measure, alike
from cpubisect.search.many.speculation import moves_ahead, share_held, telling


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 16), st.data())
def test_what_is_begun_ahead_is_new_and_the_first_of_it_is_what_one_builder_would_make(
    seed: int, size: int, free: int, data: st.DataObject
) -> None:
    graph = grown(seed, size)
    chase = Chase(graph, [1.0] * len(graph.nodes), {len(graph.nodes): 1.0})
    move = next_move(chase, alike)
    asked = moves_ahead(chase, alike, free, {})
    numbers = [one.number for one, _ in asked]
    assert len(numbers) == len(set(numbers)) <= free
    if isinstance(move, Measure):
        assert asked[0] == (move, 1.0)
    chances = [chance for _, chance in asked]
    assert chances == sorted(chances, reverse=True)
    pending = dict.fromkeys(data.draw(st.sets(st.sampled_from(numbers))) if numbers else (), 0.5)
    more = moves_ahead(chase, alike, free, pending)
    assert not {one.number for one, _ in more} & pending.keys()


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 16), st.data())
def test_a_chase_whose_answers_come_in_any_order_catches_the_culprit(
    seed: int, size: int, builders: int, data: st.DataObject
) -> None:
    graph = grown(seed, size)
    last = len(graph.nodes)
    culprit = data.draw(st.integers(1, last))
    chase, pending = Chase(graph, [1.0] * last, {last: 1.0}), set[int]()
    while isinstance(next_move(chase, alike), Measure):
        asked = moves_ahead(chase, alike, builders - len(pending), dict.fromkeys(pending, 1.0))
        pending |= {one.number for one, _ in asked}
        assert 0 < len(pending) <= builders
        answered = data.draw(st.sampled_from(sorted(pending)))
        chase = chase.with_share(answered, float(graph.within[answered] >> culprit & 1))
        pending = {*telling(chase, pending)}
    assert next_move(chase, alike) == Caught(culprit)


def test_what_all_or_none_of_the_suspicion_is_in_tells_nothing() -> None:
    graph = grown(3, 10)
    chase = Chase(graph, [1.0] * len(graph.nodes), {len(graph.nodes): 1.0})
    assert telling(chase, [len(graph.nodes)]) == []
    assert share_held(chase, len(graph.nodes)) == 1.0
