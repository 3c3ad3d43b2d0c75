"""Programs linked again in other orders: small real trees, all compilers of this host, and the linker itself."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from small_trees import TOOLCHAINS, commit, recipe_for, settings_in

from cpubisect.base.errors import UserError
from cpubisect.builders import mysql, rocksdb
from cpubisect.builders.build import Outcome, Recipe, Toolchain
from cpubisect.builders.carry import carry_out
from cpubisect.builders.redraw import Redrawn, draw_again, seed
from cpubisect.builders.trees.linker import shuffling_linker, why_no_redraws
from cpubisect.builders.trees.shop import Builder

FAMILIES = (*TOOLCHAINS[:1], *TOOLCHAINS[1:][-1:])
"""A gcc, and a clang where there is one."""

LINKS = (1, 2, 3, 4, 5, 6)
SOURCES = 12


def part(number: int) -> str:
    """A source with an initialiser that says who it is, a function, and one of a template."""
    return (
        '#include <cstdio>\n#include "parts.h"\n'
        f'namespace {{ struct Says {{ Says() {{ std::printf("begin {number}\\n"); }} }} says; }}\n'
        f"int Part{number}(int n) {{ return Times<{number}>(n) + {number}; }}\n"
    )


PARTS = {
    "parts.h": "template <int N> __attribute__((noinline)) int Times(int n) { return N * n; }\n"
    + "".join(f"int Part{number}(int n);\n" for number in range(SOURCES)),
    **{f"part{number}.cc": part(number) for number in range(SOURCES)},
    "main.cc": '#include <cstdio>\n#include "parts.h"\nint main() {\n  int n = 1;\n'
    + "".join(f"  n = Part{number}(n) % 1000;\n" for number in range(SOURCES))
    + '  std::printf("%d\\n", n);\n  return 0;\n}\n',
}
OBJECTS = " ".join(["main.o", *(f"part{number}.o" for number in range(SOURCES))])
COMPILE = "%.o: %.cc\n\t$(CXX) -O2 $(CXXFLAGS) $(EXTRA_CXXFLAGS) -c $< -o $@\n"
FORMS = {
    "objects": f"db_bench: {OBJECTS}\n\t$(CXX) -o $@ {OBJECTS}\n{COMPILE}",
    "archive": f"db_bench: main.o lib.a\n\t$(CXX) -o $@ main.o lib.a\nlib.a: {OBJECTS}\n"
    f"\t$(AR) rcs $@ {OBJECTS.removeprefix('main.o ')}\n{COMPILE}",
    "gold": f"db_bench: {OBJECTS}\n\t$(CXX) -fuse-ld=gold -o $@ {OBJECTS}\n{COMPILE}",
    "one command": "db_bench: $(wildcard *.cc)\n\t$(CXX) -O2 $(EXTRA_CXXFLAGS) -o $@ $(wildcard *.cc)\n",
}


def redrawn(directory: Path, recipe: Recipe, builder: Builder = rocksdb.BUILDER) -> Redrawn:
    return draw_again(
        *(recipe, builder, directory / "clone", directory / "work", settings_in(directory), LINKS),
        log=directory / "links.log",
    )


def functions(program: Path) -> dict[str, tuple[int, int]]:
    """Address and size of the program's own functions."""
    with program.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        found = [symbol for symbol in table.iter_symbols() if symbol["st_info"]["type"] == "STT_FUNC"]
        own = [symbol for symbol in found if re.match(r"_Z\d+(Part|Times)", symbol.name)]
        return {symbol.name: (symbol["st_value"], symbol["st_size"]) for symbol in own}


def printed(program: Path) -> str:
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("toolchain", FAMILIES, ids=lambda toolchain: toolchain.name)
@pytest.mark.parametrize("form", FORMS)
def test_only_places_differ_between_links(tmp_path: Path, form: str, toolchain: Toolchain) -> None:
    recipe = recipe_for(commit(tmp_path / "clone", {**PARTS, "Makefile": FORMS[form]}), toolchain=toolchain)
    settings = settings_in(tmp_path)
    built = carry_out(recipe, rocksdb.BUILDER, tmp_path / "clone", tmp_path / "work", settings)
    assert (built.outcome, built.first_error) == (Outcome.BUILT, "")
    assert built.output
    made = redrawn(tmp_path, recipe)
    assert (made.outcome, made.first_error, tuple(made.outputs)) == (Outcome.BUILT, "", LINKS)
    assert len(made.link_seconds) == len(LINKS)
    assert made.code == built.code
    if form != "one command":
        assert (made.cache_hits, made.cache_misses) == (SOURCES + 1, 0)
    programs = [output / "db_bench" for output in (built.output, *made.outputs.values())]
    before, *after = map(functions, programs)
    assert len(before) == 2 * SOURCES
    for places in after:
        assert {name: size for name, (_, size) in places.items()} == {name: size for name, (_, size) in before.items()}
    orders = {tuple(sorted(places, key=lambda name: places[name])) for places in (before, *after)}
    assert len(orders) == 1 + len(LINKS)
    assert {printed(program) for program in programs} == {printed(programs[0])}
    assert list((tmp_path / "work" / "trees").iterdir()) == []


