"""The compilers this host has, and ccache in front of them."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.process import run
from cpubisect.builders.build import Toolchain

_PROGRAM = re.compile(r"(gcc|clang)(?:-(\d+))?")
_RELEASE = re.compile(r"\b(\d+)\.\d+(?:\.\d+)?\b")
_CXX = {"gcc": "g++", "clang": "clang++"}
_ARCHIVERS = {"gcc": ("gcc-ar", "gcc-ranlib"), "clang": ("llvm-ar", "llvm-ranlib")}

CACHE_SIZE = "20G"
"""Limit of a compiler cache that has none of its own."""

_OWN_LIMIT = re.compile(r"^\s*max_size\s*=", re.MULTILINE)


def installed_toolchains(path: str | None = None) -> list[Toolchain]:
    """All compiler pairs on a search path (default: PATH), newest first within gcc, then clang.

    A plain `gcc` or `clang` counts under its major release if that one is not there by its own name. A C compiler
    without its C++ sibling is no toolchain, nor is a clang without the llvm-ar and llvm-ranlib of its release.
    """
    path = os.environ.get("PATH", os.defpath) if path is None else path
    found: dict[str, Toolchain] = {}
    for family, suffix in sorted(_names(path), key=lambda name: not name[1]):
        toolchain = _look(family, suffix, path)
        if toolchain is not None:
            found.setdefault(toolchain.name, toolchain)
    return sorted(found.values(), key=lambda toolchain: _order(toolchain.name))


def find_ccache(path: str | None = None) -> str:
    """The ccache program; raises UserError if there is none, since without it each step costs a full build."""
    program = shutil.which("ccache", path=path)
    if program is None:
        raise UserError("ccache is not installed", "apt install ccache")
    return program


def cache_environment(directory: Path, tree: Path, stats_log: Path, commit_time: int) -> dict[str, str]:
    """Variables that let builds in any directory share one cache.

    Paths below `tree` are hashed as relative ones and the working directory not at all; the compiler is known by its
    content. Direct and preprocessed mode are both on: files that include a version header miss the first and hit the
    second. `stats_log` collects this build's own results; `commit_time` (s since 1970) replaces the clock in
    `__DATE__` and `__TIME__`. A limit that the cache's own settings give it stays: a smaller one would throw away what
    others put there.
    """
    settings = directory / "ccache.conf"
    limited = settings.is_file() and _OWN_LIMIT.search(settings.read_text(errors="replace"))
    return {
        **({} if limited else {"CCACHE_MAXSIZE": CACHE_SIZE}),
        "CCACHE_DIR": str(directory),
        "CCACHE_BASEDIR": str(tree),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_DIRECT": "1",
        "CCACHE_ABSSTDERR": "1",
        "CCACHE_STATSLOG": str(stats_log),
        "SOURCE_DATE_EPOCH": str(commit_time),
    }


def cache_counts(lines: Iterable[str]) -> tuple[int, int]:
    """Hits and misses in the lines of a ccache statistics log."""
    hits = misses = 0
    for line in lines:
        match line.strip():
            case "direct_cache_hit" | "preprocessed_cache_hit":
                hits += 1
            case "cache_miss":
                misses += 1
    return hits, misses


def missed_sources(lines: Iterable[str]) -> frozenset[str]:
    """What a ccache statistics log says was compiled, as the compiler was given it."""
    found, source = set(), ""
    for line in lines:
        if line.startswith("# "):
            source = line[2:].strip()
        elif line.strip() == "cache_miss":
            found.add(source)
    return frozenset(found)


def compiler_environment(toolchain: Toolchain, ccache: str) -> Mapping[str, str]:
    """CC, CXX, AR and RANLIB as make, cmake and configure read them."""
    return {
        "CC": f"{ccache} {toolchain.cc}",
        "CXX": f"{ccache} {toolchain.cxx}",
        "AR": toolchain.ar,
        "RANLIB": toolchain.ranlib,
    }


def _names(path: str) -> set[tuple[str, str]]:
    names = set()
    for directory in path.split(os.pathsep):
        try:
            entries = list(Path(directory or ".").iterdir())
        except OSError:
            continue
        for entry in entries:
            if match := _PROGRAM.fullmatch(entry.name):
                names.add((match[1], match[2] or ""))
    return names


def _look(family: str, suffix: str, path: str) -> Toolchain | None:
    ending = f"-{suffix}" if suffix else ""
    cc, cxx = f"{family}{ending}", f"{_CXX[family]}{ending}"
    if shutil.which(cc, path=path) is None or shutil.which(cxx, path=path) is None:
        return None
    answer = run([cc, "--version"], env={"PATH": path, "LC_ALL": "C"}, timeout_s=60.0)
    release = answer.output.partition("\n")[0].strip()
    major = suffix or _major(release)
    if not answer.ok or not major:
        return None
    archivers = _archivers(family, major, path)
    if archivers is None:
        return None
    return Toolchain(f"{family}-{major}", cc, cxx, *archivers, release=release)


def _major(release: str) -> str:
    numbers = _RELEASE.findall(release)
    return numbers[-1] if numbers else ""


def _archivers(family: str, major: str, path: str) -> tuple[str, str] | None:
    ar, ranlib = _ARCHIVERS[family]
    for ending in (f"-{major}", ""):
        pair = (ar + ending, ranlib + ending)
        if all(shutil.which(program, path=path) for program in pair):
            return pair
    return ("ar", "ranlib") if family == "gcc" else None


def _order(name: str) -> tuple[bool, int]:
    family, _, major = name.partition("-")
    return family != "gcc", -int(major)
