"""Copies of the store, by SQLite's online backup: whole, of one moment, while others read and write."""

import sqlite3
import time
from pathlib import Path

from cpubisect.base.locks import wait_for

KEPT = 3
"""So many copies from before migrations stay; those that were asked for all do."""

_FOLDER = "backups"


def copy(path: Path, target: Path) -> None:
    """The store at `path` as it is now, into a new file, all or nothing; raises sqlite3.Error, OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.part")
    fresh.unlink(missing_ok=True)
    try:
        source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        made = sqlite3.connect(fresh)
        try:
            source.backup(made)
            # One file, which can be taken elsewhere as it is.
            made.execute("PRAGMA journal_mode = DELETE")
        finally:
            made.close()
            source.close()
        fresh.rename(target)
    finally:
        fresh.unlink(missing_ok=True)


def free_name(folder: Path, stem: str) -> Path:
    """A name for a file of now that is not there yet."""
    stem = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (folder / f"{stem}{f'-{number}' if number else ''}.sqlite" for number in range(10**6))
    return next(name for name in names if not name.exists())


def keep_one_of(path: Path, *, before: int) -> Path | None:
    """A copy of a store that is about to be migrated to a version, unless another process has just made one; older ones
    are removed. Raises sqlite3.Error, OSError."""
    folder = path.parent / _FOLDER
    folder.mkdir(exist_ok=True)
    with wait_for(folder / ".lock"):
        source = sqlite3.connect(path)
        try:
            (version,) = source.execute("PRAGMA user_version").fetchone()
        finally:
            source.close()
        if version >= before:
            return None
        target = free_name(folder, f"before-version-{before}")
        copy(path, target)
        for old in sorted(folder.glob("before-version-*.sqlite"), key=lambda file: file.stat().st_mtime_ns)[:-KEPT]:
            old.unlink(missing_ok=True)
        return target
