"""Files that a build left: read where they are what they should be, refused otherwise."""

import os
from pathlib import Path

import pytest

from cpubisect.base.sandbox import inside
from cpubisect.base.sandbox.inside import Outside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("private")
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "plain").write_bytes(b"text \xff\r\n")
    (root / "near").symlink_to("plain")
    (root / "far").symlink_to("../secret")
    (root / "away").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (root / "zero").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize("name", ["plain", "near", "sub/../plain"])
def test_what_lies_in_it_is_read(root: Path, name: str) -> None:
    assert inside.read_bytes(root / name, root) == b"text \xff\r\n"
    assert inside.read_text(root / name, root, "surrogateescape").encode(errors="surrogateescape") == b"text \xff\r\n"
    assert inside.is_file(root / name, root)


@pytest.mark.parametrize("name", ["far", "away/secret", "../secret", "zero", "pipe", "sub", "loop", "none"])
def test_what_does_not_is_refused(root: Path, name: str, tmp_path: Path) -> None:
    assert not inside.is_file(root / name, root)
    for action in (
        lambda: inside.read_bytes(root / name, root),
        lambda: inside.copy(root / name, root, tmp_path / "copy"),
    ):
        with pytest.raises(OSError):  # noqa: PT011 - Outside, or that nothing is there
            action()
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("name", ["far", "away/secret", "zero", "pipe", "sub"])
def test_nothing_is_written_through_a_link(root: Path, name: str) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - Outside, or that a directory is in the place
        inside.write_text(root / name, root, "more")
    assert (root.parent / "secret").read_text() == "private"


def test_what_is_too_large_is_not_read(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(inside.MOST_BYTES + 1)
    with pytest.raises(Outside, match="plain file of at most"):
        inside.read_bytes(root / "huge", root)


def test_a_copy_has_the_mode_but_no_rights_of_others(root: Path, tmp_path: Path) -> None:
    (root / "plain").chmod(0o4755)
    inside.copy(root / "plain", root, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o7777 == 0o755


def test_what_is_too_large_is_not_taken_over(root: Path, tmp_path: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(inside.MOST_COPIED_BYTES + 1)
    with pytest.raises(Outside, match="plain file of at most"):
        inside.copy(root / "huge", root, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_directory_is_copied_with_its_links_as_they_are(root: Path, tmp_path: Path) -> None:
    (root / "pipe").unlink()
    (root / "sub" / "LOG.old.1").write_text("what is not wanted")
    (root / "sub" / "deep").write_text("deep")
    (tmp_path / "copy").symlink_to(tmp_path)
    inside.copy_tree(root, tmp_path / "copy", without=("LOG.old*",))
    assert not (tmp_path / "copy").is_symlink()
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == [
        "away",
        "far",
        "loop",
        "near",
        "plain",
        "sub",
        "zero",
    ]
    assert (tmp_path / "copy" / "far").readlink() == Path("../secret")
    assert (tmp_path / "copy" / "away").is_symlink()
    assert [path.name for path in (tmp_path / "copy" / "sub").iterdir()] == ["deep"]


@pytest.mark.parametrize("name", ["away", "pipe", "plain", "sub"])
def test_no_directory_is_copied_that_is_none_or_holds_a_pipe(root: Path, name: str, tmp_path: Path) -> None:
    os.mkfifo(root / "sub" / "pipe")
    with pytest.raises(Outside):
        inside.copy_tree(root / name, tmp_path / "copy")
    assert not (tmp_path / "copy" / "secret").exists()


@pytest.mark.parametrize("kind", ["directory", "file", "link", "nothing"])
def test_whatever_is_there_is_removed(root: Path, kind: str, tmp_path: Path) -> None:
    there = {"directory": root / "sub", "file": root / "plain", "link": root / "away", "nothing": root / "none"}[kind]
    inside.remove(there)
    assert not os.path.lexists(there)
    assert (tmp_path / "secret").exists()


def test_directories_in_one_another_are_copied_to_some_depth(tmp_path: Path) -> None:
    (tmp_path / "tree" / Path(*["a"] * inside.MOST_PARTS)).mkdir(parents=True)
    with pytest.raises(Outside, match="too deep"):
        inside.copy_tree(tmp_path / "tree", tmp_path / "copy")