def test_a_link_with_one_number_is_always_the_same_and_like_no_other_commits(tmp_path: Path) -> None:
    first = commit(tmp_path / "clone", {**PARTS, "Makefile": FORMS["objects"]})
    second = commit(tmp_path / "clone", {}, "nothing")
    once, again, other = (redrawn(tmp_path, recipe_for(sha)).outputs for sha in (first, first, second))
    contents = [[(outputs[link] / "db_bench").read_bytes() for link in LINKS] for outputs in (once, again, other)]
    assert contents[0] == contents[1]
    assert not {*contents[0]} & {*contents[2]}
    assert all(0 < seed(sha, link) < 2**31 for sha in (first, second) for link in (*LINKS, 10**9 - 1))


SERVER = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(server CXX)\nfile(GLOB parts *.cc)\n"
    "add_executable(mysqld ${parts})\nset_target_properties(mysqld PROPERTIES RUNTIME_OUTPUT_DIRECTORY sql)\n"
    "file(WRITE ${CMAKE_BINARY_DIR}/share/english/errmsg.sys messages)\n",
    "VERSION": "MYSQL_VERSION_MAJOR=5\n",
}


@pytest.mark.parametrize("toolchain", FAMILIES, ids=lambda toolchain: toolchain.name)
def test_what_cmake_and_ninja_link_is_linked_again_too(tmp_path: Path, toolchain: Toolchain) -> None:
    sha = commit(tmp_path / "clone", {**PARTS, **SERVER})
    recipe = Recipe("mysql", sha, "5.6.1", toolchain, "cmake", cxxflags=("-O2",))
    made = redrawn(tmp_path, recipe, mysql.BUILDER)
    assert (made.outcome, made.first_error) == (Outcome.BUILT, "")
    places = [functions(output / "mysqld") for output in made.outputs.values()]
    assert len({tuple(sorted(found, key=lambda name: found[name])) for found in places}) == len(LINKS)
    assert all((output / "share/english/errmsg.sys").is_file() for output in made.outputs.values())


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("cp main.o $@", "another linker"),
        ("$(CXX) -B$(CURDIR)/own -o $@ main.o", "another linker"),
        ("echo 'int n;' | $(CXX) -shared -xc++ - -o probe.so; cp own/ld $@", "another linker"),
        ('[ -z "$$COMPILER_PATH" ] && $(CXX) -o $@ main.o', "Error 1"),
    ],
    ids=["none", "own", "of another", "fails"],
)
def test_a_tree_that_does_not_link_by_it_has_no_redraws(tmp_path: Path, link: str, said: str) -> None:
    own = '#!/bin/sh\nexec /usr/bin/ld "$@"\n'
    makefile = f"db_bench: main.o\n\tchmod +x own/ld; {link}\n{COMPILE}"
    files = {"Makefile": makefile, "main.cc": "int main() { return 0; }\n", "own/ld": own}
    made = redrawn(tmp_path, recipe_for(commit(tmp_path / "clone", files)))
    assert (made.outcome, dict(made.outputs)) == (Outcome.FAILED, {})
    assert said in made.first_error
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["trees"]


def test_a_commit_that_does_not_compile_has_none_either(tmp_path: Path) -> None:
    files = {**PARTS, "Makefile": FORMS["objects"], "part3.cc": "#error not today\n"}
    made = redrawn(tmp_path, recipe_for(commit(tmp_path / "clone", files)))
    assert (made.outcome, dict(made.outputs), made.link_seconds) == (Outcome.FAILED, {}, ())
    assert "not today" in made.first_error
    with pytest.raises(UserError, match="has no commit"):
        redrawn(tmp_path, recipe_for("0" * 40))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "lld is not installed: apt-get install lld"),
        ("LLD 11.0.1 (compatible with GNU linkers)", "PROGRAM is 'LLD 11.0.1 (compatible"),
        ("GNU ld 2.40", "PROGRAM is 'GNU ld 2.40': lld 13 or later is needed"),
        ("LLD 13.0.0 (compatible with GNU linkers)", ""),
        ("Debian LLD 14.0.6 (compatible with GNU linkers)", ""),
    ],
)
def test_a_host_says_why_there_are_none(tmp_path: Path, answer: str | None, said: str) -> None:
    if answer is not None:
        (tmp_path / "ld.lld").write_text(f"#!/bin/sh\necho '{answer}'\n")
        (tmp_path / "ld.lld").chmod(0o755)
    why = why_no_redraws(str(tmp_path))
    assert why.startswith(said.replace("PROGRAM", str(tmp_path / "ld.lld")))
    assert bool(why) == bool(said)
    assert "\n" not in why


def test_there_is_no_shuffling_linker_without_lld(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        shuffling_linker(tmp_path / "linker", 1, path=os.fspath(tmp_path))
    assert not (tmp_path / "linker").exists()
