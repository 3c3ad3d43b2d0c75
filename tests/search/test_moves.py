"""Many builders: the same culprits as one finds, nothing built twice, and never more rounds than are promised."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.search.costs import Cost
from cpubisect.search.exact import SPARE, Done, Measure, Price, State, Weigh, alike, even, next_move
from cpubisect.search.line import Line
from cpubisect.search.many.moves import (
    LIKELY,
    SAFE,
    ahead,
    chances,
    next_moves,
    next_probe,
    opening,
    pointless,
    spaced,
)


def number_of(move: Measure | Done) -> int:
    assert isinstance(move, Measure)
    return move.number


def numbers_of(moves: tuple[Measure, ...] | Done) -> list[int]:
    assert isinstance(moves, tuple)
    return [move.number for move in moves]


@dataclass(frozen=True)
class World:
    """Steps that cost more, by number, in a line of so many, some of which can't be built."""

    size: int
    steps: Mapping[int, float]
    dead: Mapping[int, str]

    def cost(self, number: int) -> Cost:
        return Cost(100.0 + sum(step for at, step in self.steps.items() if at <= number))

    @property
    def state(self) -> State:
        return State(self.size, {n: self.cost(n) for n in (0, self.size - 1)}, min_step=1.0)

    def told(self, state: State, number: int) -> State:
        if number in self.dead:
            return state.with_failure(number, self.dead[number])
        return state.with_cost(number, self.cost(number))


def settled(state: State, done: Done) -> State:
    return replace(state, settled=state.settled | {step.high for step in done.steps})


def alone(world: World, weigh: Weigh = even, price: Price = alike) -> Done:
    """What one builder comes to."""
    state = world.state
    while isinstance(move := next_move(state, weigh, price), Measure) or move.more:
        state = settled(state, move) if isinstance(move, Done) else world.told(state, move.number)
    return move


def in_turn(world: World, k: int, chance: random.Random, weigh: Weigh = even, price: Price = alike) -> Done:
    """What k builders come to that finish in any order, what is pointless being ended."""
    state, pending = world.state, dict[int, float]()
    seen: set[int] = set()
    for _ in range(20 * world.size + 100):
        for number in pointless(state, pending, price):
            del pending[number]
        free = k - len(pending)
        moves = next_moves(state, weigh, price, free, pending)
        if isinstance(moves, Done):
            if not moves.more:
                return moves
            state = settled(state, moves)
            continue
        numbers = numbers_of(moves)
        assert len(numbers) <= free
        assert len(set(numbers)) == len(numbers)
        assert not set(numbers) & {*state.costs, *state.dead, *pending}
        assert all(move.low < move.number < move.high for move in moves)
        seen |= set(numbers)
        pending.update((number, price(number)) for number in numbers)
        assert pending, "there is always something to wait for"
        first = chance.choice(sorted(pending))
        passed = pending.pop(first)
        pending = {number: max(left - passed, 0.1) for number, left in pending.items()}
        state = world.told(state, first)
    raise AssertionError("the search has no end")


