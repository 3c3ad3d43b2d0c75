from pathlib import Path

import pytest
from repositories import Story, git, partial_clone

from cpubisect.base.git.borrowed import NotFetched
from cpubisect.history import diffs
from cpubisect.history.diffs import (
    changed_versions,
    defined_by,
    definitions,
    messages,
    source_diffs,
    variable_definitions,
)
from cpubisect.history.repository import Repository

TABLE = """\
namespace kv {
class Table;
class Table : public Base {
 public:
  int Size() const { return size_; }
};
int Table::Seek(int key) {
  int found = key;
  return found;
}
template <class T>
int List<T>::Push(T item) {
  return Seek(item);
}
}
"""
HEADER = "struct Table {\n};\nint Hash(int);\nint Mix(int) {\n"


@pytest.fixture
def written(tmp_path: Path) -> tuple[Repository, dict[int, str]]:
    story = Story()
    story.commit({"kv/table.cc": TABLE, "kv/table.h": HEADER, "notes.md": "a\n", "odd name.cc": "int x;\n"})
    story.commit({"kv/table.cc": TABLE.replace("= key", "= key + 1"), "notes.md": "int Table::Seek(\n"})
    story.commit({"notes.md": "b\n"})
    story.commit({"odd name.cc": "int Odd(int x) {\n--x;\n}\n", "kv/table.h": None})
    shas = story.write(tmp_path / "kv", bare=True)
    return Repository(tmp_path / "kv"), shas


def pairs(shas: dict[int, str], *numbers: int) -> list[tuple[str, str]]:
    return [(shas[number], shas[number - 1]) for number in numbers]


def test_changes_are_those_of_source_files(written: tuple[Repository, dict[int, str]]) -> None:
    repository, shas = written
    second, third, fourth = source_diffs(repository, pairs(shas, 2, 3, 4))
    assert (second.sha, second.files) == (shas[2], ("kv/table.cc",))
    assert second.lines == [
        "@@ -8 +8 @@ int Table::Seek(int key) {",
        "-  int found = key;",
        "+  int found = key + 1;",
    ]
    assert (third.files, list(third.lines)) == ((), [])
    assert fourth.files == ("kv/table.h", "odd name.cc")
    assert {"---x;", "+--x;", "-int Hash(int);"} & set(fourth.lines) == {"+--x;", "-int Hash(int);"}


def test_settings_of_the_clone_s_owner_change_nothing(written: tuple[Repository, dict[int, str]]) -> None:
    repository, shas = written
    paths = ["kv/table.cc", "kv/table.h", "odd name.cc"]
    plain = definitions(repository, shas[1], paths), list(source_diffs(repository, pairs(shas, 2, 3, 4)))
    for name, value in {
        **{"grep.lineNumber": "true", "grep.column": "true", "grep.fullName": "false", "grep.patternType": "fixed"},
        **{"color.ui": "always", "color.grep": "always", "color.diff": "always"},
        **{"diff.noprefix": "true", "diff.context": "9", "diff.renames": "copies", "core.quotePath": "true"},
    }.items():
        git(repository.path, "config", name, value)
    told = Repository(repository.path)
    assert (definitions(told, shas[1], paths), list(source_diffs(told, pairs(shas, 2, 3, 4)))) == plain


@pytest.mark.parametrize(("limit", "told"), [(1000, 3), (30, 3), (5, 0)])
def test_paths_that_do_not_fit_on_a_command_line_are_asked_for_in_parts_or_not_at_all(
    written: tuple[Repository, dict[int, str]], monkeypatch: pytest.MonkeyPatch, limit: int, told: int
) -> None:
    repository, shas = written
    asked = pairs(shas, 2, 3, 4)
    files = [diff.files for diff in source_diffs(repository, asked)]
    monkeypatch.setattr(diffs, "_MOST_BYTES", limit)
    found = list(source_diffs(repository, asked))
    assert [diff.files for diff in found] == files
    assert sum(bool(diff.lines) or not diff.files for diff in found) == max(told, 1)


