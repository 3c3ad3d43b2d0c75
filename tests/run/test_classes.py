"""Commits that cannot change the binary are not built, and a rule that is wrong about that loses no culprit."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from small_bisections import ask, cost, history, percent, said, tree, verdict_of

from cpubisect.history.relevance import SOURCE_ENDINGS, Evidence
from cpubisect.search.line import Line

# The build includes a file below docs/, so the matrix's rule "docs cannot change the binary" is wrong here.
MISLED = {"cost.h": '#include "docs/cost.md"\n#ifndef LOOKUP\n#define LOOKUP 1000\n#endif\n'}
SLOW = {"docs/cost.md": "#define LOOKUP 1250\n"}
TELLS = {
    "Makefile": "db_bench: small_bench.c\n\t$(CC) -O1 -w $(EXTRA_CFLAGS) -include cost.h -o $@ small_bench.c\n",
    "extra/unused.h": "",
}


def test_a_culprit_that_a_wrong_glob_hides_is_found(home: Path, tmp_path: Path) -> None:
    story = history({**tree(1000), **MISLED}, {"a.txt": "1"}, {"docs/a.md": "1"}, SLOW, {"docs/b.md": "1"})
    story.commit({"b.txt": "1"})
    shas = story.write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    assert [c["sha"] for c in verdict_of(data)["culprits"]] == [shas[4]]
    assert percent(verdict_of(data)["culprits"][0]) == pytest.approx(25.0, rel=0.05)


def test_the_bad_end_itself_stands_for_its_class(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1200), {"docs/a.md": "1"}, {"docs/a.md": "2"}).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    assert [c["sha"] for c in verdict_of(data)["culprits"]] == [shas[2]]
    assert {commit["sha"] for commit in data["commits"]} == {shas[1], shas[2], shas[4]}


def test_files_that_no_end_was_compiled_from_join_their_commits(home: Path, tmp_path: Path) -> None:
    unused = [{"extra/unused.h": f"#define UNUSED {number}\n"} for number in range(6)]
    story = history({**tree(1000), **TELLS}, *unused[:3], cost(1200), *unused[3:])
    shas = story.write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    assert [c["sha"] for c in verdict_of(data)["culprits"]] == [shas[5]]
    (joined,) = (event for event in said(data["id"]) if event["kind"] == "joined")
    assert (joined["joined"], joined["classes"]) == (6, 1)
    assert {commit["sha"] for commit in data["commits"]} == {shas[1], shas[4], shas[5], shas[8]}


def test_a_file_that_is_compiled_only_between_the_ends_is_noticed(home: Path, tmp_path: Path) -> None:
    including = {"cost.h": '#include "extra/unused.h"\n#ifndef LOOKUP\n#define LOOKUP 1000\n#endif\n'}
    story = history({**tree(1000), **TELLS}, {"b.txt": "1"}, including, {"extra/unused.h": "#define LOOKUP 1200\n"})
    for files in ({"a.txt": "1"}, {"a.txt": "2"}, cost(1200), {"b.txt": "2"}):
        story.commit(files)
    shas = story.write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    assert [c["sha"] for c in verdict_of(data)["culprits"]] == [shas[4]]


def test_a_commit_with_equal_code_is_not_probed(home: Path, tmp_path: Path) -> None:
    loops = [1000, 1000, 1000, 1000, 1200, 1200, 1200, 1200]
    story = history(tree(1000), *(cost(n, f"/* {number} */") for number, n in enumerate(loops)))
    shas = story.write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[2], "main", home=home)
    assert [c["sha"] for c in verdict_of(data)["culprits"]] == [shas[6]]
    events = said(data["id"])
    equal = {event["sha"]: event["twin"] for event in events if event["kind"] == "equal-code"}
    assert equal
    assert set(equal.values()) <= {shas[2], shas[9]}
    assert {event["sha"] for event in events if event["kind"] == "probe-finished" and event["purpose"] == "search"} == {
        shas[2],
        shas[9],
    }


def test_ends_with_equal_code_need_no_rounds_of_cpu_time(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1000, "/* a */"), cost(1000, "/* b */")).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[2], "main", home=home)
    assert verdict_of(data)["kind"] == "no-regression"
    assert "equal" in verdict_of(data)["summary"]
    assert data["totals"]["probes"] == 1


PATHS = st.sampled_from(["a.c", "b.h", "deep/c.cc", "run.sh", "Makefile", "d.y", "e.java", "t/f.test"])


@given(st.frozensets(PATHS), st.frozensets(PATHS), PATHS)
def test_only_a_source_of_an_end_that_nothing_was_compiled_from_is_unused(
    compiled: frozenset[str], files: frozenset[str], path: str
) -> None:
    evidence = Evidence(compiled, files)
    assert evidence.unused(path) == (path in files - compiled and path.endswith(SOURCE_ENDINGS))
    assert not Evidence().unused(path)
    assert not Evidence(compiled | {path}, files).unused(path)


FILES = ("main.c", "a.h", "b.h", "c.h")
CONTENT = st.tuples(st.integers(0, 2), st.frozensets(st.sampled_from(FILES[1:]), max_size=2))
EDITS = st.dictionaries(st.sampled_from(FILES[1:]), CONTENT | st.none(), min_size=1, max_size=2)
Tree = Mapping[str, tuple[int, frozenset[str]]]


def program(files: Tree) -> Tree:
    """The files that `main.c` takes in, with what is in them."""
    found: dict[str, tuple[int, frozenset[str]]] = {}
    waiting = ["main.c"]
    while waiting:
        name = waiting.pop()
        if name in files and name not in found:
            found[name] = files[name]
            waiting += files[name][1]
    return found


def after(files: Tree, edits: Iterable[Mapping[str, tuple[int, frozenset[str]] | None]]) -> Tree:
    """A tree with edits made one after the other."""
    changed: dict[str, tuple[int, frozenset[str]] | None] = dict(files)
    for edit in edits:
        changed.update(edit)
    return {name: content for name, content in changed.items() if content is not None}


def compiles(files: Tree) -> bool:
    """Whether everything is there that is taken in."""
    return all(name in files for _, names in program(files).values() for name in names)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.dictionaries(st.sampled_from(FILES[1:]), CONTENT), st.lists(EDITS | st.just({}), min_size=2, max_size=8))
def test_what_is_unused_adds_nothing_to_the_ends_and_is_noticed_between_them(
    others: dict[str, tuple[int, frozenset[str]]], edits: list[dict[str, tuple[int, frozenset[str]] | None]]
) -> None:
    good: Tree = {"main.c": (0, frozenset({"a.h"})), **others}
    bad = after(good, edits)
    assume(compiles(good) and compiles(bad))
    evidence = Evidence(frozenset({*program(good), *program(bad)}), frozenset({*good, *bad}))
    for number, edit in enumerate(edits):
        if all(evidence.unused(name) for name in edit):
            assert program(after(good, [*edits[:number], *edits[number + 1 :]])) == program(bad)
            before, then = (program(after(good, edits[:n])) for n in (number, number + 1))
            if before != then:
                taught = Evidence(evidence.compiled | {*before, *then}, evidence.files)
                assert not all(taught.unused(name) for name in edit)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=8), st.data())
def test_joining_keeps_all_commits_in_order(sizes: list[int], data: st.DataObject) -> None:
    names = iter(range(100))
    line = Line(tuple(tuple(f"c{next(names)}" for _ in range(size)) for size in sizes))
    firsts = [group[0] for group in line.classes]
    unchanged = frozenset(data.draw(st.lists(st.sampled_from(firsts), unique=True)))
    joined = line.joined(unchanged)
    assert joined.commits() == line.commits()
    assert [group[0] for group in joined.classes] == [c for c in firsts if c not in unchanged or c == firsts[0]]
    assert joined.built(0) == line.built(0)
    if joined.size > 1:
        assert joined.built(joined.size - 1) == line.commits()[-1]
