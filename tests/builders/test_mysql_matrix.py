import re

import pytest
from small_trees import TOOLCHAINS

from cpubisect.base.flags import Flags
from cpubisect.base.version import Version
from cpubisect.builders.build import Recipe
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.repairs.bundled import Libraries

MATRIX = Matrix.load()
ENGINE = MATRIX.engine("mysql")
RELEASES = (
    "5.0.96", "5.1.30", "5.1.73", "5.5.2", "5.5.3", "5.5.8", "5.5.62", "5.6.2", "5.6.10", "5.6.27", "5.6.45", "5.6.51",
    "5.7.1", "5.7.5", "5.7.27", "5.7.28", "5.7.44", "8.0.0", "8.0.11", "8.0.23", "8.0.45", "8.4.0", "9.7.0",
)  # fmt: skip
FILE_OF_2012 = "MYSQL_VERSION_MAJOR=5\nMYSQL_VERSION_MINOR=6\nMYSQL_VERSION_PATCH=6\nMYSQL_VERSION_EXTRA=-m9\n"


def recipe(version: str, flags: Flags = Flags.PINNED) -> Recipe:
    return MATRIX.recipe(ENGINE, "0" * 40, Version.parse(version), TOOLCHAINS, flags=flags)


def code_flags(flags: tuple[str, ...]) -> list[str]:
    """Those that decide the code, not what is accepted."""
    return [flag for flag in flags if re.match(r"-(O|m|g\d|D)|-f(?!permissive)", flag)]


def edited(release: str, file: str, text: str) -> str:
    """A file's text after the edits for a release."""
    for edit in recipe(release).edits:
        if edit.file == file:
            text = re.compile(edit.find, re.MULTILINE).sub(edit.replace, text)
    return text


@pytest.mark.parametrize("release", RELEASES)
def test_all_releases_are_compiled_alike(release: str) -> None:
    found, newest = recipe(release), recipe("5.6.27")

    assert code_flags(found.cflags) == code_flags(newest.cflags)
    assert code_flags(found.cxxflags) == code_flags(newest.cxxflags)
    assert {"-O2", "-DNDEBUG", "-fno-strict-aliasing", "-fno-omit-frame-pointer"} <= set(found.cxxflags)
    assert found.toolchain == newest.toolchain
    assert set(found.cxxflags) - {"-fpermissive", "-U__STRICT_ANSI__"} <= set(found.cflags)


@pytest.mark.parametrize("release", RELEASES)
def test_of_a_release_only_the_instruction_set_is_pinned(release: str) -> None:
    found, pinned = recipe(release, Flags.RELEASE), recipe(release)

    for own in (found.cflags, found.cxxflags):
        assert set(code_flags(own)) - {"-fcommon"} == {"-g0", "-march=haswell", "-mno-avx"}
    assert {"-std=gnu11", "-fcommon"} <= set(found.cflags)
    assert ("-fpermissive" in found.cxxflags) == ("-fpermissive" in pinned.cxxflags)
    assert (found.std, found.system, found.edits) == (pinned.std, pinned.system, pinned.edits)
    assert ("-DWITH_DEFAULT_COMPILER_OPTIONS=ON" in found.options) == (found.system == "cmake")
    assert [o.partition("=")[0] for o in found.options] == [o.partition("=")[0] for o in pinned.options]
    assert found.key() != pinned.key()


@pytest.mark.parametrize("release", RELEASES)
def test_old_code_is_compiled_as_cxx98_and_new_code_as_its_tree_says(release: str) -> None:
    old = release < "8"

    assert recipe(release).std == ("gnu++98" if old else "")
    assert ("limits" in recipe(release).forced_includes) == (release in ("8.0.0", "8.0.11", "8.0.23"))


@pytest.mark.parametrize("release", RELEASES)
def test_cmake_from_its_arrival(release: str) -> None:
    system = "cmake" if Version.parse(release) >= Version((5, 5, 3)) else "autotools"

    assert recipe(release).system == system
    assert all(option.startswith("-D" if system == "cmake" else "--") for option in recipe(release).options)


