"""Pages answer beside hundreds of open streams, idle connections and half-sent requests, over real sockets."""

import contextlib
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from questions import question

from cpubisect.base.home import Home
from cpubisect.records.store import Store
from cpubisect.web.server import with_files

MANY = 500
WITHIN_S = 1.0
_TRIES = 5


@pytest.fixture
def room() -> Iterator[None]:
    """For the test's own ends of the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4 * MANY:
        pytest.skip("this host allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * MANY, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def serving(soft: int) -> Iterator[int]:
    """`bisect serve` as it is run where so many files may be open; its port."""
    command = ["prlimit", f"--nofile={soft}:", sys.executable, "-m", "cpubisect.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        found = re.search(r"http://[^/]+:(\d+)/", line)
        assert found, line
        try:
            yield int(found[1])
        finally:
            server.send_signal(signal.SIGTERM)
            rest = server.stderr.read()
    assert server.returncode == 0
    assert "Traceback" not in rest


def test_what_is_measured_has_the_limit_of_files_that_was_there_before(room: None) -> None:
    now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert with_files(now, now) == ()
    told = subprocess.run(
        [*with_files(1000, now), "sh", "-c", "ulimit -Sn"], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "1000"


def sent(port: int, text: str) -> socket.socket:
    """A connection over which so much was sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(text.encode())
    return connection


def fastest(port: int, path: str) -> float:
    """Seconds that a page takes, at best of some tries: the host may be busy with other things."""
    taken = []
    for _ in range(_TRIES):
        started = time.monotonic()
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            assert answer.status == 200
            answer.read()
        taken.append(time.monotonic() - started)
    return min(taken)


def test_pages_answer_beside_open_streams_and_half_sent_requests(home: Path, room: None) -> None:
    store = Store(Home.open().store)
    number = store.create_bisection(question(), {"cpu": "x", "cores": 1}, "queued")
    store.change_state(number, ("queued",), "cancelled")
    with serving(1024) as port, contextlib.ExitStack() as stack:
        host = f"Host: 127.0.0.1:{port}\r\n"
        streams = [
            stack.enter_context(sent(port, f"GET /bisections/{number}/stream HTTP/1.1\r\n{host}\r\n"))
            for _ in range(MANY)
        ]
        for stream in streams:
            told = b""
            while b"event: change" not in told:
                got = stream.recv(4096)
                assert got, told
                told += got
            assert b" 200 OK" in told
        for begun in ("", "GET / HTTP/1.1\r\nHost: ", f"POST /start HTTP/1.1\r\n{host}Content-Length: 9\r\n\r\nhal"):
            for _ in range(MANY // 3 + 1):
                stack.enter_context(sent(port, begun))
        for path in ("/", f"/bisections/{number}", "/api/bisections", "/static/cpubisect.css"):
            assert fastest(port, path) < WITHIN_S, path
        assert fastest(port, "/start") < WITHIN_S
