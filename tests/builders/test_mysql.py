import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from small_trees import TOOLCHAINS, commit, recipe_for, settings_in

from cpubisect.base.flags import Flags
from cpubisect.base.version import Version
from cpubisect.builders.build import BuildResult, Outcome, Recipe
from cpubisect.builders.carry import carry_out
from cpubisect.builders.mysql import BUILDER
from cpubisect.builders.recipes.matrix import Matrix

SHARE = {
    "sql/share/errmsg-utf8.txt": "english Can't create table\n",
    "sql/share/charsets/Index.xml": "<charsets/>\n",
    "scripts/mysql_system_tables.sql": "CREATE TABLE user (Host char(60));\n",
    "scripts/mysql_system_tables_data.sql": "INSERT INTO user VALUES ('localhost');\n",
}

COMP_ERR = """\
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
  char line[200];
  FILE* input = fopen(arguments[1], "r");
  FILE* messages = fopen(arguments[2], "w");
  FILE* header = fopen(arguments[3], "w");
  if (count != 4 || !input || !messages || !header || !fgets(line, sizeof line, input)) return 1;
  fputs(line + strlen("english "), messages);
  fputs("#define ER_CANT_CREATE_TABLE 1005\\n", header);
  return 0;
}
"""

MAIN = """\
#include <stdio.h>
#include "item.h"
#include "mysqld_error.h"

int main() {
#ifdef NDEBUG
  puts("NDEBUG");
#endif
#ifdef __OPTIMIZE__
  puts("optimised");
#endif
#ifdef OWN_FLAGS
  puts("own flags");
#endif
  printf("C++ %ld, C %ld, error %d\\n", __cplusplus, c_standard(), ER_CANT_CREATE_TABLE);
  return item_count() - 3;
}
"""

CMAKE = {
    **SHARE,
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.5)
project(MySQL C CXX)
if(WITH_DEFAULT_COMPILER_OPTIONS)
  add_definitions(-DOWN_FLAGS)
endif()
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -O0 -std=gnu++17")
include(cmake/limits.cmake)
include_directories(${CMAKE_BINARY_DIR} mysys sql)
add_library(mysys ${MYSYS_KIND} mysys/my_init.c)
add_executable(comp_err extra/comp_err.c)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/mysqld_error.h ${CMAKE_BINARY_DIR}/sql/share/english/errmsg.sys
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/sql/share/english
  COMMAND comp_err ${CMAKE_SOURCE_DIR}/sql/share/errmsg-utf8.txt
    ${CMAKE_BINARY_DIR}/${MESSAGES} ${CMAKE_BINARY_DIR}/mysqld_error.h
  DEPENDS comp_err sql/share/errmsg-utf8.txt)
add_custom_target(GenError DEPENDS ${CMAKE_BINARY_DIR}/mysqld_error.h)
add_subdirectory(sql)
add_executable(mysql client/mysql.cc)
""",
    "cmake/limits.cmake": "set(MYSYS_KIND STATIC)\nset(MESSAGES sql/share/english/errmsg.sys)\n",
    "sql/CMakeLists.txt": """\
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/sql_lexicon.cc
  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/lexicon.src ${CMAKE_BINARY_DIR}/sql_lexicon.cc
  DEPENDS lexicon.src)
