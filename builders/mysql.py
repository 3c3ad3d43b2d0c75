"""MySQL and MariaDB: `mysqld` alone, with what it takes to make a data directory and start it; nothing is installed.

What `collect` leaves, and a workload can rely on:

    mysqld                  the server, not stripped: its symbol table names the functions in a profile
    share/LANGUAGE/errmsg.sys   messages, English at least: `--lc-messages-dir=OUTPUT/share`, or before 5.5
                            `--language=OUTPUT/share/english`
    share/charsets/         `--character-sets-dir=OUTPUT/share/charsets`
    scripts/mysql_system_tables.sql, scripts/mysql_system_tables_data.sql   to feed to `mysqld --bootstrap` after
                            `use mysql;`; from 5.7.6 `mysqld --initialize-insecure` needs neither
    lib/                    only where the server links shared libraries of its own tree (8.0 and later); it finds
                            them there by itself

With cmake (5.5.3 and later) the tree is built in its directory `build` by ninja; with autotools, before that, in place.
"""

import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from cpubisect.base.flags import Flags
from cpubisect.base.objects import ObjectFile
from cpubisect.base.process import Finished
from cpubisect.base.tools import Header, Tool
from cpubisect.builders.trees.configure_cache import STEERING, run_cmake
from cpubisect.builders.trees.dependencies import Places, objects_of, prerequisites
from cpubisect.builders.trees.idle.configured import set_apart
from cpubisect.builders.trees.precompiled import prefix, share_headers
from cpubisect.builders.trees.shop import Builder, CommandFailed, Shop

_BISON = Tool("bison", "bison", "building MySQL")
_SERVERS = ("runtime_output_directory/mysqld", "bin/mysqld", "sql/mysqld", "sql/mariadbd")
_TARGETS = ("mysqld", "mariadbd")
_SHARES = ("share", "sql/share")
_SCRIPTS = ("scripts/mysql_system_tables.sql", "scripts/mysql_system_tables_data.sql")

# Sources of what is generated before it is compiled: no compiler's dependency file names them.
_GENERATING = (
    "CMakeLists.txt", "*.cmake", "*.am", "*.ac", "*.m4", "*.in", "*.yy", "errmsg*.txt", "messages_to_*.txt",
    "VERSION", "MYSQL_VERSION",
)  # fmt: skip

# What generated headers and sources are made from: by the form of their names, the forms of the tree's own paths.
_MESSAGES = ("*share/errmsg*.txt", "*share/messages_to_*.txt")
_RELEASE = ("VERSION", "MYSQL_VERSION", "configure.in")
_ORIGINS = (
    ("mysqld_er*.h", _MESSAGES),
    ("sql_state.h", _MESSAGES),
    ("sql_yacc.*", ("sql/sql_yacc.yy",)),
    ("sql_hints.yy.*", ("sql/sql_hints.yy",)),
    ("lex_hash.h", ("sql/lex.h", "sql/gen_lex_hash.cc")),
    ("my_config.h", ("config.h.cmake", *_RELEASE)),
    ("config.h", ("config.h.cmake", *_RELEASE)),
    ("mysql_version.h", ("include/mysql_version.h.in", *_RELEASE)),
)

_CHECKS = "checks of cmake"

# gcc alone drops, from version 6 on, what was stored in an object before its constructor runs.
_UNKNOWN_TO_CLANG = frozenset({"-flifetime-dse=1"})

# In the order of their needs: `extra` makes the error numbers and needs what stands before it.
_LIBRARIES = (
    "include", "zlib", "strings", "mysys", "dbug", "regex", "vio", "extra",
    "storage/csv", "storage/heap", "storage/innobase", "storage/myisam", "storage/myisammrg", "storage/perfschema",
    "heap", "innobase", "myisam", "myisammrg",
)  # fmt: skip
_GENERATED = ("sql_yacc.cc", "link_sources", "lex_hash.h")


class _System(Protocol):
    """How one build system configures and compiles, where it leaves the results, and what it made them from."""

    def configure(self, shop: Shop) -> None: ...

    def compile(self, shop: Shop) -> None: ...

    def results(self, shop: Shop) -> Path: ...

    def inputs(self, shop: Shop) -> Iterator[Path]: ...

    def objects(self, shop: Shop) -> dict[str, ObjectFile]: ...


