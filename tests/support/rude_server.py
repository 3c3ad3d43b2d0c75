"""What a mysqld says that answers honestly once, and rubbish from then on: run as a program, it is that server.

Of the N-th connection everything is decided by N: which packet is not what it should be, and in what way.
"""

import contextlib
import itertools
import random
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

SALT = bytes(range(1, 21))
CAPABILITIES = 0x000FA68D
ENDLESS = 10_000_000


def packet(number: int, payload: bytes) -> bytes:
    """As it is sent."""
    return struct.pack("<I", len(payload))[:3] + bytes([number & 255]) + payload


def text(value: bytes) -> bytes:
    """A string with its length."""
    return bytes([len(value)]) + value


def greeting() -> list[bytes]:
    """What a server says first."""
    low, high = struct.pack("<H", CAPABILITIES & 0xFFFF), struct.pack("<H", CAPABILITIES >> 16)
    start = b"\x0a5.6.51\0" + struct.pack("<I", 7) + SALT[:8] + b"\0" + low + b"\x08\x02\0" + high
    return [start + b"\x15" + bytes(10) + SALT[8:] + b"\0mysql_native_password\0"]


def done(more: bool = False) -> bytes:
    """That all is well, and whether there is a further result."""
    return b"\0\0\0" + struct.pack("<HH", 10 if more else 2, 0)


def column(name: bytes) -> bytes:
    """What a column is."""
    fixed = struct.pack("<HIBHB", 8, 1024, 0xFD, 0, 0) + b"\0\0"
    return b"".join(map(text, (b"def", b"", b"", b"", name, name))) + b"\x0c" + fixed


def rows() -> list[bytes]:
    """A result of two columns."""
    end = b"\xfe\0\0\x02\0"
    named = [text(b"version") + text(b"5.6.51"), text(b"autocommit") + text(b"ON")]
    return [b"\x02", column(b"Variable_name"), column(b"Value"), end, *named, end]


def refusal(message: bytes) -> bytes:
    """An error."""
    return b"\xff" + struct.pack("<H", 1064) + b"#42000" + message


ODD = (
    b"", b"\0", b"\xff", b"\xfe", b"\xfb", b"\xfb/etc/passwd", b"\xfc", b"\xfd\xff\xff\xff", b"\xfe" + b"\xff" * 8,
    b"\xfemysql_clear_password\0", b"\xfesha256_password\0x", b"\xfecaching_sha2_password\0", b"\xfedialog\0\x02",
    b"\x0a", b"\x0a5.6", b"\x0anone\0" + bytes(40), b"\xff\xff", b"\x01", b"\xfa", refusal(b"no\nthanks\x1b[2J"),
    refusal("é".encode("latin1") * 40_000),
)  # fmt: skip
"""Packets that mean something at another moment, or nothing at all."""


def spoilt(said: list[bytes], first: int, chance: random.Random) -> bytes:
    """Packets of which one is not what it should be, as they are sent; some end in the middle."""
    where = chance.randrange(len(said))
    payload = bytearray(said[where])
    sent = [packet(first + number, one) for number, one in enumerate(said)]
    kind = chance.randrange(7)
    if kind == 0:
        for _ in range(chance.randint(1, 8)):
            payload[chance.randrange(len(payload))] = chance.randrange(256)
    elif kind == 1:
        del payload[chance.randrange(len(payload)) :]
    elif kind == 2:
        payload[chance.randrange(len(payload) + 1) :] = chance.randbytes(chance.randint(1, 300))
    elif kind == 3:
        payload = bytearray(chance.choice(ODD))
    elif kind == 4:
        payload = bytearray(chance.randbytes(chance.randint(0, 300)))
    sent[where] = packet(first + where, bytes(payload))
    if kind == 5:
        sent[where] = chance.randbytes(4) + bytes(payload)
    elif kind == 6:
        sent[where] = sent[where][: chance.randrange(len(sent[where]))]
        del sent[where + 1 :]
    return b"".join(sent)


def stages(number: int) -> Iterator[bytes]:
    """What is sent in the N-th connection, the next part when something was received; the first one is honest."""
    chance = random.Random(number)
    bad = chance.choice((0, 0, 1, 2, 3, 3, 3)) if number else -1
    answers = [(greeting(), 0), ([done()], 2), ([done()], 1), (rows(), 1)]
    for place, (said, first) in enumerate(answers):
        if place == bad:
            yield spoilt(said, first, chance)
            return
        yield b"".join(packet(first + one, payload) for one, payload in enumerate(said))


def serve(path: Path, endless_from: int) -> None:
    """Answer one connection after another until killed; those from `endless_from` on get results without end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen(64)
        for number in itertools.count():
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                if number >= endless_from:
                    without_end(connection)
                *parts, last = stages(number)
                for sent in parts:
                    connection.sendall(sent)
                    connection.recv(1 << 16)
                connection.sendall(last)
                # Who waits for more of what was spoilt need not wait long.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass


def without_end(connection: socket.socket) -> None:
    """Log in, and say ever again that there is more."""
    for sent in (packet(0, greeting()[0]), packet(2, done()), packet(1, done())):
        connection.sendall(sent)
        connection.recv(1 << 16)
    more = b"".join(packet(number + 1, done(more=True)) for number in range(256))
    for _ in range(ENDLESS):
        connection.sendall(more)


if __name__ == "__main__":
    given = dict(word.removeprefix("--").partition("=")[::2] for word in sys.argv[1:])
    serve(Path(given["socket"]), int(given.get("endless-from", sys.maxsize)))
