"""Finished builds on disk, addressed by what is in them: equal binaries share one directory.

The name of that directory is the digest of all its files, so that whether they are still what was kept can be told by
reading them, and by nothing else. A file that was read once is not read again as long as its inode says that nobody
wrote to it: of MySQL's 100 MB the first look takes some 0.2 s, each later one less than a millisecond.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

DEFAULT_LIMIT_BYTES = 20 * 2**30

_State: TypeAlias = tuple[tuple[str, int, int, int, int, int], ...]
_PIECE = 1 << 20


@dataclass(frozen=True)
class Artifact:
    """One kept build: its content digest (SHA-256, hex), directory, size in bytes and last use (epoch seconds)."""

    digest: str
    path: Path
    size: int
    used: float


class Artifacts:
    """The artifacts below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, digest: str) -> Path | None:
        """The directory of an artifact, marked as used now; None if it was pruned. What is to be run is `sound`."""
        found = self._place(digest)
        try:
            os.utime(found)
        except FileNotFoundError:
            return None
        return found

    def sound(self, digest: str) -> bool:
        """Whether all files of an artifact are there and are what they were when it was put here, and nothing else is;
        False too for one that was pruned."""
        place = self._place(digest)
        try:
            return not place.is_symlink() and _digest_of(place, _state(place)) == digest
        except OSError:
            return False

    def discard(self, digest: str) -> None:
        """Remove an artifact, at once for whoever looks for it."""
        place = self._place(digest)
        doomed = place.with_name(f".{digest}-doomed-{os.getpid()}")
        with suppress(FileNotFoundError):
            place.rename(doomed)
            if doomed.is_symlink() or not doomed.is_dir():
                doomed.unlink()
            else:
                shutil.rmtree(doomed)

    def put(self, output: Path) -> str:
        """Take over a build's output directory (moved, atomically) and return its digest."""
        digest = content_digest(output)
        target = self._place(digest)
        if not self.sound(digest):
            self.discard(digest)
        if self.path(digest):
            shutil.rmtree(output)
            return digest
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            output.rename(target)
        except OSError:
            with self._staged(target) as staged:
                shutil.copytree(output, staged, symlinks=True)
            shutil.rmtree(output)
        return digest

    def _place(self, digest: str) -> Path:
        return self.root / digest[:2] / digest

    @contextmanager
    def _staged(self, target: Path) -> Iterator[Path]:
        staged = target.with_name(f".{target.name}-{os.getpid()}")
        try:
            yield staged
            staged.rename(target)
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def all(self) -> list[Artifact]:
        """Every artifact, least recently used first; without those that another process is removing meanwhile."""
        found = []
        for path in self.root.glob("??/*"):
            if not path.name.startswith("."):
                with suppress(FileNotFoundError):
                    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
                    found.append(Artifact(path.name, path, size, path.stat().st_mtime))
        return sorted(found, key=lambda artifact: artifact.used)

    def prune(self, limit_bytes: int, keep: Collection[str] = ()) -> list[Artifact]:
        """Remove the least recently used until at most `limit_bytes` are left; those in `keep` stay regardless."""
        artifacts = self.all()
        excess = sum(artifact.size for artifact in artifacts) - limit_bytes
        removed = []
        for artifact in artifacts:
            if excess <= 0:
                break
            if artifact.digest in keep:
                continue
            if not artifact.path.exists():
                continue
            self.discard(artifact.digest)
            excess -= artifact.size
            removed.append(artifact)
        return removed


def content_digest(directory: Path) -> str:
    """SHA-256 over the sorted relative paths, modes and contents of a directory; a link counts as where it leads, and
    what is neither a file nor a link as nothing that was ever kept. Raises OSError."""
    digest = hashlib.sha256()
    for path, state in _files(directory):
        name = os.fsencode(path.relative_to(directory))
        link = os.fsencode(path.readlink()) if stat.S_ISLNK(state.st_mode) else None
        size = state.st_size if link is None else len(link)
        digest.update(b"%d %d %o\0" % (len(name), size, state.st_mode & 0o111))
        digest.update(name + b"\0" + (link or b""))
        if stat.S_ISREG(state.st_mode):
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
        elif link is None:
            digest.update(b"\0")
    return digest.hexdigest()


def _files(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in sorted(directory.rglob("*")):
        state = path.lstat()
        if not stat.S_ISDIR(state.st_mode):
            yield path, state


def _state(directory: Path) -> _State:
    """What tells whether anybody wrote to one of the files: a time of change cannot be set."""
    return tuple(
        (str(path), state.st_ino, state.st_size, state.st_mode, state.st_mtime_ns, state.st_ctime_ns)
        for path, state in _files(directory)
    )


@lru_cache(maxsize=4096)
def _digest_of(directory: Path, state: _State) -> str:
    """Of files that are in that state."""
    return content_digest(directory)
