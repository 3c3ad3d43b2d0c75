"""Clones of every kind are read, none is written, and nothing in one is run."""

import hashlib
import shutil
from pathlib import Path

import pytest
from repositories import MYSQL, Story, git, mysql_version

from cpubisect.base.errors import UserError
from cpubisect.history.history import History
from cpubisect.history.repository import GitError, Repository


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, dict[int, str]]:
    story = Story()
    for number in range(4):
        story.commit({**mysql_version(f"5.6.{number}"), "same": "same\n"})
    story.tag("mysql-5.6.1", 2)
    path = tmp_path / "clone"
    return path, story.write(path)


def contents(folder: Path) -> dict[str, tuple[str, int]]:
    """Each file's digest and time of change."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        History(tmp_path / "nowhere")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_path_that_is_no_repository(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    path.mkdir() if kind == "folder" else path.write_text("text")
    with pytest.raises(UserError, match="not a git repository"):
        History(path)


@pytest.mark.parametrize("bare", [False, True])
def test_a_repository_without_commits(tmp_path: Path, bare: bool) -> None:
    Story().write(tmp_path / "empty", bare=bare)
    with pytest.raises(UserError, match="holds no commits"):
        History(tmp_path / "empty")


def test_a_shallow_clone_says_what_to_do(tmp_path: Path, clone: tuple[Path, dict[int, str]]) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", clone[0].as_uri(), "shallow")
    with pytest.raises(UserError) as caught:
        History(tmp_path / "shallow")
    assert "git fetch --unshallow" in caught.value.hint


@pytest.mark.parametrize("options", [(), ("--bare",), ("--mirror",), ("--no-checkout",), ("--filter=blob:none",)])
def test_every_kind_of_clone(tmp_path: Path, clone: tuple[Path, dict[int, str]], options: tuple[str, ...]) -> None:
    path, shas = clone
    git(path, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", *options, path.as_uri(), "copy")
    history = History(tmp_path / "copy", MYSQL)
    assert history.resolve("5.6.1").sha == shas[2]
    assert [commit.sha for commit in history.candidates(shas[1], shas[4]).commits] == [shas[2], shas[3], shas[4]]
    assert str(history.version_at(shas[3])) == "5.6.2"


def test_a_worktree(tmp_path: Path, clone: tuple[Path, dict[int, str]]) -> None:
    path, shas = clone
    git(path, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), shas[2])
    history = History(tmp_path / "tree", MYSQL)
    assert history.resolve("HEAD").sha == shas[2]
    assert history.resolve("main").sha == shas[4]
    assert not history.is_dirty()
    (tmp_path / "tree" / "VERSION").write_text("mine")
    assert history.is_dirty()
    assert not History(path).is_dirty()


def test_a_detached_head_is_a_line_of_its_own(clone: tuple[Path, dict[int, str]]) -> None:
    path, shas = clone
    git(path, "checkout", "--quiet", "--detach", shas[3])
    git(path, "branch", "-D", "main")
    assert History(path, MYSQL).resolve("5.6.0").sha == shas[1]


def test_dirty_is_about_tracked_files(tmp_path: Path, clone: tuple[Path, dict[int, str]]) -> None:
    path, _ = clone
    (path / "notes.txt").write_text("untracked")
    assert not History(path).is_dirty()
    (path / "VERSION").unlink()
    assert History(path).is_dirty()
    git(tmp_path, "clone", "--quiet", "--bare", str(path), "bare")
    assert not History(tmp_path / "bare").is_dirty()


def test_a_bare_clone_is_one_also_where_no_configuration_says_so(tmp_path: Path) -> None:
    story = Story()
    story.commit({"a.c": "a\n"})
    story.write(tmp_path / "kv")
    git(tmp_path, "clone", "--quiet", "--bare", str(tmp_path / "kv"), "copy")
    (tmp_path / "copy" / "config").unlink()
    assert not History(tmp_path / "copy").is_dirty()
    (tmp_path / "kv" / "a.c").write_text("b\n")
    assert History(tmp_path / "kv").is_dirty()
    assert History(tmp_path / "kv" / ".git").is_dirty()


def test_the_callers_git_variables_change_nothing(
    tmp_path: Path, clone: tuple[Path, dict[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, shas = clone
    other = Story()
    other.commit(message="another repository")
    other.write(tmp_path / "other")
    for name, value in {
        "GIT_DIR": ".git",
        "GIT_WORK_TREE": ".",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_OBJECT_DIRECTORY": ".git/objects",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / "other" / value))
    history = History(path, MYSQL)
    assert history.resolve("main").sha == shas[4]
    assert history.describe(shas[4]).subject == "commit 4"
    assert not history.is_dirty()


def test_nothing_is_run_and_nothing_is_written(tmp_path: Path, clone: tuple[Path, dict[int, str]]) -> None:
    path, shas = clone
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> {sprung}\n')
    trap.chmod(0o755)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        shutil.copy(trap, path / ".git" / "hooks" / hook)
    for setting in ("core.fsmonitor", "diff.external", "core.pager", "gpg.program", "diff.trap.textconv"):
        git(path, "config", setting, str(trap))
    for setting in ("filter.trap.clean", "filter.trap.smudge", "filter.other.trap.process"):
        git(path, "config", setting, str(trap))
    git(path, "config", "filter.trap.required", "true")
    git(path, "config", "log.showSignature", "true")
    (path / ".git" / "info" / "attributes").write_text("* diff=trap filter=trap\nVERSION filter=other.trap\n")
    # As long as it was, so that only the content tells.
    for file in ("VERSION", "same"):
        (path / file).write_text((path / file).read_text().swapcase())
    before = contents(path)
    history = History(path, MYSQL)
    assert history.is_dirty()
    history.resolve("5.6.2")
    history.describe(shas[3])
    history.classes(history.candidates(shas[1], shas[4]), MYSQL.irrelevant)
    assert not sprung.exists()
    assert contents(path) == before


@pytest.mark.parametrize(
    "name", ["-x", "--all", "--output=stolen", "--upload-pack=touch stolen", "^main", "", "a\nb", "a\0b"]
)
def test_names_that_git_could_misread_never_reach_it(clone: tuple[Path, dict[int, str]], name: str) -> None:
    path, _ = clone
    before = contents(path)
    with pytest.raises(UserError, match="cannot be the name of a commit"):
        History(path, MYSQL).resolve(name)
    assert contents(path) == before


def test_a_damaged_clone_is_reported_in_one_line(clone: tuple[Path, dict[int, str]]) -> None:
    path, shas = clone
    for pack in (path / ".git" / "objects").rglob("*"):
        if pack.is_file():
            pack.chmod(0o644)
            pack.write_bytes(pack.read_bytes()[:40])
    with pytest.raises(UserError):
        History(path, MYSQL).candidates(shas[1], shas[4])


def test_a_blob_that_cannot_be_had(clone: tuple[Path, dict[int, str]]) -> None:
    with pytest.raises(GitError, match="cannot be read"):
        list(Repository(clone[0]).blobs(["0123456789" * 4]))


def test_replaced_objects_are_not_followed(clone: tuple[Path, dict[int, str]]) -> None:
    path, shas = clone
    git(path, "replace", shas[4], shas[1])
    assert History(path).describe(shas[4]).subject == "commit 4"
