"""Headers that many sources share: which are chosen, and what comes of it with real cmake, ninja, ccache and gcc."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.builders.trees.precompiled import MOST, WORTH, choice, compiled, prefix, prepare, shared

CMAKE = """
    cmake_minimum_required(VERSION 3.10)
    project(server CXX)
    include_directories(include)
    file(GLOB sources ${CMAKE_SOURCE_DIR}/sql/*.cc)
    add_executable(mysqld ${sources})
"""
FILES = {
    "CMakeLists.txt": CMAKE,
    "include/base.h": "#pragma once\n#include <string>\n#define BASE 1\n",
    "include/small.h": '#pragma once\n#include "base.h"\nstruct Small {};\n' + "// small\n" * 50,
    "include/large.h": '#pragma once\n#include "small.h"\n#ifndef HOW\n#define HOW 1\n#endif\n' + "// large\n" * 40000,
    "include/lame.h": "#pragma once\nint lame(int = NEEDS);\n" + "// lame\n" * 90000,
    **{
        f"sql/large{n}.cc": f'#include "base.h"\n#include "large.h"\nint large{n}() {{ return HOW; }}\n'
        for n in range(7)
    },
    **{f"sql/small{n}.cc": f'#include "small.h"\nint small{n}() {{ return BASE; }}\n' for n in range(7)},
    # Said before a header, it changes what that is.
    "sql/steering.cc": '#define HOW 100\n#include "large.h"\nint steering() { return HOW; }\n',
    "sql/main.cc": "#include <cstdio>\nint steering(), large1(), small1();\n"
    'int main() { std::printf("%d", steering() + 10 * large1() + small1()); }\n',
}


@dataclass(frozen=True)
class Place:
    """A tree, configured, with a cache that may be another's too."""

    tree: Path
    cache: Path

    @property
    def folder(self) -> Path:
        return self.tree / "build/bisect-headers"

    def configure(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text(text)
        flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        argv = ["cmake", "-G", "Ninja", "-S", str(self.tree), "-B", str(self.tree / "build"), *flags]
        subprocess.run(argv, check=True, capture_output=True)

    def plan(self) -> dict[str, tuple[str, ...]]:
        """Which sources take which header."""
        build = str(self.tree / "build")
        argv = ["ninja", "-C", build, "-t", "commands", "mysqld"]
        listing = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        found = shared(compiled(listing, build), self.tree)
        prepare(self, self.tree / "build", found)
        return {one.includes[-1]: tuple(sorted(Path(source).name for source in one.sources)) for one in found}

    def write(self, path: Path, text: str) -> None:
        path.write_text(text)

    def build(self) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "CCACHE_DIR": str(self.cache),
            "CCACHE_BASEDIR": str(self.tree),
            "CCACHE_NOHASHDIR": "1",
            **prefix(self.tree / "build"),
        }
        argv = ["ninja", "-C", str(self.tree / "build"), "mysqld"]
        return subprocess.run(argv, env=environment, capture_output=True, text=True)

    def says(self) -> str:
        return subprocess.run([self.tree / "build/mysqld"], check=True, capture_output=True, text=True).stdout

    def dependencies(self, source: str) -> str:
        argv = ["ninja", "-C", str(self.tree / "build"), "-t", "deps", f"CMakeFiles/mysqld.dir/sql/{source}.o"]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "one", tmp_path / "cache")


LARGE = tuple(f"large{n}.cc" for n in range(7))
SMALL = tuple(f"small{n}.cc" for n in range(7))


def test_each_source_takes_what_it_includes_anyway(place: Place) -> None:
    place.configure(FILES)
    assert place.plan() == {"large.h": LARGE, "small.h": SMALL}


def test_the_server_is_the_same_and_its_headers_were_compiled_once(place: Place) -> None:
    place.configure(FILES)
    place.plan()
    built = place.build()
    assert built.returncode == 0, built.stdout
    assert place.says() == "111"
    assert len(list(place.folder.glob("*.h.gch"))) == 2
    assert not list(place.folder.glob("*.failed"))


def test_what_objects_depend_on_is_told_as_ever(place: Place) -> None:
    place.configure(FILES)
    place.plan()
    place.build()
    told = place.dependencies("large1.cc")
    assert "VALID" in told
    assert "bisect-headers" not in told
    assert {"base.h", "small.h", "large.h"} <= {Path(line.strip()).name for line in told.splitlines()}
    # A header is touched: those that include it are compiled anew, and only those.
    (place.tree / "include/large.h").write_text(FILES["include/large.h"].replace("define HOW 1", "define HOW 2"))
    for stale in place.folder.glob("*.gch"):
        stale.unlink()
    rebuilt = place.build().stdout
    assert place.says() == "121"
    assert set(re.findall(r"(\w+)\.cc\.o", rebuilt)) == {*(Path(name).stem for name in LARGE), "steering"}


def test_another_tree_takes_its_objects_from_the_cache(place: Place, tmp_path: Path) -> None:
    place.configure(FILES)
    place.plan()
    place.build()
    other = Place(tmp_path / "another", place.cache)
    other.configure(FILES)
    other.plan()
    assert other.build().returncode == 0
    assert other.says() == "111"
    # Nothing was compiled, so no header was.
    assert not list(other.folder.glob("*.gch"))


def test_a_header_that_does_not_compile_by_itself_is_left_alone(place: Place) -> None:
    lame = {f"sql/lame{n}.cc": f'#include "needs{n}.h"\n#include "lame.h"\nint lame{n}();\n' for n in range(7)}
    needs = {f"include/needs{n}.h": "#define NEEDS 1\n" for n in range(7)}
    place.configure({**FILES, **needs, **lame})
    assert "lame.h" in place.plan()
    assert place.build().returncode == 0
    assert place.says() == "111"
    assert len(list(place.folder.glob("*.failed"))) == 1


def test_an_error_is_told_as_without(place: Place) -> None:
    place.configure({**FILES, "sql/large3.cc": FILES["sql/large3.cc"] + "int wrong() { return nowhere; }\n"})
    place.plan()
    built = place.build()
    assert built.returncode != 0
    assert re.search(r"sql/large3\.cc:4:\d+: error: .nowhere. was not declared", built.stdout)
    assert "bisect-headers" not in re.sub(r"FAILED.*\n.*\n", "", built.stdout)


def test_sets_of_flags_do_not_share(place: Place) -> None:
    special = '\nset_source_files_properties(${CMAKE_SOURCE_DIR}/sql/large1.cc PROPERTIES COMPILE_FLAGS "-DHOW=7")\n'
    place.configure({**FILES, "CMakeLists.txt": CMAKE + special})
    assert "large1.cc" not in place.plan()["large.h"]
    place.build()
    assert place.says() == "171"


HEADERS = st.sampled_from("abcdefgh")


@given(
    st.dictionaries(st.integers(0, 40).map(str), st.frozensets(HEADERS), max_size=30),
    st.dictionaries(HEADERS, st.integers(1, 1000)),
)
def test_what_is_chosen_is_included_and_pays(reads: dict[str, frozenset[str]], weights: dict[str, int]) -> None:
    taken = choice(reads, weights)
    assert all(header in reads[source] and header in weights for source, header in taken.items())
    chosen = set(taken.values())
    assert len(chosen) <= MOST
    saved = sum(weights[header] for header in taken.values())
    assert not chosen or saved > WORTH * sum(weights[header] for header in chosen) / 2
    # Of two that were chosen a source takes the heavier.
    assert all(
        weights[header] >= max(weights[one] for one in chosen & reads[source]) for source, header in taken.items()
    )
