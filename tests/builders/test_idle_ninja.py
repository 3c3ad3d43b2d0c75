"""Sources of which no probe runs anything: compiled without optimisation or not at all, by real cmake and ninja."""

import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_trees import recipe_for

from cpubisect.builders.build import Recipe
from cpubisect.builders.trees.idle import (
    BEGINS,
    ENDS,
    TOGETHER,
    WITHOUT_OPTIMISATION,
    mark,
    own_names,
    several,
    stand_ins,
)
from cpubisect.builders.trees.idle.configured import set_apart
from cpubisect.builders.trees.idle.ninja import unoptimised
from cpubisect.builders.trees.idle.scripts import Company

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
        #pragma once
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
        # What is linked by itself has its place.
        (("main.cc",), "111 11"),
    ],
)
def test_only_what_is_idle_is_not_optimised(plan: Path, idle: tuple[str, ...], expected: str) -> None:
    (plan.parent / "marks").mkdir()
    for name in (BEGINS, ENDS):
        (plan.parent / f"marks/{name}.s").write_text(mark(name))
    text = unoptimised(plan.read_text(), str(plan.parent.parent), ("bin/mysqld", "mysqld"), idle, "marks")
    plan.write_text(text)
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
    assert unoptimised(text, str(plan.parent.parent), ("bin/other",), ("sql/*.cc",), "marks") == text


LEFT_OUT = {
    **FILES,
    "CMakeLists.txt": """
        cmake_minimum_required(VERSION 3.10)
        project(server CXX)
        add_library(own STATIC shape.cc area.cc)
        add_executable(mysqld main.cc)
        target_link_libraries(mysqld own)
    """,
    "shape.h": """
        #pragma once
        namespace gis {
        struct Shape { virtual ~Shape() {} virtual int sides() { return 0; } };
        struct Square : Shape { Square() {} int sides() override; };
        extern int count;
        template <typename T> int area(const T &shape);
        extern template int area<Shape>(const Shape &);
        }
        extern "C" int shape_known();
    """,
    "shape.cc": """
        #include "shape.h"
        #error "this is never compiled"
        int gis::Square::sides() { return 4; }
        int gis::count = 7;
        template <typename T> int gis::area(const T &) { return 1; }
        template int gis::area<gis::Shape>(const Shape &);
        int shape_known() { return 1; }
    """,
    "area.cc": "int kept() { return 5; }\n",
    "main.cc": """
        #include "shape.h"
        #include <cstdio>
        int kept();
        int elsewhere();
        int (*functions[])() = {shape_known, kept};
        gis::Shape *made(bool square) { return square ? new gis::Square : new gis::Shape; }
        int main(int count, char **) {
          gis::Shape *shape = made(count > 3);
          std::printf("%d %d\\n", functions[1](), dynamic_cast<gis::Square *>(shape) != nullptr);
          std::fflush(stdout);
          if (count == 2) return gis::area(*shape);
          if (count == 3) return functions[0]();
          return count > 3 ? shape->sides() : gis::count;
        }
    """,
}


@dataclass
class _Tree:
    """A tree that is only written to."""

    tree: Path
    recipe: Recipe
    notes: list[str] = field(default_factory=list)

    def read(self, path: Path) -> str:
        return path.read_text()

    def write(self, path: Path, text: str) -> None:
        path.write_text(text)

    def note(self, text: str) -> None:
        self.notes.append(text)


def planned(place: Path, files: Mapping[str, str], left_out: tuple[str, ...], idle: tuple[str, ...] = ()) -> _Tree:
    """The tree of a server of which some sources are left out, ready to build by `build/build.ninja`."""
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    subprocess.run(["cmake", "-G", "Ninja", "-S", place, "-B", place / "build"], check=True)
    tree = _Tree(place, recipe_for("c0ffee", left_out=left_out, idle=idle))
    set_apart(tree, place / "build/build.ninja", ("mysqld",), ("env", "g++"))
    return tree


