from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.objects import ObjectFile
from cpubisect.search.price import Compilations, Versions, Work

Tree = Mapping[str, str]

HEADERS = ("a.h", "b.h", "sub/c.h")
UNITS = ("one.cc", "two.cc", "sub/three.cc")

trees = st.fixed_dictionaries(
    {path: st.sampled_from(["1", "2", "3"]) for path in HEADERS},
    optional={path: st.sampled_from(["1", "2"]) for path in UNITS},
)
includes = st.fixed_dictionaries({unit: st.sets(st.sampled_from(HEADERS)) for unit in UNITS})


def chain(trees: Sequence[Tree]) -> Versions:
    """Commits named by their numbers."""
    versions = Versions()
    before: Tree = {}
    for number, tree in enumerate(trees):
        paths = {*before, *tree} if number else set()
        changed = {path: (before.get(path, ""), tree.get(path, "")) for path in paths}
        versions.append(str(number), {path: pair for path, pair in changed.items() if pair[0] != pair[1]})
        before = tree
    return versions


def built(tree: Tree, included: Mapping[str, set[str]]) -> dict[str, ObjectFile]:
    """What a build of a tree tells, each unit taking its own time."""
    return {
        f"{unit}.o": ObjectFile(unit, (unit, *sorted(included[unit])), float(number + 1))
        for number, unit in enumerate(UNITS)
        if unit in tree
    }


def compiled(tree: Tree, others: Sequence[Tree], included: Mapping[str, set[str]]) -> set[str]:
    """The units that no other tree has just so, with all that they include."""
    content = {unit: [(path, tree.get(path)) for path in (unit, *sorted(included[unit]))] for unit in UNITS}
    return {
        unit
        for unit in UNITS
        if unit in tree
        and not any(content[unit] == [(path, other.get(path)) for path, _ in content[unit]] for other in others)
    }


@given(st.lists(trees, min_size=1, max_size=8), includes, st.data())
def test_what_must_be_compiled_is_what_no_build_has(history, included, data) -> None:
    numbers = data.draw(st.lists(st.sampled_from(range(len(history))), min_size=1, unique=True))
    also = data.draw(st.lists(st.sampled_from(range(len(history))), unique=True))
    builds = {str(number): built(history[number], included) for number in numbers}
    known = {unit for number in numbers for unit in UNITS if unit in history[number]}
    folders = {unit.rpartition("/")[0] for unit in known}

    work = Compilations(chain(history), builds, 10.0).work(map(str, also))

    for number, tree in enumerate(history):
        missed = compiled(tree, [history[other] for other in (*numbers, *also)], included)
        # Nothing is known of what a unit includes that no build has.
        new = {unit for unit in UNITS if unit in tree and unit not in known and unit.rpartition("/")[0] in folders}
        there = {unit for unit in new if any(history[other].get(unit) == tree[unit] for other in also)}
        expected = (missed & known) | (new - there)
        seconds = [UNITS.index(unit) + 1.0 if unit in known else 10.0 for unit in expected]
        assert work[str(number)].objects == len(expected)
        assert work[str(number)].seconds == pytest.approx(sum(seconds))
        assert work[str(number)].longest == max(seconds, default=0.0)


def test_a_source_that_was_there_and_not_compiled_stays_out() -> None:
    history = [{"one.cc": "1", "other.cc": "1"}, {"one.cc": "1", "other.cc": "2", "new.cc": "1"}]
    work = Compilations(chain(history), {"0": built(history[0], {unit: set() for unit in UNITS})}, 7.0).work()
    assert (work["0"], work["1"]) == (Work(), Work(1, 7.0, 7.0))


def test_a_file_that_is_put_back_is_the_old_one() -> None:
    history = [{"one.cc": "1"}, {"one.cc": "2"}, {"one.cc": "1"}]
    work = Compilations(chain(history), {"0": built(history[0], {unit: set() for unit in UNITS})}, 7.0).work()
    assert [work[str(number)].objects for number in range(3)] == [0, 1, 0]


def test_the_longest_compilation_is_waited_for() -> None:
    assert Work(3, 12.0, 5.0).wall_s(2) == 6.0
    assert Work(3, 12.0, 9.0).wall_s(2) == 9.0


def test_what_is_done_before_is_done_anew_where_its_files_changed_and_by_one_process() -> None:
    history = [{"one.cc": "1", "a.cmake": "1"}, {"one.cc": "2", "a.cmake": "1"}, {"one.cc": "2", "a.cmake": "2"}]
    checks = {"checks": ObjectFile("", ("a.cmake",), 30.0)}
    objects = {"one.o": ObjectFile("one.cc", ("one.cc",), 8.0), **checks}
    work = Compilations(chain(history), {"0": objects}, 7.0).work()
    assert [work[str(number)] for number in range(3)] == [Work(), Work(1, 8.0, 8.0), Work(1, 8.0, 8.0, 30.0)]
    assert work["2"].wall_s(4) == 38.0
