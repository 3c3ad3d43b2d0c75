"""Which programs, compilers and headers this host has for building and measuring."""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cpubisect.process import run
from cpubisect.workloads.check import Check, Status


@dataclass(frozen=True)
class Tool:
    """A program: `needed_for` says what can't be done without it; `vital` if that is measuring or building at all."""

    program: str
    package: str
    needed_for: str
    vital: bool = True


TOOLS = (
    Tool("git", "git", "everything"),
    Tool("make", "make", "building"),
    Tool("cmake", "cmake", "building MySQL 5.5 and later"),
    Tool("ninja", "ninja-build", "building MySQL 5.5 and later"),
    Tool("ccache", "ccache", "cheap repeated builds"),
    Tool("bison", "bison", "building MySQL"),
    Tool("autoreconf", "autoconf automake", "building MySQL before 5.5", vital=False),
    Tool("libtoolize", "libtool", "building MySQL before 5.5", vital=False),
    Tool("valgrind", "valgrind", "exact instruction counts"),
    Tool("callgrind_control", "valgrind", "exact instruction counts of a server"),
    Tool("sysbench", "sysbench", "MySQL tests"),
    Tool("perf", "linux-perf", "hardware counters", vital=False),
)


def named(program: str) -> Tool:
    """The one of TOOLS that is this program."""
    return next(tool for tool in TOOLS if tool.program == program)


@dataclass(frozen=True)
class Header:
    """A header that a build includes, and the package that brings it."""

    path: str
    package: str
    needed_for: str


HEADERS = (
    Header("gflags/gflags.h", "libgflags-dev", "RocksDB's db_bench"),
    Header("libaio.h", "libaio-dev", "MySQL"),
    Header("curses.h", "libncurses-dev", "MySQL"),
    Header("openssl/ssl.h", "libssl-dev", "MySQL"),
)


def tool(wanted: Tool) -> Check:
    """Whether the program is there, with its version."""
    if shutil.which(wanted.program) is None:
        status = Status.MISSING if wanted.vital else Status.WARN
        found = f"not installed; needed for {wanted.needed_for}"
        return Check(wanted.program, status, found, f"apt-get install -y {wanted.package}")
    return Check(wanted.program, Status.OK, version(wanted.program) or "installed")


def programs(name: str) -> tuple[str, str]:
    """The C and C++ programs of a toolchain: `gcc-12` → `gcc-12`, `g++-12`; `clang-14` → `clang-14`, `clang++-14`."""
    family, dash, release = name.partition("-")
    return name, {"gcc": "g++", "clang": "clang++"}.get(family, family) + dash + release


def toolchains(preferences: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """Every toolchain that some list of some engine names, each once."""
    return list(dict.fromkeys(name for lists in preferences.values() for some in lists for name in some))


def compilers(preferences: Mapping[str, Sequence[Sequence[str]]]) -> list[Check]:
    """The toolchains named as in the matrix (`gcc-12`, `clang-14`, `gcc`) of which both halves are there.

    `preferences` are, by engine, lists of which one is needed each; where there is one, the others are no gap.
    """
    names = toolchains(preferences)
    here = [name for name in names if all(map(shutil.which, programs(name)))]
    checks = [Check(name, Status.OK, version(programs(name)[1]) or "installed") for name in here]
    for engine, lists in preferences.items():
        if gap := next((some for some in lists if not set(some) & set(here)), None):
            best = gap[0] if gap[0].startswith("clang") else programs(gap[0])[1]
            found = f"none of {', '.join(gap)}, which some of its releases need"
            checks.append(Check(f"compilers for {engine}", Status.MISSING, found, f"apt-get install -y {best}"))
    if absent := [name for name in names if name not in here]:
        checks.append(Check("other compilers", Status.OK, f"{', '.join(absent)} are not here"))
    return checks


def headers(names: Sequence[str]) -> list[Check]:
    """Whether the compiler finds each header; the first of the toolchains that this host has is asked."""
    candidates = [program for name in names for program in programs(name)[1:]] + ["g++", "clang++", "c++"]
    compilers = [program for program in candidates if shutil.which(program)]
    return [_header(header, compilers[0] if compilers else None) for header in HEADERS]


def _header(header: Header, cxx: str | None) -> Check:
    if cxx is None:
        return Check(header.path, Status.WARN, "can't tell without a compiler")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "includes.cc"
        source.write_text(f"#include <{header.path}>\n")
        if run([cxx, "-fsyntax-only", source], timeout_s=60).ok:
            return Check(header.path, Status.OK, "found")
    found = f"not installed; needed for {header.needed_for}"
    return Check(header.path, Status.MISSING, found, f"apt-get install -y {header.package}")


def version(program: str) -> str:
    """The first release number a program prints when asked for its version; empty if it is not there."""
    if shutil.which(program) is None:
        return ""
    finished = run([program, "--version"], timeout_s=30)
    match = re.search(r"\d+(?:\.\d+)+\S*", finished.output)
    return match[0].rstrip(",;)") if match else ""
