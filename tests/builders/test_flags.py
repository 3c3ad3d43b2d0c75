from pathlib import Path

import pytest
from small_trees import GOOD, TOOLCHAINS, commit, recipe_for, settings_in

from cpubisect.builders.build import BuildResult, Outcome, Recipe, Repair, RepairRule
from cpubisect.builders.carry import carry_out
from cpubisect.builders.repairs.diagnostics import parse_diagnostics
from cpubisect.builders.repairs.flags import acceptances
from cpubisect.builders.rocksdb import BUILDER

GCC = tuple(toolchain for toolchain in TOOLCHAINS if toolchain.name.startswith("gcc"))[:1]
CLANG = tuple(toolchain for toolchain in TOOLCHAINS if toolchain.name.startswith("clang"))[:1]

CONVERSION = "enum Status { OK };\nStatus status() { return 0; }\nint main() { return status(); }\n"
CONVERTED = CONVERSION.replace("return 0", "return static_cast<Status>(0)")
NARROWING = "int main() { char bytes[] = {300}; return bytes[0] - 44; }\n"
UNDECLARED = "template <class T> int later(T t) { return defined(1); }\nint main() { return 0; }\n"
SUFFIX = '#define END "b"\nint main() { return "a"END[0] - 97; }\n'
UNUSED = "int main() { int unused; return 0; }\n"
WARNING = '#warning "old"\n' + GOOD["main.cc"]

MAKE_C = "db_bench: a.c\n\t$(CC) -Wall -Werror $(EXTRA_CFLAGS) -c a.c -o a.o\n\t$(CC) -o $@ a.o\n"


def build(directory: Path, files: dict[str, str], **fields: object) -> BuildResult:
    sha = commit(directory / "clone", files)
    return carry(directory, recipe_for(sha, **fields))


def carry(directory: Path, recipe: Recipe) -> BuildResult:
    return carry_out(recipe, BUILDER, directory / "clone", directory / "work", settings_in(directory))


@pytest.mark.parametrize(
    ("toolchain", "source", "flags", "added"),
    [
        *((gcc, CONVERSION, (), "-fpermissive") for gcc in GCC),
        *((gcc, UNDECLARED, (), "-fpermissive") for gcc in GCC),
        *((gcc, NARROWING, ("-std=c++11",), "-Wno-narrowing") for gcc in GCC),
        *((gcc, UNUSED, ("-Wall", "-Werror"), "-Wno-error=unused-variable") for gcc in GCC),
        *((gcc, UNUSED, ("-Werror=unused-variable",), "-Wno-error=unused-variable") for gcc in GCC),
        *((gcc, WARNING, ("-Werror",), "-Wno-error=cpp") for gcc in GCC),
        *((clang, NARROWING, ("-std=c++11",), "-Wno-c++11-narrowing") for clang in CLANG),
        *((clang, SUFFIX, ("-std=c++11",), "-Wno-error=reserved-user-defined-literal") for clang in CLANG),
        *((clang, UNUSED, ("-Wall", "-Werror"), "-Wno-error=unused-variable") for clang in CLANG),
        *((clang, WARNING, ("-Werror",), "-Wno-error=#warnings") for clang in CLANG),
    ],
)
def test_the_flag_that_an_error_names_is_added(tmp_path: Path, toolchain, source: str, flags, added: str) -> None:
    files = GOOD | {"main.cc": source}
    result = build(tmp_path, files, toolchain=toolchain, cxxflags=("-I.", *flags))
    assert (result.outcome, result.first_error, result.diff) == (Outcome.BUILT, "", "")
    assert [(repair.kind, repair.path, repair.change) for repair in result.repairs] == [("flag", "", added)]
    assert result.repairs[0].why.startswith("the compiler names it: ")


