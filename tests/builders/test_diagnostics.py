import pytest

from cpubisect.builders.build import Outcome
from cpubisect.builders.repairs.diagnostics import (
    Place,
    classify,
    first_error,
    parse_diagnostics,
    telling_line,
    without_lines,
)
from cpubisect.builders.repairs.std_headers import standard_header
from cpubisect.builders.repairs.symbols import MissingName, hinted_headers, missing_name

GCC = """\
make[1]: Entering directory '/tree'
In file included from db/a.h:3,
                 from db/a.cc:1:
util/b.h:2:12: \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[K‘uint64_t’ does not name a type
    2 | struct H { uint64_t x; };
      |            ^~~~~~~~
util/b.h:1:1: note: ‘uint64_t’ is defined in header ‘<cstdint>’; did you forget to ‘#include <cstdint>’?
  +++ |+#include <cstdint>
    1 | #pragma once
db/a.cc: In function ‘int f()’:
db/a.cc:5:3: warning: unused variable ‘x’ [-Wunused-variable]
    5 |   int x;
db/a.cc:6:3: error: ‘Helper’ was not declared in this scope
/usr/include/c++/12/bits/unique_ptr.h: In instantiation of ‘void f() [with T = Foo]’:
/usr/include/c++/12/bits/unique_ptr.h:203:16:   required from ‘void g() [with T = Foo]’
db/a.cc:9:41:   required from here
/usr/include/c++/12/bits/unique_ptr.h:93:23: error: invalid application of ‘sizeof’ to incomplete type ‘db::Foo’
   93 |         static_assert(sizeof(_Tp)>0,
"""

CLANG = """\
In file included from a.cc:1:
./h.h:2:12: error: unknown type name 'uint64_t'
struct H { uint64_t x; Missing m; };
           ^
a.cc:7:18: error: expected class name
class D : public BaseThing { Other y(); };
                 ^
a.cc:9:1: error: implicit instantiation of undefined template 'std::basic_stringstream<char>'
a.cc:4:2: note: in instantiation of function template specialization 'f<int>' requested here
"""


def test_gcc_diagnostics_with_their_context() -> None:
    header, warning, scope, template = parse_diagnostics(GCC)
    assert (header.file, header.line, header.column, header.severity) == ("util/b.h", 2, 12, "error")
    assert header.message == "'uint64_t' does not name a type"
    assert header.code == "struct H { uint64_t x; };"
    assert header.included_from == (Place("db/a.h", 3), Place("db/a.cc", 1))
    assert hinted_headers(header) == ("<cstdint>",)
    assert not warning.is_error
    assert (scope.included_from, scope.required_at) == ((), ())
    assert str(scope) == "db/a.cc:6:3: error: 'Helper' was not declared in this scope"
    assert template.required_at == (Place("/usr/include/c++/12/bits/unique_ptr.h", 203), Place("db/a.cc", 9))
    assert missing_name(template) == MissingName("Foo", "db", needs_definition=True)


def test_clang_diagnostics_with_their_context() -> None:
    header, base, template = parse_diagnostics(CLANG)
    assert header.included_from == (Place("a.cc", 1),)
    assert missing_name(base) == MissingName("BaseThing", "", needs_definition=True)
    assert missing_name(template) == MissingName("basic_stringstream", "std", needs_definition=True)
    assert template.required_at == (Place("a.cc", 4),)
    assert header.path == (Place("a.cc", 1), Place("./h.h", 2))
    assert base.path == (Place("a.cc", 7),)
    assert base.included_from == ()


def test_notes_keep_their_places() -> None:
    text = (
        "a.cc:3:8: error: redefinition of 'struct Root'\nIn file included from a.cc:1:\nb.h:1:8: note: previous\n"
        "b.h:9:1: note: another\na.cc:7:1: error: x\n"
    )
    first, second = parse_diagnostics(text)
    assert first.noted_at == ((Place("b.h", 1), Place("a.cc", 1)), (Place("b.h", 9),))
    assert (second.noted_at, second.included_from) == ((), ())


def test_what_clang_lacks_of_std_is_in_the_line() -> None:
    text = "a.cc:1:14: error: use of undeclared identifier 'std'\nint main() { std::string s; }\n"
    assert missing_name(parse_diagnostics(text)[0]) == MissingName("string", "std")
    assert named("use of undeclared identifier 'std'") == MissingName("std")


def test_lines_and_colours_do_not_count() -> None:
    assert without_lines("a.cc:3:8: \x1b[31merror:\x1b[m ‘x’\nb.h:7: y") == "a.cc: error: 'x'\nb.h: y"


