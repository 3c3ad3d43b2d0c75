"""A connection to a server that may say anything: a commit wrote it.

What pymysql makes of an answer that no server gives is whatever happens in reading it: struct.error, IndexError,
UnicodeDecodeError and more. So every error of a talk is one of the server's, told in one short line. How long an answer
may be and take is limited too, for pymysql goes on reading as long as it is told that there is more.
"""

import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
from pymysql.cursors import Cursor

MOST_BYTES = 64 << 20
"""No answer that we ask for is longer: SHOW GLOBAL VARIABLES, the largest, has some 30 kB."""

LONGEST_MESSAGE = 300
"""So many characters of an error are told."""

_CONNECT_S = 10.0


class _Line(socket.socket):
    """A socket on which what comes after each thing sent is limited to MOST_BYTES and `patience_s`; more is an
    OSError."""

    def __init__(self, patience_s: float) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM)
        self._patience_s = patience_s
        self._begin()

    def _begin(self) -> None:
        self._left, self._until = MOST_BYTES, time.monotonic() + self._patience_s

    def sendall(self, *arguments: Any) -> None:
        self._begin()
        super().sendall(*arguments)

    def recv_into(self, *arguments: Any) -> int:
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise TimeoutError(f"the answer takes more than {self._patience_s:.0f} s")
        if self._left <= 0:
            raise OSError(f"the answer has more than {MOST_BYTES >> 20} MiB")
        self.settimeout(remaining)
        got = super().recv_into(*arguments)
        self._left -= got
        return got


@contextmanager
def talk(path: Path, database: str | None, timeout_s: float) -> Iterator[Cursor]:
    """A connection as root to the server whose socket is at `path`, for as long as the block. What the server says may
    raise any Exception, in the block too."""
    connection: Any = pymysql.connect(
        user="root",
        password="",
        database=database,
        charset="latin1",
        ssl_disabled=True,
        autocommit=True,
        read_timeout=timeout_s,
        defer_connect=True,
    )
    with _connected(path, timeout_s) as line:
        connection.connect(line)
        with connection, connection.cursor() as cursor:
            yield cursor


@contextmanager
def _connected(path: Path, timeout_s: float) -> Iterator[_Line]:
    """A line to the socket that is at `path` itself: a link there could lead to any server of the host. Raises
    OSError."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(f"{path.name} is no socket")
        with _Line(timeout_s) as line:
            line.settimeout(_CONNECT_S)
            line.connect(f"/proc/self/fd/{descriptor}")
            yield line
    finally:
        os.close(descriptor)


def told(error: Exception) -> str:
    """What is told of an error of a talk, in one line."""
    text = str(error)
    if not isinstance(error, pymysql.MySQLError | OSError):
        text = f"the server's answer cannot be read ({type(error).__name__}: {error})"
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"
