import shutil
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_trees import TOOLCHAINS, commit, git, recipe_for, settings_in

from cpubisect.builders.build import BuildResult, Outcome
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.builders.trees.code import Span, code_digest, spans_of, tells_apart
from cpubisect.builders.trees.source import checked_out

MAKEFILE = """\
git_date := $(shell git log -1 --date=format:"%Y-%m-%d %T" --format="%ad")
build_date := $(shell date "+%Y-%m-%d %T")

db_bench: main.cc names.cc stamp.cc version.h FORCE
\tsed -e s/@SHA@/$(shell git rev-parse HEAD)/ -e s/@SHORT@/$(shell git rev-parse --short HEAD)/ \\
\t  -e "s/@DATE@/$(git_date)/" -e "s/@BUILT@/$(build_date)/" stamp.cc > stamped.cc
\t$(CXX) -O2 $(EXTRA_CXXFLAGS) -Wl,--build-id -o $@ main.cc names.cc stamped.cc
FORCE:
"""

TREE = {
    "Makefile": MAKEFILE,
    "version.h": '#define TOY_VERSION "toy 1.0.3"\n',
    "stamp.cc": '#include "version.h"\nextern const char* const stamps[];\nconst char* const stamps[] = {\n'
    '    "sha:@SHA@", "@SHORT@", TOY_VERSION, __DATE__, __TIME__, "date:@DATE@;", "built:@BUILT@;", nullptr};\n',
    "names.cc": "// Lengths.\nint Length(const char* name) {\n  int length = 3;\n"
    "  while (*name++) length += 7;\n  return length;\n}\n",
    "main.cc": "#include <cstdio>\nextern const char* const stamps[];\nint Length(const char* name);\n"
    "int main() {\n  for (int i = 0; stamps[i]; i++) puts(stamps[i]);\n  return Length(stamps[0]) & 1;\n}\n",
}


class Clone:
    """A small engine that stamps all it knows into its program, and builds of its commits."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def build(self, version: str = "1.0.3", toolchain=TOOLCHAINS[0], **changed: str) -> BuildResult:
        """Commit the tree with some files changed, and build it."""
        files = {name.replace("_", "."): text for name, text in changed.items()}
        files = {**TREE, "version.h": TREE["version.h"].replace("1.0.3", version), **files}
        sha = commit(self.directory / "clone", files)
        recipe = recipe_for(sha, toolchain=toolchain, version=version)
        result = carry_out(
            recipe, BUILDER, self.directory / "clone", self.directory / "work", settings_in(self.directory)
        )
        assert result.outcome is Outcome.BUILT, result.first_error
        return result

    def code(self, **changed: str) -> str:
        """The digest of a build's code."""
        return self.build(**changed).code


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def program(result: BuildResult) -> bytes:
    assert result.output is not None
    return (result.output / "db_bench").read_bytes()


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
def test_another_sha_date_release_or_comment_is_the_same_code(
    clone: Clone, toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def now(written: str, committed: str) -> None:
        monkeypatch.setenv("GIT_AUTHOR_DATE", written)
        monkeypatch.setenv("GIT_COMMITTER_DATE", committed)

    now("2019-12-31T22:10:20-0330", "2020-01-02T03:04:05+0200")
    first = clone.build(toolchain=toolchain)
    now("2021-03-04T05:06:07+0930", "2022-11-21T23:59:59-0100")
    comment = TREE["names.cc"].replace("// Lengths.", "// What a name is long.")
    second = clone.build(toolchain=toolchain, version="1.0.4", names_cc=comment)

    assert program(first) != program(second)
    for result in (first, second):
        assert result.recipe.commit.encode() in program(result)
    assert b"2021-03-04 05:06:07" in program(second)
    assert b"2019-12-31 22:10:20" in program(first)
    assert first.code == second.code != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("length = 3", "length = 5"),
        ("length += 7", "length ^= 7"),
        ("int Length(", "int Unused(int x) { return x * 11; }\nint Length("),
        ("return length;", "return length > 99 ? 1 : length;"),
    ],
    ids=["constant", "instruction", "function", "branch"],
)
def test_changed_code_is_different_code(clone: Clone, old: str, new: str) -> None:
    assert clone.code() != clone.code(names_cc=TREE["names.cc"].replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"sha:@SHA@"', '"sha!@SHA@"'),
        ('"sha:@SHA@"', f'"sha:{"0123456789" * 4}"'),
        ("__DATE__", '"Jan 11 2001"'),
        ('"built:@BUILT@;"', '"built:2001-01-11 00:00:00;"'),
        ("TOY_VERSION,", '"toy 1.0.4",'),
    ],
    ids=["text", "sha", "date", "build date", "release"],
)
def test_data_that_is_no_stamp_of_the_commit_counts(clone: Clone, old: str, new: str) -> None:
    assert clone.code() != clone.code(stamp_cc=TREE["stamp.cc"].replace(old, new))


