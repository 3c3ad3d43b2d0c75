import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.builders.repairs.bundled import Libraries, directives

NAMED = ("/extra/*/", "/zlib/")
TREE = {
    "LICENSE": "",
    "boost/boost_1_77_0/boost/spirit/info.hpp": "struct info {};",
    "boost/boost_1_77_0/boost/geometry.hpp": '#include "extra/icu/source/norm.h"',
    "extra/comp_err.c": "",
    "extra/icu/source/norm.h": "",
    "extra/abseil/abseil-cpp-20230802.1/absl/time/time.h": "",
    "include/boost_1_77_0/patches/boost/geometry.hpp": "",
    "include/my_time.h": "#include <time.h>\n#include <string>\n",
    "include/geo.h": " #  include <boost/geometry.hpp>  // shapes\n",
    "regex/COPYRIGHT": "",
    "regex/my_regex.h": "",
    "router/LICENSE.router": "",
    "router/src/a.h": "",
    "storage/innobase/COPYING.Google": "",
    "storage/innobase/include/univ.h": "#ifdef HAVE_ZLIB\n#include <zlib.h>\n#endif\n",
    "sql/a.cc": '#include "geo.h"\n#include "my_time.h"\n',
    "sql/b.cc": '#include "a.h"\n#include "univ.h"\n#include "my_regex.h"\n',
    "sql/dd/upgrade_57/global.h": "",
    "third-party/folly/folly/Likely.h": "",
    "third-party/top.h": "",
    "zlib/zlib.h": '#include "zconf.h"',
    "zlib/zconf.h": "",
}


def libraries(tree: dict[str, str] = TREE) -> Libraries:
    return Libraries(tree, NAMED, tree.__getitem__)


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("boost/boost_1_77_0/boost/spirit/info.hpp", "boost/boost_1_77_0"),
        ("include/boost_1_77_0/patches/boost/geometry.hpp", "include/boost_1_77_0"),
        ("cmd-line-utils/libedit/libedit-20221030-3.1/src/el.h", "cmd-line-utils/libedit/libedit-20221030-3.1"),
        ("extra/libevent-2.1.11-stable/event.h", "extra/libevent-2.1.11-stable"),
        ("lib/icu-release-73-1/source/norm.h", "lib/icu-release-73-1"),
        ("extra/icu/source/norm.h", "extra/icu"),
        ("extra/comp_err.c", ""),
        ("regex/my_regex.h", "regex"),
        ("zlib/zlib.h", "zlib"),
        ("third-party/folly/folly/Likely.h", "third-party/folly"),
        ("storage/rocksdb/third_party/xx/xx.h", "storage/rocksdb/third_party/xx"),
        ("third-party/top.h", ""),
        ("storage/innobase/include/univ.h", ""),
        ("router/src/a.h", ""),
        ("sql/dd/upgrade_57/global.h", ""),
        ("plugin/x/src/a.h", ""),
        ("include/my_time.h", ""),
        ("main.cc", ""),
    ],
)
def test_which_library_a_file_is_of(file: str, library: str) -> None:
    assert libraries().of(file) == library


@pytest.mark.parametrize(
    ("file", "included"),
    [
        ("sql/a.cc", {"", "boost/boost_1_77_0", "include/boost_1_77_0"}),
        ("sql/b.cc", {"", "zlib", "regex"}),
        ("include/my_time.h", {""}),
        ("zlib/zlib.h", {"", "zlib"}),
        ("boost/boost_1_77_0/boost/geometry.hpp", {"", "boost/boost_1_77_0", "extra/icu"}),
    ],
)
def test_which_libraries_a_file_includes(file: str, included: set[str]) -> None:
    assert libraries().included_by(file) == included


def test_a_changed_file_is_read_again() -> None:
    tree = dict(TREE)
    found = libraries(tree)
    assert found.included_by("include/my_time.h") == {""}
    tree["include/my_time.h"] = '#include "zlib.h"\n'
    found.forget("include/my_time.h")
    assert found.included_by("include/my_time.h") == {"", "zlib"}


def test_includes_are_read() -> None:
    text = (
        '#include <a>\n// #include <no>\n\t# include "b/c.h" // why\n#include MACRO\n#ifdef X\n#include <d.h>\n#endif\n'
    )
    assert directives(text) == ["<a>", '"b/c.h"', "<d.h>"]


@given(st.lists(st.sampled_from(sorted(TREE)), unique=True), st.data())
def test_circles_of_includes_end(files: list[str], data: st.DataObject) -> None:
    texts = {file: "".join(f'#include "{data.draw(st.sampled_from(files))}"\n' for _ in range(2)) for file in files}
    found = Libraries(files, NAMED, texts.__getitem__)
    for file in files:
        assert {"", found.of(file)} <= found.included_by(file) <= {"", *map(found.of, files)}