class _Cmake:
    """cmake with ninja, out of the tree."""

    def configure(self, shop: Shop) -> None:
        """Pinned flags go where cmake puts them last: MySQL's own come before and are overridden, in every series.
        Those beside the flags of a release go first, and what cmake and MySQL have for that kind of build is left."""
        launcher, cc, cxx = _compilers(shop)
        flags = {"C": _flags(shop, shop.cflags), "CXX": _flags(shop, shop.cxxflags)}
        settings = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_C_COMPILER": cc,
            "CMAKE_CXX_COMPILER": cxx,
            "CMAKE_AR": _program(shop, "AR"),
            "CMAKE_RANLIB": _program(shop, "RANLIB"),
            # The artifact outlives the tree, whose private libraries are copied beside the server.
            "CMAKE_BUILD_RPATH": "$ORIGIN/lib",
            "CMAKE_BUILD_RPATH_USE_ORIGIN": "ON",
        }
        for language, words in flags.items():
            settings[f"CMAKE_{language}_COMPILER_LAUNCHER"] = ";".join(launcher)
            if shop.recipe.flags is Flags.RELEASE:
                settings[f"CMAKE_{language}_FLAGS"] = words
            else:
                settings[f"CMAKE_{language}_FLAGS"] = ""
                settings[f"CMAKE_{language}_FLAGS_RELEASE"] = words
        arguments = [f"-D{name}={value}" for name, value in settings.items()]
        run_cmake(shop, ["-G", "Ninja", *arguments, *shop.options], self.results(shop))
        directory = self.results(shop)
        set_apart(shop, directory / "build.ninja", _SERVERS, [*launcher, cxx])
        if shop.shares_headers:
            listing = shop.ask(["ninja", "-C", str(directory), "-t", "commands", self._target(shop)])
            share_headers(shop, listing.output, directory, shop.tree)

    def compile(self, shop: Shop) -> None:
        """Just the server: a quarter of everything."""
        argv = ["ninja", "-C", str(self.results(shop)), f"-j{shop.settings.jobs}", self._target(shop)]
        shop.run(argv, extra_environment=prefix(self.results(shop)))

    def results(self, shop: Shop) -> Path:
        """The build directory."""
        return shop.tree / "build"

    def _target(self, shop: Shop) -> str:
        """What the server is called: MariaDB's has a name of its own from 10.5 on. The first name if there is none."""
        plan = self.results(shop) / "build.ninja"
        text = shop.read(plan) if plan.exists() else ""
        return next((name for name in _TARGETS if f"\nbuild {name}: phony" in text), _TARGETS[0])

    def inputs(self, shop: Shop) -> Iterator[Path]:
        """What ninja learnt from the compiler, and the sources of its other commands (ninja before 1.11 tells only
        the former)."""
        directory = self.results(shop)
        for question in (("deps",), ("inputs", self._target(shop))):
            answer = shop.ask(["ninja", "-C", str(directory), "-t", *question])
            for line in answer.output.splitlines() if answer.ok else ():
                if question[0] == "inputs" or line.startswith(" "):
                    yield directory / line.strip()

    def objects(self, shop: Shop) -> dict[str, ObjectFile]:
        """What ninja learnt from the compiler, and when each of them began and ended."""
        directory, places = self.results(shop), Places(shop.tree)
        log = directory / ".ninja_log"
        seconds = _durations(shop.read(log)) if shop.has(log) else {}
        found: dict[str, ObjectFile] = {}
        answer = shop.ask(["ninja", "-C", str(directory), "-t", "deps"])
        for paragraph in answer.output.split("\n\n") if answer.ok else ():
            head, *lines = paragraph.strip().splitlines() or [""]
            name, known, about = head.partition(": #deps ")
            if known and lines and about.endswith("(VALID)"):
                files = [places.locate(directory, line.strip()) for line in lines]
                own = tuple(file for file in dict.fromkeys(files) if file)
                found[places.locate(directory, name)] = ObjectFile(files[0], own, seconds.get(name))
        return found