add_executable(mysqld mysqld.cc ${CMAKE_BINARY_DIR}/sql_lexicon.cc)
add_dependencies(mysqld GenError)
target_link_libraries(mysqld mysys)
""",
    "sql/mysqld.cc": MAIN,
    "sql/item.h": '#include "my_sys.h"\nint item_count();\n',
    "sql/lexicon.src": '#include "item.h"\nint item_count() { return 3; }\n',
    "mysys/my_sys.h": '#ifdef __cplusplus\nextern "C"\n#endif\nlong c_standard(void);\n',
    "mysys/my_init.c": '#include "my_sys.h"\nlong c_standard(void) { return __STDC_VERSION__; }\n',
    "extra/comp_err.c": COMP_ERR,
    "client/mysql.cc": "#error the client is not wanted\n",
    "Docs/guide.txt": "nobody compiles this\n",
}


def build(directory: Path, files: Mapping[str, str], **fields: Any) -> BuildResult:
    """Commit the files and build their server as the recipe says."""
    fields = {"system": "cmake", "std": "gnu++98", "cflags": ("-O2", "-std=gnu11"), "cxxflags": ("-O2",), **fields}
    clone = directory / "clone"
    plain = recipe_for(commit(clone, files), toolchain=fields.pop("toolchain", TOOLCHAINS[0]))
    recipe = Recipe(**{**plain.__dict__, "engine": "mysql", "environment": {}, **fields})
    return carry_out(recipe, BUILDER, clone, directory / "work", settings_in(directory))


def contents(result: BuildResult) -> list[str]:
    assert result.output is not None, result.log.read_text()
    return sorted(str(path.relative_to(result.output)) for path in result.output.rglob("*") if path.is_file())


def says(result: BuildResult) -> list[str]:
    assert result.output is not None, result.log.read_text()
    return subprocess.run([result.output / "mysqld"], check=True, capture_output=True, text=True).stdout.splitlines()


LAYOUT = [
    "mysqld",
    "scripts/mysql_system_tables.sql",
    "scripts/mysql_system_tables_data.sql",
    "share/charsets/Index.xml",
    "share/english/errmsg.sys",
]


OF_A_RELEASE = {
    **CMAKE,
    "CMakeLists.txt": CMAKE["CMakeLists.txt"].replace(" -O0 -std=gnu++17", "") + 'message(STATUS "release: '
    '${CMAKE_C_FLAGS_RELEASE}; ${CMAKE_CXX_FLAGS_RELEASE}; ${CMAKE_CXX_FLAGS}")\n',
}


def test_a_release_is_optimised_as_the_tree_and_cmake_do(tmp_path: Path) -> None:
    needed = {"cflags": ("-w", "-std=gnu11"), "cxxflags": ("-w",), "options": ("-DWITH_DEFAULT_COMPILER_OPTIONS=ON",)}

    result = build(tmp_path, OF_A_RELEASE, flags=Flags.RELEASE, **needed)

    assert says(result) == ["NDEBUG", "optimised", "own flags", "C++ 199711, C 201112, error 1005"]
    assert "release: -O3 -DNDEBUG; -O3 -DNDEBUG; -std=gnu++98 -w" in result.log.read_text()


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
def test_the_recipe_decides_the_flags_and_only_the_server_is_built(tmp_path: Path, toolchain) -> None:
    flags = ("-O2", "-DNDEBUG", "-flifetime-dse=1")
    fields = {"cflags": (*flags, "-std=gnu11"), "cxxflags": flags, "toolchain": toolchain}

    first = build(tmp_path, CMAKE, **fields)
    second = build(tmp_path, CMAKE, **fields)

    assert (first.outcome, first.first_error) == (Outcome.BUILT, "")
    assert contents(first) == LAYOUT
    assert says(first) == ["NDEBUG", "optimised", "C++ 199711, C 201112, error 1005"]
    assert (first.output / "share/english/errmsg.sys").read_text() == "Can't create table\n"
    assert first.cache_misses == 4
    assert (second.cache_hits, second.cache_misses) == (4, 0)
    assert (first.output / "mysqld").read_bytes() == (second.output / "mysqld").read_bytes()


def test_options_reach_cmake(tmp_path: Path) -> None:
    result = build(tmp_path, CMAKE, options=("-DWITH_DEFAULT_COMPILER_OPTIONS=ON",))

    assert "own flags" in says(result)


def test_tells_what_the_server_was_compiled_from(tmp_path: Path) -> None:
    result = build(tmp_path, CMAKE)

    assert result.compiled == (
        "CMakeLists.txt",
        "cmake/limits.cmake",
        "extra/comp_err.c",
        "mysys/my_init.c",
        "mysys/my_sys.h",
        "scripts/mysql_system_tables.sql",
        "scripts/mysql_system_tables_data.sql",
        "sql/CMakeLists.txt",
        "sql/item.h",
        "sql/lexicon.src",
        "sql/mysqld.cc",
        "sql/share/charsets/Index.xml",
        "sql/share/errmsg-utf8.txt",
    )
    assert {one.source: set(one.files) for one in result.objects.values()} == {
        "extra/comp_err.c": {"extra/comp_err.c"},
        "mysys/my_init.c": {"mysys/my_init.c", "mysys/my_sys.h"},
        "sql/mysqld.cc": {"sql/mysqld.cc", "sql/item.h", "mysys/my_sys.h", "sql/share/errmsg-utf8.txt"},
        "build/sql_lexicon.cc": {"sql/item.h", "mysys/my_sys.h"},
        "": {"CMakeLists.txt", "cmake/limits.cmake", "sql/CMakeLists.txt"},
    }
    assert all(one.seconds for one in result.objects.values())


def test_a_server_with_a_shared_library_of_its_tree_runs_when_the_tree_is_gone(tmp_path: Path) -> None:
    files = {**CMAKE, "cmake/limits.cmake": CMAKE["cmake/limits.cmake"].replace("STATIC", "SHARED")}

    result = build(tmp_path, files)

    assert contents(result) == ["lib/libmysys.so", *LAYOUT]
    assert says(result)[-1] == "C++ 199711, C 201112, error 1005"
    assert str(tmp_path / "work" / "trees") not in (result.output / "mysqld").read_bytes().decode("latin1")


def test_a_missing_include_is_repaired_and_the_build_goes_on(tmp_path: Path) -> None:
    late = CMAKE["sql/lexicon.src"].replace("3", "std::numeric_limits<int>::max() - 2147483644")

    result = build(tmp_path, {**CMAKE, "sql/strange.h": late, "sql/lexicon.src": '#include "strange.h"\n'})

    assert result.outcome is Outcome.BUILT
    assert [(repair.path, repair.change) for repair in result.repairs] == [("sql/strange.h", "#include <limits>")]


def test_a_tree_that_makes_no_messages_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    files = {**CMAKE, "cmake/limits.cmake": "set(MESSAGES elsewhere)\n"}

    result = build(tmp_path, files)

    assert (result.outcome, result.output) == (Outcome.FAILED, None)
    assert "English messages" in result.first_error


def test_an_error_of_cmake_is_the_reason_told(tmp_path: Path) -> None:
    result = build(tmp_path, {**CMAKE, "cmake/limits.cmake": 'message(FATAL_ERROR "no curses here")\n'})

    assert result.outcome is Outcome.FAILED
    assert "CMake Error" in result.first_error or "no curses here" in result.first_error


AUTOTOOLS = {
    **{name: text for name, text in SHARE.items() if not name.endswith(".txt")},
    "BUILD/autorun.sh": "set -e\naclocal\nautoheader\nautomake --add-missing --copy\nautoconf\n",
    "configure.in": """\
