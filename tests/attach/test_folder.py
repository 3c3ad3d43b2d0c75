"""Files for trackers without an API: whole, and never over somebody else's."""

from pathlib import Path

import pytest

from cpubisect.attach.folder import write
from cpubisect.base.errors import UserError
from cpubisect.report.documents import Document

FILES = [Document("a.txt", "text/plain", b"a"), Document("b.txt", "text/plain", b"b")]


def test_files_are_written_and_written_again(tmp_path: Path) -> None:
    for _ in range(2):
        write(tmp_path / "deep" / "er", FILES, ours=False)
    assert {path.name: path.read_bytes() for path in (tmp_path / "deep" / "er").iterdir()} == {
        "a.txt": b"a",
        "b.txt": b"b",
    }


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_somebody_elses_stays(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "b.txt"
    if kind == "file":
        other.write_bytes(b"mine")
    elif kind == "folder":
        other.mkdir()
    else:
        other.symlink_to("nowhere")
    with pytest.raises(UserError, match=r"b\.txt is there already and is not this report: give another folder"):
        write(tmp_path, FILES, ours=False)
    assert not (tmp_path / "a.txt").exists()
    assert not (tmp_path / "nowhere").exists()


def test_our_own_older_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"older")
    write(tmp_path, FILES, ours=True)
    assert (tmp_path / "b.txt").read_bytes() == b"b"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="cannot write to"):
        write(tmp_path / "file" / "folder", FILES, ours=False)
