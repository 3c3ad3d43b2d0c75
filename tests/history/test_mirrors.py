import os
from pathlib import Path
from shutil import which

import pytest
from repositories import Story, allow_partial, git

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.builders.trees.source import checked_out
from cpubisect.history import mirrors
from cpubisect.history.mirrors import mirror_of, refresh


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with a branch, a tag, and a pull request as public hosts keep them."""
    story = Story()
    for number in range(4):
        story.commit({"a.c": f"{number}\n"})
    shas = story.write(tmp_path / "kv")
    git(tmp_path / "kv", "tag", "v1", shas[1])
    git(tmp_path / "kv", "update-ref", "refs/pull/7/head", shas[4])
    return tmp_path / "kv"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("CPUBISECT_HOME", str(tmp_path / "home"))
    return Home.open()


def refs(clone: Path) -> set[str]:
    return set(git(clone, "for-each-ref", "--format=%(refname)").split())


def test_a_mirror_has_branches_and_tags_and_no_pull_requests(home: Home, origin: Path) -> None:
    url = f"file://{origin}"
    clone = mirror_of(home, url)
    branch = git(origin, "symbolic-ref", "HEAD").strip()
    assert refs(clone) == {branch, "refs/tags/v1"}
    assert mirror_of(home, url) == clone


def test_a_mirror_has_contents_only_of_what_was_read(home: Home, origin: Path, tmp_path: Path) -> None:
    allow_partial(origin)
    clone = mirror_of(home, f"file://{origin}")

    def contents() -> int:
        return git(clone, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split().count("blob")

    assert contents() == 0
    with checked_out(clone, "v1", tmp_path / "trees") as tree:
        assert tree.read("a.c") == "0\n"
    assert contents() == 1
    git(origin, "checkout", "--quiet", "-f", "HEAD")
    (origin / "a.c").write_text("new\n")
    git(origin, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-a", "-m", "more")
    refresh(home, f"file://{origin}")
    assert contents() == 1


def test_a_refresh_brings_new_branches_and_tags_and_drops_old_ones(home: Home, origin: Path) -> None:
    url = f"file://{origin}"
    git(origin, "branch", "old")
    clone = mirror_of(home, url)
    git(origin, "branch", "-D", "old")
    git(origin, "branch", "new")
    git(origin, "tag", "v2")
    git(origin, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "more")
    refresh(home, url)
    assert {"refs/heads/new", "refs/tags/v2"} < refs(clone)
    assert "refs/heads/old" not in refs(clone)
    branch = git(origin, "symbolic-ref", "HEAD").strip()
    assert git(clone, "rev-parse", branch) == git(origin, "rev-parse", branch)


def test_how_far_a_clone_is_is_told(tmp_path: Path, home: Home, origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a git that stops until somebody was told."""
    told: list[str] = []
    gate, own = tmp_path / "gate", tmp_path / "bin" / "git"
    own.parent.mkdir()
    waits = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    says = "printf 'Receiving objects:  9%%\\rReceiving objects: 10%%\\r'"
    own.write_text(f'#!/bin/sh\n{says}\n{waits}\nexec {which("git")} "$@"\n')
    own.chmod(0o755)
    monkeypatch.setattr(mirrors, "_TOLD_EVERY_S", 0.05)
    monkeypatch.setenv("PATH", str(own.parent), prepend=os.pathsep)

    def hear(text: str) -> None:
        told.append(text)
        gate.touch()

    mirror_of(home, f"file://{origin}", hear)
    assert told[0] == f"cloning file://{origin}: Receiving objects: 10%"


def test_what_cannot_be_cloned_leaves_nothing(tmp_path: Path, home: Home) -> None:
    with pytest.raises(UserError, match="cannot clone"):
        mirror_of(home, f"file://{tmp_path}/nowhere.git")
    assert [path.name for path in home.repositories.iterdir() if path.suffix != ".lock"] == []
