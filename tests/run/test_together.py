"""A search with several builders, in scripted histories: it comes to the answer of one builder, whatever order builds
end in."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from crew_lab import CrewLab
from fake_lab import Commit, FakeLab, straight
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from questions import question
from several_labs import answered

from cpubisect.run.runner import run
from cpubisect.search.verdict import Verdict
from searching.woven import woven as drawn

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def asked(commits: dict[str, Commit], **more: Any) -> Any:
    shas = list(commits)
    return question(good=shas[0], bad=shas[-1], good_sha=shas[0], bad_sha=shas[-1], min_step=1.0, **more)


def named(verdict: Verdict) -> list[str]:
    return sorted(culprit.sha for culprit in verdict.culprits)


@st.composite
def histories(draw: st.DrawFn) -> dict[str, Commit]:
    """Lines of up to 60 commits with one to three steps; some commits do not build, none of them at a step, and none
    for the reason of another: what lies between two that fail alike is presumed to, in whatever order they are met."""
    size = draw(st.integers(3, 60))
    steps = draw(st.sets(st.integers(1, size - 1), min_size=1, max_size=3))
    near = {place + side for place in steps for side in (-1, 0)} | {0, size - 1}
    dead = draw(st.sets(st.integers(1, max(1, size - 2)), max_size=size // 6)) - near
    cost, made = 1000.0, []
    for number in range(size):
        cost += 50.0 if number in steps else 0.0
        made.append(Commit(cost, fails=f"no {number}" if number in dead else ""))
    return straight(*made)


@SLOW
@given(commits=histories(), builders=st.integers(2, 16), seed=st.integers(0, 2**32))
def test_the_answer_is_that_of_one_builder_and_nothing_is_made_twice(
    commits: dict[str, Commit], builders: int, seed: int
) -> None:
    lab = CrewLab(commits, asked(commits), builders, seed)
    verdict, expected = run(lab), run(FakeLab(commits, asked(commits)))
    assert named(verdict) == named(expected)
    assert verdict.kind == expected.kind
    assert max(Counter(lab.made).values()) == 1
    assert set(lab.probed) <= set(lab.made)
    assert len(lab.crew.ordered) == len(lab.made) + len(lab.crew.withdrawn) + len(lab.crew.begun())
    assert lab.crew.most <= builders


@pytest.mark.parametrize("builders", [2, 4, 8])
def test_rounds_of_builds_are_saved(builders: int) -> None:
    commits = straight(*[1000.0] * 170, *[1100.0] * 80)
    lab, alone = CrewLab(commits, asked(commits), builders), FakeLab(commits, asked(commits))
    assert named(run(lab)) == named(run(alone)) == ["c170"]
    assert lab.crew.most == builders
    assert len(lab.made) <= 2.5 * len(alone.built_here())


def woven(seed: int, lines: int, depth: int, culprit: int) -> dict[str, Commit]:
    """A history with merges, in which one commit that is none makes a function dearer."""
    graph = drawn(seed, 0, lines, depth)
    parents = {"c0": (), **{node.sha: tuple(p.replace("start", "c0") for p in node.parents) for node in graph.nodes}}
    inner = [sha for sha in [*parents][1:-1] if len(parents[sha]) == 1]
    slow, within = inner[culprit % len(inner)], set[str]()
    commits = {}
    for sha, before in parents.items():
        if sha == slow or within & {*before}:
            within.add(sha)
        cost = {"parse": 300.0, "seek": 480.0 if sha in within else 400.0}
        commits[sha] = Commit(cost, before, words=frozenset({f"of_{sha}"}))
    return commits


@SLOW
@given(
    history=st.builds(woven, st.integers(0, 50), st.integers(2, 12), st.integers(1, 3), st.integers(0, 99)),
    builders=st.integers(2, 16),
    seed=st.integers(0, 2**32),
)
def test_a_chase_catches_what_one_builder_catches(history: dict[str, Commit], builders: int, seed: int) -> None:
    lab = CrewLab(history, asked(history), builders, seed)
    verdict, expected = run(lab), run(FakeLab(history, asked(history)))
    assert named(verdict) == named(expected)
    assert max(Counter(lab.made).values()) == 1
    assert set(lab.probed) <= set(lab.made)
    assert lab.crew.most <= builders


@SLOW
@given(
    first=histories(),
    places=st.lists(st.integers(1, 59), min_size=1, max_size=2),
    builders=st.integers(2, 16),
    seed=st.integers(0, 2**32),
)
def test_tests_that_are_answered_side_by_side_get_the_answers_of_one_builder(
    first: dict[str, Commit], places: list[int], builders: int, seed: int
) -> None:
    steps = {1 + place % (len(first) - 1) for place in places}
    dead = {number for number, commit in enumerate(first.values()) if commit.fails}
    steps -= dead | {number + 1 for number in dead}
    costs = [1000.0 + 50.0 * sum(number >= step for step in steps) for number in range(len(first))]
    second = {sha: replace(commit, cost=cost) for (sha, commit), cost in zip(first.items(), costs, strict=True)}
    several = {"scan": (first, asked(first)), "read": (second, asked(second))}
    yard, found = answered(several, builders, seed)
    for name, (commits, question_) in several.items():
        expected = run(FakeLab(commits, question_))
        assert named(found[name]) == named(expected)
        assert found[name].kind == expected.kind
    assert max(Counter(yard.made).values()) == 1
    assert all(set(lab.probed) <= set(yard.made) for lab in yard.labs)
    assert yard.most <= builders


def test_two_tests_take_hardly_more_rounds_than_one() -> None:
    first, second = (straight(*[1000.0] * step, *[1100.0] * (120 - step)) for step in (40, 90))
    several = {"scan": (first, asked(first)), "read": (second, asked(second))}
    yard, found = answered(several, 4, 1)
    assert {name: named(verdict) for name, verdict in found.items()} == {"scan": ["c40"], "read": ["c90"]}
    assert yard.most == 4


@SLOW
@given(place=st.integers(1, 59), builders=st.integers(2, 16), seed=st.integers(0, 2**32))
def test_on_cpu_time_builders_that_are_free_build_what_the_host_then_reads(
    place: int, builders: int, seed: int
) -> None:
    commits = straight(*[1000.0] * place, *[1200.0] * (60 - place))
    lab = CrewLab(commits, asked(commits), builders, seed, sigma=0.01, counts_instructions=False)
    assert named(run(lab)) == [f"c{place}"]
    assert max(Counter(lab.made).values()) == 1
    assert set(lab.probed) <= set(lab.made)
    assert 2 <= lab.crew.most <= builders


def test_on_cpu_time_what_cannot_be_built_is_gone_around_by_many_too() -> None:
    commits = straight(*[1000.0] * 20, *[Commit(1200.0, fails="no")] * 3, *[1200.0] * 37)
    lab = CrewLab(commits, asked(commits), 4, sigma=0.01, counts_instructions=False)
    verdict = run(lab)
    assert [(group.after, group.until) for group in verdict.groups] == [("c19", "c23")]
    assert max(Counter(lab.made).values()) == 1