def test_what_is_left_out_is_not_compiled_and_ends_who_calls_it(tmp_path: Path) -> None:
    tree = planned(tmp_path, LEFT_OUT, ("sh*.cc",))
    assert tree.notes == ["1 sources are not compiled: the matrix leaves them out"]
    subprocess.run(["ninja", "-C", tmp_path / "build", "mysqld"], check=True)
    for arguments, ending in (((), 0), (("area",), -signal.SIGILL), (("a", "function"), -signal.SIGILL)):
        ran = subprocess.run([tmp_path / "build/mysqld", *arguments], check=False, capture_output=True, text=True)
        assert (ran.stdout, ran.returncode) == ("5 0\n", ending)
    virtual = subprocess.run([tmp_path / "build/mysqld", "a", "virtual", "one"], check=False, capture_output=True)
    assert virtual.returncode < 0


def test_what_no_left_out_source_speaks_of_stays_missing(tmp_path: Path) -> None:
    main = LEFT_OUT["main.cc"].replace("functions[1]()", "functions[1]() + elsewhere()")
    planned(tmp_path, {**LEFT_OUT, "main.cc": main}, ("shape.cc",))
    built = subprocess.run(["ninja", "-C", tmp_path / "build", "mysqld"], check=False, capture_output=True, text=True)
    assert built.returncode != 0
    assert re.findall(r"undefined reference to [`'](\w+)", built.stdout)[-1] == "elsewhere"


def test_a_source_may_be_idle_and_left_out(tmp_path: Path) -> None:
    planned(tmp_path, LEFT_OUT, ("shape.cc",), idle=("[as]*.cc",))
    subprocess.run(["ninja", "-C", tmp_path / "build", "mysqld"], check=True)
    assert subprocess.run([tmp_path / "build/mysqld"], check=True, capture_output=True, text=True).stdout == "5 0\n"


def test_nothing_to_leave_out_leaves_the_plan(tmp_path: Path) -> None:
    tree = planned(tmp_path, LEFT_OUT, ("none.cc",))
    assert tree.notes == []
    assert not (tmp_path / "build/bisect-idle").exists()


SEVERAL = {
    "CMakeLists.txt": """
        cmake_minimum_required(VERSION 3.10)
        project(server CXX)
        add_library(own STATIC a.cc b.cc c.cc d.cc e.cc)
        add_library(other STATIC f.cc g.cc)
        target_compile_definitions(other PRIVATE OTHER=1)
        add_executable(mysqld main.cc)
        target_link_libraries(mysqld own other)
    """,
    "own.h": "#pragma once\n#ifdef SECRET\n#error what another source defines is seen here\n#endif\n",
    "a.cc": '#include "own.h"\nstatic int mine() { return 1; }\nint a() { return mine(); }\n',
    # One that has a name in common with the first, and one whose name is not seen.
    "b.cc": '#include "own.h"\nstatic int mine() { return 2; }\nint b() { return mine(); }\n',
    "c.cc": '#include "own.h"\nnamespace { int mine = 3; }\nint c() { return mine; }\n',
    "d.cc": '#include "own.h"\nint d() { return 4; }\n',
    # One that says something before its includes.
    "e.cc": "#define SECRET 1\n#include <cstddef>\nint e() { return 4 + SECRET; }\n",
    "f.cc": "int f() { return 5 + OTHER; }\n",
    "g.cc": "int g() { return 6 + OTHER; }\n",
    "main.cc": """
        #include <cstdio>
        int a(), b(), c(), d(), e(), f(), g();
        int main() { std::printf("%d%d%d%d%d%d%d", a(), b(), c(), d(), e(), f(), g()); }
    """,
}


