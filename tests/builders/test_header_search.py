from collections import Counter
from pathlib import Path

import pytest
from small_trees import commit

from cpubisect.builders.repairs.header_search import (
    Declaration,
    declaration,
    find_headers,
    is_declared,
    is_sure,
    may_declare,
    rank,
    spellings,
)
from cpubisect.builders.repairs.symbols import MissingName
from cpubisect.builders.trees.source import checked_out


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("class Widget {", Declaration.DEFINITION),
        ("struct EXPORT Widget : public Base {", Declaration.DEFINITION),
        ("class Widget final : public Base", Declaration.DEFINITION),
        ("enum class Widget : char {", Declaration.DEFINITION),
        ("typedef struct st_widget Widget;", Declaration.DEFINITION),
        ("} Widget;", Declaration.DEFINITION),
        ("using Widget = Gadget;", Declaration.DEFINITION),
        ("typedef int (*Widget)(int);", Declaration.DEFINITION),
        ("#define Widget(x) x", Declaration.DEFINITION),
        ("class Widget;", Declaration.FORWARD),
        ("extern int Widget;", Declaration.FUNCTION),
        ("int Widget(const char* name);", Declaration.FUNCTION),
        ("const int Widget = 3;", Declaration.FUNCTION),
        ("  virtual int Widget() const;", Declaration.MEMBER),
        ("  Widget,", Declaration.MEMBER),
        ("  return Widget(1);", Declaration.NONE),
        ("  delete Widget;", Declaration.NONE),
        ("// class Widget {", Declaration.NONE),
        ("class Gadget : public Widget {", Declaration.NONE),
        ("struct Gadget { Widget w; };", Declaration.NONE),
        ("void Use(Widget* w);", Declaration.NONE),
    ],
)
def test_what_a_line_declares(line: str, kind: Declaration) -> None:
    assert declaration(line, "Widget") is kind


@pytest.mark.parametrize(
    ("line", "may"),
    [
        ("#define SIZE 3", True),
        ("  #cmakedefine SIZE 1", True),
        ("ADD_DEFINITIONS(-DSIZE)", True),
        ("  SIZE,", True),
        ("for (int SIZE : sizes) {", True),
        ("void Use(Widget SIZE, int other);", True),
        ("DEFINE_KEY(SIZE);", True),
        ("enum Key { NAME, SIZE };", True),
        ("class EXPORT(3) SIZE", True),
        ("namespace toy::SIZE {", True),
        ("SIZE(", True),
        ("int name = 3, SIZE;", True),
        ("} NAME, *SIZE;", True),
        ("  NAME, OTHER= 3, SIZE, LAST,", True),
        ("int (*SIZE)(int);", True),
        ("SIZE 28000", True),
        ("const auto [NAME, SIZE] = pair;", False),
        ("  total += SIZE;", False),
        ("  uint16 *implicit = first + number * SIZE;", False),
        ("  to[(i * SIZE + 2) * stride] |= mask;", False),
        ("  f(count * SIZE);", False),
        ("  return SIZE;", False),
        ("// int SIZE;", False),
    ],
)
def test_what_may_declare_a_name(line: str, may: bool) -> None:
    assert may_declare(line, "SIZE") is may


def test_a_pointer_may_declare_a_name_in_small_letters() -> None:
    assert may_declare("void Use(Widget *size);", "size")
    assert not may_declare("  return size;", "size")


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("struct Widget {", True),
        ("#pragma once\nstruct Widget {", True),
        ("#ifndef A_H\n#define A_H\nstruct Widget {", True),
        ("#ifndef A_H\n#define A_H\n#ifdef WIN\n#endif\nstruct Widget {", True),
        ("#ifdef WIN\nstruct Widget {", False),
        ("#ifndef A_H\n#define A_H\n#if defined(WIN)\nstruct Widget {", False),
        ("class Gadget {\n  struct Widget {", False),
        ("namespace toy {\nstruct Widget {", True),
    ],
)
def test_which_declarations_are_sure(text: str, sure: bool) -> None:
    assert is_sure(text, text.count("\n") + 1) is sure


def test_the_best_header_comes_first() -> None:
    sure, forward = Declaration.DEFINITION, Declaration.FORWARD
    found = [("z/far.h", sure), ("a/far.h", sure), ("db/near.h", sure), ("db/fwd.h", forward), ("m/used.h", sure)]
    used = Counter({"m/used.h": 3, "z/far.h": 1})
    ranked = ["db/near.h", "m/used.h", "z/far.h", "a/far.h"]
    assert rank(found, used, "db/main.cc", needs_definition=False) == [*ranked, "db/fwd.h"]
    assert rank(found, used, "db/main.cc", needs_definition=True) == ranked
    assert rank(found, used, "db/main.cc", needs_definition=True, sure={"z/far.h"})[0] == "z/far.h"
    assert "db/near.h" not in rank(found, used, "db/near.h", needs_definition=False)


def test_includes_are_spelled_as_elsewhere() -> None:
    used = ['"widget.h"', "<toy/widget.h>", "<toy/widget.h>"]
    assert spellings("include/toy/widget.h", "src/a.cc", used) == [
        "<toy/widget.h>",
        '"widget.h"',
        '"include/toy/widget.h"',
        '"../include/toy/widget.h"',
    ]
    assert spellings("src/b.h", "src/a.cc", []) == ['"b.h"', '"src/b.h"']


def test_the_tree_is_searched(tmp_path: Path) -> None:
    files = {
        "include/toy/widget.h": "struct Widget {\n};\n",
        "old/widget.h": "struct Widget {\n};\n",
        "include/toy/forward.h": "struct Widget;\n",
        "src/a.cc": "Widget w;\n",
        "src/b.cc": "#include <toy/widget.h>\nWidget w;\n",
    }
    sha = commit(tmp_path / "clone", files)
    with checked_out(tmp_path / "clone", sha, tmp_path / "trees") as tree:
        options = find_headers(tree, MissingName("Widget", needs_definition=True), "src/a.cc", [])
        assert [option.directive for option in options] == [
            "<toy/widget.h>",
            '"include/toy/widget.h"',
            '"../include/toy/widget.h"',
            '"old/widget.h"',
            '"../old/widget.h"',
        ]
        assert options[0].why == "Widget is declared in include/toy/widget.h"
        without = find_headers(tree, MissingName("Widget"), "src/a.cc", ["<toy/widget.h>"])
        assert all("toy/widget.h" not in option.directive for option in without)
        assert find_headers(tree, MissingName("w"), "src/a.cc", []) == []
        assert find_headers(tree, MissingName("Gadget"), "src/a.cc", []) == []
        new = find_headers(tree, MissingName("Widget"), "src/a.cc", [], lambda header: not header.startswith("old/"))
        assert {option.header for option in new} == {"include/toy/widget.h", "include/toy/forward.h"}
        assert is_declared(tree, "Widget")
        assert is_declared(tree, "pthread_t")
        assert not is_declared(tree, "MY_UCA_900_CE_SIZE")
