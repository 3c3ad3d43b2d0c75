"""Simulated histories: the same for a seed, the same noise for everybody, and what each parameter does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searching.host import Answer, Host
from searching.score import Verdict, enough, judge
from searching.world import BASE, World

BUSY = World(size=300, step=2, layout=0.3, others=4, drift=0.5, outliers=0.05, dead=0.2, releases=10)


def test_a_seed_is_one_history() -> None:
    one, again, other = BUSY.draw(7, 3), BUSY.draw(7, 3), BUSY.draw(7, 4)
    assert one.culprit == again.culprit
    assert one.dead == again.dead
    assert np.array_equal(one.means, again.means)
    asked = [(number, repeat, 400.0 * repeat) for number in (0, 17, 299) for repeat in (0, 1, 99)]
    assert [one.value(*probe) for probe in asked] == [again.value(*probe) for probe in asked]
    assert [one.value(*probe) for probe in asked] != [other.value(*probe) for probe in asked]


def test_the_rth_probe_of_a_commit_has_the_same_noise_whoever_asks() -> None:
    """Whatever else was probed before, and however often."""
    history = replace(BUSY, drift=0.0).draw(1, 1)
    alive = [number for number in range(300) if number not in history.dead][:6]
    one, other = Host(history), Host(replace(BUSY, drift=0.0).draw(1, 1))
    for host in (one, other):
        for number in alive:
            assert host.build(number)
    first = {number: one.probe_times(number, 70) for number in alive}
    second: dict[int, list[float]] = {number: [] for number in alive}
    for _ in range(70):
        for number in reversed(alive):
            second[number].append(other.probe(number))
    assert first == second


def test_the_host_wanders_with_time_alone() -> None:
    history, again = BUSY.draw(1, 2), BUSY.draw(1, 2)
    late, early = history.drift(500_000.0), history.drift(1000.0)
    assert (again.drift(1000.0), again.drift(500_000.0)) == (early, late)
    assert history.value(5, 0, 1000.0) - early == pytest.approx(history.value(5, 0, 500_000.0) - late)


@given(st.integers(2, 500), st.integers(0, 50), st.sampled_from([0.05, 0.2]), st.sampled_from([0, 5, 47]))
def test_ends_and_releases_can_be_built_and_the_culprit_is_where_the_step_is(
    size: int, trial: int, dead: float, releases: int
) -> None:
    history = World(size=size, step=3, dead=dead, releases=releases).draw(1, trial)
    assert not {0, size - 1} & set(history.dead)
    assert not history.built & set(history.dead)
    assert len(history.dead) <= dead * size + 1
    changes = np.diff(history.means)
    assert np.flatnonzero(changes).tolist() == [history.culprit - 1]
    assert history.means[0] == BASE
    assert history.means[-1] == pytest.approx(BASE + 3)


def test_noise_is_as_large_as_the_world_says() -> None:
    plain = World(size=200).draw(1, 0)
    values = np.array([[plain.value(n, r, 0.0) for r in range(100)] for n in range(200)]) - plain.means[:, np.newaxis]
    assert values.std() == pytest.approx(1.0, abs=0.02)
    scattered = World(size=200, layout=0.3).draw(1, 0)
    layouts = [scattered.value(n, 0, 0.0) - plain.value(n, 0, 0.0) for n in range(200)]
    assert np.std(layouts) == pytest.approx(0.3, abs=0.05)
    dirty = World(size=200, outliers=0.05).draw(1, 0)
    added = np.array([[dirty.value(n, r, 0.0) - plain.value(n, r, 0.0) for r in range(100)] for n in range(200)])
    assert added.min() >= 0.0
    assert (added > 0).mean() == pytest.approx(0.05, abs=0.01)
    assert added[added > 0].mean() == pytest.approx(5.0, abs=0.5)


def test_the_clock_adds_up() -> None:
    history = World(size=100, dead=0.2, releases=3).draw(1, 1)
    host = Host(history)
    alive = next(number for number in range(1, 99) if number not in history.dead and number not in history.built)
    assert host.build(0)
    assert host.clock_s == 0.0
    assert host.build(alive)
    assert host.build(alive)
    assert not host.build(next(iter(history.dead)))
    assert not host.build(next(iter(history.dead)))
    host.probe_times(alive, 3)
    assert (host.builds, host.probes, host.clock_s) == (2, 3, 2 * 400.0 + 3 * 40.0)
    with pytest.raises(ValueError, match="not built"):
        host.probe(alive + 1)


def test_what_is_right() -> None:
    """The culprit alone; in a broken stretch the stretch, with the commit after it; more is a set."""
    world = World(size=400, dead=0.2)
    clear = next(h for h in (world.draw(1, t) for t in range(100)) if h.within() == (h.culprit - 1, h.culprit))
    at = clear.culprit
    assert judge(clear, Answer(at - 1, at)) is Verdict.RIGHT
    assert judge(clear, Answer(at - 2, at)) is Verdict.SET
    assert judge(clear, Answer(at, at + 1)) is Verdict.WRONG
    assert judge(clear, None) is Verdict.NONE
    hidden = next(h for h in (world.draw(1, t) for t in range(100)) if h.culprit in h.dead)
    low, high = hidden.within()
    assert all(number in hidden.dead for number in range(low + 1, high))
    assert judge(hidden, Answer(low, high)) is Verdict.RIGHT
    assert judge(hidden, Answer(low, high + 1)) is Verdict.SET
    assert judge(hidden, Answer(high, high + 1)) is Verdict.WRONG


@pytest.mark.parametrize(
    ("right", "trials", "expected"),
    [(10, 10, True), (9, 10, True), (8, 10, False), (198, 200, True), (195, 200, True), (193, 200, False)],
)
def test_few_trials_are_not_held_against_a_search(right: int, trials: int, expected: bool) -> None:
    assert enough(right, trials) is expected


def test_the_size_of_the_other_steps_is_told_whichever_way_they_go() -> None:
    history = World(size=200, step=2.0, others=3).draw(1, 0)
    steps = np.diff(history.means)
    others = np.abs(np.delete(steps, history.culprit - 1))
    assert np.count_nonzero(others) == 3
    assert history.others == pytest.approx(others.sum() / 2.0)
    assert World(size=200).draw(1, 0).others == pytest.approx(0.0)
