import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.search.costs import Cost, bare_name, net_of_shifts
from cpubisect.search.exact import (
    SPARE,
    Done,
    Measure,
    Price,
    State,
    Weigh,
    alike,
    even,
    expected_builds,
    halvings,
    largest_change,
    next_move,
)


class World:
    """A path with known costs: cost changes per number and function, and numbers that can't be observed."""

    def __init__(self, size: int, changes: dict[int, dict[str, float]], dead: dict[int, str] | None = None) -> None:
        self.size = size
        self.dead = dead or {}
        functions = {"a": 40.0, "b": 30.0, "c": 30.0}
        self.costs = []
        for number in range(size):
            for name, change in changes.get(number, {}).items():
                functions[name] = functions.get(name, 0.0) + change
            self.costs.append(Cost(sum(functions.values()), {k: v for k, v in functions.items() if v}))

    def search(
        self,
        min_step: float = 1.0,
        direction: int = 1,
        weigh: Weigh = even,
        price: Price = alike,
        free: frozenset[int] = frozenset(),
    ) -> tuple[Done, State]:
        state = State(
            self.size,
            {0: self.costs[0], self.size - 1: self.costs[-1]},
            min_step=min_step,
            direction=direction,
            free=free,
        )
        while isinstance(move := next_move(state, weigh, price), Measure) or move.more:
            if isinstance(move, Done):
                new = [found for found in move.steps if found.high not in state.settled]
                assert new, "there is a step to confirm"
                state = replace(state, settled=state.settled | {found.high for found in move.steps})
                continue
            assert move.number not in state.tried
            assert 0 < move.number < self.size - 1
            if move.number in self.dead:
                state = state.with_failure(move.number, self.dead[move.number])
            else:
                state = state.with_cost(move.number, self.costs[move.number])
        return move, state


@given(st.integers(2, 600), st.data())
def test_one_step_is_found_with_about_log2_builds(size: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(1, size - 1))
    done, state = World(size, {culprit: {"a": 12.8}}).search()
    assert [(found.low, found.high) for found in done.steps] == [(culprit - 1, culprit)]
    assert done.steps[0].single
    assert done.steps[0].percent == pytest.approx(12.8)
    assert done.remainder == pytest.approx(0.0, abs=1e-9)
    assert len(state.tried) <= math.ceil(math.log2(size))


def test_a_step_comes_out_as_soon_as_no_interval_holds_more() -> None:
    world = World(64, {40: {"a": 10.0}, 10: {"b": 3.0}})
    state = State(64, {0: world.costs[0], 63: world.costs[-1]}, free=frozenset())
    while isinstance(move := next_move(state), Measure):
        state = state.with_cost(move.number, world.costs[move.number])
    assert [(found.low, found.high) for found in move.steps] == [(39, 40)]
    assert move.more
    move = next_move(replace(state, settled=frozenset({40})))
    assert isinstance(move, Measure), "the smaller one is looked for then"


def test_several_steps_come_out_largest_first() -> None:
    done, _ = World(300, {40: {"a": 3.0}, 170: {"b": 9.0}, 250: {"c": 5.0}}).search()
    assert [found.high for found in done.steps] == [170, 250, 40]


def test_steps_that_cancel_in_the_total_stay_visible() -> None:
    done, _ = World(200, {50: {"a": 6.0}, 150: {"b": -4.5}}).search()
    assert [found.high for found in done.steps] == [50]
    done, _ = World(200, {50: {"a": 6.0}, 60: {"b": -3.1, "c": -2.4}, 190: {"c": 4.0}}).search()
    assert {found.high for found in done.steps} == {50, 190}


def test_a_refactoring_is_no_culprit_and_costs_little() -> None:
    done, state = World(500, {100: {"a": -40.0, "renamed": 40.0}, 400: {"b": 5.0}}).search()
    assert [found.high for found in done.steps] == [400]
    assert len(state.costs) - 2 <= 11


def test_an_improvement_is_found_when_asked_for() -> None:
    done, _ = World(100, {30: {"a": -7.0}}).search(direction=-1)
    assert [found.high for found in done.steps] == [30]
    assert done.steps[0].percent == pytest.approx(-7.0)


