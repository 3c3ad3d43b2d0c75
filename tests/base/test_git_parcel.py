"""The tree of a commit, sent without its history."""

import subprocess
from pathlib import Path

import pytest
from small_trees import commit, git, state_of

from cpubisect.base.errors import UserError
from cpubisect.base.git import parcel
from cpubisect.builders.trees.source import checked_out

FILES = {"Makefile": "all:\n", "src/a.cc": "int a;\n", "tests/big/data": "x\n", "tests/small": "y\n"}


def test_the_tree_is_the_same_there_and_nothing_else_went(tmp_path: Path) -> None:
    commit(tmp_path / "clone", {**FILES, "old": "gone\n"})
    (tmp_path / "clone" / "old").unlink()
    sha = commit(tmp_path / "clone", {"src/a.cc": "int b;\n", "ümläut name": "z\n"})
    before = state_of(tmp_path / "clone")
    unread = ("/tests/big/",)
    format_ = parcel.pack(tmp_path / "clone", sha, tmp_path / "pack", unread)
    assert state_of(tmp_path / "clone") == before
    parcel.unpack(tmp_path / "pack", sha, format_, tmp_path / "there")
    found = []
    for repository in (tmp_path / "clone", tmp_path / "there"):
        with checked_out(repository, sha, tmp_path / "trees", unread) as tree:
            files = {str(path.relative_to(tree.path)): path.read_text() for path in tree.path.rglob("*")
                     if path.is_file() and ".git" not in path.parts}  # fmt: skip
            found.append((files, tree.files(), tree.commit_time(), tree.commit_dates(), tree.diff()))
    assert found[0] == found[1]
    assert "tests/big/data" not in found[0][0]
    assert "tests/small" in found[0][0]
    kinds = git(tmp_path / "there", "cat-file", "--batch-check", "--batch-all-objects").split()[1::3]
    assert kinds.count("commit") == 1
    assert kinds.count("blob") == 4


@pytest.mark.parametrize("name", ["0" * 40, "main~99", "--output=x"])
def test_a_commit_that_is_not_there(tmp_path: Path, name: str) -> None:
    commit(tmp_path / "clone", FILES)
    with pytest.raises(UserError, match="has no commit"):
        parcel.pack(tmp_path / "clone", name, tmp_path / "pack")


@pytest.mark.parametrize("spoil", [lambda pack: pack[: len(pack) // 2], lambda _: b"", lambda _: b"PACKnonsense"])
def test_a_pack_that_did_not_arrive_whole_is_refused(tmp_path: Path, spoil: object) -> None:
    sha = commit(tmp_path / "clone", FILES)
    format_ = parcel.pack(tmp_path / "clone", sha, tmp_path / "pack")
    (tmp_path / "pack").write_bytes(spoil((tmp_path / "pack").read_bytes()))  # type: ignore[operator]
    with pytest.raises(UserError, match="did not arrive whole"):
        parcel.unpack(tmp_path / "pack", sha, format_, tmp_path / "there")


def test_of_another_format_of_names(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "init", "--quiet", "--object-format=sha256", str(clone)], check=True)
    sha = commit(clone, FILES)
    format_ = parcel.pack(clone, sha, tmp_path / "pack")
    assert format_ == "sha256"
    parcel.unpack(tmp_path / "pack", sha, format_, tmp_path / "there")
