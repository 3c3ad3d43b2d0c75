"""Which programs, compilers and headers this host has for building and measuring."""

import re
import shutil
from collections.abc import Mapping, Sequence

from cpubisect.base.disk.scratch import temporary
from cpubisect.base.process import run
from cpubisect.base.tools import Header, Tool
from cpubisect.workloads.check import Check, Status

TOOLS = (
    Tool("git", "git", "everything"),
    Tool("ccache", "ccache", "cheap repeated builds"),
)
"""What is needed whatever the engine."""


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


def headers(wanted: Sequence[Header], names: Sequence[str]) -> list[Check]:
    """Whether the compiler finds each header; the first of the toolchains `names` that this host has is asked."""
    candidates = [program for name in names for program in programs(name)[1:]] + ["g++", "clang++", "c++"]
    compilers = [program for program in candidates if shutil.which(program)]
    return [_header(header, compilers[0] if compilers else None) for header in wanted]


def _header(header: Header, cxx: str | None) -> Check:
    if cxx is None:
        return Check(header.path, Status.WARN, "can't tell without a compiler")
    with temporary() as scratch:
        source = scratch / "includes.cc"
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
