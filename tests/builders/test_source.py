from pathlib import Path

import pytest
from repositories import partial_clone
from small_trees import GOOD, commit, git, state_of

from cpubisect.base.errors import UserError
from cpubisect.builders.build import Edit
from cpubisect.builders.trees.shop import CommandFailed
from cpubisect.builders.trees.source import checked_out


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    commit(tmp_path / "clone", GOOD | {"latin.cc": "// caf\n"})
    (tmp_path / "clone" / "latin.cc").write_bytes(b"// caf\xe9\r\nint old;\r\n")
    commit(tmp_path / "clone", {}, "latin")
    return tmp_path / "clone"


def test_the_tree_is_the_commits_and_the_clone_stays_as_it_is(clone: Path, tmp_path: Path) -> None:
    first = git(clone, "rev-list", "--max-parents=0", "HEAD")
    (clone / "main.cc").write_text("int changed_by_the_user;\n")
    before = state_of(clone)
    with checked_out(clone, first, tmp_path / "trees") as tree:
        assert tree.read("main.cc") == GOOD["main.cc"]
        assert tree.git("rev-parse", "HEAD").output.strip() == first
        assert tree.commit_time() == int(git(clone, "log", "-1", "--format=%ct", first))
        tree.write("main.cc", "int x;\n")
        (tree.path / "made.o").write_text("made")
        tree.clean()
        assert not (tree.path / "made.o").exists()
        assert tree.read("main.cc") == "int x;\n"
    assert list((tmp_path / "trees").iterdir()) == []
    assert state_of(clone) == before


def test_the_tree_is_gone_whatever_happens(clone: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), checked_out(clone, "HEAD", tmp_path / "trees"):
        raise KeyboardInterrupt
    assert list((tmp_path / "trees").iterdir()) == []