class _Autotools:
    """The tree's own BUILD/autorun.sh, configure, and make, in place."""

    def configure(self, shop: Shop) -> None:
        """The checks bypass ccache: they compile hundreds of files that no other build has."""
        flags = {"CFLAGS": _flags(shop, shop.cflags), "CXXFLAGS": _flags(shop, shop.cxxflags)}
        environment = {**flags, "CCACHE_DISABLE": "1"}
        shop.run(["sh", "BUILD/autorun.sh"], extra_environment=environment)
        shop.run(["./configure", *shop.options], extra_environment=environment)

    def compile(self, shop: Shop) -> None:
        """Directory by directory, since a parallel make of all races for generated files; those of `sql` first, one
        after the other."""
        jobs = f"-j{shop.settings.jobs}"
        for directory in _LIBRARIES:
            if (shop.tree / directory / "Makefile").is_file():
                shop.run(["make", "-C", directory, jobs])
        rules = shop.read(shop.tree / "sql/Makefile")
        for target in _GENERATED:
            by_suffix = (shop.tree / "sql" / target).with_suffix(".yy").is_file()
            if by_suffix or re.search(rf"^{re.escape(target)}:", rules, re.MULTILINE):
                shop.run(["make", "-C", "sql", target])
        shop.run(["make", "-C", "sql", jobs, "mysqld"])

    def results(self, shop: Shop) -> Path:
        """The tree itself."""
        return shop.tree

    def inputs(self, shop: Shop) -> Iterator[Path]:
        """What automake's dependency files name; links to shared sources lead to the sources."""
        for file in filter(shop.has, shop.tree.rglob(".deps/*.P*o")):
            for name in prerequisites(shop.read(file)):
                yield file.parent.parent / name

    def objects(self, shop: Shop) -> dict[str, ObjectFile]:
        """What the same say of each object; make does not tell how long it took."""
        files = {file: file.parent.parent for file in filter(shop.has, sorted(shop.tree.rglob(".deps/*.P*o")))}
        return objects_of(Places(shop.tree), files)


_SYSTEMS: dict[str, _System] = {"cmake": _Cmake(), "autotools": _Autotools()}


class MySqlServer:
    """Builds the server by the recipe's system, `cmake` or `autotools`; its options are arguments of cmake
    or configure."""

    systems: Mapping[str, Sequence[Tool]] = {
        "cmake": (
            Tool("cmake", "cmake", "building MySQL 5.5 and later"),
            Tool("ninja", "ninja-build", "building MySQL 5.5 and later"),
            _BISON,
        ),
        "autotools": (
            Tool("autoreconf", "autoconf automake", "building MySQL before 5.5", vital=False),
            Tool("libtoolize", "libtool", "building MySQL before 5.5", vital=False),
            Tool("make", "make", "building"),
            _BISON,
        ),
    }
    headers: Sequence[Header] = (
        Header("libaio.h", "libaio-dev", "MySQL"),
        Header("curses.h", "libncurses-dev", "MySQL"),
        Header("openssl/ssl.h", "libssl-dev", "MySQL"),
        Header("unicode/regex.h", "libicu-dev", "MySQL 8.0 and later"),
        Header("google/protobuf/message_lite.h", "libprotobuf-dev protobuf-compiler", "MySQL 8.0 and later"),
        Header("google/protobuf/compiler/importer.h", "libprotoc-dev", "MySQL 8.0 and later"),
        Header("zstd.h", "libzstd-dev", "MySQL 8.0 and later"),
        Header("lz4.h", "liblz4-dev", "MySQL 8.0 and later"),
        Header("pcre2posix.h", "libpcre2-dev", "MariaDB"),
        Header("fmt/format.h", "libfmt-dev", "MariaDB"),
    )

    def configure(self, shop: Shop) -> None:
        """Run cmake, or make the configure script and run it."""
        _SYSTEMS[shop.recipe.system].configure(shop)

    def compile(self, shop: Shop) -> None:
        """Compile and link mysqld, which makes the message files on the way."""
        _SYSTEMS[shop.recipe.system].compile(shop)

    def linked(self, shop: Shop) -> Path:
        """The server; raises CommandFailed if the build left none."""
        results = _SYSTEMS[shop.recipe.system].results(shop)
        server = next((results / name for name in _SERVERS if shop.has(results / name)), None)
        if server is None:
            raise _lacking("server binary", results)
        return server

    def collect(self, shop: Shop, output: Path) -> None:
        """Fill `output` as the head of this file says; raises CommandFailed if the build left no server or messages."""
        results, server = _SYSTEMS[shop.recipe.system].results(shop), self.linked(shop)
        shop.take(server, output / "mysqld")
        for messages in (path for share in _SHARES for path in sorted((results / share).glob("*/errmsg.sys"))):
            _copy(shop, messages, output / "share" / messages.parent.name / messages.name)
        if not (output / "share/english/errmsg.sys").is_file():
            raise _lacking("English messages", results)
        for charset in (path for share in _SHARES for path in sorted((shop.tree / share / "charsets").glob("*.xml"))):
            _copy(shop, charset, output / "share/charsets" / charset.name)
        for script in _SCRIPTS:
            if shop.has(shop.tree / script):
                _copy(shop, shop.tree / script, output / script)
        for library in _own_libraries(shop, server):
            _copy(shop, library, output / "lib" / library.name)

    def compiled(self, shop: Shop) -> tuple[str, ...]:
        """Tracked files that the compiler read, that something compiled was generated from, or that `collect` copies.

        Those that steer a generator count wherever they are, so this is rather too much than too little.
        """
        tracked = set(shop.files())
        inputs = _relative(shop.tree, _SYSTEMS[shop.recipe.system].inputs(shop))
        steering = {name for name in tracked if any(fnmatch(Path(name).name, form) for form in _GENERATING)}
        copied = {name for name in tracked if name in _SCRIPTS or Path(name).parent.name == "charsets"}
        return tuple(sorted((inputs & tracked) | steering | copied))

    def objects(self, shop: Shop) -> Mapping[str, ObjectFile]:
        """As the build system tells, with the sources of generated headers in their places."""
        own = _Own(set(shop.files()))
        found = _SYSTEMS[shop.recipe.system].objects(shop)
        objects = {name: replace(one, files=own.behind(one.files)) for name, one in found.items()}
        if shop.recipe.system == "cmake":
            objects[_CHECKS] = ObjectFile("", own.steering(), shop.checking)
        return objects


