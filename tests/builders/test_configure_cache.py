import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_trees import TOOLCHAINS, commit, git, recipe_for, settings_in

from cpubisect.base.process import run
from cpubisect.builders.build import Recipe
from cpubisect.builders.trees.configure_cache import KEPT, Check, checks, preload, run_cmake, traced
from cpubisect.builders.trees.shop import CommandFailed, Shop

TREE = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.5)
project(Toy C CXX)
include(CheckIncludeFile)
include(CheckIncludeFiles)
include(CheckFunctionExists)
include(CheckSymbolExists)
include(CheckTypeSize)
include(CheckCSourceCompiles)
include(CheckCXXSourceRuns)
include(CheckLibraryExists)
include(cmake/own.cmake)
check_include_file(stdlib.h HAVE_STDLIB_H)
check_include_files("stdlib.h;nowhere.h" HAVE_NOWHERE_H)
check_function_exists(malloc HAVE_MALLOC)
check_function_exists(no_such_function HAVE_NO_SUCH_FUNCTION)
check_symbol_exists(EOF stdio.h HAVE_EOF)
check_library_exists(m floor "" HAVE_LIBM)
check_type_size("long long" SIZEOF_LONG_LONG)
check_type_size(no_such_type SIZEOF_NO_SUCH_TYPE)
check_c_source_compiles("int main() { return 0; /* ; \\"quotes\\" */ }" HAVE_MAIN)
check_cxx_source_runs("int main() { return 3; }" RETURNS_ZERO)
set(PLACE ${CMAKE_SOURCE_DIR} CACHE INTERNAL "Test of a place")
configure_file(config.h.in config.h)
""",
    "cmake/own.cmake": "check_symbol_exists(BUFSIZ stdio.h HAVE_BUFSIZ)\n",
    "config.h.in": "\n".join(
        (
            "#cmakedefine HAVE_STDLIB_H 1",
            "#cmakedefine HAVE_NOWHERE_H 1",
            "#cmakedefine HAVE_MALLOC 1",
            "#cmakedefine HAVE_NO_SUCH_FUNCTION 1",
            "#cmakedefine HAVE_EOF 1",
            "#cmakedefine HAVE_BUFSIZ 1",
            "#cmakedefine HAVE_LIBM 1",
            "#cmakedefine HAVE_MAIN 1",
            "#cmakedefine RETURNS_ZERO 1",
            "@SIZEOF_LONG_LONG_CODE@",
            "@SIZEOF_NO_SUCH_TYPE_CODE@",
            "",
        )
    ),
    "main.c": "int main(void) { return 0; }\n",
}


class Yard:
    """Trees that are configured with one compiler cache beside them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kept = directory / "ccache-configure"
        self._number = 0

    def configure(
        self,
        files: Mapping[str, str] = TREE,
        *arguments: str,
        edited: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        **fields: object,
    ) -> tuple[str, str]:
        """Configure a new tree with these files; the header made, and the log."""
        self._number += 1
        tree = self.directory / f"tree{self._number}"
        sha = commit(tree, files)
        for name, text in (edited or {}).items():
            (tree / name).write_text(text)
        place = self.directory / f"tmp{self._number}"
        place.mkdir()
        recipe = Recipe(**{**recipe_for(sha, **fields).__dict__, "system": "cmake"})
        plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(place), "HOME": str(place), "LANG": "C.UTF-8"}
        log = self.directory / "log"
        log.write_text("")
        shop = Shop(
            *(tree, recipe, settings_in(self.directory), log, {**plain, **(environment or {})}),
            files=lambda: git(tree, "ls-files").splitlines(),
        )
        compilers = (f"-DCMAKE_C_COMPILER={recipe.toolchain.cc}", f"-DCMAKE_CXX_COMPILER={recipe.toolchain.cxx}")
        run_cmake(shop, ["-G", "Ninja", *compilers, *arguments], tree / "build")
        return (tree / "build/config.h").read_text(), log.read_text()


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def reused(log: str) -> bool:
    return "results of checks are those of an earlier run" in log


