"""What commits touch, which of them cannot change the binary, and their details."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import MYSQL, Story, git

from cpubisect.base.errors import UserError
from cpubisect.history.history import History
from cpubisect.history.relevance import Irrelevant
from cpubisect.search.line import join
from cpubisect.search.verdict import ChangedFile


@pytest.mark.parametrize(
    ("globs", "path", "irrelevant"),
    [
        (["/mysql-test/"], "mysql-test/suite/a.test", True),
        (["/mysql-test/"], "mysql-test", False),
        (["/mysql-test/"], "plugin/mysql-test/a.test", False),
        (["mysql-test/"], "plugin/mysql-test/a.test", True),
        (["*.md"], "deep/down/README.md", True),
        (["/*.md"], "deep/README.md", False),
        (["*.md"], "README.mdx", False),
        (["/client/*.c"], "client/mysqldump.c", True),
        (["/client/*.c"], "client/deep/mysqldump.c", False),
        (["**/x"], "a/b/x", True),
        (["**/x"], "a/b/xy", False),
        (["/a/**/z.c"], "a/z.c", True),
        (["/a/**/z.c"], "a/b/c/z.c", True),
        (["/docs/**"], "docs/deep/page.html", True),
        (["/docs/**"], "docs.c", False),
        (["/tests/", "!CMakeLists.txt"], "tests/CMakeLists.txt", False),
        (["/tests/**", "!CMakeLists.txt"], "tests/deep/CMakeLists.txt", False),
        (["/tests/**", "!CMakeLists.txt"], "tests/a.c", True),
        (["/client/*.c", "!/client/get_password.c"], "client/get_password.c", False),
        (["# a remark", ""], "a remark", False),
        (["*_test.cc"], "db/db_test.cc", True),
        (["*_test.cc"], "db/db_test_util.cc", False),
        ([], "anything", False),
    ],
)
def test_globs_are_those_of_gitignore(globs: list[str], path: str, irrelevant: bool) -> None:
    assert Irrelevant(globs).covers([path]) is irrelevant


def test_all_paths_must_be_irrelevant() -> None:
    globs = Irrelevant(["*.md"])
    assert globs.covers(["a.md", "b.md"])
    assert not globs.covers(["a.md", "b.c", "c.md"])
    assert globs.covers([])


def test_a_malformed_glob() -> None:
    with pytest.raises(UserError, match="malformed"):
        Irrelevant(["*.md", "!"])


@given(st.lists(st.booleans(), max_size=20))
def test_classes_begin_at_each_commit_that_can_change_the_binary(no_ops: list[bool]) -> None:
    commits = [f"c{number}" for number in range(len(no_ops))]
    unchanged = {commit for commit, no_op in zip(commits, no_ops, strict=True) if no_op}
    classes = join(((commit,) for commit in ("start", *commits)), unchanged)
    assert [member for members in classes for member in members] == ["start", *commits]
    assert [members[0] for members in classes] == ["start", *(c for c in commits if c not in unchanged)]


@pytest.fixture
def clone(tmp_path: Path) -> tuple[History, dict[int, str]]:
    story = Story()
    story.commit({"sql/a.cc": "1", "mysql-test/a.test": "1", "tool.sh": "1"})  # 1
    story.commit({"mysql-test/a.test": "2"})  # 2: nothing
    story.commit({"sql/a.cc": "2", "README.md": "1"})  # 3
    story.commit({"README.md": "2"})  # 4: nothing
    story.commit({})  # 5: empty
    story.commit({"mysql-test/CMakeLists.txt": "1"})  # 6
    story.commit({"README.md": "3"}, branch="side", parents=[3])  # 7
    story.commit({"sql/b.cc": "1"}, branch="side")  # 8
    story.commit({}, parents=[6, 8])  # 9: a merge that takes nothing over
    story.commit({"sql/b.cc": "1", "README.md": "3"}, parents=[9, 8])  # 10: one that takes it over
    story.commit({"mysql-test/a.test": None})  # 11: nothing
    shas = story.write(tmp_path / "clone")
    return History(tmp_path / "clone", MYSQL), shas


def test_classes_of_a_history(clone: tuple[History, dict[int, str]]) -> None:
    history, shas = clone
    by_sha = {sha: number for number, sha in shas.items()}
    classes = history.classes(history.candidates(shas[1], shas[11]), MYSQL.irrelevant)
    assert [[by_sha[sha] for sha in members] for members in classes] == [[1, 2], [3, 4, 5], [6, 9], [10, 11]]
    assert history.classes(history.candidates(shas[3], shas[5]), MYSQL.irrelevant) == ((shas[3], shas[4], shas[5]),)
    assert len(history.classes(history.candidates(shas[1], shas[11]), [])) == 7


def test_a_merge_is_compared_with_the_parent_asked_for(clone: tuple[History, dict[int, str]]) -> None:
    history, shas = clone
    (inside,) = history.inside_merge(shas[9], shas[6])
    assert [commit.sha for commit in inside.commits] == [shas[7], shas[8]]
    changed = ("README.md", "mysql-test/CMakeLists.txt", "sql/b.cc")
    assert dict(history.changes([(shas[9], shas[8])]))[shas[9]] == changed


def test_what_commits_change(clone: tuple[History, dict[int, str]]) -> None:
    history, shas = clone
    pairs = [(shas[1], ""), (shas[3], shas[2]), (shas[5], shas[4]), (shas[10], shas[8]), (shas[11], shas[10])]
    assert dict(history.changes(pairs)) == {
        shas[1]: ("mysql-test/a.test", "sql/a.cc", "tool.sh"),
        shas[3]: ("README.md", "sql/a.cc"),
        shas[5]: (),
        shas[10]: ("mysql-test/CMakeLists.txt",),
        shas[11]: ("mysql-test/a.test",),
    }


def test_renames_modes_links_and_odd_names_count_as_changes(clone: tuple[History, dict[int, str]]) -> None:
    history, _ = clone
    path = history.path
    odd = ["new\nline.c", "tab\there.c", "a" * 40, ":colon.c", "ünï.c", " space.c "]
    for name in odd:
        (path / name).write_text("x")
    (path / b"\xff.c".decode(errors="surrogateescape")).write_text("x")
    (path / "tool.sh").chmod(0o755)
    (path / "link").symlink_to("sql/a.cc")
    git(path, "config", "diff.renames", "copies")
    git(path, "mv", "sql/a.cc", "mysql-test/moved.cc")
    git(path, "add", "--all")
    git(path, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--message", "odd")
    ((_, found),) = history.changes([(history.resolve("HEAD").sha, history.resolve("HEAD^").sha)])
    expected = {*odd, "\udcff.c", "tool.sh", "link", "sql/a.cc", "mysql-test/moved.cc"}
    assert set(found) == expected
    assert not Irrelevant(MYSQL.irrelevant).covers(found)


def test_details_for_a_report(tmp_path: Path) -> None:
    story = Story()
    story.commit({"a.c": "one\ntwo\n", "data": b"\0\1\2"}, message="First\n\nA text\nof two lines.\n")
    story.commit({"a.c": "one\nthree\nfour\n", "data": b"\0\1\3", "odd\\name.c": "x\n"}, message="Zweiter für alle")
    story.commit({"b.c": "x\n"}, branch="side", parents=[1])
    story.commit({"b.c": "x\n"}, parents=[2, 3])
    shas = story.write(tmp_path / "clone")
    history = History(tmp_path / "clone")
    first, second, merge = (history.describe(shas[number]) for number in (1, 2, 4))
    assert (first.subject, first.message) == ("First", "First\n\nA text\nof two lines.")
    assert first.author == "Ada Writer"
    assert first.authored == datetime(2001, 9, 10, 1, 46, 40, tzinfo=UTC)
    assert first.files == (ChangedFile("a.c", 2, 0), ChangedFile("data", None, None))
    assert second.subject == second.message == "Zweiter für alle"
    assert second.files == (
        ChangedFile("a.c", 2, 1),
        ChangedFile("data", None, None),
        ChangedFile("odd\\name.c", 1, 0),
    )
    assert merge.files == (ChangedFile("b.c", 1, 0),)
