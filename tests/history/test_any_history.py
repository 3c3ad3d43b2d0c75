"""Candidates of any history at all: what git lists, beside a walk through all commits, and the laws both must keep."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from repositories import Story

from cpubisect.base.errors import UserError
from cpubisect.history.history import History

Parents = Mapping[str, tuple[str, ...]]
Shape = list[tuple[list[int], int]]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Up to 25 commits, each with the numbers of its parents, from 1, and the day it was made; several may be roots,
    and the days run as they like."""
    shape: Shape = []
    for number in range(1, draw(st.integers(2, 25)) + 1):
        earlier = st.integers(1, max(1, number - 1))
        least, most = (0, 0) if number == 1 else (draw(st.sampled_from([0, 1, 1, 1, 1, 1, 1, 1])), 3)
        shape.append((draw(st.lists(earlier, min_size=least, max_size=most, unique=True)), draw(st.integers(0, 400))))
    return shape


def ancestors(parents: Parents, tip: str) -> set[str]:
    """Everything reachable from `tip`, itself included."""
    found, waiting = {tip}, [tip]
    while waiting:
        new = set(parents[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def walked(parents: Parents, good: str, bad: str) -> list[str]:
    """The path from `start` to `bad` as `between` defines it; empty if the two are unrelated."""
    before = ancestors(parents, good)
    path = [bad]
    while path[-1] not in before and parents[path[-1]]:
        path.append(parents[path[-1]][0])
    if path[-1] not in before:
        common = before & ancestors(parents, bad)
        bases = common - {parent for commit in common for parent in parents[commit]}
        if not bases:
            return []
        base = min(bases, key=lambda sha: (-len(ancestors(parents, sha)), sha))
        path = [bad]
        while path[-1] != base:
            path.append(next(parent for parent in parents[path[-1]] if base in ancestors(parents, parent)))
    return path[::-1]


def listed(history: History, good: str, bad: str) -> list[str]:
    """The path from `start` to `bad` as the history tells it; empty if the two are unrelated, or one commit if `good`
    contains `bad`."""
    try:
        found = history.candidates(good, bad)
    except UserError as error:
        return [] if "no common history" in str(error) else [bad]
    assert [commit.parent for commit in found.commits] == [found.start, *(commit.sha for commit in found.commits[:-1])]
    assert found.fork == (None if found.start == good else found.start)
    return [found.start, *(commit.sha for commit in found.commits)]


def everything_inside(history: History, parents: Parents, path: list[str]) -> set[str]:
    """All commits that a path and, as deep as it goes, the merges on it lead to, unrelated histories among them."""
    found = set(path[1:])
    for before, commit in pairwise(path):
        if len(parents[commit]) > 1:
            for line in history.inside_merge(commit, before):
                found |= everything_inside(history, parents, [line.start, *(inner.sha for inner in line.commits)])
            merged = [ancestors(parents, head) for head in parents[commit]]
            found.update(*(all_of_it for all_of_it in merged if not all_of_it & ancestors(parents, before)))
    return found


# Two roots; the second line merges the first, whose halves have merged each other: two merge bases, equally old.
CROSSED: Shape = [([], 1), ([1], 2), ([1], 3), ([2, 3], 4), ([3, 2], 5), ([], 6), ([6, 5], 7), ([7], 8)]
# Good's line is dated long before what it has in common with bad.
BACKWARDS: Shape = [([], 300), *(([n], 301) for n in range(1, 6)), *(([n], 1) for n in range(6, 20)), ([6], 302)]
NUMBER = st.integers(1, 25)


@settings(max_examples=40)
@given(shapes(), st.lists(st.tuples(NUMBER, NUMBER), min_size=3, max_size=3))
@example(CROSSED, [(1, 8), (2, 8), (4, 8), (8, 4), (5, 4), (4, 5), (4, 6), (6, 7)])
@example(BACKWARDS, [(20, 21), (21, 20), (1, 20), (20, 1)])
def test_git_lists_what_a_walk_through_all_commits_finds(
    tmp_path_factory: pytest.TempPathFactory, shape: Shape, pairs: list[tuple[int, int]]
) -> None:
    story = Story()
    for number, (came_from, day) in enumerate(shape, 1):
        story.commit({}, branch=f"b{number}", parents=came_from, day=day)
    path = tmp_path_factory.mktemp("any") / "clone"
    shas = story.write(path, bare=True)
    parents = {shas[number]: tuple(shas[n] for n in came_from) for number, (came_from, _) in enumerate(shape, 1)}
    history = History(path)
    for pair in pairs:
        good, bad = (shas[min(number, len(shape))] for number in pair)
        expected = walked(parents, good, bad)
        assert listed(history, good, bad) == expected
        if expected:
            missing = ancestors(parents, bad) - ancestors(parents, good)
            assert everything_inside(history, parents, expected) >= missing