def test_many_commits_come_in_order(tmp_path: Path) -> None:
    story = Story()
    for number in range(120):
        story.commit({f"f{number % 7}.c": f"int v{number};\n"})
    shas = story.write(tmp_path / "kv")
    found = list(source_diffs(Repository(tmp_path / "kv"), pairs(shas, *range(2, 121))))
    assert [diff.sha for diff in found] == [shas[number] for number in range(2, 121)]
    assert all(f"+int v{number};" in diff.lines for number, diff in enumerate(found, start=1))


def test_a_missing_blob_costs_only_the_lines_of_its_commit(written: tuple[Repository, dict[int, str]]) -> None:
    repository, shas = written
    blob = git(repository.path, "rev-parse", f"{shas[2]}:kv/table.cc")
    loose = repository.path / "objects" / blob[:2] / blob[2:]
    loose.unlink()
    second, _, fourth = source_diffs(repository, pairs(shas, 2, 3, 4))
    assert (second.files, list(second.lines)) == (("kv/table.cc",), [])
    assert "+--x;" in fourth.lines


def blobs_in(clone: Path) -> int:
    return git(clone, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split().count("blob")


def test_a_partial_clone_is_given_the_contents_of_all_commits_in_one_go(tmp_path: Path) -> None:
    story = Story()
    for number in range(1, 8):
        story.commit({f"{number % 3}.cc": f"int number_{number};\n", "large.dat": f"{number}"})
    shas = story.write(tmp_path / "story")
    clone = partial_clone(tmp_path / "story", tmp_path / "partial.git")
    before = git(clone, "config", "--list"), git(clone, "for-each-ref")
    pairs = [(shas[number], shas[number - 1]) for number in range(2, 8)]
    found = list(source_diffs(Repository(clone), pairs))
    assert found == list(source_diffs(Repository(tmp_path / "story"), pairs))
    assert len(list(clone.glob("objects/pack/*.pack"))) == 2
    assert blobs_in(clone) == 7
    assert (git(clone, "config", "--list"), git(clone, "for-each-ref")) == before
    assert not (clone / "FETCH_HEAD").exists()
    list(source_diffs(Repository(clone), pairs))
    assert len(list(clone.glob("objects/pack/*.pack"))) == 2


def test_a_partial_clone_that_cannot_fetch_says_so(tmp_path: Path) -> None:
    story = Story()
    for number in (1, 2):
        story.commit({"a.cc": f"int number_{number};\n"})
    shas = story.write(tmp_path / "story")
    clone = partial_clone(tmp_path / "story", tmp_path / "partial.git")
    (tmp_path / "story").rename(tmp_path / "gone")
    with pytest.raises(NotFetched, match="could not fetch what it lacks"):
        list(source_diffs(Repository(clone), [(shas[2], shas[1])]))


def test_only_sources_of_a_partial_clone_are_read_for_a_variable(tmp_path: Path) -> None:
    story = Story()
    story.commit({"sql/sys_vars.cc": 'static Sys_var x(\n"tree_depth", depth);\n', "mysql-test/a.test": "tree_depth\n"})
    shas = story.write(tmp_path / "story")
    clone = partial_clone(tmp_path / "story", tmp_path / "partial.git")
    found = variable_definitions(Repository(clone), shas[1], ["tree_depth"])
    assert found["tree_depth"].files == {"sql/sys_vars.cc"}
    assert blobs_in(clone) == 1


def test_definitions_are_found_where_they_begin(written: tuple[Repository, dict[int, str]]) -> None:
    repository, shas = written
    found = definitions(repository, shas[2], ["kv/table.cc", "kv/table.h", "notes.md", "gone.cc"])
    assert found["Table::Seek"] == {"kv/table.cc", "notes.md"}
    assert found["List::Push"] == {"kv/table.cc"}
    assert found["Table"] == {"kv/table.cc"}, "the header beside it only declares"
    assert found["Mix"] == {"kv/table.h"}
    assert not {"Hash", "Size"} & found.keys()
    assert definitions(repository, shas[2], []) == {}
    assert definitions(repository, shas[2], ["odd name.cc"]) == {}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Status BlockBasedTable::Open(", "BlockBasedTable::Open"),
        ("bool kv::Table<T>::Seek(int n) const {", "Table::Seek"),
        ("row_search_for_mysql(", "row_search_for_mysql"),
        ("Table::~Table() {", "Table::~Table"),
        ("class Table final : public Base {", "Table"),
        ("class KV_EXPORT Table {", "Table"),
        ("struct Handle", "Handle"),
        ("class Table;", ""),
        ("int Hash(int);", ""),
        ("__attribute__((noinline)) int f(int) {", ""),
    ],
)
def test_what_a_line_defines(line: str, name: str) -> None:
    assert defined_by(line) == name