@st.composite
def worlds(draw: st.DrawFn, dead: bool = True) -> World:
    size = draw(st.integers(2, 200))
    places = draw(st.lists(st.integers(1, size - 1), max_size=4, unique=True))
    steps = {place: draw(st.sampled_from([0.4, 1.5, 3.0, 9.0])) for place in places}
    stretches: dict[int, str] = {}
    for which in range(draw(st.integers(0, 2)) if dead and size > 4 else 0):
        first = draw(st.integers(1, size - 2))
        for number in range(first, min(size - 1, first + draw(st.integers(1, 1 + size // 6)))):
            stretches.setdefault(number, f"stretch {which}")
    return World(size, steps, stretches)


@st.composite
def lookouts(draw: st.DrawFn, size: int) -> tuple[Weigh, Price]:
    """Prior weights and prices: flat, drawn, or with a strong suspect."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["even", "drawn", "suspect", "none"]))
    weights = {
        "even": [1.0] * size,
        "drawn": [chance.random() ** 10 for _ in range(size)],
        "suspect": [1e6 if n == size // 3 else 1.0 for n in range(size)],
        "none": [0.0] * size,
    }[kind]
    prices = [chance.choice([0.1, 1.0, 1.0, 5.0]) for _ in range(size)]
    return lambda low, high: weights[low + 1 : high + 1], prices.__getitem__


@settings(max_examples=150, deadline=None)
@given(st.data(), worlds(), st.integers(1, 20), st.integers(0, 2**32))
def test_many_builders_come_to_what_one_does(data: st.DataObject, world: World, k: int, seed: int) -> None:
    weigh, price = data.draw(lookouts(world.size))
    one = alone(world, weigh, price)
    many = in_turn(world, k, random.Random(seed), weigh, price)
    if not world.dead:
        assert [(s.low, s.high) for s in many.steps] == [(s.low, s.high) for s in one.steps]
        assert many.remainder == pytest.approx(one.remainder)
        return
    for step in many.steps:
        real = sum(size for at, size in world.steps.items() if step.low < at <= step.high)
        assert step.percent == pytest.approx(real)
    for at, size in world.steps.items():
        if size >= 1:
            assert any(step.low < at <= step.high for step in many.steps)
    for step in many.steps:
        if all(n not in world.dead for n in range(step.low, step.high + 1)):
            assert step.single


@settings(max_examples=150, deadline=None)
@given(st.data(), worlds(), st.integers(0, 2**32))
def test_one_builder_gets_the_very_same_moves(data: st.DataObject, world: World, seed: int) -> None:
    weigh, price = data.draw(lookouts(world.size))
    state, chance = world.state, random.Random(seed)
    for number in chance.sample(range(1, world.size - 1), min(4, max(0, world.size - 2))):
        move = next_move(state, weigh, price)
        assert next_moves(state, weigh, price) == (move if isinstance(move, Done) else (move,))
        state = world.told(state, number)


@settings(max_examples=60, deadline=None)
@given(st.data(), worlds(dead=False), st.integers(0, 2**32))
def test_the_state_may_be_any(data: st.DataObject, world: World, seed: int) -> None:
    """Numbers that are measured, that failed or are being built are never proposed, whatever they are."""
    weigh, price = data.draw(lookouts(world.size))
    chance = random.Random(seed)
    state, inner = world.state, list(range(1, world.size - 1))
    for number in chance.sample(inner, min(len(inner), 5)):
        state = state.with_failure(number, "broken") if chance.random() < 0.3 else world.told(state, number)
    pending = {n: chance.random() for n in inner if n not in state.costs and chance.random() < 0.1}
    k = chance.randint(0, 9)
    moves = next_moves(state, weigh, price, k, pending)
    if isinstance(moves, tuple):
        numbers = numbers_of(moves)
        assert len(numbers) <= k
        assert not set(numbers) & {*state.costs, *state.dead, *pending}
        assert len(set(numbers)) == len(numbers)
        inside = [n for n in pending if any(part.low < n < part.high for part in state.sorted_out.open)]
        assert numbers or inside or not k, "nothing is waited for and nothing begun"


def rounds(world: World, k: int, weigh: Weigh) -> int:
    """How often k builders begin, if all that they begin end at once."""
    state, count = world.state, 0
    while not isinstance(moves := next_moves(state, weigh, alike, k), Done) or moves.more:
        if isinstance(moves, Done):
            state = settled(state, moves)
            continue
        count += 1
        for number in numbers_of(moves):
            state = world.told(state, number)
    return count


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 2000), st.integers(2, 12), st.data())
def test_wrong_weights_cost_few_rounds(size: int, k: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(1, size - 1))
    kind = data.draw(st.sampled_from(["moving", "far end", "zero", "noise"]))
    chance = random.Random(culprit)

    def against(low: int, high: int) -> list[float]:
        numbers = range(low + 1, high + 1)
        if kind == "moving":
            away = max(numbers, key=lambda n: abs(n - culprit))
            return [1.0 if n == away else 1e-12 for n in numbers]
        if kind == "far end":
            return [2.0 ** min(500, abs(n - culprit)) for n in numbers]
        return [0.0 if kind == "zero" else chance.random() ** 20 for _ in numbers]

    most = math.ceil(math.log(size) / -math.log(SAFE)) + (0 if k > 2 else 2 * SPARE)
    assert rounds(World(size, {culprit: 5.0}, {}), k, against) <= most + 1


@pytest.mark.parametrize("k", [1, 2, 3, 4, 8, 16, 64])
def test_with_even_weights_k_builders_need_about_as_many_rounds_as_even_splitting(k: int) -> None:
    for culprit in (1, 77, 500, 998, 999):
        used = rounds(World(1000, {culprit: 5.0}, {}), k, even)
        assert used <= math.ceil(math.log(999) / math.log(k + 1)) + 1


@pytest.mark.parametrize(
    ("k", "pending", "expected"),
    [
        (2, {}, [333, 666]),
        (3, {}, [250, 500, 750]),
        (1, {500: 1.0}, [250]),
        (3, {500: 0.01}, []),
        (0, {}, []),
        (-1, {}, []),
    ],
)
def test_what_is_chosen(k: int, pending: dict[int, float], expected: list[int]) -> None:
    chosen = sorted(numbers_of(next_moves(World(1001, {700: 5.0}, {}).state, even, alike, k, pending)))
    assert len(chosen) == len(expected)
    assert all(abs(one - other) <= 4 for one, other in zip(chosen, expected, strict=True))


def test_a_suspect_and_its_parent_are_built_together() -> None:
    def suspects(low: int, high: int) -> list[float]:
        return [600.0 if n == 701 else 1.0 for n in range(low + 1, high + 1)]

    state = World(1000, {701: 5.0}, {}).state
    assert set(numbers_of(next_moves(state, suspects, alike, 2))) == {700, 701}
    assert {700, 701} < set(numbers_of(next_moves(state, suspects, alike, 8)))


def test_releases_are_preferred_and_binaries_that_are_there_come_first() -> None:
    state = World(1000, {701: 5.0}, {}).state
    chosen = numbers_of(next_moves(replace(state, released=frozenset({255, 505, 745})), even, alike, 3))
    assert set(chosen) == {255, 505, 745}
    there = replace(state, free=frozenset({480}))
    assert numbers_of(next_moves(there, even, lambda n: 0.03 if n == 480 else 1.0, 2))[0] == 480


def test_all_open_intervals_are_split_unless_only_the_first_step_is_wanted() -> None:
    world = World(1001, {200: 5.0, 800: 4.0}, {})
    state = world.told(world.state, 500)
    both = numbers_of(next_moves(state, even, alike, 4))
    assert {n < 500 for n in both} == {True, False}
    assert {n < 500 for n in numbers_of(next_moves(state, even, alike, 4, first=True))} == {True}


def test_what_an_answer_made_pointless_is_ended_unless_it_is_nearly_done_and_asked_for_later() -> None:
    world = World(100, {20: 5.0}, {})
    state = world.told(world.state, 50)
    pending = {10: 300.0, 60: 300.0, 70: 20.0}

    def price(number: int) -> float:
        return 400.0

    assert pointless(state, pending, price) == {60, 70}
    assert pointless(state, pending, price, lambda number: 0.1) == {60}
    assert pointless(state, pending, price, lambda number: 1.0) == frozenset()
    assert pointless(state, {}, price) == frozenset()


def test_of_what_is_built_the_most_telling_is_probed_first_and_the_pointless_never() -> None:
    world = World(100, {20: 5.0}, {})
    probe = next_probe(world.state, [10, 45, 90])
    assert probe is not None
    assert probe.number == 45
    after = world.told(world.state, 45)
    assert next_probe(after, [90, 60]) is None
    again = next_probe(after, [10, 90])
    assert again is not None
    assert again.number == 10
    assert next_probe(after, []) is None


@given(st.integers(1, 50), st.integers(-1, 60))
def test_an_opening_has_the_ends_first(size: int, k: int) -> None:
    chosen = opening(size, k)
    assert len(chosen) == len(set(chosen)) <= max(0, k)
    assert set(chosen) <= set(range(size))
    assert chosen[:2] == ((0, size - 1) if size > 1 else (0,))[: max(0, k)]
    assert opening(size, k, ends_only=True) == chosen[:2]


@given(st.integers(0, 300), st.integers(-1, 80))
def test_spaced_numbers_leave_even_parts(size: int, count: int) -> None:
    chosen = spaced(range(size), count)
    assert len(chosen) == max(0, min(count, size))
    if chosen:
        edges = [-1, *chosen, size]
        parts = [after - before for before, after in pairwise(edges)]
        assert max(parts) - min(parts) <= 1


def test_what_a_confirmation_takes_is_known_ahead() -> None:
    classes = (("a",), ("b", "c"), ("d", "e"), ("f",))
    parents = {"b": "a", "d": "c", "f": "e"}
    line = Line(classes, parents)
    costs = {0: Cost(100.0), 1: Cost(100.0), 3: Cost(110.0)}
    undecided = State(4, costs)
    likely = chances(undecided, lambda low, high: [3.0, 1.0])
    assert likely == {2: 0.75, 3: 0.25}
    assert ahead(line, likely, {"a", "b", "f"}) == (("d", 0.75), ("c", 0.75))
    found = undecided.with_cost(2, Cost(110.0))
    assert chances(found) == {2: 1.0}
    assert ahead(line, chances(found), {"a", "b", "d", "f"}) == (("c", 1.0),)
    assert ahead(line, {2: LIKELY / 2}, set()) == ()
    assert chances(replace(found, settled=frozenset({2}))) == {}
    assert chances(State(4, {0: Cost(100.0), 3: Cost(100.0)})) == {}


def test_both_ends_are_needed_first() -> None:
    with pytest.raises(ValueError, match="ends"):
        next_moves(State(10, {0: Cost(1.0)}), k=3)
