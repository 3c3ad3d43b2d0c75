"""Simulated histories: the same for a seed, the same noise for everybody, and what each parameter does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searching import ours
from searching.host import Host
from searching.result import Named, Result
from searching.score import Verdict, enough, judge
from searching.world import BASE, EITHER_WAY, JUMP_H, History, Scatter, World

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
    alive = next(number for number in range(1, 98) if number not in history.dead and number not in history.built)
    assert host.build(0)
    assert host.clock_s == 0.0
    assert host.build(alive)
    assert host.build(alive)
    assert not host.build(next(iter(history.dead)))
    assert not host.build(next(iter(history.dead)))
    host.probe_times(alive, 3)
    assert (host.builds, host.probes) == (2, 3)
    # The first build shares compilations with a release, the second one with that or the first.
    assert 3 * 40.0 < host.clock_s < 2 * 400.0 + 3 * 40.0
    with pytest.raises(ValueError, match="not built"):
        host.probe(alive + 1)


def answer(*groups: tuple[int, int], named: tuple[int, ...] = ()) -> Result:
    """So many commits named, and groups."""
    return Result("", tuple(Named(number, 2.0, 1.0, 3.0, 0.999) for number in named), groups)


def test_what_an_answer_is_worth() -> None:
    history = World(size=400).draw(1, 0)
    at = history.culprit
    assert at is not None
    for said, expected in (
        (answer(named=(at,)), Verdict.RIGHT),
        (answer((at - 1, at)), Verdict.UNSURE),
        (answer((at - 2, at)), Verdict.SET),
        (answer((at, at + 1)), Verdict.WRONG_GROUP),
        (answer((at, at + 1), named=(at,)), Verdict.WRONG_GROUP),
        (answer(named=(at + 1,)), Verdict.NAMED_WRONG),
        (answer(named=(at, at + 1)), Verdict.NAMED_WRONG),
        (answer((at - 1, at), named=(at + 1,)), Verdict.NAMED_WRONG),
        (answer(), Verdict.NONE),
    ):
        assert judge(history, said) is expected, said


def test_what_is_right_where_builds_are_broken() -> None:
    """In a broken stretch the stretch, with the commit after it; more is a set."""
    world = World(size=400, dead=0.2)
    hidden = next(h for h in (world.draw(1, t) for t in range(100)) if h.culprit in h.dead)
    low, high = hidden.within()
    assert all(number in hidden.dead for number in range(low + 1, high))
    assert judge(hidden, answer((low, high))) is Verdict.RIGHT
    assert judge(hidden, answer((low, high + 1))) is Verdict.SET
    assert judge(hidden, answer((high, high + 1))) is Verdict.WRONG_GROUP


def test_nothing_is_right_where_nothing_is_planted() -> None:
    history = World(size=400, step=0.0, others=3).draw(1, 0)
    assert (history.culprit, history.steps, history.others) == (None, frozenset(), 0.0)
    assert judge(history, answer()) is Verdict.NONE
    assert judge(history, answer((7, 8))) is Verdict.WRONG_GROUP
    assert judge(history, answer(named=(7,))) is Verdict.NAMED_WRONG
    assert Host(history).wanted == 0.0
    with pytest.raises(ValueError, match="nothing is planted"):
        history.within()


def test_a_real_step_that_is_named_is_not_wrong() -> None:
    history = World(size=400, others=2).draw(1, 0)
    at = history.culprit
    assert at is not None
    other, third = sorted(history.steps - {at})
    assert judge(history, answer(named=(at, other))) is Verdict.RIGHT
    assert judge(history, answer((third - 1, third), named=(at,))) is Verdict.RIGHT
    assert judge(history, answer(named=(other,))) is Verdict.OTHER
    assert judge(history, answer((third - 1, third), named=(other,))) is Verdict.OTHER
    assert judge(history, answer((at - 1, at), named=(other,))) is Verdict.UNSURE
    assert judge(history, answer((at - 9, at), named=(other,))) is Verdict.SET


def test_the_true_size_of_a_step_is_of_the_one_before() -> None:
    history = World(size=400, step=20.0, others=4).draw(1, 0)
    at = history.culprit
    assert at is not None
    assert history.change(at) == pytest.approx(20.0 / history.means[at - 1] * 100)
    assert all(history.change(number) == 0.0 for number in range(1, 400) if number not in history.steps)


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


def test_a_host_jumps_once_and_stays() -> None:
    history = World(size=10, jump=10.0).draw(1, 0)
    first, last = (hours * 3600 for hours in JUMP_H)
    added = [history.drift(at_s) for at_s in np.linspace(first, last, 500)]
    assert (history.drift(first - 1), history.drift(last + 1), history.drift(1e6)) == (0.0, 10.0, 10.0)
    assert added == sorted(added)
    assert set(added) == {0.0, 10.0}
    assert World(size=10, jump=10.0).draw(1, 1)._jump_s != history._jump_s


def test_tails_are_heavy_and_as_wide_as_the_noise() -> None:
    heavy = noise(World(size=100, heavy=True).draw(1, 0))
    plain = noise(World(size=100).draw(1, 0))
    assert heavy.std() == pytest.approx(1.0, abs=0.1)
    assert (np.abs(heavy) > 4).mean() > 10 * (np.abs(plain) > 4).mean()


def test_outliers_are_as_large_as_the_world_says() -> None:
    plain, dirty = World(size=100), World(size=100, outliers=0.05, outlier_size=10.0)
    added = noise(dirty.draw(1, 0)) - noise(plain.draw(1, 0))
    assert set(np.unique(added.round(9)).tolist()) == {0.0, 10.0}
    assert (added > 0).mean() == pytest.approx(0.05, abs=0.01)


def noise(history: History) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """200 probes of each number, less its level."""
    values = [[history.value(number, repeat, 0.0) for repeat in range(200)] for number in range(history.world.size)]
    return np.array(values) - history.means[:, np.newaxis]


def test_layouts_either_way_leave_out_the_middle() -> None:
    off = World(size=300, layout=1.5, scatter=Scatter.EITHER_WAY)
    plain = replace(off, layout=0.0)
    layouts = [off.draw(1, 0).value(n, 0, 0.0) - plain.draw(1, 0).value(n, 0, 0.0) for n in range(300)]
    low, high = (edge * 1.5 for edge in EITHER_WAY)
    assert min(map(abs, layouts)) >= low - 0.01
    assert max(map(abs, layouts)) <= high + 0.01
    assert max(map(abs, layouts)) - min(map(abs, layouts)) > 0.9 * (high - low)
    assert np.mean(np.sign(layouts)) == pytest.approx(0.0, abs=0.2)


def test_a_build_that_fails_once_is_there_the_second_time() -> None:
    history = World(size=400, flaky=0.3).draw(1, 0)
    host, again = Host(history), Host(World(size=400, flaky=0.3).draw(1, 0))
    failed = [number for number in range(400) if not host.build(number)]
    assert len(failed) == pytest.approx(120, abs=30)
    assert [number for number in reversed(range(400)) if not again.build(number)] == failed[::-1]
    assert not host.build(failed[0])
    clock_s = host.clock_s
    assert host.build_again(failed[0])
    assert host.clock_s > clock_s
    assert failed[0] not in host.failures
    dead = World(size=400, dead=0.3, strewn=True).draw(1, 0)
    number = next(iter(dead.dead))
    assert not Host(dead).build_again(number)


def test_strewn_builds_are_broken_each_by_itself() -> None:
    strewn, together = (World(size=1000, dead=0.1, strewn=strewn).draw(1, 0) for strewn in (True, False))
    assert len(set(strewn.dead.values())) > 80
    assert len(set(together.dead.values())) == 3


def test_links_have_layouts_of_their_own_whoever_asks() -> None:
    world = World(size=50, layout=1.0)
    history, again = world.draw(1, 0), world.draw(1, 0)
    first = [history.value(7, 0, 0.0, link) for link in range(6)]
    # In another order, and after other probes.
    again.value(8, 3, 0.0, 2)
    assert [again.value(7, 0, 0.0, link) for link in reversed(range(6))] == first[::-1]
    means = [np.mean([history.value(7, repeat, 0.0, link) for repeat in range(400)]) for link in range(40)]
    assert np.std(means) == pytest.approx(1.0, abs=0.35)


def test_linking_takes_time_once_for_each_layout() -> None:
    host = Host(World(size=50, layout=1.0).draw(1, 0))
    host.build(7)
    started = host.clock_s
    for link in (0, 1, 1, 2):
        host.probe(7, link)
    assert host.clock_s - started == 4 * 40.0 + 2 * 10.0
    assert host.probes == 4


def test_some_counts_of_a_world_that_counts_are_wrong_and_nobody_else_is_named_for_it() -> None:
    world = World(64, 2.0, miscounts=0.02)
    history = world.draw(1, 2)
    counts = [history.count(3, repeat) for repeat in range(500)]
    high = [count for count in counts if count > 100.5]
    assert 2 <= len(high) <= 25
    assert all(abs(count - 100.0) < 0.1 for count in counts if count not in high)
    host = Host(history)
    result = ours.bisect(host)
    assert [named.number for named in result.named] == [history.culprit]
    assert result.named[0].low <= history.change(result.named[0].number) <= result.named[0].high


def test_a_host_that_changes_while_a_commit_is_read_makes_no_culprit_of_it() -> None:
    """Read anew it showed a third of the step, by chance more than 3.5 standard errors."""
    history = World(251, 3.0, jump=10.0).draw(1, 565)
    assert [named.number for named in ours.bisect(Host(history)).named] == [history.culprit]