@pytest.mark.parametrize("release", RELEASES)
def test_every_switch_is_set_once(release: str) -> None:
    names = [option.partition("=")[0] for option in recipe(release).options]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("release", RELEASES)
def test_every_patch_is_there(release: str) -> None:
    assert all((MATRIX.patches_dir / name).is_file() for name in recipe(release).patches)


@pytest.mark.parametrize(
    ("release", "kind"),
    [("5.5.8", "bundled"), ("5.6.45", "bundled"), ("5.6.46", "system"), ("5.7.27", "bundled"), ("5.7.28", "system")],
)
def test_bundled_ssl_while_there_is_one(release: str, kind: str) -> None:
    assert f"-DWITH_SSL={kind}" in recipe(release).options


def test_a_new_openssl_is_taken_where_the_system_s_is_used() -> None:
    condition = 'IF(OPENSSL_LIBRARY AND\n   OPENSSL_MAJOR_VERSION STREQUAL "1"\n  )\n'

    for release in ("5.6.51", "5.7.28", "5.7.44"):
        assert edited(release, "cmake/ssl.cmake", condition) == "IF(OPENSSL_LIBRARY AND\n   TRUE\n  )\n"
    assert edited("5.6.27", "cmake/ssl.cmake", condition) == condition


def test_hole_punching_is_left_out() -> None:
    file = "storage/innobase/row/row0log.cc"
    block = "#ifdef FALLOC_FL_PUNCH_HOLE\n\tfallocate();\n#endif /* FALLOC_FL_PUNCH_HOLE */\n"
    off = "#if 0 //def FALLOC_FL_PUNCH_HOLE\n"

    assert edited("5.6.6", file, block) == block.replace("#ifdef FALLOC_FL_PUNCH_HOLE", "#if 0")
    assert edited("5.6.27", file, off) == off


@pytest.mark.parametrize(
    ("file", "bundled"),
    [
        ("boost/boost_1_77_0/boost/spirit/home/support/info.hpp", True),
        ("include/boost_1_59_0/patches/boost/geometry/geometry.hpp", True),
        ("cmd-line-utils/libedit/histedit.h", True),
        ("extra/icu/icu-release-73-1/source/common/norm2allmodes.h", True),
        ("extra/icu/source/common/norm2allmodes.h", True),
        ("extra/yassl/include/yassl_int.hpp", True),
        ("plugin/innodb_memcached/daemon_memcached/cache.h", True),
        ("plugin/innodb_memcached/innodb_memcache/include/innodb_api.h", False),
        ("zlib/zutil.h", True),
        ("storage/innobase/include/univ.i", False),
        ("include/mysql/psi/psi.h", False),
        ("plugin/group_replication/libmysqlgcs/src/bindings/xcom/xcom/task.h", False),
    ],
)
def test_which_headers_are_a_bundled_librarys(file: str, bundled: bool) -> None:
    tree = [file, "LICENSE", "storage/innobase/COPYING.Google", "router/LICENSE.router"]
    assert bool(Libraries(tree, ENGINE.bundled, lambda _: "").of(file)) is bundled


def test_room_for_all_messages() -> None:
    assert edited("5.7.5", "extra/comp_err.c", "#define MAX_ROWS  1000\n") == "#define MAX_ROWS  2000\n"
    assert edited("5.7.5", "extra/comp_err.c", "#define MAX_ROWS  10000\n") == "#define MAX_ROWS  10000\n"


@pytest.mark.parametrize(
    ("text", "file", "version"),
    [
        (FILE_OF_2012, "VERSION", "5.6.6"),
        ("AC_INIT([MySQL Server], [5.1.74], [], [mysql])\n", "configure.in", "5.1.74"),
        ("AC_INIT(sql/mysqld.cc)\nAM_INIT_AUTOMAKE(mysql, 5.0.91)\n", "configure.in", "5.0.91"),
    ],
)
def test_reads_the_release_from_every_form_of_the_version_file(text: str, file: str, version: str) -> None:
    patterns = next(found.patterns for found in ENGINE.version_files if found.path == file)

    matches = [re.search(pattern, text, re.MULTILINE) for pattern in patterns]

    assert ".".join(group for match in matches if match for group in match.groups()) == version
