"""Each search finds what is easy, costs what it should, and git's own choices are git's."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from repositories import Story, git
from scipy import stats

from searching import asv, bayesect, duties, git_bisect, pinpoint
from searching.bench import LIMIT, Begun, Bench, Rule
from searching.host import MOST_PROBES, Answer, Host, Stopped
from searching.result import Result
from searching.score import Verdict, judge
from searching.searches import RULES, SEARCHES
from searching.world import History, World

EASY = World(size=200, step=20)
PEERS = {name: rule for name, rule in RULES.items() if name not in ("git bisect ×3", "git bisect ×30")}


def worth(history: History, answer: Answer | None) -> Verdict:
    """What a rule's answer is worth before it is confirmed."""
    groups = ((answer.low, answer.high),) if answer else ()
    return judge(history, Result("", groups=groups))


@pytest.mark.parametrize("search", PEERS.values(), ids=list(PEERS))
@pytest.mark.parametrize("trial", range(5))
def test_each_finds_an_easy_step(search: Rule, trial: int) -> None:
    history = EASY.draw(2, trial)
    host = Host(history)
    answer = search(Begun(host))
    assert worth(history, answer) is Verdict.UNSURE, answer
    assert host.builds <= 14
    # Builds share compilations.
    assert EASY.build_s < host.clock_s - host.probes * EASY.probe_s < host.builds * EASY.build_s


@pytest.mark.parametrize("name", list(SEARCHES))
@pytest.mark.parametrize("trial", range(3))
def test_each_names_an_easy_step_in_the_end(name: str, trial: int) -> None:
    history = EASY.draw(2, trial)
    result = SEARCHES[name](Host(history))
    assert judge(history, result) is Verdict.RIGHT, result
    (named,) = result.named
    assert named.low < history.change(named.number) < named.high
    assert (named.probability is None) == (name not in ("cpubisect", "git_bayesect"))


def test_the_ends_and_the_confirmation_take_a_peers_time() -> None:
    """Readings of the ends are its first ones, and an answer of one commit is measured against the one before it."""
    history = EASY.draw(2, 0)
    host = Host(history)
    seen: list[tuple[int, float]] = []

    def told(bench: Bench) -> Answer:
        seen.append((host.probes, host.clock_s))
        first = bench.probe_times(0, 3)
        assert host.probes == seen[0][0]
        assert all(95 < value < 105 for value in first)
        assert history.culprit is not None
        return Answer(history.culprit - 1, history.culprit)

    result = duties.bisect(host, told)
    ((probes, clock_s),) = seen
    assert probes >= 6
    assert clock_s >= probes * EASY.probe_s
    assert [named.number for named in result.named] == [history.culprit]
    assert host.probes >= probes + 6
    assert host.clock_s >= clock_s + 6 * EASY.probe_s


def test_a_false_answer_is_tried_and_not_named() -> None:
    history = EASY.draw(2, 0)
    assert history.culprit is not None
    for answer in (Answer(10, 11), Answer(10, 150)):
        host = Host(history)
        begun: list[int] = []

        def told(bench: Bench, host: Host = host, begun: list[int] = begun, answer: Answer = answer) -> Answer:
            begun.append(host.probes)
            return answer

        result = duties.bisect(host, told)
        assert (result.named, result.groups) == ((), ((answer.low, answer.high),))
        assert host.probes > begun[0]


def test_nothing_is_searched_where_the_ends_do_not_differ() -> None:
    def never(bench: Bench) -> Answer:
        raise AssertionError("nothing to search")

    history = World(size=200, step=0).draw(2, 0)
    result = duties.bisect(Host(history), never)
    assert judge(history, result) is Verdict.NONE
    assert result.kind == "no-regression"
    assert result.visible is not None


def test_a_rule_that_is_never_sure_is_asked_for_its_answer() -> None:
    """The cut tells little where the step is a fifth of the noise."""
    host = Host(World(size=64, step=0.2).draw(1, 2))
    answer = bayesect.search(Begun(host))
    assert answer is not None
    assert answer.probability is not None
    assert answer.probability < bayesect.CONFIDENCE
    assert host.probes == LIMIT


def test_a_bisection_without_end_is_stopped() -> None:
    host = Host(World(size=64).draw(1, 1))
    host.build(5)
    with pytest.raises(Stopped):
        host.probe_times(5, MOST_PROBES + 1)
    assert host.probes == MOST_PROBES


def test_readings_that_were_there_come_first_and_are_free() -> None:
    host = Host(World(size=64).draw(1, 1))
    host.build(5)
    begun = Begun(host, {5: [1.0, 2.0]})
    assert begun.probe_times(5, 3)[:2] == [1.0, 2.0]
    assert host.probes == 1
    assert begun.builds == 0


def test_nothing_is_found_where_the_good_end_is_taken_for_bad() -> None:
    """The cut tells nothing where the commits do not differ."""
    host = Host(World(size=64, step=0).draw(1, 1))
    assert bayesect.search(Begun(host)) is None
    assert host.probes == LIMIT