def ninja(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What ninja says and how it ends."""
    argv = ["ninja", "-C", place / "build", *arguments]
    return subprocess.run(argv, check=False, capture_output=True, text=True)


def test_idle_sources_are_compiled_several_at_a_time(tmp_path: Path) -> None:
    planned(tmp_path, SEVERAL, (), idle=("[a-g].cc",))
    folder = tmp_path / "build/bisect-idle"
    own, other = sorted((file.read_text() for file in folder.glob("*.cc")), key=len, reverse=True)
    assert re.findall(r"\w+\.cc", own) == ["a.cc", "c.cc", "d.cc"]
    assert re.findall(r"\w+\.cc", other) == ["f.cc", "g.cc"]
    assert ninja(tmp_path, "mysqld").returncode == 0
    assert subprocess.run([tmp_path / "build/mysqld"], check=True, capture_output=True, text=True).stdout == "1234567"
    needs = ninja(tmp_path, "-t", "deps").stdout
    assert {name for name in SEVERAL if f"/{name}" in needs} >= {"a.cc", "b.cc", "c.cc", "d.cc", "f.cc", "own.h"}
    (tmp_path / "b.cc").write_text("int b() { return 7; }\n")
    assert "[2/" in ninja(tmp_path, "mysqld").stdout
    assert subprocess.run([tmp_path / "build/mysqld"], check=True, capture_output=True, text=True).stdout == "1734567"


def test_a_mistake_in_one_of_several_is_told_of_that_one_alone(tmp_path: Path) -> None:
    planned(tmp_path, {**SEVERAL, "d.cc": '#include "own.h"\nint d() { return missing; }\n'}, (), idle=("[a-d].cc",))
    failed = ninja(tmp_path, "mysqld")
    assert failed.returncode != 0
    assert re.findall(r"(\S+): error: ", failed.stdout) == ["../d.cc:2:18"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("static int mine() {\n  int inner = 1;\n}\n", {"mine"}),
        ("const std::set<int> options = {\n", {"options"}),
        ("enum offsets { FIRST };\nstruct Own {\n", {"offsets", "Own"}),
        ("int Field::store(int) {}\nvoid Other::\n", set()),
        ("// static int not_this()\n/* static int nor() */\n#define THAT(x) x\n", set()),
        ("namespace {\nusing std::string;\nextern int shared;\ntemplate <int> int t();\n", set()),
    ],
)
def test_the_names_that_a_source_gives(text: str, names: set[str]) -> None:
    assert own_names(text) == names


SOURCES = st.dictionaries(
    st.from_regex("[a-z]{1,3}\\.cc", fullmatch=True), st.sets(st.sampled_from("xyz")), max_size=60
)


@given(SOURCES)
def test_no_two_of_one_file_have_a_name_in_common(sources: dict[str, set[str]]) -> None:
    class Company:
        def takes(self, source: str) -> bool:
            return True

        def names(self, source: str) -> frozenset[str]:
            return frozenset(sources[source])

    parts = list(several([(name, f"{name}.o") for name in sources], Company(), "idle"))
    assert len({one.file for one in parts}) == len(parts)
    taken = [name for one in parts for name in one.sources]
    assert len(taken) == len(set(taken))
    for one in parts:
        assert 1 < len(one.sources) <= 2 * TOGETHER
        assert one.objects == tuple(f"{name}.o" for name in one.sources)
        own = [name for source in one.sources for name in sources[source]]
        assert len(own) == len(set(own))


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("gis::area(gis::Geometry const&)", "area"),
        ("vtable for Item_func_area", "Item_func_area"),
        ("std::unique_ptr<gis::Geometry> gis::union_<gis::Point>(gis::Point const*)", "union_"),
        ("gis::(anonymous namespace)::deep(int)", "deep"),
        ("plain_c", "plain_c"),
        ("gis::Box::count", "count"),
        ("", ""),
    ],
)
def test_the_name_that_a_symbol_goes_by(spelled: str, name: str) -> None:
    assert stand_ins.name_of(spelled) == name


@pytest.mark.parametrize(
    ("symbol", "spelled", "function"),
    [
        ("_Z4areav", "area()", True),
        ("_ZN1A4areaB5cxx11Ev", "A::area[abi:cxx11]()", True),
        ("_ZNO1A4areaEv", "A::area() &&", True),
        ("_ZNK1A4areaEv", "A::area() const", True),
        ("plain", "plain", True),
        ("_Z4nameB5cxx11", "name[abi:cxx11]", False),
        ("_ZTV1A", "vtable for A", False),
    ],
)
def test_what_is_a_function(symbol: str, spelled: str, function: bool) -> None:
    assert stand_ins.is_function(symbol, spelled) == function


def test_sources_that_may_not_be_read_together_are_not(tmp_path: Path) -> None:
    texts = {
        "own.h": "// no guard\nstruct Own {};\n",
        "guarded.h": '/* Own * by ** nobody */\n\n#ifndef GUARDED\n#define GUARDED\n#include "own.h"\n#endif\n',
        "once.h": "// once\n#pragma once\nstruct Once {};\n",
        "outer.h": '#include "inner.h"\n',
        "include/inner.h": "struct Inner {};\n",
        "a.cc": '#include "own.h"\n',
        "b.cc": '#include "guarded.h"\n#include "once.h"\n',
        "c.cc": '#include "outer.h"\n',
        "d.cc": "#include <vector>\nusing namespace std;\n",
        "e.cc": "#include <vector>\n#define size(x) 1\n#define OWN 1\n",
        "g.cc": "#include <vector>\n#pragma pack(1)\n",
        "h.cc": "#include <climits>\n#undef INT_MAX\n",
        "f.cc": "#include <vector>\n#define OWN 1\nvoid f() {\n  using namespace std;\n}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    company = Company(tmp_path)
    assert [name for name in sorted(texts) if name.endswith(".cc") and company.takes(name)] == [
        *("a.cc", "b.cc", "c.cc", "f.cc")
    ]
    assert company.names("a.cc") == {str(tmp_path / "own.h")}
    assert not company.names("b.cc")
    assert company.names("c.cc") == {str(tmp_path / "outer.h"), str(tmp_path / "include/inner.h")}


@pytest.mark.parametrize("text", ["/* a */ // b\n", "/* ", "a\n", "a b "])
def test_long_files_are_read_in_no_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "long.h").write_text(text * 50_000)
    (tmp_path / "a.cc").write_text('#include "long.h"\n' + text * 50_000)
    assert Company(tmp_path).names("a.cc") == {str(tmp_path / "long.h")}


def test_a_macro_of_one_source_is_not_known_to_the_next(tmp_path: Path) -> None:
    files = {
        **SEVERAL,
        "own.h": "#pragma once\nstruct Own {\n#ifdef LONG\n  long extra;\n#endif\n  int sides;\n};\n",
        "a.cc": "#include <cstddef>\n#define LONG 1\nint a() { return LONG; }\n",
        "d.cc": '#include "own.h"\nint d() { return sizeof(Own) == sizeof(int) ? 4 : 0; }\n',
    }
    planned(tmp_path, files, (), idle=("[ad].cc",))
    (own,) = (file.read_text() for file in (tmp_path / "build/bisect-idle").glob("*.cc"))
    assert own.split() == ["#include", '"../../a.cc"', "#undef", "LONG", "#include", '"../../d.cc"']
    assert ninja(tmp_path, "mysqld").returncode == 0
    assert subprocess.run([tmp_path / "build/mysqld"], check=True, capture_output=True, text=True).stdout == "1234567"


def test_all_sources_that_fail_are_told(tmp_path: Path) -> None:
    wrong = {name: f"int {name[0]}() {{ return missing; }}\n" for name in ("a.cc", "c.cc", "d.cc")}
    planned(tmp_path, {**SEVERAL, **wrong}, (), idle=("[a-d].cc",))
    told = re.findall(r"(\S+): error: ", ninja(tmp_path, "mysqld", "-k0").stdout)
    assert told == ["../a.cc:1:18", "../c.cc:1:18", "../d.cc:1:18"]
