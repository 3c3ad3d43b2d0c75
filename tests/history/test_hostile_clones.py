"""Clones whose configuration names programs, whose history was edited beside their objects, or that are another's."""

import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from repositories import MYSQL, Story, allow_partial, git, mysql_version

from cpubisect.base.errors import UserError
from cpubisect.base.git.borrowed import borrow
from cpubisect.base.git.clone import find_clone
from cpubisect.builders.trees.source import checked_out
from cpubisect.history.history import History
from cpubisect.history.mirrors import public_origin

SPRUNG = "sprung"
"""What a trap leaves in the test's directory."""

NAMES = ("clean", "smudge", "process")


def clone_of_three(tmp_path: Path) -> tuple[Path, dict[int, str]]:
    """Three commits, the last of which has attributes that name a filter, a diff and a merge driver."""
    story = Story()
    for number in range(3):
        story.commit({**mysql_version(f"5.6.{number}"), ".gitattributes": "* filter=trap diff=trap merge=trap\n"})
    return tmp_path / "clone", story.write(tmp_path / "clone")


def trap(tmp_path: Path) -> Path:
    """A program that tells that it was run."""
    program = tmp_path / "trap"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {tmp_path / SPRUNG}\ncat\n')
    program.chmod(0o755)
    return program


def set_traps(clone: Path, program: Path) -> None:
    """Name the program wherever a configuration can."""
    names = [f"filter.{driver}.{name}" for driver in ("trap", "a.b", "Ünamed x") for name in NAMES]
    names += ["core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "core.askPass"]
    names += ["diff.external", "diff.trap.textconv", "diff.trap.command", "gpg.program", "gpg.ssh.program"]
    names += ["pager.status", "pager.log", "pager.diff", "credential.helper", "uploadpack.packObjectsHook"]
    names += ["merge.trap.driver", "remote.origin.uploadpack", "sequence.editor", "interactive.diffFilter"]
    for name in names:
        git(clone, "config", name, str(program))
    for alias in ("status", "rev-parse", "rev-list", "cat-file", "config", "diff"):
        git(clone, "config", f"alias.{alias}", f"!{program}")
    git(clone, "config", "core.hooksPath", str(clone / ".git" / "hooks"))
    for name in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        hook = clone / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(program.read_text())
        hook.chmod(0o755)
    (clone / ".git" / "info" / "attributes").write_text("* filter=a.b diff=trap\nVERSION filter=trap\n")
    with (clone / ".git" / "config").open("a") as config:
        config.write(f"[include]\n\tpath = {clone / 'more'}\n")
    (clone / "more").write_text(f'[core]\n\tfsmonitor = {program}\n[filter "trap"]\n\tclean = {program}\n')


def touch_all(clone: Path) -> None:
    """Have git look at the content of every file."""
    for file in ("VERSION", ".gitattributes"):
        os.utime(clone / file, (1, 1))


def test_nothing_of_a_configuration_is_run_wherever_it_is_read(tmp_path: Path) -> None:
    clone, shas = clone_of_three(tmp_path)
    set_traps(clone, trap(tmp_path))
    touch_all(clone)
    history = History(clone, MYSQL)
    assert not history.is_dirty()
    (clone / "VERSION").write_text((clone / "VERSION").read_text().swapcase())
    assert history.is_dirty()
    assert history.resolve("5.6.1").sha == shas[2]
    history.describe(shas[3])
    history.classes(history.candidates(shas[1], shas[3]), MYSQL.irrelevant)
    assert public_origin(clone) == ""
    with checked_out(clone, shas[3], tmp_path / "trees") as tree:
        assert tree.read("VERSION").startswith("MYSQL_VERSION_MAJOR=5")
        tree.write("VERSION", "x\n")
        assert tree.diff()
    assert not (tmp_path / SPRUNG).exists()


def test_a_trap_is_sprung_by_plain_git(tmp_path: Path) -> None:
    clone, _ = clone_of_three(tmp_path)
    set_traps(clone, trap(tmp_path))
    touch_all(clone)
    git(clone, "status")
    assert (tmp_path / SPRUNG).exists()


@pytest.mark.parametrize("bare", [False, True])
def test_a_partial_clone_fetches_without_what_its_configuration_names(tmp_path: Path, bare: bool) -> None:
    origin, shas = clone_of_three(tmp_path)
    allow_partial(origin)
    partial = tmp_path / "partial"
    options = ["--bare"] if bare else ["--no-checkout"]
    git(tmp_path, "clone", "--quiet", *options, "--filter=blob:none", origin.as_uri(), str(partial))
    program = trap(tmp_path)
    for name in ("remote.origin.uploadpack", "core.sshCommand", "core.fsmonitor", "credential.helper"):
        git(partial, "config", name, str(program))
    history = History(partial, MYSQL)
    assert str(history.version_at(shas[2])) == "5.6.1"
    with checked_out(partial, shas[3], tmp_path / "trees") as tree:
        assert "MINOR=6" in tree.read("VERSION")
    assert not (tmp_path / SPRUNG).exists()


@pytest.mark.parametrize("url", ["ext::{trap} %S", "trap::x", "ssh://-oProxyCommand={trap}/x", "fd::0"])
def test_an_address_that_names_a_program_is_not_fetched_from(tmp_path: Path, url: str) -> None:
    origin, shas = clone_of_three(tmp_path)
    git(origin, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", origin.as_uri(), str(partial))
    git(partial, "config", "remote.origin.url", url.format(trap=trap(tmp_path)))
    git(partial, "config", "protocol.ext.allow", "always")
    with pytest.raises(UserError, match="could not fetch"):
        History(partial, MYSQL).version_at(shas[2])
    assert not (tmp_path / SPRUNG).exists()


def test_grafts_do_not_change_history(tmp_path: Path) -> None:
    clone, shas = clone_of_three(tmp_path)
    (clone / ".git" / "info" / "grafts").write_text(f"{shas[3]} {shas[1]}\n")
    found = History(clone, MYSQL).candidates(shas[1], shas[3])
    assert [commit.sha for commit in found.commits] == [shas[2], shas[3]]


def test_the_callers_grafts_do_not_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone, shas = clone_of_three(tmp_path)
    (tmp_path / "grafts").write_text(f"{shas[3]} {shas[1]}\n")
    (tmp_path / "shallow").write_text(f"{shas[3]}\n")
    monkeypatch.setenv("GIT_GRAFT_FILE", str(tmp_path / "grafts"))
    monkeypatch.setenv("GIT_SHALLOW_FILE", str(tmp_path / "shallow"))
    assert len(History(clone, MYSQL).candidates(shas[1], shas[3]).commits) == 2


def test_head_is_where_the_clone_has_it_now(tmp_path: Path) -> None:
    clone, shas = clone_of_three(tmp_path)
    history = History(clone, MYSQL)
    assert history.resolve("HEAD").sha == shas[3]
    git(clone, "checkout", "--quiet", "--detach", shas[1])
    assert history.resolve("HEAD").sha == shas[1]
    assert not history.is_dirty()
    git(clone, "checkout", "--quiet", "-b", "new", shas[2])
    assert History(clone, MYSQL).resolve("new").sha == history.resolve("HEAD").sha == shas[2]


def test_a_history_that_a_file_cuts_off_is_refused(tmp_path: Path) -> None:
    clone, shas = clone_of_three(tmp_path)
    (clone / ".git" / "shallow").write_text(f"{shas[2]}\n")
    with pytest.raises(UserError, match="is a shallow clone"):
        History(clone, MYSQL)


def test_what_a_killed_process_left_is_removed_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone, _ = clone_of_three(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    places = tmp_path / f"cpubisect-git-{os.geteuid()}"
    places.mkdir(mode=0o700)
    (places / "s0").mkdir()
    (places / "s0.lock").write_text("")
    history = History(clone, MYSQL)
    assert not (places / "s0").exists()
    assert not history.is_dirty()
    del history
    gc.collect()
    assert list(places.iterdir()) == []


@pytest.mark.parametrize("what", ["open to all", "a link"])
def test_a_place_for_temporary_files_that_is_not_ours_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    clone, _ = clone_of_three(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = tmp_path / f"cpubisect-git-{os.geteuid()}"
    if what == "open to all":
        place.mkdir()
        place.chmod(0o777)
    else:
        place.symlink_to(tmp_path / "clone")
    with pytest.raises(UserError, match=r"TMPDIR"):
        History(clone, MYSQL)


@contextmanager
def anothers(clone: Path) -> Iterator[None]:
    """The clone of another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in (clone, *clone.rglob("*")):
        os.lchown(path, 65534, 65534)
    yield


def test_a_clone_of_another_user_is_refused_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone, shas = clone_of_three(tmp_path)
    set_traps(clone, trap(tmp_path))
    touch_all(clone)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("SUDO_UID", raising=False)
    with anothers(clone):
        for path in (clone, clone / ".git"):
            with pytest.raises(UserError, match="belongs to another user") as refused:
                History(path)
            assert "not a git repository" not in str(refused.value)
            assert f"safe.directory {path}" in refused.value.hint
        with pytest.raises(UserError, match="belongs to another user"), checked_out(clone, "HEAD", tmp_path / "trees"):
            pass
        assert public_origin(clone) == ""
        (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {clone}\n")
        assert not History(clone, MYSQL).is_dirty()
        with checked_out(clone, shas[3], tmp_path / "trees") as tree:
            assert tree.read("VERSION")
    assert not (tmp_path / SPRUNG).exists()


def test_a_folder_inside_a_clone_is_none_itself(tmp_path: Path) -> None:
    clone, _ = clone_of_three(tmp_path)
    (clone / "sub").mkdir()
    with pytest.raises(UserError, match="not a git repository"):
        History(clone / "sub")


@pytest.mark.parametrize("text", ["[core\n", "[core]\n\trepositoryformatversion = 9\n", "\0\0"])
def test_a_configuration_that_git_cannot_read_is_one_line(tmp_path: Path, text: str) -> None:
    clone, _ = clone_of_three(tmp_path)
    (clone / ".git" / "config").write_text(text)
    with pytest.raises(UserError) as refused:
        History(clone)
    assert "\n" not in str(refused.value)


def test_what_our_own_repository_says_is_what_the_clone_says_and_nothing_more(tmp_path: Path) -> None:
    clone, _ = clone_of_three(tmp_path)
    set_traps(clone, trap(tmp_path))
    git(clone, "config", "remote.origin.promisor", "true")
    git(clone, "config", "remote.origin.url", 'https://example.org/a"b\\c;#\n[x]')
    place = tmp_path / "place"
    place.mkdir()
    borrow(find_clone(clone), place)
    listed = git(place, "config", "--file", "config", "--list")
    assert 'remote.origin.url=https://example.org/a"b\\c;#\n[x]' in listed
    assert "trap" not in listed
    assert "include" not in listed