def test_settings_of_the_user_do_not_reach_the_tree(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gitconfig").write_text("[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    with checked_out(clone, "HEAD", tmp_path / "trees") as tree:
        assert (tree.path / "main.cc").read_bytes() == GOOD["main.cc"].encode()


def test_what_a_killed_run_left_is_removed_before_a_tree_is_made(clone: Path, tmp_path: Path) -> None:
    trees = tmp_path / "trees"
    with checked_out(clone, "HEAD", trees) as first, checked_out(clone, "HEAD", trees) as second:
        assert first.path != second.path
        assert first.path.is_dir()
        (trees / "dead").mkdir()
        (trees / "dead" / "file").write_text("left")
        (trees / "dead.lock").write_text("")
    with checked_out(clone, "HEAD", trees):
        assert not (trees / "dead").exists()
    assert list(trees.iterdir()) == []


def test_edits_keep_every_other_byte(clone: Path, tmp_path: Path) -> None:
    with checked_out(clone, "HEAD", tmp_path / "trees") as tree:
        assert tree.diff() == ""
        assert tree.apply_edit(Edit("latin.cc", r"^int (old)", r"int not_\1", "why")) == 1
        assert tree.apply_edit(Edit("latin.cc", "absent", "x", "why")) == 0
        assert (tree.path / "latin.cc").read_bytes() == b"// caf\xe9\r\nint not_old;\r\n"
        assert tree.diff().count("\n+") == 2


def test_patches_apply_as_a_whole_or_not_at_all(clone: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.patch", tmp_path / "bad.patch"
    new_file = "--- /dev/null\n+++ b/new.h\n@@ -0,0 +1 @@\n+int n;\n"
    good.write_text(
        f"Why.\n\n{new_file}--- a/util/names.h\n+++ b/util/names.h\n@@ -1,3 +1,3 @@\n-#pragma once\n+#pragma twice\n \n"
        " int NameLength(const char* name);\n"
    )
    bad.write_text(f"{new_file}--- a/main.cc\n+++ b/main.cc\n@@ -1 +1 @@\n-absent\n+x\n")
    with checked_out(clone, "HEAD", tmp_path / "trees") as tree:
        assert not tree.apply_patch(bad)
        assert not (tree.path / "new.h").exists()
        assert tree.apply_patch(good)
        assert not tree.apply_patch(good)
        tree.clean()
        assert tree.read("new.h") == "int n;\n"
        assert "+++ b/new.h" in tree.diff()
        assert "+#pragma twice" in tree.diff()
        with pytest.raises(UserError, match="does not exist"):
            tree.apply_patch(tmp_path / "none.patch")


def test_files_in_messages_are_found(clone: Path, tmp_path: Path) -> None:
    with checked_out(clone, "HEAD", tmp_path / "trees") as tree:
        assert tree.locate("util/names.h") == "util/names.h"
        assert tree.locate("./util/../main.cc") == "main.cc"
        assert tree.locate(str(tree.path / "main.cc")) == "main.cc"
        assert tree.locate("../util/names.h") == "util/names.h"
        assert tree.locate("names.h") == "util/names.h"
        assert tree.locate("/usr/include/stdio.h") is None
        assert tree.locate("<command-line>") is None
        (tree.path / "generated.cc").write_text("")
        assert tree.locate("generated.cc") is None


def test_shallow_clones_will_do(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{clone}", "shallow")
    with checked_out(tmp_path / "shallow", "HEAD", tmp_path / "trees") as tree:
        assert tree.commit_time() > 0
        assert tree.read("main.cc") == GOOD["main.cc"]


def test_partial_clones_fetch_what_they_lack(clone: Path, tmp_path: Path) -> None:
    git(clone, "config", "uploadpack.allowFilter", "true")
    git(clone, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{clone}", "partial")
    with checked_out(tmp_path / "partial", "HEAD", tmp_path / "trees") as tree:
        assert tree.read("util/names.cc") == GOOD["util/names.cc"]


def test_a_partial_clone_that_cannot_fetch_says_so_and_blames_no_commit(clone: Path, tmp_path: Path) -> None:
    partial = partial_clone(clone, tmp_path / "partial")
    clone.rename(tmp_path / "away")
    with (
        pytest.raises(UserError, match="could not fetch what it lacks"),
        checked_out(partial, "HEAD", tmp_path / "trees"),
    ):
        pass


def test_worktrees_and_sparse_clones_will_do(clone: Path, tmp_path: Path) -> None:
    git(clone, "worktree", "add", "--quiet", "--detach", str(tmp_path / "beside"))
    git(tmp_path / "beside", "sparse-checkout", "set", "util")
    with checked_out(tmp_path / "beside", "HEAD", tmp_path / "trees") as tree:
        assert tree.read("latin.cc").startswith("// caf")


def test_what_git_cannot_do_is_an_error(clone: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a git repository"), checked_out(tmp_path, "HEAD", tmp_path / "trees"):
        pass
    with pytest.raises(UserError, match="has no commit feed"), checked_out(clone, "feed", tmp_path / "trees"):
        pass
    with checked_out(clone, "HEAD", tmp_path / "trees") as tree, pytest.raises(CommandFailed):
        tree.git("no-such-command")


UNREAD = ("/tests/suite/", "/docs/")
"""What the sparse trees of these tests leave out."""


def big(tmp_path: Path) -> Path:
    """A clone whose tests are most of it."""
    files = {"tests/suite/a.test": "a\n", "tests/suite/deep/b.zip": "b" * 5000, "tests/run.sh": "run\n"}
    commit(tmp_path / "big", GOOD | files | {"docs/guide.md": "read\n", "src/docs/kept.cc": "int kept;\n"})
    return tmp_path / "big"


def test_what_no_build_reads_is_not_written(tmp_path: Path) -> None:
    with checked_out(big(tmp_path), "HEAD", tmp_path / "trees", UNREAD) as tree:
        there = {str(path.relative_to(tree.path)) for path in tree.path.rglob("*") if path.is_file()}
        there = {name for name in there if not name.startswith(".git/")}
        assert there == {*GOOD, "tests/run.sh", "src/docs/kept.cc"}
        assert tree.git("status", "--porcelain").output == ""
        assert tree.locate("b.zip") is None
        assert tree.locate("kept.cc") == "src/docs/kept.cc"
        tree.write("main.cc", "int x;\n")
        assert "+int x;" in tree.diff()
        assert "docs" not in tree.diff()
        tree.clean()
        assert tree.read("main.cc") == "int x;\n"


def test_a_file_that_the_clone_lacks_there_does_no_harm(tmp_path: Path) -> None:
    clone = big(tmp_path)
    blob = git(clone, "rev-parse", "HEAD:tests/suite/deep/b.zip").strip()
    (clone / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CommandFailed), checked_out(clone, "HEAD", tmp_path / "trees"):
        pass
    with checked_out(clone, "HEAD", tmp_path / "trees", UNREAD) as tree:
        assert tree.read("main.cc") == GOOD["main.cc"]


def test_a_partial_clone_fetches_only_what_is_written(tmp_path: Path) -> None:
    origin = big(tmp_path)
    partial = partial_clone(origin, tmp_path / "partial")
    with checked_out(partial, "HEAD", tmp_path / "trees", UNREAD) as tree:
        assert tree.read("main.cc") == GOOD["main.cc"]
    missing = git(partial, "rev-list", "--objects", "--missing=print", "HEAD").split()
    assert f"?{git(origin, 'rev-parse', 'HEAD:tests/suite/deep/b.zip').strip()}" in missing
    assert f"?{git(origin, 'rev-parse', 'HEAD:main.cc').strip()}" not in missing