AC_INIT([MySQL Server], [5.1.54], [], [mysql])
AC_CONFIG_SRCDIR([sql/mysqld.cc])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AC_PROG_CXX
AM_PROG_AR
AC_PROG_RANLIB
AC_CHECK_PROGS(YACC, ['bison -y -p MYSQL'])
m4_include([config/ac-macros/alloca.m4])
MYSQL_FUNC_ALLOCA
AC_ARG_WITH([plugins], [], [AC_DEFINE([HAVE_PLUGINS], [1], [plugins])])
AC_CONFIG_HEADERS([include/config.h])
AC_CONFIG_FILES([Makefile include/Makefile mysys/Makefile extra/Makefile sql/Makefile storage/archive/Makefile])
AC_OUTPUT
""",
    "config/ac-macros/alloca.m4": "AC_DEFUN([MYSQL_FUNC_ALLOCA], [AC_DEFINE(HAVE_ALLOCA, 1)\n"
    " for ac_func in _getb67; do AC_DEFINE_UNQUOTED(CRAY_STACKSEG_END, $ac_func)\n done])\n",
    "Makefile.am": "SUBDIRS = include mysys extra storage/archive sql\n",
    "include/Makefile.am": "BUILT_SOURCES = my_config.h\nmy_config.h: config.h\n\tcp config.h my_config.h\n",
    "mysys/Makefile.am": "noinst_LIBRARIES = libmysys.a\nlibmysys_a_SOURCES = my_init.c\n",
    "mysys/my_init.c": "long c_standard(void) { return __STDC_VERSION__; }\n",
    "extra/Makefile.am": """\
noinst_PROGRAMS = comp_err
BUILT_SOURCES = ../include/mysqld_error.h
../include/mysqld_error.h: comp_err.c ../sql/share/errmsg.txt
\t$(MAKE) comp_err
\tmkdir -p ../sql/share/english
\t./comp_err ../sql/share/errmsg.txt ../sql/share/english/errmsg.sys ../include/mysqld_error.h
""",
    "extra/comp_err.c": COMP_ERR,
    "storage/archive/Makefile.am": "noinst_LIBRARIES = libarchive.a\nlibarchive_a_SOURCES = ha_archive.cc\n",
    "storage/archive/ha_archive.cc": "#error this engine is not wanted\n",
    "sql/Makefile.am": """\
AM_CPPFLAGS = -I../include
noinst_PROGRAMS = mysqld mysql_tzinfo_to_sql
EXTRA_PROGRAMS = gen_lex_hash
mysqld_SOURCES = mysqld.cc sql_yacc.yy
nodist_mysqld_SOURCES = client.c
mysqld_LDADD = ../mysys/libmysys.a
gen_lex_hash_SOURCES = gen_lex_hash.cc
mysql_tzinfo_to_sql_SOURCES = tztime.cc
BUILT_SOURCES = sql_yacc.cc lex_hash.h link_sources
AM_YFLAGS = -d
link_sources:
\trm -f client.c
\tln -s ../sql-common/client.c client.c
\techo timestamp > link_sources
lex_hash.h: gen_lex_hash.cc
\t$(MAKE) gen_lex_hash
\t./gen_lex_hash > lex_hash.h
""",
    "sql/tztime.cc": "#error this tool is not wanted\n",
    "sql/gen_lex_hash.cc": '#include <stdio.h>\n#include "sql_yacc.hh"\n'
    'int main() { printf("#define LEX_NUMBER %d\\n", NUM); }\n',
    "sql-common/client.c": "int client_errors(void) { return 0; }\n",
    "sql/share/errmsg.txt": SHARE["sql/share/errmsg-utf8.txt"],
    "sql/mysqld.cc": """\
