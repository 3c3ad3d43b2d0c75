import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.builders.repairs.includes import insert_include, prologue, remove_include


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "@\n"),
        ("int a;\n", "@\nint a;\n"),
        ("// one\n// two\n\nint a;\n", "// one\n// two\n@\n\nint a;\n"),
        (
            '/* (c)\n x */\n#include <a>\n\n#include "b.h"\nint a;\n',
            '/* (c)\n x */\n#include <a>\n\n#include "b.h"\n@\nint a;\n',
        ),
        ("#ifndef A_H\n#define A_H\nint a;\n#endif\n", "#ifndef A_H\n#define A_H\n@\nint a;\n#endif\n"),
        (
            "#ifndef A_H\n#define A_H\n#include <a>\n#ifdef W\n#include <w>\n#endif\nint a;\n#endif\n",
            "#ifndef A_H\n#define A_H\n#include <a>\n@\n#ifdef W\n#include <w>\n#endif\nint a;\n#endif\n",
        ),
        ("// c\n#pragma once\nint a;\n", "// c\n#pragma once\n@\nint a;\n"),
        ("#define _GNU_SOURCE 1\nint a;\n", "#define _GNU_SOURCE 1\n@\nint a;\n"),
        ("#if W\n#include <w>\n#endif\nint a;\n", "@\n#if W\n#include <w>\n#endif\nint a;\n"),
        (
            "#if !defined(A_H)\n#define A_H\n#include <a>\n#endif\n",
            "#if !defined(A_H)\n#define A_H\n#include <a>\n@\n#endif\n",
        ),
        ("#include <a>  /* why\nnot */\nint a;\n", "#include <a>  /* why\nnot */\n@\nint a;\n"),
        ('#include <a>\nnamespace b {\n#include "c.inc"\n}\n', '#include <a>\n@\nnamespace b {\n#include "c.inc"\n}\n'),
        ("#include <a>\r\nint a;\r\n", "#include <a>\r\n@\r\nint a;\r\n"),
        ("#include <a>", "#include <a>\n@\n"),
        ("#define M(x) \\\n  x\n#include <a>\nint a;\n", "#define M(x) \\\n  x\n#include <a>\n@\nint a;\n"),
    ],
)
def test_an_include_goes_behind_the_others(before: str, after: str) -> None:
    assert insert_include(before, "<new>") == after.replace("@", "#include <new>")


LINES = st.sampled_from(
    [
        "",
        "// a comment",
        "/* one line */",
        "/* begins\n   #include <no>\n   ends */",
        "#include <cstddef>",
        '#include "b.h"',
        "#ifdef NEVER",
        "#if 0",
        "#else",
        "#endif",
        "#define MACRO(x) \\\n  x",
        "#pragma once",
        "int a;",
        "namespace b {}",
    ]
)


@given(st.lists(LINES).map(lambda lines: "".join(f"{line}\n" for line in lines)))
def test_taking_an_include_back_restores_the_file(text: str) -> None:
    changed = insert_include(text, "<new>")
    assert remove_include(changed, "<new>") == text
    assert prologue(changed).includes.count("<new>") == 1


def test_the_preprocessor_sees_the_include_whatever_is_defined() -> None:
    text = "/* x */\n#ifndef G\n#define G\n#ifdef A\n#include <cstdio>\n#else\n#include <new>\n#endif\nint a;\n#endif\n"
    changed = insert_include(text, "<cstdint>")
    for define in ("-DA", "-UA"):
        command = ["g++", "-x", "c++", define, "-E", "-"]
        seen = subprocess.run(command, input=changed, capture_output=True, text=True, check=True).stdout
        assert "uint64_t" in seen
