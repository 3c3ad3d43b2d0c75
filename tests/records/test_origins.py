"""Whose a kept build is: the clone's that it was made from, or whoever had it made where nobody knows that."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from questions import question
from repositories import Story, git

from cpubisect.base.git.clone import find_clone
from cpubisect.base.home import Home
from cpubisect.builders.build import BuildResult, Outcome, Recipe, Toolchain
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.schema import MIGRATIONS
from cpubisect.records.store import Store
from cpubisect.search.comparing.question import Asked, Row, Side

TOOLCHAIN = Toolchain("gcc-12", "gcc-12", "g++-12", "ar", "ranlib", "12.2.0")
BEFORE_ORIGINS = 11


def result(sha: str, origin: str = "") -> BuildResult:
    recipe = Recipe(engine="rocksdb", commit=sha, version="1.2.3", toolchain=TOOLCHAIN, system="make")
    return BuildResult(recipe, Outcome.BUILT, None, Path("log"), 1.0, 1.0, origin=origin)


@pytest.mark.parametrize(
    ("origin", "asker", "asking_for", "usable"),
    [
        ("one", "maker", "one", True),
        ("one", "other", "one", True),
        ("one", "maker", "two", False),
        ("one", "other", "two", False),
        ("", "maker", "one", True),
        ("", "other", "one", False),
        ("", "user", "one", False),
        ("one", "user", "two", False),
    ],
)
def test_a_build_is_used_for_its_own_clone_only(
    tmp_path: Path, origin: str, asker: str, asking_for: str, usable: bool
) -> None:
    store = Store(tmp_path / "store.sqlite")
    askers = {name: store.create_bisection(question(), {}) for name in ("maker", "other", "user")}
    made = result("c0ffee", origin)
    build = store.add_build(askers["maker"], made, "d1gest", 1.0)
    store.use_build(askers["user"], build.id)
    assert build.origin == origin
    rows = store.builds_of_recipe(askers[asker], made.recipe.key(), asking_for)
    assert [row.id for row in rows] == [build.id] * usable
    found = store.artifacts_of(askers[asker], "rocksdb", ["c0ffee"], asking_for)
    assert found == [("c0ffee", made.recipe.key(), "d1gest")] * usable


def older(path: Path) -> None:
    """Take back the last migration."""
    with sqlite3.connect(path) as plain:
        plain.execute("ALTER TABLE builds DROP COLUMN origin")
        plain.execute(f"PRAGMA user_version = {BEFORE_ORIGINS}")
    plain.close()


def test_an_older_store_gets_the_origins_of_clones_that_are_still_there(tmp_path: Path) -> None:
    Story().write(tmp_path / "here")
    Story().write(tmp_path / "bare", bare=True)
    home = Home(tmp_path / "home")
    home.root.mkdir()
    store, comparisons = Store(home.store), Comparisons.of(home)
    asked = {name: question(repository=str(tmp_path / name)) for name in ("here", "bare", "gone")}
    bisections = {name: store.create_bisection(one, {}) for name, one in asked.items()}
    builds = {name: store.add_build(number, result(name), name, 1.0).id for name, number in bisections.items()}
    store.use_build(bisections["gone"], builds["here"])
    sides = (Side("v1", "1" * 40), Side("v2", "2" * 40))
    rows = (Row("readrandom", "point queries", 1, {}),)
    compared = Asked("rocksdb", str(tmp_path / "here"), sides, rows, str(tmp_path / "matrix"))
    comparing = comparisons.add(compared, {})
    builds["compared"] = comparisons.store.add_build(comparing, result("compared"), "compared", 1.0).id
    store.close()
    comparisons.store.close()
    older(home.store)
    Store(home.store).close()
    with sqlite3.connect(home.store) as plain:
        found = dict(plain.execute("SELECT sha, origin FROM builds"))
        assert plain.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    plain.close()
    here, bare = (find_clone(tmp_path / name).identity for name in ("here", "bare"))
    assert found == {"here": here, "bare": bare, "gone": "", "compared": here}
    assert len(list((home.root / "backups").glob("before-version-*.sqlite"))) == 1


def test_a_clone_is_known_by_the_place_of_its_objects(tmp_path: Path) -> None:
    story = Story()
    story.commit()
    story.write(tmp_path / "one")
    git(tmp_path, "clone", "--quiet", "one", "two")
    git(tmp_path / "one", "worktree", "add", "--quiet", "--detach", str(tmp_path / "worktree"))
    (tmp_path / "link").symlink_to(tmp_path / "one")
    one = find_clone(tmp_path / "one").identity
    assert len(one) == 16
    assert {find_clone(tmp_path / same).identity for same in ("one", "link", "worktree", "one/.git")} == {one}
    assert find_clone(tmp_path / "two").identity != one
    objects = tmp_path / "two" / ".git" / "objects"
    objects.rename(tmp_path / "theirs")
    objects.symlink_to(tmp_path / "one" / ".git" / "objects")
    assert find_clone(tmp_path / "two").identity != one, "who links to another's objects is not that one"


def test_the_origin_of_a_build_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    asker = store.create_bisection(question(), {})
    build = store.add_build(asker, replace(result("c0ffee"), origin="0123456789abcdef"), None, 1.0)
    assert [row.origin for row, _ in store.builds(asker)] == [build.origin] == ["0123456789abcdef"]
