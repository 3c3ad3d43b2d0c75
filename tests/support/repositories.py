"""Small git repositories, written commit by commit for a test; equal stories give equal shas."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cpubisect.base.engine import Engine, VersionFile

_FIRST_DAY = 1_000_000_000
_DAY = 86_400

_VERSION_LINES = tuple(rf"^MYSQL_VERSION_{part}=(\d+)" for part in ("MAJOR", "MINOR", "PATCH"))
_MACROS = tuple(rf"^#define\s+ROCKSDB_{part}\s+(\d+)" for part in ("MAJOR", "MINOR", "PATCH"))

MYSQL = Engine(
    name="mysql",
    repository="https://example.org/mysql.git",
    tags=("mysql-{version}",),
    version_files=(
        VersionFile("MYSQL_VERSION", _VERSION_LINES),
        VersionFile("VERSION", _VERSION_LINES),
        VersionFile(
            "configure.in",
            (r"^(?:AC_INIT\(\[MySQL Server\],\s*\[|AM_INIT_AUTOMAKE\(mysql,\s*)(\d+\.\d+\.\d+)",),
        ),
    ),
    irrelevant=("/mysql-test/", "*.md", "!CMakeLists.txt"),
    builder="mysql",
    workload="mysql",
)
ROCKSDB = Engine(
    name="rocksdb",
    repository="https://example.org/rocksdb.git",
    tags=("v{version}", "rocksdb-{version}"),
    version_files=(VersionFile("include/rocksdb/version.h", _MACROS),),
    irrelevant=("*.md",),
    builder="rocksdb",
    workload="rocksdb",
)


def git(path: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git in `path`, whoever's configuration is about."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    done = subprocess.run(["git", *arguments], cwd=path, env=environment, input=stdin, capture_output=True, check=True)
    return done.stdout.decode(errors="replace").strip()


def allow_partial(origin: Path) -> None:
    """Have a repository answer those who ask for parts of it."""
    for name in ("allowFilter", "allowAnySHA1InWant"):
        git(origin, "config", f"uploadpack.{name}", "true")


def partial_clone(origin: Path, target: Path) -> Path:
    """A bare clone without files' contents, which it can fetch."""
    allow_partial(origin)
    git(origin.parent, "clone", "--quiet", "--bare", "--filter=blob:none", origin.as_uri(), str(target))
    return target


def mysql_version(version: str) -> dict[str, str]:
    """The version file of MySQL from 5.5.8 on."""
    major, minor, patch = version.split(".")
    return {"VERSION": f"MYSQL_VERSION_MAJOR={major}\nMYSQL_VERSION_MINOR={minor}\nMYSQL_VERSION_PATCH={patch}\n"}


def rocksdb_version(version: str) -> dict[str, str]:
    """The version file of RocksDB."""
    major, minor, patch = version.split(".")
    text = f"#define ROCKSDB_MAJOR {major}\n#define ROCKSDB_MINOR {minor}\n#define ROCKSDB_PATCH {patch}\n"
    return {"include/rocksdb/version.h": text}


class Story:
    """A history to be written: commits are numbered from 1 and made a day apart, unless told otherwise."""

    def __init__(self) -> None:
        self._stream: list[bytes] = []
        self._tips: dict[str, int] = {}
        self._count = 0

    def commit(
        self,
        files: Mapping[str, str | bytes | None] | None = None,
        *,
        branch: str = "main",
        parents: Sequence[int] | None = None,
        message: str = "",
        day: int | None = None,
    ) -> int:
        """Add a commit on `branch` (after its last one, unless `parents` says where) and return its number.

        `files` are put into the tree of its first parent; None deletes one. No `files` at all changes `code.c`.
        """
        self._count += 1
        number = self._count
        came_from = parents if parents is not None else [self._tips[branch]] if branch in self._tips else []
        changed = {"code.c": f"{number}\n"} if files is None else files
        text = (message or f"commit {number}").encode()
        when = _FIRST_DAY + (number if day is None else day) * _DAY
        if not came_from:
            self._put(f"reset refs/heads/{branch}")
        self._put(f"commit refs/heads/{branch}", f"mark :{number}")
        self._put(f"author Ada Writer <ada@example.org> {when} +0200")
        self._put(f"committer Bob Keeper <bob@example.org> {when + 60} +0000", f"data {len(text)}")
        self._stream.append(text + b"\n")
        self._put(*(f"{'merge' if i else 'from'} :{parent}" for i, parent in enumerate(came_from)))
        for path, content in changed.items():
            if content is None:
                self._put(f"D {path}")
            else:
                data = content if isinstance(content, bytes) else content.encode()
                self._put(f"M 644 inline {path}", f"data {len(data)}")
                self._stream.append(data + b"\n")
        self._tips[branch] = number
        return number

    def tag(self, name: str, number: int, *, annotated: bool = False) -> None:
        """Name a commit."""
        if annotated:
            self._put(f"tag {name}", f"from :{number}", "tagger Bob Keeper <bob@example.org> 1000000000 +0000")
            self._put("data 4", "done")
        else:
            self._put(f"reset refs/tags/{name}", f"from :{number}", "")

    def write(self, path: Path, *, bare: bool = False) -> dict[int, str]:
        """Write it as the repository `path` with `main` as HEAD; the shas by number."""
        path.mkdir(parents=True)
        git(path, "init", "--quiet", "--initial-branch=main", *(["--bare"] if bare else []))
        marks = path / "marks"
        git(path, "fast-import", "--quiet", f"--export-marks={marks}", stdin=b"".join(self._stream))
        lines = [line.split() for line in marks.read_text().splitlines()]
        marks.unlink()
        if not bare and "main" in self._tips:
            git(path, "reset", "--quiet", "--hard")
        return {int(mark[1:]): sha for mark, sha in lines}

    def _put(self, *lines: str) -> None:
        self._stream += [line.encode() + b"\n" for line in lines]