class Levels(Begun):
    """Commits that cost what is given, without noise."""

    def __init__(self, costs: list[float]) -> None:
        super().__init__(Host(World(size=len(costs)).draw(1, 0)))
        self._costs = costs

    def probe(self, number: int) -> float:
        return self._costs[number]


@pytest.mark.parametrize(
    ("costs", "found"),
    [
        # From 0 to the middle a rise of 3, from there a fall of 5, which is larger and not asked for.
        ([100.0, 103.0, 103.0, 98.0, 98.0], 1),
        # A fall of 3, then a rise of 1: a fall counts as no rise at all.
        ([100.0, 97.0, 97.0, 98.0, 98.0], 3),
        # Two falls count alike, and then the first half is taken.
        ([100.0, 99.0, 98.0, 93.0, 90.0], 1),
    ],
)
def test_asv_looks_for_the_larger_rise(costs: list[float], found: int) -> None:
    """With a fall taken for a change of its size, all three would end elsewhere."""
    answer = asv.search(Levels(costs))
    assert answer is not None
    assert answer.high == found


@pytest.mark.parametrize("name", ["git bisect ×10", "Pinpoint"])
def test_broken_builds_are_gone_around(name: str) -> None:
    world = World(size=200, step=20, dead=0.2)
    for history in (world.draw(2, trial) for trial in range(20)):
        low, high = history.within()
        if high - low == 1:
            assert worth(history, PEERS[name](Begun(Host(history)))) is Verdict.UNSURE


def test_git_bisect_names_the_whole_broken_stretch() -> None:
    world = World(size=200, step=20, dead=0.2)
    history = next(h for h in (world.draw(2, trial) for trial in range(100)) if h.culprit in h.dead)
    answer = PEERS["git bisect ×10"](Begun(Host(history)))
    assert answer is not None
    assert (answer.low, answer.high) == history.within()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 23, 64])
def test_the_middle_is_gits(tmp_path: Path, count: int) -> None:
    follow_git(tmp_path, count, culprit=1 + count // 3, broken=set())


@pytest.mark.parametrize(
    ("culprit", "broken"),
    [
        (11, {12}),
        (30, set(range(14, 22))),
        (15, set(range(10, 18))),
        (1, {1, 2, 3}),
        (24, set(range(2, 39)) - {24, 25}),
    ],
)
def test_skips_are_gits(tmp_path: Path, culprit: int, broken: set[int]) -> None:
    follow_git(tmp_path, 40, culprit, broken)


def follow_git(folder: Path, count: int, culprit: int, broken: set[int]) -> None:
    """Bisect `count` commits with the real git and step by step with ours."""
    story = Story()
    for _ in range(count + 1):
        story.commit()
    shas = list(story.write(folder / "clone").values())
    clone = folder / "clone"
    git(clone, "bisect", "start", shas[-1], shas[0])
    low, high, skipped = 0, count, set[int]()
    while (number := git_bisect.next_commit(low, high, skipped, shas)) is not None:
        assert shas.index(git(clone, "rev-parse", "HEAD")) == number
        if number in broken:
            skipped.add(number)
            word = "skip"
        elif number >= culprit:
            high, word = number, "bad"
        else:
            low, word = number, "good"
        # Git exits with 2 when only skipped commits are left.
        done = subprocess.run(["git", "bisect", word], cwd=clone, capture_output=True, text=True, check=False)
    if count > 1:
        assert ("is the first bad commit" in done.stdout) == (high - low == 1)
        assert ("could be any of" in done.stdout) == (high - low > 1)


def test_pinpoints_tests_agree_with_scipy() -> None:
    rng = np.random.default_rng(1)
    for shift, count in ((0.0, 10), (0.5, 20), (1.0, 40)):
        before, after = rng.normal(size=count), rng.normal(shift, size=count)
        expected = stats.mannwhitneyu(before, after, method="asymptotic").pvalue
        assert pinpoint.mann_whitney(before, after) == pytest.approx(expected)
        assert pinpoint.kolmogorov_smirnov(before, after) == pytest.approx(
            stats.ks_2samp(before, after).pvalue, abs=0.1
        )


def test_pinpoint_calls_the_same_the_same_only_when_the_wanted_step_would_show() -> None:
    """One in a hundred pairs that differ by the wanted step may be called the same."""
    threshold = pinpoint.same_threshold(1.0, 20)
    assert 0.05 < threshold < 0.9
    assert pinpoint.same_threshold(1.0, 40) < threshold < pinpoint.same_threshold(0.5, 20)
    rng = np.random.default_rng(5)
    step = 2 * stats.norm.ppf(0.75)
    missed = sum(pinpoint.mann_whitney(rng.normal(size=20), rng.normal(step, size=20)) > threshold for _ in range(2000))
    assert 5 <= missed <= 40


def test_pinpoint_asks_for_more_where_it_cannot_tell() -> None:
    rng = np.random.default_rng(3)
    before = rng.normal(100, 1, size=10)
    assert pinpoint.compare(before, before + 5, wanted=5) is True
    assert pinpoint.compare(before, before - 5, wanted=5) is False
    assert pinpoint.compare(before, before + 0.4, wanted=0.4) is None