def test_a_release_of_another_length_moves_data_and_is_different(clone: Clone) -> None:
    assert clone.code() != clone.code(version="1.0.10")


def test_a_stamp_among_the_instructions_counts(clone: Clone) -> None:
    with_bytes = TREE["names.cc"] + '\nasm(".text\\n.globl mark\\nmark: .ascii \\"VERSION\\"\\n");\n'
    first = clone.code(names_cc=with_bytes.replace("VERSION", "1.0.3"))
    assert first != clone.code(version="1.0.4", names_cc=with_bytes.replace("VERSION", "1.0.4"))


def test_symbols_and_debug_information_do_not_count(clone: Clone, tmp_path: Path) -> None:
    built = clone.build()
    assert built.output is not None
    stripped = tmp_path / "stripped"
    shutil.copytree(built.output, stripped)
    subprocess.run(["strip", stripped / "db_bench"], check=True)
    assert code_digest(built.output, built.recipe) == code_digest(stripped, built.recipe)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [("2-ab", "2-ab", False), ("2-ab", "2-cd", True), ("1-ab", "2-cd", False), ("ab", "2-ab", False), ("", "ab", True)],
)
def test_only_digests_of_one_form_tell_programs_apart(one: str, other: str, apart: bool) -> None:
    assert tells_apart(one, other) is tells_apart(other, one) is apart


def test_other_files_of_an_artifact_count_as_they_are(tmp_path: Path) -> None:
    recipe = recipe_for("0" * 40)
    digests = []
    for text in ("a", "b", "a"):
        (tmp_path / "share").mkdir(exist_ok=True)
        (tmp_path / "share/messages").write_text(text)
        digests.append(code_digest(tmp_path, recipe))
    assert digests[0] == digests[2] != digests[1]


def test_the_dates_of_a_commit_are_those_of_its_zone_and_of_utc(tmp_path: Path) -> None:
    written = datetime(2023, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    began, ended = datetime(2026, 5, 1, 8, tzinfo=UTC), datetime(2026, 5, 1, 9, tzinfo=UTC)
    spans = spans_of((written,), began, ended)
    days = [datetime(2023, 1, 31).date(), datetime(2023, 2, 1).date(), began.date(), datetime(2023, 1, 30).date()]
    assert [any(span.holds_day(day) for span in spans) for day in days] == [True, True, True, False]
    assert any(span.holds_clock(datetime(2023, 1, 1, 4, 30).time()) for span in spans)


@given(st.datetimes(), st.timedeltas(timedelta(0), timedelta(days=2)), st.datetimes())
def test_what_a_span_holds_it_holds_in_all_its_parts(first: datetime, length: timedelta, moment: datetime) -> None:
    try:
        span = Span(first, first + length)
    except OverflowError:
        return
    if span.holds_moment(moment):
        assert span.holds_day(moment.date())
        assert span.first.date() != span.last.date() or span.holds_clock(moment.time())


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        (r"mysql> SELECT MAKETIME(12,15,30);\n        -> \'12:15:30\'\n", False),
        ("from 12:15:30 to 12:15:31 and on", False),
        ("12:15:30", True),
        ("built at 12:15:30", True),
        (r"built at 12:15:30\n", True),
        ("built May  1 2023 12:15:30, alone", True),
    ],
)
def test_a_time_of_day_within_a_text_is_no_stamp_of_a_build_that_ran_then(clone: Clone, text: str, stamp: bool) -> None:
    built = clone.build(stamp_cc=TREE["stamp.cc"].replace("__TIME__", f'"{text}"'))
    assert built.output is not None
    then = Span(datetime(2023, 5, 1, 12, 13), datetime(2023, 5, 1, 12, 18))
    later = Span(datetime(2023, 5, 1, 14, 0), datetime(2023, 5, 1, 14, 5))
    digests = {code_digest(built.output, built.recipe, [span]) for span in (then, later)}
    assert len(digests) == (2 if stamp else 1)


def test_a_tree_tells_the_dates_of_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2021-03-04T05:06:07+0930")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2022-11-21T23:59:59Z")
    commit(tmp_path / "clone", {"a": "a"})
    with checked_out(tmp_path / "clone", git(tmp_path / "clone", "rev-parse", "HEAD"), tmp_path / "trees") as tree:
        written, committed = tree.commit_dates()
    assert written.isoformat() == "2021-03-04T05:06:07+09:30"
    assert committed == datetime(2022, 11, 21, 23, 59, 59, tzinfo=UTC)
