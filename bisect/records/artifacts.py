"""Finished builds on disk, addressed by what is in them: equal binaries share one directory."""

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LIMIT_BYTES = 20 * 2**30


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
        """The directory of an artifact, marked as used now; None if it was pruned."""
        found = self.root / digest[:2] / digest
        try:
            os.utime(found)
        except FileNotFoundError:
            return None
        return found

    def put(self, output: Path) -> str:
        """Take over a build's output directory (moved, atomically) and return its digest."""
        digest = content_digest(output)
        target = self.root / digest[:2] / digest
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
            doomed = artifact.path.with_name(f".{artifact.digest}-doomed-{os.getpid()}")
            try:
                artifact.path.rename(doomed)
            except FileNotFoundError:
                continue
            shutil.rmtree(doomed)
            excess -= artifact.size
            removed.append(artifact)
        return removed


def content_digest(directory: Path) -> str:
    """SHA-256 over the sorted relative paths, modes and contents of a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = str(path.relative_to(directory)).encode()
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        digest.update(b"%d %d %o\0" % (len(name), len(content), path.lstat().st_mode & 0o111))
        digest.update(name + b"\0" + content)
    return digest.hexdigest()
