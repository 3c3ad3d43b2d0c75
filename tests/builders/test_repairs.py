"""Which trees are repaired and which are given up, with real compilers on small trees."""

from pathlib import Path
from typing import Any

import pytest
from small_trees import GOOD, TOOLCHAINS, commit, recipe_for, settings_in

from cpubisect.builders.build import BuildResult, Outcome, Toolchain
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER

EACH = pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)

LIBRARY = {
    "extra/icu/LICENSE": "free\n",
    "extra/icu/norm.h": "#pragma once\nstruct Normal {\n  int decomp = 0;\n};\nint Decompose(int info);\n",
    "extra/icu/base.h": "#pragma once\nstruct Base {\n  int size = 0;\n};\n",
}
NORMAL = "int main() {\n  Normal normal;\n  return normal.decomp;\n}\n"


def build(directory: Path, files: dict[str, str], toolchain: Toolchain, **settings: Any) -> BuildResult:
    sha = commit(directory / "clone", GOOD | files)
    recipe = recipe_for(sha, toolchain=toolchain)
    return carry_out(recipe, BUILDER, directory / "clone", directory / "work", settings_in(directory, **settings))


def added(result: BuildResult) -> list[str]:
    return [line[1:] for line in result.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]


def runs(result: BuildResult) -> int:
    """How often the tree was compiled."""
    return result.log.read_text().count("bisect: make -j")


def header(text: str) -> dict[str, str]:
    return {"util/names.h": f"#pragma once\n\nint NameLength(const char* name);\n{text}"}


REPAIRED: dict[str, tuple[dict[str, str], list[str]]] = {
    "stdint in a header": (header("inline uint64_t Combine(uint64_t a) { return a; }\n"), ["#include <cstdint>"]),
    "string in a header": (header("inline std::string Name() { return {}; }\n"), ["#include <string>"]),
    "function in a header": (header("inline void Call(std::function<void()> f) { f(); }\n"), ["#include <functional>"]),
    "limits in a source": (
        {"main.cc": "int main() { return std::numeric_limits<unsigned>::min(); }\n"},
        ["#include <limits>"],
    ),
    "stdexcept in a source": (
        {"main.cc": 'int main() {\n  if (sizeof(int) == 1) throw std::runtime_error("x");\n  return 0;\n}\n'},
        ["#include <stdexcept>"],
    ),
    "size_t in a header": (header("inline size_t Size() { return 0; }\n"), ["#include <cstddef>"]),
    "a definition behind a forward declaration": (
        {
            "main.cc": "int main() {\n  Gadget gadget;\n  return Use(gadget.widget());\n}\n",
            "util/gadget.h": "#pragma once\nstruct Widget;\nstruct Gadget {\n  Widget& widget();\n};\n",
            "util/widget.h": "#pragma once\nstruct Widget {\n  int size = 0;\n};\n"
            "inline int Use(Widget& widget) { return widget.size; }\n",
            "util/names.cc": '#include "util/gadget.h"\n#include "util/widget.h"\nstatic Widget one;\n'
            "Widget& Gadget::widget() { return one; }\n",
        },
        ['#include "util/gadget.h"', '#include "util/widget.h"'],
    ),
    "a name that others hide behind": (
        {
            "main.cc": "int main() {\n  Widget widget;\n  Later later;\n  return widget.size + later.size;\n}\n",
            "util/widget.h": "#pragma once\nstruct Widget {\n  int size = 0;\n};\n",
            "util/later.h": "#pragma once\nstruct Later {\n  int size = 0;\n};\n",
        },
        ['#include "util/later.h"', '#include "util/widget.h"'],
    ),
    "a library that the file includes": (
        LIBRARY | {"main.cc": f'#include "extra/icu/base.h"\n\n{NORMAL}'},
        ['#include "extra/icu/norm.h"'],
    ),
    "a library that an included file includes": (
        LIBRARY
        | {
            "main.cc": f'#include "util/text.h"\n\n{NORMAL}',
            "util/text.h": '#pragma once\n#include "extra/icu/base.h"\n',
        },
        ['#include "extra/icu/norm.h"'],
    ),
    "a library's own file": (
        LIBRARY
        | {
            "main.cc": '#include "extra/icu/more.h"\n\nint main() { return More().base.size; }\n',
            "extra/icu/more.h": "#pragma once\n\nstruct More {\n  Base base;\n};\n",
        },
        ['#include "base.h"'],
    ),
    "a header that brings what the host declares": (
        {
            "main.cc": "int main() {\n  pthread_t thread{};\n  Port port{thread};\n  return port.number;\n}\n",
            "util/port.h": "#pragma once\n#include <pthread.h>\n"
            "struct Port {\n  pthread_t thread;\n  int number = 0;\n};\n",
        },
        ['#include "util/port.h"'],
    ),
    "not the header that declares the file's own once more": (
        {
            "main.cc": "struct Root {};\n\nint main() {\n  Root root;\n  Widget widget;\n  return widget.size;\n}\n",
            "a_widget.h": "struct Root {};\nstruct Widget {\n};\n",
            "deep/down/widget.h": "#pragma once\nstruct Widget {\n  int size = 0;\n};\n",
        },
        ['#include "deep/down/widget.h"'],
    ),
    "not the header that declares another thing of that name": (
        {
            "main.cc": "int main() {\n  Widget widget;\n  return widget.size;\n}\n",
            "a_widget.h": "struct Widget {\n};\n",
            "deep/down/widget.h": "#pragma once\nstruct Widget {\n  int size = 0;\n};\n",
        },
        ['#include "deep/down/widget.h"'],
    ),
    "not the header that declares it on another platform only": (
        {
            "main.cc": "int main() {\n  Widget widget;\n  return widget.size;\n}\n",
            "a_widget.h": "#ifdef NEVER\nstruct Widget {\n};\n#endif\n",
            "deep/down/widget.h": "#pragma once\nstruct Widget {\n  int size = 0;\n};\n",
        },
        ['#include "deep/down/widget.h"'],
    ),
}


