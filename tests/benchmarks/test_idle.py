"""Which code a program has between its marks, by a real one."""

import subprocess
from pathlib import Path

import pytest
from idle import Ran, idle_functions, newest, share

from cpubisect.builders.trees.idle import BEGINS, ENDS, mark

SOURCES = {
    "main.cc": "int query(); static int twice() { return 2; }\nint main() { return query() + twice(); }\n",
    "idle.cc": "int elsewhere(int); static int twice() { return 4; }\nint query() { return twice() + elsewhere(1); }\n",
    "last.cc": "int elsewhere(int other) { return other; }\n",
    "begins.s": mark(BEGINS),
    "ends.s": mark(ENDS),
}


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        # What is static there and has the name of another one elsewhere is not told from it.
        (("main.cc", "begins.s", "idle.cc", "ends.s", "last.cc"), {"query()"}),
        (("main.cc", "idle.cc", "begins.s", "last.cc", "ends.s"), {"elsewhere(int)"}),
        (("main.cc", "idle.cc", "last.cc"), None),
    ],
)
def test_functions_between_the_marks_are_idle(
    tmp_path: Path, order: tuple[str, ...], expected: set[str] | None
) -> None:
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["g++", "-O0", "-o", "mysqld", *order], cwd=tmp_path, check=True)
    assert idle_functions(tmp_path / "mysqld") == expected


def test_the_share_is_that_of_what_a_query_costs() -> None:
    profile = {"query()'2": 10.0, "execute()": 85.0, "main": 5.0, "once()": 0.0}
    assert share(profile, frozenset({"query()", "main", "once()"})) == (0.15, ("query()'2", "main"))
    assert share({}, frozenset()) == (0.0, ())


def test_a_release_is_judged_by_the_newest_of_its_builds_and_the_dearest_of_its_probes() -> None:
    mended, more = Ran("mysql 5.7.33", "scan", 0.0, ()), Ran("mysql 5.7.33", "scan", 0.01, ("query()",))
    other = Ran("mysql 5.7.33", "insert", 0.02, ("query()",))
    before = Ran("mysql 5.7.33", "scan", 0.5, ("query()",))
    for order in ((1, before), (2, mended), (2, more)), ((2, more), (2, mended), (1, before)):
        assert newest([*order, (1, other)]) == [more, other]