def test_the_second_tree_makes_no_check_and_gets_the_same_header(yard: Yard) -> None:
    first, log = yard.configure()
    assert not reused(log)
    assert "Looking for malloc" in log
    second, log = yard.configure({**TREE, "main.c": "int main(void) { return 1; }\n"})
    assert reused(log)
    assert not any(word in log for word in ("Looking for", "Check size", "Performing Test"))
    assert "Check for working C compiler" in log or "Detecting C compiler ABI info" in log
    assert first == second
    assert "#define SIZEOF_LONG_LONG 8" in first
    assert "#define HAVE_MALLOC 1" in first
    assert "/* #undef HAVE_NO_SUCH_FUNCTION */" in first
    assert len(list(yard.kept.glob("*"))) == 1


CHANGES: dict[str, dict[str, Any]] = {
    "cmake file": {"files": {**TREE, "cmake/own.cmake": "check_symbol_exists(FOPEN_MAX stdio.h HAVE_BUFSIZ)\n"}},
    "new list": {"files": {**TREE, "deep/CMakeLists.txt": "message(hello)\n"}},
    "template": {"files": {**TREE, "config.h.in": TREE["config.h.in"] + "/* more */\n"}},
    "edit": {"edited": {"cmake/own.cmake": "check_symbol_exists(NOWHERE stdio.h HAVE_BUFSIZ)\n"}},
    "flags": {"arguments": ("-DCMAKE_C_FLAGS=-O1",)},
    "environment": {"environment": {"CFLAGS": "-O1"}},
    "toolchain": {"toolchain": TOOLCHAINS[-1]},
}


def test_what_may_decide_a_check_makes_another_key(yard: Yard) -> None:
    yard.configure()
    for name, change in CHANGES.items():
        other = {key: value for key, value in change.items() if key not in ("arguments", "files")}
        _, log = yard.configure(change.get("files", TREE), *change.get("arguments", ()), **other)
        assert not reused(log), name


def test_what_lies_where_an_argument_points_to_counts(yard: Yard, tmp_path: Path) -> None:
    place = tmp_path / "ssl"
    place.mkdir()
    (place / "ssl.h").write_text("1\n")
    argument = f"-DWITH_SSL={place}"
    yard.configure(TREE, argument)
    assert reused(yard.configure(TREE, argument)[1])
    (place / "ssl.h").write_text("11\n")
    assert not reused(yard.configure(TREE, argument)[1])


