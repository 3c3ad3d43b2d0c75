"""What must be compiled, by the history and by what builds were made from, is what the compiler cache then misses."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from small_trees import GOOD, TOOLCHAINS, commit, recipe_for, settings_in

from cpubisect.builders.build import BuildResult, Outcome
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.history.history import History
from cpubisect.search.price import Compilations, Versions

NAMES, MAIN, HEADER = GOOD["util/names.cc"], GOOD["main.cc"], GOOD["util/names.h"]
MORE = GOOD["Makefile"].replace("util/names.o", "util/names.o util/more.o")
NEW = GOOD["Makefile"].replace("util/names.o", "util/names.o util/more.o util/new.o")
START = {**GOOD, "util/more.cc": "int More() { return 1; }\n", "Makefile": MORE, "docs/a.md": "", "tool.cc": "x"}

# Each change with the compilations that it takes, from what was built before.
CHANGES: Mapping[str, tuple[Mapping[str, str | None], int]] = {
    "nothing": ({}, 0),
    "docs": ({"docs/a.md": "more\n"}, 0),
    "a source": ({"main.cc": f"{MAIN}int other;\n"}, 1),
    "a header of two of three": ({"util/names.h": f"{HEADER}extern int x;\n"}, 2),
    "both put back": ({"util/names.h": HEADER, "main.cc": MAIN}, 0),
    "a new source": ({"util/new.cc": "int New() { return 1; }\n", "Makefile": NEW}, 1),
    "a source that nobody compiles": ({"tool.cc": "y"}, 0),
    "a source less": ({"util/more.cc": None, "Makefile": GOOD["Makefile"], "util/new.cc": None}, 0),
    "a header where one includes it": (
        {"util/late.h": "#pragma once\n", "util/names.cc": f'#include "late.h"\n{NAMES}'},
        1,
    ),
}


@pytest.mark.parametrize("toolchain", TOOLCHAINS[:1] + TOOLCHAINS[-1:], ids=lambda toolchain: toolchain.name)
def test_as_many_are_said_as_the_compiler_cache_misses(tmp_path: Path, toolchain) -> None:
    clone, settings = tmp_path / "clone", settings_in(tmp_path)

    def build(sha: str) -> BuildResult:
        result = carry_out(recipe_for(sha, toolchain=toolchain), BUILDER, clone, tmp_path / "work", settings)
        assert (result.outcome, result.first_error) == (Outcome.BUILT, "")
        return result

    first = commit(clone, START)
    shas = {}
    for name, (files, _) in CHANGES.items():
        for gone in (path for path, text in files.items() if text is None):
            (clone / gone).unlink()
        shas[name] = commit(clone, {path: text for path, text in files.items() if text is not None})
    order = [first, *shas.values()]
    versions = Versions()
    versions.append(first, {})
    history = History(clone)
    for sha, changed in history.versions(list(zip(order[1:], order, strict=False)), ("main.cc", "tool.cc", "util")):
        versions.append(sha, changed)

    built = {first: build(first).objects}
    assert {one.source: one.files for one in built[first].values()} == {
        "main.cc": ("main.cc", "util/names.h"),
        "util/names.cc": ("util/names.cc", "util/names.h"),
        "util/more.cc": ("util/more.cc",),
    }
    assert all(one.seconds for one in built[first].values())
    said, missed = {}, {}
    for name, sha in shas.items():
        said[name] = Compilations(versions, built, 1.0).work()[sha].objects
        result = build(sha)
        missed[name] = result.cache_misses
        assert sum(one.seconds is not None for one in result.objects.values()) == result.cache_misses
        built[sha] = result.objects
    assert said == missed == {name: count for name, (_, count) in CHANGES.items()}