def test_steps_under_the_smallest_wanted_are_left_in_the_remainder() -> None:
    done, _ = World(100, {30: {"a": 7.0}, 60: {"b": 0.4}, 80: {"c": 0.3}}).search(min_step=1.0)
    assert [found.high for found in done.steps] == [30]
    assert done.remainder == pytest.approx(0.7)


def test_a_culprit_in_an_unbuildable_range_is_one_of_these() -> None:
    dead = dict.fromkeys(range(90, 111), "error: broken")
    done, state = World(200, {100: {"a": 9.0}}, dead).search()
    assert len(done.steps) == 1
    found = done.steps[0]
    assert not found.single
    assert (found.low, found.high) == (89, 111)
    assert len(state.dead) + found.untried == 21
    assert len(state.dead) < 12


def test_an_unbuildable_range_elsewhere_does_not_hide_the_culprit() -> None:
    dead = dict.fromkeys(range(80, 121), "error: broken")
    for culprit in (79, 80 - 30, 121, 122, 180):
        done, _ = World(200, {culprit: {"a": 9.0}}, dead).search()
        assert done.steps[0].high == max(culprit, 0) or (culprit == 121 and done.steps[0].high == 121)


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_whatever_the_world_every_step_found_is_real_and_none_is_missed(seed: int) -> None:
    random_ = random.Random(seed)
    size = random_.randint(3, 400)
    changes: dict[int, dict[str, float]] = {}
    for _ in range(random_.randint(0, 4)):
        changes[random_.randint(1, size - 1)] = {random_.choice("abc"): random_.uniform(1.5, 9)}
    dead = {n: random_.choice(["x", "y"]) for n in range(1, size - 1) if random_.random() < 0.15}
    world = World(size, changes, dead)
    done, _ = world.search()
    for found in done.steps:
        real = sum(sum(c.values()) for n, c in changes.items() if found.low < n <= found.high)
        assert found.percent == pytest.approx(real)
    for number in changes:
        assert any(found.low < number <= found.high for found in done.steps)


def weights_of(weights: Sequence[float]) -> Weigh:
    return lambda low, high: weights[low + 1 : high + 1]


def test_a_strong_suspect_and_the_commit_before_it_come_first() -> None:
    world = World(100, {20: {"a": 10.0}})
    weights = [0.0] + [0.1] * 19 + [50.0] + [0.1] * 79
    done, state = world.search(weigh=weights_of(weights))
    assert done.steps[0].high == 20
    assert set(state.tried) == {19, 20}
    _, plain = world.search()
    assert len(plain.tried) == 7


def test_a_suspect_that_splits_nearly_as_well_as_the_middle_comes_before_it() -> None:
    weights = [0.0] + [0.8 / 187] * 125 + [0.2] + [0.8 / 187] * 62
    _, state = World(189, {126: {"a": 10.0}}).search(weigh=weights_of(weights))
    assert set(state.tried) == {125, 126}


@given(st.integers(2, 3000), st.data())
def test_wrong_suspects_never_cost_more_than_two_builds_over_halving(size: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(1, size - 1))
    seed = data.draw(st.integers(0, 2**32))
    random_ = random.Random(seed)
    kind = data.draw(st.sampled_from(["elsewhere", "far end", "noise", "moving", "zero"]))
    heavy = random_.randrange(1, size)

    def against(low: int, high: int) -> list[float]:
        """Weights made to mislead, knowing the culprit."""
        numbers = range(low + 1, high + 1)
        if kind == "elsewhere":
            return [1e9 if n == heavy else 1e-9 for n in numbers]
        if kind == "far end":
            return [
                2.0 ** (n - culprit if n > culprit else culprit - n) if abs(n - culprit) < 900 else 0.0 for n in numbers
            ]
        if kind == "moving":
            away = max(numbers, key=lambda n: abs(n - culprit))
            return [1.0 if n == away else 1e-12 for n in numbers]
        if kind == "zero":
            return [0.0 for _ in numbers]
        return [random_.random() ** 20 for _ in numbers]

    prices = [random_.choice([0.01, 1.0, 100.0]) for _ in range(size)]
    done, state = World(size, {culprit: {"a": 12.8}}).search(weigh=against, price=prices.__getitem__)
    assert [found.high for found in done.steps] == [culprit]
    assert len(state.tried) <= halvings(size - 1) + SPARE


