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
