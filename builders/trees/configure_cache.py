"""cmake with the results of its checks taken from an earlier run that was the same in all that decides them.

What is reused are cache entries such as `HAVE_…` and sizes of types that cmake's own check modules wrote; nothing else
of the old tree. cmake meets them as it would when it is run again in one build directory: a check whose result is there
is not made, everything else is done anew.

Why this is sound: the key is a digest of what a check can depend on, namely cmake and its arguments, the compilers, the
environment, every file of the tree that steers cmake (with our edits), the host's installed packages, its kernel, and
what lies in /usr/local or where an argument points to. A trace of the run that made the results shows every trial
compilation with its arguments: only results it shows are kept, and if one of them had to do with a place that the key
does not know, such as a folder of headers in the tree, none is. Nor is any where the packages can't be known. A file
that is damaged or was made under another key is not read. What builds of one repository in a sandbox found is not used
by another's. Should cmake fail with old results, it is run again without.
"""

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from fnmatch import fnmatch
from pathlib import Path

from cpubisect.base.sandbox import inside
from cpubisect.builders.trees.shop import CommandFailed, Shop

KEPT = 64
"""How many results are kept, the latest used ones; each is some 40 kB."""

STEERING = ("CMakeLists.txt", "*.cmake", "*.in", "*.cmakein", "VERSION", "MYSQL_VERSION")
"""The forms of the names of files that decide what checks find."""

_ENTRY = re.compile(r"(?P<name>[A-Za-z_][\w.+-]*):INTERNAL=(?P<value>.*)")
_PRIVATE = re.compile(r"HOME|TMPDIR|CCACHE_.*|GIT_CEILING_DIRECTORIES|SOURCE_DATE_EPOCH")
_PATH = re.compile(r"(?:^|[=;:,\s]|-I|-L|-isystem)(/[^;\s]*)")
_SYSTEM = tuple(Path(name) for name in ("/usr", "/lib", "/lib64"))
# Of one check: the variables of its trial, and the result that is made of them.
_REMAINS = re.compile(r"^HAVE_|_(EXITCODE|COMPILED)$")
_OLDEST_CMAKE = (3, 17)
_MODULES = (
    "CheckCXXSymbolExists", "CheckFunctionExists", "CheckIncludeFile", "CheckIncludeFileCXX", "CheckIncludeFiles",
    "CheckLibraryExists", "CheckPrototypeDefinition", "CheckSourceCompiles", "CheckSourceRuns", "CheckSymbolExists",
    "CheckCSourceCompiles", "CheckCSourceRuns", "CheckCXXSourceCompiles", "CheckCXXSourceRuns", "CheckTypeSize",
    "CheckVariableExists", "TestBigEndian",
)  # fmt: skip
_PACKAGES = (
    "/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite",
    "/var/lib/rpm/Packages", "/lib/apk/db/installed",
)  # fmt: skip
_BY_HAND = ("/usr/local/include", "/usr/local/lib", "/usr/local/lib64")


@dataclass(frozen=True)
class Check:
    """The result of one check, as cmake caches it: its variable, value and help text."""

    name: str
    value: str
    text: str


def run_cmake(shop: Shop, arguments: Sequence[str], build: Path) -> None:
    """Run cmake for the tree in the directory `build`, with results of an equal earlier run if there are any.

    Raises CommandFailed.
    """
    key, places = _key(shop, arguments), _named_places(arguments)
    store = _Store(shop.settings.ccache_dir.with_name(f"{shop.settings.ccache_dir.name}-configure"))
    command = ["-S", str(shop.tree), "-B", str(build), *arguments]
    private = Path(shop.environment["TMPDIR"])
    if known := store.load(key) if key else ():
        script = private / "checks.cmake"
        inside.write_text(script, private, preload(known))
        shop.note(f"{len(known)} results of checks are those of an earlier run with the same key")
        try:
            shop.run(["cmake", "-C", str(script), *command])
            return
        except CommandFailed as failure:
            if failure.finished.timed_out:
                raise
            shop.note("cmake failed with them: again without")
            shutil.rmtree(build, ignore_errors=True)
    if not key:
        shop.run(["cmake", *command])
        return
    trace = private / "checks.json"
    sources = [f"--trace-source={module}.cmake" for module in _MODULES]
    tracing = ["--trace-expand", "--trace-format=json-v1", f"--trace-redirect={trace}", *sources]
    shop.checking = shop.run(["cmake", *tracing, *command]).wall_seconds
    try:
        made = traced(inside.read_text(trace, private), shop.tree, build, places)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
        shop.note(f"the results of cmake's checks are not kept: {problem}")
        return
    store.save(key, checks(shop.read(build / "CMakeCache.txt"), made))


def traced(trace: str, tree: Path, build: Path, places: Collection[Path]) -> frozenset[str]:
    """The variables that check modules made by trial compilations, as a trace in json-v1 tells.

    None if any of them was given a path other than cmake's own for the trial, one of the system, or one in `places`.
    """
    own = build / "CMakeFiles"
    made: set[str] = set()
    for line in trace.splitlines():
        step = json.loads(line)
        if step.get("cmd") not in ("try_compile", "try_run") or Path(step["file"]).is_relative_to(tree):
            continue
        paths = [Path(found) for word in step["args"] for found in _PATH.findall(word)]
        if not all(path == build or any(path.is_relative_to(p) for p in (own, *_SYSTEM, *places)) for path in paths):
            return frozenset()
        made.update(step["args"][: 2 if step["cmd"] == "try_run" else 1])
    return frozenset(made | {_REMAINS.sub("", name) for name in made})