@EACH
@pytest.mark.parametrize("case", REPAIRED)
def test_what_an_include_mends_is_repaired(tmp_path: Path, toolchain: Toolchain, case: str) -> None:
    files, wanted = REPAIRED[case]
    result = build(tmp_path, files, toolchain)
    assert (result.outcome, result.first_error) == (Outcome.BUILT, "")
    assert sorted(added(result)) == wanted


@EACH
def test_a_macro_that_is_defined_nowhere_ends_the_repairs_at_once(tmp_path: Path, toolchain: Toolchain) -> None:
    """What happened on MySQL 8.0.39: one macro of a generated file was missing."""
    files = LIBRARY | {
        "main.cc": '#include "util/names.h"\n\nint Weigh(int weight, int stride) {\n  weight += stride * CE_SIZE;\n'
        "  if (info.known) weight += CE_SIZE;\n  return Decompose(decomp(weight));\n}\nint main() { return 0; }\n",
        "boost/boost_1_77_0/boost/spirit/info.hpp": "struct info {\n  int known;\n};\n",
        "util/decomp.h": "int decomp(int);\n",
    }
    result = build(tmp_path, files, toolchain)
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("main.cc:4:22: error: ")
    assert "'CE_SIZE'" in result.first_error
    assert "tried" not in result.first_error
    assert (result.diff, result.repairs, runs(result)) == ("", (), 1)
    assert "no include can repair this: CE_SIZE is declared nowhere in the tree" in result.log.read_text()


@EACH
@pytest.mark.parametrize("place", ["extra/icu", "third-party/icu", "icu-73.1", "include/icu_7_3/patches", "named/icu"])
def test_a_bundled_library_is_not_put_into_the_engines_own_files(
    tmp_path: Path, toolchain: Toolchain, place: str
) -> None:
    licence = {"extra/icu/LICENSE": "free\n"} if place == "extra/icu" else {}
    files = {"main.cc": NORMAL, f"{place}/norm.h": LIBRARY["extra/icu/norm.h"], **licence}
    result = build(tmp_path, files, toolchain, bundled=("/named/*/",))
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("main.cc:2:3: error: ")
    assert (result.diff, result.repairs, runs(result)) == ("", (), 1)


@EACH
def test_an_include_that_leaves_its_error_ends_the_attempts(tmp_path: Path, toolchain: Toolchain) -> None:
    absent = "#ifdef NEVER\nstruct Widget {\n};\n#endif\n"
    files = {"main.cc": "int main() {\n  Widget widget;\n  return 0;\n}\n", "a.h": absent, "b.h": absent, "c.h": absent}
    result = build(tmp_path, files, toolchain)
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("main.cc:2:3: error: ")
    assert result.first_error.endswith('(repairs tried: #include "a.h" in main.cc)')
    assert (result.diff, result.repairs, runs(result)) == ("", (), 2)
    assert "no include can repair this: no include brings Widget into main.cc" in result.log.read_text()


@EACH
def test_the_error_of_the_unrepaired_tree_is_told(tmp_path: Path, toolchain: Toolchain) -> None:
    """Every header that declares the name fails by itself: their errors are not the tree's."""
    files = {
        "main.cc": "int main() {\n  Widget widget;\n  return 0;\n}\n",
        "a.h": "#error for another platform\nstruct Widget {\n};\n",
        "b.h": "struct Widget {\n  Gone gone;\n};\n",
    }
    result = build(tmp_path, files, toolchain)
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("main.cc:2:3: error: ")
    assert result.first_error.endswith('(repairs tried: #include "a.h" in main.cc, #include "b.h" in main.cc)')
    assert (result.diff, result.repairs, runs(result)) == ("", (), 3)


@EACH
def test_what_stops_a_tree_that_was_repaired_in_part_is_told_too(tmp_path: Path, toolchain: Toolchain) -> None:
    files = {"main.cc": '#include "util/names.h"\n\nint main() {\n  return 1 +;\n}\n'} | header("uint64_t Hash();\n")
    result = build(tmp_path, files, toolchain)
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("util/names.h:4:1: error: ")
    assert "(repairs tried: #include <cstdint> in util/names.h; then main.cc:4:13: error: exp" in result.first_error
    assert [repair.change for repair in result.repairs] == ["#include <cstdint>"]
    assert runs(result) == 2


def test_an_error_that_only_shows_later_is_told_behind_the_first(tmp_path: Path) -> None:
    makefile = "db_bench: first.o second.o\n\t$(CXX) -o $@ $^\n%.o: %.cc\n\t$(CXX) -c $< -o $@\n"
    files = {
        "Makefile": makefile,
        "first.cc": "uint64_t one;\n",
        "second.cc": "int main() {\n  return 1 +;\n}\n",
    }
    result = build(tmp_path, files, TOOLCHAINS[0], jobs=1)
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("first.cc:1:1: error: 'uint64_t' does not name a type")
    assert "(repairs tried: #include <cstdint> in first.cc; then second.cc:2:13: error: " in result.first_error


def test_without_time_for_repairs_there_are_none(tmp_path: Path) -> None:
    result = build(tmp_path, header("uint64_t Hash();\n"), TOOLCHAINS[0], repair_builds=0.0)
    assert result.outcome is Outcome.FAILED
    assert (result.diff, result.repairs, runs(result)) == ("", (), 1)
    assert "bisect: no more repairs: repairs took 0 s, and may take 0 s (0 builds)" in result.log.read_text()
