"""Empty private directories for work under way; what a killed run left of them is removed by a later one."""

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from cpubisect.base.errors import UserError


@contextlib.contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """An empty private place below `directory` (created if need be), removed afterwards whatever happens.

    A locked file beside it marks it as in use. The mark is there before the place and after it, so that no moment to
    be killed at leaves a place without a mark; the lock lasts as long as this process.
    """
    directory.mkdir(parents=True, exist_ok=True)
    while True:
        # Sockets are put in here, and a socket's path has at most 107 bytes.
        place = directory.resolve() / f"s{uuid.uuid4().hex[:8]}"
        mark = place.with_name(f"{place.name}.lock")
        try:
            file = mark.open("x")
        except FileExistsError:
            continue
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_same_file(file.fileno(), mark):
                continue
            try:
                place.mkdir(mode=0o700)
                yield place
            finally:
                _remove(place, mark)
            return


@contextlib.contextmanager
def temporary(kind: str = "tmp", directory: Path | None = None) -> Iterator[Path]:
    """An empty private place among this user's temporary files of a kind, below `directory` or $TMPDIR; what killed
    runs left there is removed before. Raises OSError, and UserError if somebody else has a directory of that name."""
    common = (directory or Path(tempfile.gettempdir())) / f"cpubisect-{kind}-{os.geteuid()}"
    common.mkdir(mode=0o700, exist_ok=True)
    if not _is_own(common.lstat()):
        raise UserError(f"{common} is not a directory of this user alone", "remove it, or set TMPDIR to another place")
    remove_leftovers(common)
    with scratch(common) as place:
        yield place


def remove_leftovers(directory: Path) -> int:
    """Remove the places of runs that are gone; how many there were."""
    removed = 0
    for mark in sorted(directory.glob("*.lock")):
        with contextlib.suppress(OSError), mark.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same_file(file.fileno(), mark):
                removed += _remove(mark.with_suffix(""), mark)
    return removed


def remove_temporary() -> int:
    """Remove all temporary files of this user's killed runs, of any kind; how many there were."""
    folders = Path(tempfile.gettempdir()).glob(f"cpubisect-*-{os.geteuid()}")
    return sum(remove_leftovers(folder) for folder in folders if _is_own(folder.lstat()))


@contextlib.contextmanager
def tidied(work: Path) -> Iterator[None]:
    """What killed runs left in a directory for work under way, and among this user's temporary files, is removed before
    and, if more was killed meanwhile, afterwards."""
    try:
        remove_leftovers(work)
        remove_temporary()
        yield
    finally:
        remove_leftovers(work)
        remove_temporary()


def _is_own(found: os.stat_result) -> bool:
    """Whether it is a directory of this user alone."""
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _is_same_file(descriptor: int, path: Path) -> bool:
    """False if somebody removed the lock file before we got the lock."""
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _remove(place: Path, mark: Path) -> bool:
    """Remove a place, also one that a dying program still writes into; it keeps its mark as long as it exists."""
    for _ in range(100):
        try:
            shutil.rmtree(place, ignore_errors=True)
        except RecursionError:
            # A build can put directories into one another without end; rm takes them one after the other.
            subprocess.run(["rm", "-rf", "--", place], stdin=subprocess.DEVNULL, capture_output=True)
        if not place.exists():
            mark.unlink(missing_ok=True)
            return True
    return False