class _Own:
    """A tree's own files, which others are generated from."""

    def __init__(self, tracked: Collection[str]) -> None:
        self._tracked = tracked
        self._behind: dict[str, tuple[str, ...]] = {name: (name,) for name in tracked}

    def behind(self, files: Iterable[str]) -> tuple[str, ...]:
        """The tree's own among some files, and those that the others were generated from."""
        return tuple(dict.fromkeys(name for file in files for name in self._origins(file)))

    def steering(self) -> tuple[str, ...]:
        """Those that decide what cmake's checks find."""
        return tuple(name for name in self._tracked if any(fnmatch(Path(name).name, form) for form in STEERING))

    def _origins(self, file: str) -> tuple[str, ...]:
        if file not in self._behind:
            forms = [form for name, origins in _ORIGINS if fnmatch(Path(file).name, name) for form in origins]
            own = (name for name in self._tracked if any(fnmatch(name, form) for form in forms))
            self._behind[file] = tuple(own) if forms else ()
        return self._behind[file]


def _durations(log: str) -> dict[str, float]:
    """How long the last run of each command took, in seconds, by its first output, from ninja's log."""
    found: dict[str, float] = {}
    for line in log.splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[0].isdecimal() and fields[1].isdecimal():
            found[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return found


def _compilers(shop: Shop) -> tuple[list[str], str, str]:
    """What stands before the compilers, and their programs."""
    *launcher, cc = shlex.split(shop.environment["CC"])
    return launcher, cc, shlex.split(shop.environment["CXX"])[-1]


def _program(shop: Shop, variable: str) -> str:
    """The full path of a tool: cmake takes a bare name for a file in its own directory."""
    name = shop.environment[variable]
    return shutil.which(name, path=shop.environment.get("PATH")) or name


def _flags(shop: Shop, flags: Sequence[str]) -> str:
    unknown = _UNKNOWN_TO_CLANG if shop.recipe.toolchain.name.startswith("clang") else frozenset[str]()
    return " ".join(flag for flag in flags if flag not in unknown)


def _copy(shop: Shop, source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shop.take(source, target)


def _lacking(what: str, directory: Path) -> CommandFailed:
    message = f"collect: error: the build left no {what} in {directory.name}"
    return CommandFailed(Finished(("collect",), 1, 0.0, 0.0, 0, False, message))


def _own_libraries(shop: Shop, server: Path) -> list[Path]:
    """Shared libraries that the server loads from the tree it was built in."""
    answer = shop.ask(["ldd", str(server)])
    loaded = [Path(path) for path in re.findall(r"=> (/.+) \(0x", answer.output)]
    root = shop.tree.resolve()
    return [path for path in loaded if path.resolve().is_relative_to(root)]


def _relative(tree: Path, paths: Iterable[Path]) -> set[str]:
    """Those inside the tree, as its index spells them."""
    root = tree.resolve()
    found = (path.resolve() for path in set(paths))
    return {str(path.relative_to(root)) for path in found if path.is_relative_to(root)}


BUILDER: Builder = MySqlServer()