#include <stdio.h>
#include "my_config.h"
#include "mysqld_error.h"
#include "lex_hash.h"

extern "C" long c_standard(void);
extern "C" int client_errors(void);
extern int MYSQLparse(void *thd);

struct THD { const char *query; long sum; };

int MYSQLlex(void *value, void *yythd) {
  THD *thd = (THD *)yythd;
  if (!*thd->query) return 0;
  *(long *)value = *thd->query++ - '0';
  return LEX_NUMBER;
}

void add_to_sum(void *yythd, long value) { ((THD *)yythd)->sum += value; }

int main() {
  THD thd = {"1234", client_errors()};
  int result = MYSQLparse(&thd);
  printf("C++ %ld, C %ld, error %d, sum %ld\\n", __cplusplus, c_standard(), ER_CANT_CREATE_TABLE, thd.sum);
  return result;
}
""",
    "sql/sql_yacc.yy": """\
%{
#include <stdlib.h>
#define YYPARSE_PARAM yythd
#define YYLEX_PARAM yythd
int yylex(void *yylval, void *yythd);
void MYSQLerror(const char *s) { abort(); }
void add_to_sum(void *yythd, long value);
#define yyoverflow(A,B,C,D,E,F) { yyerror((char*) (A)); return 2; }
%}
%union { long num; }
%pure_parser                                    /* We have threads */
%token <num> NUM
%%
query: /* empty */ | query NUM { add_to_sum(yythd, $2); } ;
%%
""",
}


def matrix_recipe(version: str) -> Recipe:
    """What the shipped matrix says for a release."""
    matrix = Matrix.load()
    return matrix.recipe(matrix.engine("mysql"), "0" * 40, Version.parse(version), TOOLCHAINS)


def test_an_old_tree_is_built_by_its_autotools_and_the_matrix_repairs_it(tmp_path: Path) -> None:
    recipe = matrix_recipe("5.1.54")
    fields = {name: getattr(recipe, name) for name in ("system", "std", "cflags", "cxxflags", "options", "edits")}

    result = build(tmp_path, AUTOTOOLS, toolchain=recipe.toolchain, **fields)

    assert (result.outcome, result.first_error) == (Outcome.BUILT, "")
    assert contents(result) == LAYOUT
    assert says(result) == ["C++ 199711, C 201112, error 1005, sum 10"]
    assert sorted({repair.path for repair in result.repairs}) == ["config/ac-macros/alloca.m4", "sql/sql_yacc.yy"]
    assert {"sql/sql_yacc.yy", "sql/share/errmsg.txt", "sql-common/client.c", "mysys/my_init.c"} <= set(result.compiled)
    assert not {"sql/tztime.cc", "storage/archive/ha_archive.cc"} & set(result.compiled)
    made = {one.source: set(one.files) for one in result.objects.values()}
    assert made["sql/mysqld.cc"] >= {"sql/mysqld.cc", "configure.in", "sql/share/errmsg.txt"}
    assert made["sql/sql_yacc.cc"] == {"sql/sql_yacc.yy"}
    assert made["sql-common/client.c"] == {"sql-common/client.c"}


def test_a_grammar_that_has_its_parameters_is_left_alone(tmp_path: Path) -> None:
    recipe = matrix_recipe("5.1.54")
    grammar = AUTOTOOLS["sql/sql_yacc.yy"]
    head, tail = grammar.split("%pure_parser")
    modern = head.replace("(const char *s)", "(void *, const char *s)").replace("yyerror((char*)", "yyerror(0, (char*)")
    directives = "%parse-param { void *yythd }\n%lex-param { void *yythd }\n%pure-parser"
    fields = {name: getattr(recipe, name) for name in ("system", "std", "cflags", "cxxflags", "options", "edits")}

    result = build(
        tmp_path, {**AUTOTOOLS, "sql/sql_yacc.yy": modern + directives + tail}, toolchain=recipe.toolchain, **fields
    )

    assert says(result)[-1].endswith("sum 10")
    assert {repair.path for repair in result.repairs} == {"config/ac-macros/alloca.m4"}
