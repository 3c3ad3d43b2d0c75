"""Locks between processes, held as long as their holder lives: `flock` on a file of their own."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cpubisect.base.errors import UserError

PATIENCE_S = 1.0
"""Looking at a lock holds it for an instant; whoever wants it meanwhile tries again this long."""

_PAUSE_S = 0.01


@contextlib.contextmanager
def hold(path: Path, refusal: UserError) -> Iterator[None]:
    """The lock of that file, alone; raises the refusal if another holder keeps it, UserError if it cannot be there."""
    deadline = time.monotonic() + PATIENCE_S
    with _opened(path) as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise refusal from error
                time.sleep(_PAUSE_S)
        yield


@contextlib.contextmanager
def wait_for(path: Path) -> Iterator[None]:
    """The lock of that file, alone, as soon as no other holder has it; raises UserError if it cannot be there."""
    with _opened(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _opened(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(exist_ok=True)
        return path.open("w")
    except OSError as error:
        place = error.filename or path
        raise UserError(f"cannot lock {path} ({place}: {error.strerror})", "move away what is in its place") from error


def is_held(path: Path) -> bool:
    """Whether someone has the lock of that file now."""
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
