"""Two clones that have a commit in common have no build in common: one of them may lie about what the commit is."""

import re
import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import git
from small_bisections import begun, cost, history, tree

from cpubisect.records.rows import BuildRow
from cpubisect.records.store import Store
from cpubisect.run.lab import HostLab
from cpubisect.search.events import Event
from cpubisect.service.launch import lab_of


def quiet(event: Event) -> None:
    pass


def lab(path: Path, good: str) -> HostLab:
    registry, bisection = begun(path, good)
    return lab_of(registry, bisection, quiet)


def loops(lab: HostLab, build: BuildRow) -> set[str]:
    """What the program of a build says that a lookup costs."""
    found = lab.bench.binary(build)
    assert found is not None
    said = re.findall(rb"cost of a lookup: (\d+)", (found / "db_bench").read_bytes())
    return {number.decode() for number in said}


def forget(store: Store) -> None:
    """As it is with builds from before origins were kept, of a clone that was not there."""
    with store.writing() as connection:
        connection.execute("UPDATE builds SET origin = ''")


@pytest.fixture
def clones(tmp_path: Path) -> tuple[dict[int, str], Path, Path]:
    """A history, in two clones of it. The objects of the second say of a commit what the first one's do not."""
    shas = history(tree(1000), cost(1100), cost(1200)).write(tmp_path / "honest")
    shutil.copytree(tmp_path / "honest", tmp_path / "liar")
    blob = git(tmp_path / "liar", "rev-parse", f"{shas[3]}:cost.h")
    loose = tmp_path / "liar" / ".git" / "objects" / blob[:2] / blob[2:]
    lie = cost(9000)["cost.h"].encode()
    loose.unlink()  # Small histories are not packed.
    loose.write_bytes(zlib.compress(b"blob %d\0" % len(lie) + lie))
    return shas, tmp_path / "honest", tmp_path / "liar"


def test_what_was_built_of_a_commit_in_one_clone_is_not_used_in_another(
    home: Path, clones: tuple[dict[int, str], Path, Path]
) -> None:
    shas, honest, liar = clones
    theirs = lab(liar, shas[1])
    lie = theirs.build(shas[3])
    assert loops(theirs, lie) == {"9000"}
    ours = lab(honest, shas[1])
    assert ours.kept([shas[3]]) == frozenset()
    truth = ours.build(shas[3])
    assert truth.recipe_key == lie.recipe_key
    assert loops(ours, truth) == {"1200"}
    assert (lie.origin, truth.origin) == (theirs.history.identity, ours.history.identity)
    again = lab(honest, shas[1])
    assert again.kept([shas[3]]) == {shas[3]}
    assert again.build(shas[3]).id == truth.id
    assert lab(liar, shas[1]).build(shas[3]).id == lie.id


def test_a_build_of_nobody_knows_which_clone_is_used_by_whoever_had_it_made(
    home: Path, clones: tuple[dict[int, str], Path, Path]
) -> None:
    shas, honest, _ = clones
    first = lab(honest, shas[1])
    made = first.build(shas[3])
    forget(first.store)
    resumed = replace(first, _built={}, _twins={}, _undrawn={})
    assert resumed.kept([shas[3]]) == {shas[3]}
    assert resumed.build(shas[3]).id == made.id
    other = lab(honest, shas[1])
    assert other.kept([shas[3]]) == frozenset()
    assert other.build(shas[3]).id != made.id