SERVER = """\
static Sys_var_mybool Sys_log_flush(
       "log_flush", "Flush the log.",
       READ_ONLY GLOBAL_VAR(opt_log_flush),
       CMD_LINE(OPT_ARG), DEFAULT(FALSE));
static void unrelated(int other)
{
  call("log_flush", other);
}
"""
PLUGIN = """\
static MYSQL_SYSVAR_ULONG(pool_size, srv_pool_size,
  PLUGIN_VAR_RQCMDARG, "Size of the pool.", NULL, NULL, 8L, 1L, 1000L, 0);
"""
FIELDS = """\
struct my_option options[] = {
  {"key_size", OPT_KEY_SIZE, "Size of a key.",
   (uchar**) &key_size_value, 0, 0},
  {"other", 0, 0}
};
"""


def test_how_variables_are_defined(tmp_path: Path) -> None:
    story = Story()
    story.commit({"sys.cc": SERVER, "ha.cc": PLUGIN, "mysqld.c": FIELDS, "notes.txt": '"log_flush",\n'})
    shas = story.write(tmp_path / "kv", bare=True)
    found = variable_definitions(
        Repository(tmp_path / "kv"), shas[1], ["log_flush", "db_pool_size", "key_size", "none"]
    )
    assert found["log_flush"].words == {"log_flush", "Sys_log_flush", "Sys_var_mybool", "opt_log_flush", "static"}
    assert found["log_flush"].files == {"sys.cc"}
    assert {"pool_size", "srv_pool_size"} < found["db_pool_size"].words
    assert found["db_pool_size"].files == {"ha.cc"}
    assert "key_size_value" in found["key_size"].words
    assert "other" not in found["key_size"].words
    assert (found["none"].words, found["none"].files) == ({"none"}, frozenset())


def test_whole_messages_are_read(written: tuple[Repository, dict[int, str]]) -> None:
    repository, shas = written
    wanted = [shas[2], shas[1]]
    found = messages(repository, wanted)
    assert [*found] == wanted
    for sha in wanted:
        assert found[sha].strip() == repository.text("log", "-1", "--format=%B", sha).strip()
    assert messages(repository, []) == {}


def test_the_versions_of_what_differs_between_any_two_commits(written: tuple[Repository, dict[int, str]]) -> None:
    repository, shas = written

    def blob(number: int, path: str) -> str:
        return repository.text("rev-parse", f"{shas[number]}:{path}").strip()

    found = dict(changed_versions(repository, [(shas[1], shas[4]), (shas[3], shas[1])], ("kv", "odd name.cc")))
    assert found == {
        shas[1]: {
            "kv/table.cc": (blob(4, "kv/table.cc"), blob(1, "kv/table.cc")),
            "kv/table.h": ("", blob(1, "kv/table.h")),
            "odd name.cc": (blob(4, "odd name.cc"), blob(1, "odd name.cc")),
        },
        shas[3]: {"kv/table.cc": (blob(1, "kv/table.cc"), blob(3, "kv/table.cc"))},
    }
    assert "notes.md" in dict(changed_versions(repository, [(shas[3], shas[2])]))[shas[3]]
    assert dict(changed_versions(repository, [(shas[1], "")], ("notes.md",))) == {
        shas[1]: {"notes.md": ("", blob(1, "notes.md"))}
    }
