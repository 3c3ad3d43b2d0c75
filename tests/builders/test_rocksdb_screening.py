import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from idle import idle_functions
from small_trees import TOOLCHAINS, commit, recipe_for, settings_in

from cpubisect.builders.build import SCREENING, BuildResult, Outcome
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER as ORDINARY
from cpubisect.builders.rocksdb_screening import OPTIMISATION, SCREENING_BUILDER

NAMES = [f"{room}/{name}" for room in ("cache", "db", "util") for name in ("one", "two", "three", "four")]

MAKEFILE = f"""\
LIB = {" ".join(f"{name}.cc" for name in NAMES)} util/version.cc
OBJECTS = $(LIB:%.cc=%.o)

%.o: %.cc
\tmkdir -p $(@D) && $(CXX) -O1 -I. $(EXTRA_CXXFLAGS) -c $< -o $@

util/version.cc: util/version.cc.in $(filter-out util/version.o, $(OBJECTS))
\tsed s/@SHA@/1234/ $< > $@

libkv.a: $(OBJECTS)
\trm -f $@
\t$(AR) rs $@ $(OBJECTS:%=./%)

db_bench: tools/db_bench.o libkv.a
\t$(CXX) tools/db_bench.o -L. -lkv $(LDFLAGS) -o $@
"""


def source(name: str) -> str:
    word = name.replace("/", "_")
    return (
        f'#include "db/kv.h"\n\nnamespace {{\nint part_of_{word}() {{ return {len(name)}; }}\n}}\n\n'
        f"int {word}() {{ return part_of_{word}(); }}\n"
    )


WORDS = [name.replace("/", "_") for name in NAMES]
TREE = {
    "Makefile": MAKEFILE,
    "db/kv.h": "#pragma once\n\nconst char* version();\n" + "".join(f"int {word}();\n" for word in WORDS),
    "util/version.cc.in": '#include "db/kv.h"\n\nconst char* version() { return "@SHA@"; }\n',
    "tools/db_bench.cc": '#include <cstdio>\n\n#include "db/kv.h"\n\nint main() {\n'
    f'  printf("%s %d\\n", version(), {" + ".join(f"{word}()" for word in WORDS)});\n}}\n',
    **{f"{name}.cc": source(name) for name in NAMES},
}


def build(directory: Path, files: Mapping[str, str] = TREE, **fields: Any) -> BuildResult:
    """Commit the files and make a screening build of them."""
    recipe = recipe_for(commit(directory / "clone", files), variant=SCREENING, **fields)
    return carry_out(recipe, SCREENING_BUILDER, directory / "clone", directory / "work", settings_in(directory))


def says(result: BuildResult) -> str:
    assert result.output is not None, result.log.read_text()
    return subprocess.run([result.output / "db_bench"], check=True, capture_output=True, text=True).stdout.strip()


EXPECTED = f"1234 {sum(map(len, NAMES))}"


def alone(result: BuildResult) -> list[str]:
    """What the log says was compiled by itself."""
    _, _, after = result.log.read_text().partition("are compiled by themselves: ")
    return after.partition("\n")[0].split()


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
def test_the_library_is_compiled_in_chunks_and_does_the_same(tmp_path: Path, toolchain) -> None:
    result = build(tmp_path, toolchain=toolchain)
    recipe = recipe_for(result.recipe.commit, toolchain=toolchain)
    ordinary = carry_out(recipe, ORDINARY, tmp_path / "clone", tmp_path / "work", settings_in(tmp_path))

    assert (result.outcome, result.first_error, result.diff, result.repairs) == (Outcome.BUILT, "", "", ())
    assert says(result) == says(ordinary) == EXPECTED
    assert not alone(result)
    # Three chunks, the generated source and the tool.
    assert (result.cache_hits, result.cache_misses) == (0, 3 + 2)
    assert (ordinary.cache_hits, ordinary.cache_misses) == (2, 12)
    assert result.compiled == ordinary.compiled
    assert result.recipe.key() != recipe.key()


def test_chunks_are_optimised_less_and_idle_sources_not_at_all(tmp_path: Path) -> None:
    result = build(tmp_path, idle=("cache/*.cc",))
    assert says(result) == EXPECTED
    log = result.log.read_text()
    commands = [line for line in log.splitlines() if "screening-" in line and " -c " in line and "-empty" not in line]
    assert len(commands) == 2, log
    assert all(line.endswith(f" {OPTIMISATION}") for line in commands)
    assert result.output
    idle = idle_functions(result.output / "db_bench")
    assert idle
    assert {f"cache_{name}()" for name in ("one", "two", "three", "four")} <= idle
    assert "db_one()" not in idle


def test_sources_that_collide_are_compiled_by_themselves(tmp_path: Path) -> None:
    helper = "\nstatic int helper() { return 0; }\n"
    files = {
        **TREE,
        "db/one.cc": TREE["db/one.cc"].replace("\nint", f"{helper}\nint", 1),
        "db/two.cc": TREE["db/two.cc"].replace("\nint", f"{helper}\nint", 1),
        "db/three.cc": TREE["db/three.cc"].replace("\nint", f"{helper}\nint", 1),
        "util/two.cc": "#define db_one nothing\n" + TREE["util/two.cc"].replace("#include", "#undef db_one\n#include"),
    }
    result = build(tmp_path, files)
    assert says(result) == EXPECTED
    assert alone(result) == ["db/three.cc", "db/two.cc"]


def test_a_macro_that_breaks_a_later_source_does_no_harm(tmp_path: Path) -> None:
    files = {**TREE, "db/one.cc": TREE["db/one.cc"] + "\n#define part_of_db_two 7 +\n"}
    result = build(tmp_path, files)
    assert says(result) == EXPECTED
    assert "db/two.cc" in alone(result)


def test_what_fails_by_itself_too_is_repaired_as_ever(tmp_path: Path) -> None:
    files = {**TREE, "db/four.cc": TREE["db/four.cc"] + "\nstd::vector<int> numbers() { return {}; }\n"}
    result = build(tmp_path, files)
    assert says(result) == EXPECTED
    assert [(repair.path, repair.change) for repair in result.repairs] == [("db/four.cc", "#include <vector>")]


def test_a_tree_that_does_not_compile_fails_with_its_error(tmp_path: Path) -> None:
    result = build(tmp_path, {**TREE, "db/four.cc": "int db_four() { return 1 +; }\n"})
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("db/four.cc:1:")


def test_a_compiler_that_is_killed_is_no_collision(tmp_path: Path) -> None:
    rule = "$(CXX) -O1 -I. $(EXTRA_CXXFLAGS) -c $< -o $@"
    killed = MAKEFILE.replace(rule, f"{rule} -no-such-option")
    result = build(tmp_path, {**TREE, "Makefile": killed})
    assert result.outcome is Outcome.FAILED


def test_another_source_of_the_same_chunk_misses_the_cache_and_the_other_chunks_hit(tmp_path: Path) -> None:
    build(tmp_path)
    result = build(tmp_path, {**TREE, "db/two.cc": TREE["db/two.cc"] + "\nint more() { return 1; }\n"})
    assert says(result) == EXPECTED
    assert result.cache_misses == 1
