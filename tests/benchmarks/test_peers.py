"""Each search finds what is easy, costs what it should, and git's own choices are git's."""

import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from repositories import Story, git
from scipy import stats

from searching import asv, bayesect, git_bisect, pinpoint
from searching.host import Host, Search
from searching.score import Verdict, judge
from searching.world import World

EASY = World(size=200, step=20)
PEERS: dict[str, Search] = {
    "git bisect ×1": partial(git_bisect.search, repeats=1),
    "git bisect ×10": partial(git_bisect.search, repeats=10),
    "git_bayesect": bayesect.search,
    "asv find": asv.search,
    "Pinpoint": pinpoint.search,
}


@pytest.mark.parametrize("search", PEERS.values(), ids=list(PEERS))
@pytest.mark.parametrize("trial", range(5))
def test_each_finds_an_easy_step(search: Search, trial: int) -> None:
    history = EASY.draw(2, trial)
    host = Host(history)
    answer = search(host)
    assert judge(history, answer) is Verdict.RIGHT, answer
    assert host.builds <= 14
    assert host.clock_s == host.builds * EASY.build_s + host.probes * EASY.probe_s


@pytest.mark.parametrize("name", ["git bisect ×10", "Pinpoint"])
def test_broken_builds_are_gone_around(name: str) -> None:
    world = World(size=200, step=20, dead=0.2)
    for history in (world.draw(2, trial) for trial in range(20)):
        if history.within() == (history.culprit - 1, history.culprit):
            assert judge(history, PEERS[name](Host(history))) is Verdict.RIGHT


def test_git_bisect_names_the_whole_broken_stretch() -> None:
    world = World(size=200, step=20, dead=0.2)
    history = next(h for h in (world.draw(2, trial) for trial in range(100)) if h.culprit in h.dead)
    answer = PEERS["git bisect ×10"](Host(history))
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