@pytest.mark.long
def test_a_damaged_or_foreign_file_is_not_read(yard: Yard) -> None:
    header, _ = yard.configure()
    (file,) = yard.kept.iterdir()
    text = file.read_text()
    foreign = ["", "{}", "[1]", '{"key": 1, "checks": [[1]], "digest": ""}']
    damaged = [text[: len(text) // 2], text.replace('"8"', '"4"'), text.replace(json.loads(text)["key"], "0" * 64)]
    for written in (*foreign, *damaged):
        file.write_text(written)
        again, log = yard.configure()
        assert not reused(log), written
        assert again == header
    assert reused(yard.configure()[1])


def test_a_check_that_reads_the_tree_keeps_anything_from_being_kept(yard: Yard) -> None:
    own = (
        "set(CMAKE_REQUIRED_INCLUDES ${CMAKE_SOURCE_DIR}/inner)\n"
        "check_symbol_exists(INNER inner.h HAVE_BUFSIZ)\nset(CMAKE_REQUIRED_INCLUDES)\n"
    )
    yard.configure({**TREE, "cmake/own.cmake": own, "inner/inner.h": "#define INNER 1\n"})
    assert not any(json.loads(path.read_text())["checks"] for path in yard.kept.glob("*"))
    assert not reused(yard.configure({**TREE, "cmake/own.cmake": own, "inner/inner.h": "\n"})[1])


def test_a_failure_with_old_results_is_tried_again_without(yard: Yard) -> None:
    own = "if(DEFINED HAVE_MALLOC)\n  message(FATAL_ERROR old)\nendif()\n" + TREE["cmake/own.cmake"]
    first, _ = yard.configure({**TREE, "cmake/own.cmake": own})
    second, log = yard.configure({**TREE, "cmake/own.cmake": own})
    assert "again without" in log
    assert first == second


def test_a_failing_cmake_fails_and_nothing_is_kept(yard: Yard) -> None:
    with pytest.raises(CommandFailed):
        yard.configure({**TREE, "cmake/own.cmake": "message(FATAL_ERROR no)\n"})
    assert not yard.kept.exists()


def test_only_the_latest_used_are_kept(yard: Yard) -> None:
    yard.kept.mkdir()
    for number in range(KEPT + 5):
        (yard.kept / f"{number}.json").write_text("{}")
    yard.configure()
    assert len(list(yard.kept.iterdir())) == KEPT
    assert reused(yard.configure()[1])


def step(cmd: str, *arguments: str, file: str = "/usr/share/cmake/CheckSymbolExists.cmake") -> str:
    return json.dumps({"cmd": cmd, "args": arguments, "file": file}) + "\n"


TRIAL = ("/tree/build/CMakeFiles/CMakeScratch/try.c", "-DINCLUDE_DIRECTORIES:STRING=/usr/include/ncurses;/opt/ssl")


def test_a_trace_tells_which_variables_were_made_by_trials() -> None:
    trace = (
        '{"version": {"major": 1, "minor": 2}}\n'
        + step("message", "/tree/inner")
        + step("try_compile", "HAVE_EOF", "/tree/build", *TRIAL)
        + step("try_run", "RUNS_EXITCODE", "RUNS_COMPILED", "/tree/build", "-DX=a/b")
        + step("try_compile", "OWN", "/tree/inner", file="/tree/cmake/CheckSymbolExists.cmake")
    )
    made = traced(trace, Path("/tree"), Path("/tree/build"), [Path("/opt/ssl")])
    assert made == {"HAVE_EOF", "EOF", "RUNS_EXITCODE", "RUNS_COMPILED", "RUNS"}
    assert not traced(trace, Path("/tree"), Path("/tree/build"), [])


@pytest.mark.parametrize(
    "word", ["/tree/inner", "-I/tree/inner", "-DINCLUDE_DIRECTORIES:STRING=/usr;/tree/inner", "/opt"]
)
def test_a_trial_with_another_place_spoils_all(word: str) -> None:
    trace = step("try_compile", "HAVE_EOF", "/tree/build") + step("try_compile", "HAVE_INNER", "/tree/build", word)
    assert not traced(trace, Path("/tree"), Path("/tree/build"), [])


def test_only_results_of_checks_are_taken_from_a_cache() -> None:
    cache = """\
# a comment
//Have function strtoll
HAVE_STRTOLL:INTERNAL=1
//What the user sets
USER:BOOL=ON
//CHECK_TYPE_SIZE: sizeof(long)
SIZEOF_LONG:INTERNAL=0
//Result of TRY_COMPILE
HAVE_SIZEOF_LONG:INTERNAL=TRUE
//Have includes sys/types.h;
// sys/wait.h
HAVE_WAIT:INTERNAL=
//Collected by the build
MYSQLD_PLUGINS:INTERNAL=a;b
"""
    assert checks(cache, {"HAVE_STRTOLL", "USER", "SIZEOF_LONG", "HAVE_SIZEOF_LONG", "HAVE_WAIT"}) == [
        Check("HAVE_STRTOLL", "1", "Have function strtoll"),
        Check("HAVE_WAIT", "", "Have includes sys/types.h;  sys/wait.h"),
    ]


VALUES = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0", exclude_categories=["Cc", "Cs"]), max_size=20
)


@given(st.lists(VALUES | st.sampled_from(["]", "]]", "]=]", "[=[", "]=", "a;b", "${X}", "\\"]), max_size=5))
def test_any_value_survives_being_preloaded(values: list[str]) -> None:
    script = preload([Check(f"V{number}", value, value) for number, value in enumerate(values)])
    for value in values:
        assert value in script


def test_cmake_reads_values_back_as_they_were(tmp_path: Path) -> None:
    values = ["]", "]]", "x]=", "]=]", "[=[", "a;b", "${X}", "\\", '"', "", "é"]
    (tmp_path / "preload.cmake").write_text(preload([Check(f"V{n}", value, "t") for n, value in enumerate(values)]))
    lines = [f'file(APPEND "{tmp_path}/out" "${{V{number}}}\\n")' for number in range(len(values))]
    (tmp_path / "script.cmake").write_text('include("${CMAKE_CURRENT_LIST_DIR}/preload.cmake")\n' + "\n".join(lines))
    assert run(["cmake", "-P", str(tmp_path / "script.cmake")]).ok
    assert (tmp_path / "out").read_text().splitlines() == values
