"""What stands between the ccache of a build in a sandbox and a Redis that hosts share: it passes on what reads entries
of the build's own repository, and what adds one that is not there. Nothing else, so that a build can neither change
what others find nor see another repository's entries, nor reach anything but these.

It speaks Redis' protocol (RESP 2) with both sides.
"""

import contextlib
import os
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote, urlsplit

from cpubisect.base.disk.scratch import temporary

LARGEST_BYTES = 256 << 20
"""A larger entry is not passed on: no object of a build is as large."""

SOCKET = "redis"
"""The name of the socket in its directory."""

PORT = 6379
_PATIENCE_S = 30.0
_MOST_WORDS = 8
_KEY = re.compile(rb"[\w:.-]{1,200}")


class _Spoken(Exception):
    """The other side says what cannot be understood."""


@dataclass(frozen=True)
class Redis:
    """Where a Redis is, and what it is told before anything else."""

    host: str
    port: int = PORT
    greetings: tuple[tuple[bytes, ...], ...] = ()

    @classmethod
    def at(cls, url: str) -> "Redis":
        """From an address like redis://USER:PASSWORD@HOST:PORT/NUMBER."""
        parts = urlsplit(url)
        greetings: list[tuple[bytes, ...]] = []
        if parts.password:
            user = (unquote(parts.username).encode(),) if parts.username else ()
            greetings.append((b"AUTH", *user, unquote(parts.password).encode()))
        if number := parts.path.strip("/"):
            greetings.append((b"SELECT", number.encode()))
        return cls(parts.hostname or "", parts.port or PORT, tuple(greetings))


@contextlib.contextmanager
def relay(redis: Redis, repository: str) -> Iterator[Path]:
    """While this lasts, a socket in the directory that it gives leads to the entries of a repository in a Redis.

    Where that is not there, connections are closed, and builds go without.
    """
    prefix = f"cpubisect:{repository}:".encode()
    with temporary("cache") as place, socket.socket(socket.AF_UNIX) as listening:
        _bind(listening, place)
        listening.listen(64)
        thread = threading.Thread(target=_accept, args=(listening, redis, prefix), daemon=True)
        thread.start()
        try:
            yield place
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(_PATIENCE_S)


def _bind(listening: socket.socket, place: Path) -> None:
    """Make the socket in a directory whose path may be longer than a socket's: builds see it by a short one."""
    directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        listening.bind(f"/proc/self/fd/{directory}/{SOCKET}")
    finally:
        os.close(directory)


def _accept(listening: socket.socket, redis: Redis, prefix: bytes) -> None:
    while True:
        try:
            asking, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(asking, redis, prefix), daemon=True).start()


def _serve(asking: socket.socket, redis: Redis, prefix: bytes) -> None:
    """One connection of a build, until either side ends it."""
    with asking, contextlib.suppress(OSError, _Spoken):
        asking.settimeout(_PATIENCE_S)
        with socket.create_connection((redis.host, redis.port), _PATIENCE_S) as answering:
            theirs, ours = cast(IO[bytes], asking.makefile("rwb")), cast(IO[bytes], answering.makefile("rwb"))
            for greeting in redis.greetings:
                _ask(ours, greeting)
            while words := _request(theirs):
                theirs.write(_answer(ours, words, prefix))
                theirs.flush()


def _answer(redis: IO[bytes], words: Sequence[bytes], prefix: bytes) -> bytes:
    """What a request of a build is answered, whatever Redis has to be asked for it."""
    match [words[0].upper(), *words[1:]]:
        case [b"PING"]:
            return b"+PONG\r\n"
        case [b"GET" | b"EXISTS" as what, key] if _KEY.fullmatch(key):
            return _ask(redis, (what, prefix + key))
        case [b"SET", key, value] if _KEY.fullmatch(key):
            answer = _ask(redis, (b"SET", prefix + key, value, b"NX"))
            # That it was there already is no fault of the build's.
            return b"+OK\r\n" if answer == b"$-1\r\n" else answer
        case _:
            return b"-ERR not for a build\r\n"


def _ask(redis: IO[bytes], words: Sequence[bytes]) -> bytes:
    """Send a request and read the answer, as it came."""
    redis.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
    redis.flush()
    line = _line(redis)
    if line[:1] != b"$" or (size := _number(line[1:])) < 0:
        return line
    return line + _exactly(redis, size + 2)


def _request(build: IO[bytes]) -> list[bytes]:
    """The words of the next request; none at the end. Raises _Spoken for what is none."""
    line = build.readline(64)
    if not line:
        return []
    if line[:1] != b"*" or not 0 < (count := _number(line[1:])) <= _MOST_WORDS:
        raise _Spoken
    words = []
    for _ in range(count):
        line = _line(build)
        if line[:1] != b"$" or not 0 <= (size := _number(line[1:])) <= LARGEST_BYTES:
            raise _Spoken
        words.append(_exactly(build, size + 2)[:-2])
    return words


def _line(stream: IO[bytes]) -> bytes:
    line = stream.readline(1024)
    if not line.endswith(b"\r\n"):
        raise _Spoken
    return line


def _number(text: bytes) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise _Spoken from error


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise _Spoken
    return content