def named(message: str) -> MissingName | None:
    return missing_name(parse_diagnostics(f"a.cc:1:2: error: {message}")[0])


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("‘strlen’ was not declared in this scope; did you mean ‘x’?", MissingName("strlen")),
        ("‘db::Foo’ has not been declared", MissingName("Foo", "db")),
        ("‘string’ in namespace ‘std’ does not name a type", MissingName("string", "std")),
        ("‘Foo’ does not name a type", MissingName("Foo")),
        ("‘function’ is not a member of ‘std’", MissingName("function", "std")),
        ("‘numeric_limits’ is not a class, namespace, or enumeration", MissingName("numeric_limits")),
        ("‘LIMIT’ undeclared (first use in this function)", MissingName("LIMIT")),
        ("unknown type name 'thing_t'; did you mean 'other_t'?", MissingName("thing_t")),
        ("use of undeclared identifier 'helper'", MissingName("helper")),
        ("no member named 'function' in namespace 'std'", MissingName("function", "std")),
        ("no template named 'vector' in namespace 'std'", MissingName("vector", "std")),
        ("no type named 'string' in namespace 'std'", MissingName("string", "std")),
        ("implicit declaration of function ‘helper’ [-Werror=implicit-function-declaration]", MissingName("helper")),
        ("call to undeclared function 'helper'; ISO C99 and later do not support", MissingName("helper")),
        ("aggregate ‘std::string s’ has incomplete type and cannot be defined", MissingName("string", "std", True)),
        ("variable ‘std::ifstream f’ has initializer but incomplete type", MissingName("ifstream", "std", True)),
        ("invalid use of incomplete type ‘struct Foo’", MissingName("Foo", "", True)),
        ("invalid use of incomplete type ‘class std::map<int, Foo>’", MissingName("map", "std", True)),
        ("field ‘x’ has incomplete type ‘Foo’", MissingName("Foo", "", True)),
        ("member access into incomplete type 'const Foo'", MissingName("Foo", "", True)),
        ("incomplete definition of type 'struct foo'", MissingName("foo", "", True)),
        ("invalid use of undefined type ‘struct foo’", MissingName("foo", "", True)),
        ("incomplete type ‘Foo’ used in nested name specifier", MissingName("Foo", "", True)),
        ("‘struct Foo’ has no member named ‘size’", None),
        ("no member named 'size' in 'Foo'", None),
        ("expected ‘;’ before ‘}’ token", None),
        ("invalid conversion from ‘int’ to ‘Foo*’ [-fpermissive]", None),
    ],
)
def test_names_that_an_include_could_mend(message: str, name: MissingName | None) -> None:
    assert named(message) == name


@pytest.mark.parametrize(
    ("name", "cxx", "c"),
    [
        ("uint64_t", "<cstdint>", "<stdint.h>"),
        ("strlen", "<cstring>", "<string.h>"),
        ("assert", "<cassert>", "<assert.h>"),
        ("isdigit", "<cctype>", "<ctype.h>"),
        ("unique_ptr", "<memory>", None),
        ("runtime_error", "<stdexcept>", None),
        ("setw", "<iomanip>", None),
        ("exchange", "<utility>", None),
        ("bool", None, "<stdbool.h>"),
        ("rocksdb", None, None),
    ],
)
def test_standard_headers(name: str, cxx: str | None, c: str | None) -> None:
    assert standard_header(name, c=False) == cxx
    assert standard_header(name, c=True) == c


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (GCC, "util/b.h:2:12: error: 'uint64_t' does not name a type"),
        ("checking for gcc\nconfigure: error: no curses\nmake: *** x", "configure: error: no curses"),
        (
            "-- x\nCMake Error at cmake/ssl.cmake:10 (MESSAGE):\n\n  Cannot find SSL\n",
            "CMake Error at cmake/ssl.cmake:10 (MESSAGE): Cannot find SSL",
        ),
        (
            "/usr/bin/ld: a.o: in function `f':\na.cc:(.text+0x5): undefined reference to `g'",
            "a.cc:(.text+0x5): undefined reference to 'g'",
        ),
        (
            "[2/9] Generating a.h\nFAILED: strings/a.h \ncd strings && ./dump all.txt >a.h\nninja: build stopped\n",
            "FAILED: strings/a.h",
        ),
        (
            "sh: 1: no-such-program: not found\nmake: *** [Makefile:2: x] Error 127\n",
            "make: *** [Makefile:2: x] Error 127",
        ),
        ("bisect: error: of ours\nonly this\n", "only this"),
        ("", ""),
    ],
)
def test_the_first_error(output: str, line: str) -> None:
    assert first_error(output) == line


@pytest.mark.parametrize(
    ("output", "returncode", "outcome"),
    [
        ("a.cc:1:1: error: x", 2, Outcome.FAILED),
        ("cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes", 2, Outcome.OUT_OF_MEMORY),
        ("virtual memory exhausted: Cannot allocate memory", 2, Outcome.OUT_OF_MEMORY),
        ("g++: fatal error: Killed signal terminated program cc1plus", 2, Outcome.OUT_OF_MEMORY),
        ("make: *** [Makefile:1: a.o] Killed", 2, Outcome.OUT_OF_MEMORY),
        ("", -9, Outcome.OUT_OF_MEMORY),
        ("as: a.o: No space left on device\ncc1plus: out of memory allocating 1", 1, Outcome.OUT_OF_DISK),
        ('a.cc:3:1: error: x\n    3 | puts("No space left on device");', 1, Outcome.FAILED),
    ],
)
def test_outcomes(output: str, returncode: int, outcome: Outcome) -> None:
    assert classify(output, returncode=returncode, timed_out=False) is outcome
    assert classify(output, returncode=returncode, timed_out=True) is Outcome.HUNG


def test_the_telling_line_fits_the_outcome() -> None:
    output = "a.cc:1:1: error: x\nas: a.o: No space left on device\n"
    assert telling_line(output, Outcome.OUT_OF_DISK) == "as: a.o: No space left on device"
    assert telling_line(output, Outcome.FAILED) == "a.cc:1:1: error: x"