@pytest.mark.parametrize("toolchain", [*GCC, *CLANG], ids=lambda toolchain: toolchain.name)
def test_a_c_source_gets_a_flag_for_c(tmp_path: Path, toolchain) -> None:
    files = {
        "Makefile": MAKE_C,
        "a.c": '#include "a.h"\nint main(void) { return 0; }\n',
        "a.h": "static int a(void);\n",
    }
    result = build(tmp_path, files, toolchain=toolchain, cxxflags=("-DONLY_IN_CXX",))
    assert (result.outcome, [repair.change for repair in result.repairs]) == (
        Outcome.BUILT,
        ["-Wno-error=unused-function"],
    )
    assert "'EXTRA_CXXFLAGS=-DONLY_IN_CXX $(if $@,-MMD)'" in result.log.read_text()


def test_the_code_is_that_of_a_tree_that_needs_no_flag(tmp_path: Path) -> None:
    wanting = build(tmp_path, GOOD | {"main.cc": CONVERSION}, toolchain=GCC[0])
    mended = build(tmp_path, GOOD | {"main.cc": CONVERTED}, toolchain=GCC[0])
    assert (len(wanting.repairs), len(mended.repairs)) == (1, 0)
    assert wanting.code == mended.code


def test_includes_and_rules_come_first(tmp_path: Path) -> None:
    files = GOOD | {"main.cc": "uint64_t wide = 1;\n" + CONVERSION}
    included = build(tmp_path, files, toolchain=GCC[0])
    assert [repair.change for repair in included.repairs] == ["-fpermissive", "#include <cstdint>"]
    rule = RepairRule("invalid conversion", "known", cxxflags=("-fpermissive", "-w"))
    ruled = build(tmp_path, GOOD | {"main.cc": CONVERSION}, toolchain=GCC[0], repairs=(rule,))
    assert ruled.repairs == (Repair("flag", "", "-fpermissive -w", "known"),)


def test_a_flag_that_does_not_help_is_tried_once(tmp_path: Path) -> None:
    files = GOOD | {"main.cc": CONVERSION + "int other = 1 +;\n"}
    result = build(tmp_path, files, toolchain=GCC[0])
    assert result.outcome is Outcome.FAILED
    assert [repair.change for repair in result.repairs] == ["-fpermissive"]
    assert result.log.read_text().count("bisect: make -j") == 2


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        ("a.cc:1:2: error: invalid conversion from 'int' to 'E' [-fpermissive]", ["-fpermissive"]),
        ("a.cc:1:2: warning: invalid conversion from 'int' to 'E' [-fpermissive]", []),
        ("a.cc:1:2: error: unused [-Werror=unused-variable]", ["-Wno-error=unused-variable"]),
        ("a.cc:1:2: error: unused [-Werror,-Wunused-variable]", ["-Wno-error=unused-variable"]),
        ("a.cc:1:2: error: too long [-Werror=format-truncation=]", ["-Wno-error=format-truncation="]),
        ("a.cc:1:2: error: old style [-Werror]", ["-Wno-error"]),
        ("a.cc:1:2: error: narrowing [-Wnarrowing]", ["-Wno-narrowing"]),
        ("a.cc:1:2: error: narrowing [-Werror=narrowing]", ["-Wno-error=narrowing"]),
        ("a.cc:1:2: error: narrowed [-Wc++11-narrowing]", ["-Wno-c++11-narrowing"]),
        ("a.cc:1:2: error: no such member", []),
        ("a.cc:1:2: error: no match for 'operator[]' in [1]", []),
        ("a.cc:1:2: error: x\na.cc:1:3: error: y [-fpermissive]\na.cc:1:4: error: z [-fpermissive]", ["-fpermissive"]),
        (
            "a.cc:1:2: error: no declaration\n"
            "a.cc:1:2: note: (if you use ‘-fpermissive’, G++ will accept your code, but it is deprecated)",
            ["-fpermissive"],
        ),
    ],
)
def test_what_errors_name(said: str, flags: list[str]) -> None:
    errors = [diagnostic for diagnostic in parse_diagnostics(said) if diagnostic.is_error]
    assert [accepted.flag for accepted in acceptances(errors)] == flags