def checks(cache: str, made: Collection[str]) -> list[Check]:
    """The entries of a CMakeCache.txt whose variables are in `made`, but for types whose size depends on the
    architecture: cmake keeps those in files."""
    found: list[Check] = []
    text: list[str] = []
    for line in cache.splitlines():
        if line.startswith("//"):
            text.append(line[2:])
            continue
        entry = _ENTRY.fullmatch(line)
        if entry and entry["name"] in made:
            found.append(Check(entry["name"], entry["value"], " ".join(text)))
        text = []
    unsure = {check.name for check in found if check.text.startswith("CHECK_TYPE_SIZE") and check.value == "0"}
    return [check for check in found if check.name.removeprefix("HAVE_") not in unsure]


def preload(known: Sequence[Check]) -> str:
    """A script for `cmake -C` that puts the results into a new cache."""
    return "".join(
        f"set({check.name} {_quoted(check.value)} CACHE INTERNAL {_quoted(check.text)})\n" for check in known
    )


def _quoted(text: str) -> str:
    fence = "=" * next(
        n for n in range(1, len(text) + 2) if f"]{'=' * n}]" not in text and not text.endswith("]" + "=" * n)
    )
    return f"[{fence}[{text}]{fence}]"


class _Store:
    """Results of checks below one directory, a file per key."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, key: str) -> list[Check]:
        """The results kept under a key; none if there is no such file, or it is not as it was written."""
        path = self._directory / f"{key}.json"
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            known = [Check(str(name), str(value), str(text)) for name, value, text in kept["checks"]]
            if (kept["key"], kept["digest"]) != (key, _digest(key, known)):
                return []
            os.utime(path)
        except (OSError, ValueError, TypeError, KeyError):
            return []
        return known

    def save(self, key: str, known: Sequence[Check]) -> None:
        """Keep results, atomically; a host that has no room for them goes without."""
        kept = {"key": key, "digest": _digest(key, known), "checks": [astuple(check) for check in known]}
        with contextlib.suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._directory) as staged:
                whole = Path(staged, "whole")
                whole.write_text(json.dumps(kept), encoding="utf-8")
                whole.replace(self._directory / f"{key}.json")
            by_use = sorted(self._directory.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in by_use[KEPT:]:
                path.unlink(missing_ok=True)


def _digest(key: str, known: Sequence[Check]) -> str:
    return hashlib.sha256(json.dumps([key, [astuple(check) for check in known]]).encode()).hexdigest()


def _key(shop: Shop, arguments: Sequence[str]) -> str:
    """SHA-256 over all that can decide a check; empty if that can't be known."""
    packages = [Path(name) for name in _PACKAGES if Path(name).is_file()]
    version = shop.ask(["cmake", "--version"])
    release = re.search(r"(\d+)\.(\d+)", version.output)
    if not packages or not version.ok or not release or (int(release[1]), int(release[2])) < _OLDEST_CMAKE:
        return ""
    compilers = [shutil.which(name, path=shop.environment.get("PATH")) for name in _programs(shop)]
    parts: dict[str, object] = {
        "cmake": version.output,
        "arguments": [word.replace(str(shop.tree), "TREE") for word in arguments],
        "toolchain": asdict(shop.recipe.toolchain),
        "compilers": [_look(Path(name)) for name in compilers if name],
        "environment": _environment(shop.environment, shop.tree),
        "tree": [(name, _tree_content(shop, shop.tree / name)) for name in _steering(shop)],
        "host": (platform.machine(), platform.release(), [_content(path) for path in packages]),
        "by hand": [list(_listing(Path(name))) for name in _BY_HAND],
        "named": [list(_listing(path)) for path in _named_places(arguments)],
        **({"origin": shop.origin} if shop.origin else {}),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _named_places(arguments: Sequence[str]) -> list[Path]:
    """Files and folders that an argument sets something to, but for folders of the system itself."""
    found = (Path(value[1]) for word in arguments if (value := re.search(r"=(/.+)", word)))
    return [path for path in found if path.exists() and path not in (Path("/"), *_SYSTEM)]


def _programs(shop: Shop) -> tuple[str, ...]:
    return shop.recipe.toolchain.cc, shop.recipe.toolchain.cxx, "cmake", "ninja", "ld"


def _environment(environment: Mapping[str, str], tree: Path) -> dict[str, str]:
    """Without what is another in every build and no check can see."""
    return {
        name: value.replace(str(tree), "TREE") for name, value in environment.items() if not _PRIVATE.fullmatch(name)
    }


def _steering(shop: Shop) -> list[str]:
    """Tracked files that cmake reads, and all in folders named `cmake`."""
    names = (name for name in shop.files() if name)
    return sorted(
        name
        for name in names
        if "cmake" in name.split("/")[:-1] or any(fnmatch(name.rpartition("/")[2], form) for form in STEERING)
    )


def _tree_content(shop: Shop, path: Path) -> str:
    return _content(path) if shop.has(path) else ""


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _listing(directory: Path) -> Iterator[tuple[str, int, int]]:
    """All that lies below a directory, or the file itself, with sizes and times."""
    yield _look(directory)
    for folder, folders, files in os.walk(directory):
        folders.sort()
        yield from (_look(Path(folder, name)) for name in sorted(files))


def _look(path: Path) -> tuple[str, int, int]:
    try:
        state = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), state.st_size, state.st_mtime_ns
