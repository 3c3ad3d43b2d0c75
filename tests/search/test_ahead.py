"""What free builders make on CPU time, while one host reads."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.search.clock.digest import Reading
from cpubisect.search.clock.noisy import next_action
from cpubisect.search.clock.situation import Probe, Situation
from cpubisect.search.many.ahead import chances, next_builds, pointless, while_waiting, with_pending

BUILD_S, PROBE_S = 400.0, 40.0


def situation(
    size: int = 200,
    step: float = 10.0,
    culprit: int = 60,
    read: Mapping[int, int] | None = None,
    dead: Mapping[int, str] | None = None,
    probe_s: float = PROBE_S,
    there: frozenset[int] = frozenset(),
    seed: int = 1,
) -> Situation:
    """Both ends read eight times, and some other numbers too; the noise is 1 %."""
    chance = np.random.default_rng(seed)
    counts = {0: 8, size - 1: 8, **(read or {})}
    turns = [number for turn in range(8) for number, count in counts.items() if turn < count]
    readings = [
        Reading(number, 100 + (step if number >= culprit else 0.0) + chance.normal(), 60.0 * place)
        for place, number in enumerate(turns)
    ]
    built = {*counts, *there}
    return Situation(size, readings, lambda n: 0.0 if n in built else BUILD_S, probe_s, dead or {})


def test_one_builder_builds_what_the_search_asks_for() -> None:
    for read in ({}, {100: 4}, {100: 4, 50: 3}):
        now = situation(read=read)
        action = next_action(now)
        assert isinstance(action, Probe)
        expected = (action.number,) if now.build_s(action.number) else ()
        assert next_builds(now) == expected


def test_more_builders_split_the_range_evenly() -> None:
    chosen = sorted(next_builds(situation(), 3))
    assert len(chosen) == 3
    edges = [0, *chosen, 199]
    assert max(b - a for a, b in pairwise(edges)) <= 110


def test_what_is_being_built_is_not_built_again_but_cut_at() -> None:
    pending = {100: 300.0}
    chosen = next_builds(situation(), 2, pending)
    assert 100 not in chosen
    assert {n < 100 for n in chosen} == {True, False}


def test_where_a_commit_said_the_step_cannot_be_nothing_is_built() -> None:
    chosen = next_builds(situation(read={100: 6}), 4)
    assert chosen
    assert all(n < 100 for n in chosen)


def test_no_more_is_built_than_the_host_can_read() -> None:
    many = next_builds(situation(step=20.0), 8)
    few = next_builds(situation(step=20.0, probe_s=4000.0), 8)
    assert len(few) == 2 < len(many)


def test_nothing_is_built_before_the_ends_differ_or_once_there_is_an_answer() -> None:
    assert next_builds(situation(step=0.0), 4) == ()
    surely = situation(size=4, culprit=2, read={1: 8, 2: 8})
    assert not isinstance(next_action(surely), Probe)
    assert next_builds(surely, 4) == ()
    assert next_builds(situation(), 0) == ()
    assert next_builds(situation(), -1) == ()


def test_a_build_that_is_nearly_done_is_waited_for() -> None:
    now = situation()
    action = next_action(with_pending(now, {100: 1.0}))
    assert isinstance(action, Probe)
    assert action.number == 100


def test_meanwhile_the_host_reads_what_is_there() -> None:
    reading = while_waiting(situation(step=2.0, read={100: 1}))
    assert reading is not None
    assert reading.number == 100
    assert while_waiting(situation(step=0.0)) is None
    alone = while_waiting(situation())
    assert alone is None or alone.number in (0, 199)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 120), st.integers(1, 9), st.integers(0, 2**20), st.data())
def test_whatever_is_known_nothing_is_built_twice(size: int, k: int, seed: int, data: st.DataObject) -> None:
    inner = st.sets(st.integers(1, max(1, size - 2)), max_size=4)
    read = {n: 3 for n in data.draw(inner) if 0 < n < size - 1}
    dead = {n: "broken" for n in data.draw(inner) if 0 < n < size - 1 and n not in read}
    pending = {n: 100.0 for n in data.draw(inner) if 0 < n < size - 1 and n not in read and n not in dead}
    culprit = data.draw(st.integers(1, size - 1))
    now = situation(size, 5.0, culprit, read, dead, seed=seed)
    chosen = next_builds(now, k, pending)
    assert len(chosen) <= k
    assert len(set(chosen)) == len(chosen)
    assert not set(chosen) & {0, size - 1, *read, *dead, *pending}


@pytest.mark.parametrize("k", [2, 4])
def test_dead_numbers_are_gone_around(k: int) -> None:
    dead = dict.fromkeys(range(80, 121), "broken")
    assert not set(next_builds(situation(dead=dead), k)) & set(dead)


def test_builds_in_gaps_that_cannot_hold_the_step_are_ended() -> None:
    now = situation(read={100: 6})
    assert pointless(now, {50: 300.0, 150: 300.0}) == {150}
    assert pointless(situation(step=0.0), {50: 300.0}) == frozenset()


def test_the_culprit_is_likely_where_the_step_is() -> None:
    likely = chances(situation(size=9, culprit=4, read={3: 8, 4: 8, 6: 4}))
    assert sum(likely.values()) == pytest.approx(1.0)
    assert likely[4] > 0.9
    assert chances(situation(step=0.0)) == {}
