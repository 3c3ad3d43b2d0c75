"""Sources of which no probe runs anything: compiled without optimisation, by real cmake and ninja."""

import subprocess
from pathlib import Path

import pytest

from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION
from cpubisect.builders.trees.idle.ninja import unoptimised

FILES = {
    "CMakeLists.txt": """
        cmake_minimum_required(VERSION 3.10)
        project(server CXX)
        add_library(near SHARED near.cc)
        find_library(maths m)
        add_library(far STATIC far.cc)
        target_link_libraries(far near ${maths})
        add_library(own STATIC sql/map.cc sql/query.cc)
        target_link_libraries(own far)
        add_library(another STATIC sql/query.cc another.cc)
        add_executable(mysqld main.cc)
        target_link_libraries(mysqld own)
    """,
    "shared.h": """
        #ifdef __OPTIMIZE__
        #define OPTIMISED 1
        #else
        #define OPTIMISED 0
        #endif
        template <int which> __attribute__((noinline)) int shared() { return OPTIMISED; }
        int map(), query(), far(), near();
    """,
    # The first object of its archive, and the only one that needs the other archive.
    "sql/map.cc": '#include "../shared.h"\nint map() { return OPTIMISED + 10 * shared<1>() + far(); }\n',
    "sql/query.cc": '#include "../shared.h"\nint query() { return OPTIMISED + 10 * shared<1>(); }\n',
    # The only one that needs the shared library.
    "far.cc": '#include "shared.h"\nint far() { return 100 * OPTIMISED + near(); }\n',
    "near.cc": '#include "shared.h"\nint near() { return 0; }\n',
    "another.cc": "int another() { return 0; }\n",
    "main.cc": '#include "shared.h"\n#include <cstdio>\nint main() { std::printf("%d %d", map(), query()); }\n',
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """The build.ninja that cmake makes of a server with an archive of two sources, which share a template."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
    subprocess.run(["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", *flags], check=True)
    return tmp_path / "build/build.ninja"


def answer(plan: Path) -> str:
    """What the server that a plan builds says: for both sources, who is optimised."""
    subprocess.run(["ninja", "-C", plan.parent, "mysqld"], check=True)
    return subprocess.run([plan.parent / "mysqld"], check=True, capture_output=True, text=True).stdout


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
    ],
)
def test_only_what_is_idle_is_not_optimised(plan: Path, idle: tuple[str, ...], expected: str) -> None:
    plan.write_text(unoptimised(plan.read_text(), str(plan.parent.parent), ("bin/mysqld", "mysqld"), idle))
    assert answer(plan) == expected


def test_an_archive_alone_would_hand_out_the_idle_source_s_own(plan: Path) -> None:
    """The reason why idle objects are linked last."""
    text = plan.read_text()
    start = text.index("sql/map.cc.o:")
    at = text.index("  FLAGS = ", start)
    end = text.index("\n", at)
    plan.write_text(text[:end] + f" {WITHOUT_OPTIMISATION}" + text[end:])
    assert answer(plan) == "100 1"


def test_a_plan_that_does_not_link_the_target_stays(plan: Path) -> None:
    text = plan.read_text()
    assert unoptimised(text, str(plan.parent.parent), ("bin/other",), ("sql/*.cc",)) == text
