"""Idle sources of engines that are made by make: whole builds of a small one, an archive of which has two sources that
share a template."""

import re
import subprocess
from pathlib import Path

import pytest
from small_trees import commit, recipe_for, settings_in

from cpubisect.builders.build import IDLE_FORM
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.builders.trees.idle.makefile import idle_objects

FILES = {
    "Makefile": """\
CXXFLAGS += $(EXTRA_CXXFLAGS) -O1
LDFLAGS += -lz
OWN = sql/map.o sql/query.o
FAR = far.o

%.o: %.cc
\t$(CXX) $(CXXFLAGS) -c $< -o $@
libfar.a: $(FAR)
\trm -f $@; $(AR) rcs $@ $(FAR)
libown.a: $(OWN)
\t$(AR) $(ARFLAGS) $@ $(OWN:%=./%)
db_bench: main.o libown.a libfar.a
\t$(CXX) -L. $(patsubst lib%.a,-l%,$^) -o $@ $(LDFLAGS)
""",
    "shared.h": """
#pragma once
#ifdef __OPTIMIZE__
#define OPTIMISED 1
#else
#define OPTIMISED 0
#endif
template <int which> __attribute__((noinline)) int shared() { return OPTIMISED; }
int map(), query(), far();
""",
    "sql/map.cc": '#include "../shared.h"\nint map() { return OPTIMISED + 10 * shared<1>() + far(); }\n',
    "sql/query.cc": '#include "../shared.h"\nint query() { return OPTIMISED + 10 * shared<1>(); }\n',
    # The only one that needs the shared library.
    "far.cc": '#include "shared.h"\n#include <zlib.h>\nint far() { return 100 * OPTIMISED + !zlibVersion()[0]; }\n',
    "main.cc": '#include "shared.h"\n#include <cstdio>\nint main() { std::printf("%d %d", map(), query()); }\n',
}


class _All:
    """All get along with all."""

    def takes(self, source: str) -> bool:
        return True

    def names(self, source: str) -> frozenset[str]:
        return frozenset()


ALL = _All()


@pytest.mark.parametrize(
    ("idle", "expected"),
    [
        ((), "111 11"),
        (("sql/none.cc",), "111 11"),
        # What both have is the optimised one's, and what is needed by the idle one alone is still found.
        (("sql/map.cc",), "110 11"),
        (("sql/m*.cc",), "110 11"),
        (("sql/query.cc",), "111 10"),
        (("far.cc",), "11 11"),
        (("sql/*.cc",), "100 0"),
        (("main.cc",), "111 11"),
    ],
)
@pytest.mark.parametrize("precompiled", [False, True])
def test_only_what_is_idle_is_not_optimised(
    tmp_path: Path, idle: tuple[str, ...], expected: str, precompiled: bool
) -> None:
    recipe = recipe_for(commit(tmp_path / "clone", FILES), idle=idle, precompiled=precompiled)
    result = carry_out(recipe, BUILDER, tmp_path / "clone", tmp_path / "work", settings_in(tmp_path))
    assert result.output is not None, result.log.read_text()
    assert subprocess.run([result.output / "db_bench"], check=True, capture_output=True, text=True).stdout == expected


def test_what_is_linked_without_an_archive_is_none() -> None:
    plan = "g++ -c map.cc -o map.o\ng++ -c query.cc -o ./query.o\nar rcs lib.a ./query.o\ng++ map.o lib.a -o db_bench\n"
    found = idle_objects(plan, ("*.cc",), ALL, "idle")
    assert found is not None
    assert (found.objects, found.archives, found.joined) == (("query.o",), ("lib.a",), ())
    assert idle_objects(plan, ("map.cc",), ALL, "idle") is None


def test_an_object_whose_name_make_or_a_shell_would_read_otherwise_is_none() -> None:
    plan = "g++ -c 'a b.cc' -o 'a b.o'\ng++ -c '$x.cc' -o '$x.o'\nar rcs lib.a 'a b.o' '$x.o'\n"
    assert idle_objects(plan, ("*",), ALL, "idle") is None


def test_idle_sources_are_compiled_as_one(tmp_path: Path) -> None:
    recipe = recipe_for(commit(tmp_path / "clone", FILES), idle=("sql/*.cc",))
    result = carry_out(recipe, BUILDER, tmp_path / "clone", tmp_path / "work", settings_in(tmp_path))
    assert result.output is not None
    assert set(result.compiled) == {"sql/map.cc", "sql/query.cc", "far.cc", "main.cc", "shared.h"}
    log = result.log.read_text()
    assert re.search(r"-c bisect-idle/[0-9a-f]{12}\.cc\n", log)
    assert "-c sql/map.cc" not in log.partition("bisect-idle.mk")[2]


def test_idle_sources_that_do_not_get_along_are_linked_all_the_same(tmp_path: Path) -> None:
    # Not at the beginning of a line, where it would have been seen.
    mine = "namespace { int mine() { return OPTIMISED; } }\n"
    files = {
        **FILES,
        "sql/map.cc": f'#include "../shared.h"\n{mine}int map() {{ return mine() + far(); }}\n',
        "sql/query.cc": f'#include "../shared.h"\n{mine}int query() {{ return mine(); }}\n',
    }
    recipe = recipe_for(commit(tmp_path / "clone", files), idle=("sql/*.cc",))
    result = carry_out(recipe, BUILDER, tmp_path / "clone", tmp_path / "work", settings_in(tmp_path))
    assert result.output is not None, result.log.read_text()
    assert subprocess.run([result.output / "db_bench"], check=True, capture_output=True, text=True).stdout == "100 0"
    assert set(result.compiled) >= {"sql/map.cc", "sql/query.cc", "shared.h"}


def test_another_way_to_build_idle_sources_makes_other_keys_where_some_are(monkeypatch: pytest.MonkeyPatch) -> None:
    some, none = recipe_for("c0ffee", idle=("*.cc",)), recipe_for("c0ffee")
    before = some.key(), none.key()
    monkeypatch.setattr("cpubisect.builders.build.IDLE_FORM", IDLE_FORM + 1)
    assert some.key() != before[0]
    assert none.key() == before[1]