@given(st.integers(10, 1000), st.data())
def test_binaries_that_are_there_are_taken_and_cost_no_build(size: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(1, size - 1))
    free = frozenset(data.draw(st.sets(st.integers(1, size - 2), max_size=40)))
    _, state = World(size, {culprit: {"a": 12.8}}).search(price=lambda n: 0.02 if n in free else 1.0, free=free)
    built = [n for n in state.tried if n not in free]
    assert len(built) <= halvings(size - 1) + SPARE
    above = min(n for n in (size - 1, *free) if n >= culprit)
    below = max(n for n in (0, *free) if n < culprit)
    assert len(built) <= halvings(above - below) + SPARE


@given(st.sampled_from([64, 256, 1024]), st.integers(0, 2**32))
def test_wrong_suspects_before_a_broken_range_do_not_have_it_tried_one_by_one(size: int, seed: int) -> None:
    random_ = random.Random(seed)
    first = random_.randrange(2, size - 2)
    last = min(size - 2, first + random_.randrange(1, size // 4))
    culprit = random_.choice([n for n in range(1, size) if n < first or n > last + 1])
    suspects = [random_.randrange(1, size) for _ in range(6)]

    def misleading(low: int, high: int) -> list[float]:
        return [1e6 / (1 + suspects.index(n)) if n in suspects else 1.0 for n in range(low + 1, high + 1)]

    dead = dict.fromkeys(range(first, last + 1), "error: broken")
    done, state = World(size, {culprit: {"a": 12.8}}, dead).search(weigh=misleading)
    assert [found.high for found in done.steps] == [culprit]
    assert len(state.dead) <= 15


def test_both_ends_are_needed_first() -> None:
    with pytest.raises(ValueError, match="ends"):
        next_move(State(10, {0: Cost(1.0)}))


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.floats(-100, 100), max_size=12))
def test_netting_keeps_the_total(changes: dict[str, float]) -> None:
    assert sum(net_of_shifts(changes).values()) == pytest.approx(sum(changes.values()), abs=1e-6)


def test_netting_matches_one_with_two() -> None:
    assert max(abs(v) for v in net_of_shifts({"old": -10.0, "new": 6.0, "helper": 4.1}).values()) < 0.2
    assert max(net_of_shifts({"old": -10.0, "new": 3.0}).values()) == 3.0


def test_expected_builds_counts_the_ends() -> None:
    assert expected_builds(2) == 2
    assert expected_builds(257) == 10


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("malloc", "malloc"),
        ("rocksdb::DBIter::Seek(rocksdb::Slice const&)", "rocksdb::DBIter::Seek"),
        ("minikv::(anonymous namespace)::Compare(int) const", "minikv::{anonymous}::Compare"),
        (
            "std::enable_if<((A)==(B)), int>::type rocksdb::Table::Retrieve<rocksdb::Block>(std::map<int, int>) const",
            "rocksdb::Table::Retrieve",
        ),
        ("T* f<int>(g<h>)", "f"),
        ("operator new(unsigned long)", "operator new"),
        ("std::ostream& std::operator<< <char>(std::ostream&, char const*)", "std::operator<<"),
        ("bool A::operator()(int) const", "A::operator()"),
        ("A::operator bool() const", "A::operator bool"),
        ("B::operator->()", "B::operator->"),
        ("(below main)", "(below main)"),
    ],
)
def test_a_function_keeps_its_name_when_its_signature_changes(function: str, name: str) -> None:
    assert bare_name(function) == name


@given(st.text(alphabet="ab:<>(), *&~operator", max_size=40))
def test_bare_names_are_never_empty_for_any_symbol(function: str) -> None:
    assert bare_name(function) or not function.strip()


def test_what_moved_counts_where_it_is_not_netted() -> None:
    costs = {0: Cost(100.0, {"f()": 50.0, "g()": 50.0}), 1: Cost(100.1, {"f()": 70.0, "g()": 30.1})}
    assert largest_change(State(2, costs), 0, 1) == pytest.approx(0.1)
    assert largest_change(State(2, costs), 0, 1, net=False) == pytest.approx(20.0)


def test_a_changed_signature_is_no_change_of_cost() -> None:
    costs = {0: Cost(100.0, {"f(int)": 60.0, "g()": 40.0}), 9: Cost(103.0, {"f(long)": 60.5, "g()": 42.5})}
    assert largest_change(State(10, costs), 0, 9) == pytest.approx(2.5)
