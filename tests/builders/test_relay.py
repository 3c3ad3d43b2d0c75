"""The compiler cache that hosts share, as a build in a sandbox reaches it: what a Redis is asked, and what not."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

import pytest
from small_trees import GOOD, commit, recipe_for, settings_in

from cpubisect.base.errors import UserError
from cpubisect.base.sandbox.policy import Kind
from cpubisect.builders.build import BuildResult
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.builders.trees import relay as relaying
from cpubisect.builders.trees import shared
from cpubisect.builders.trees.relay import Redis, relay


@dataclass
class Stand:
    """A Redis that knows enough commands, over a real socket; `asked` are the requests that came."""

    listening: socket.socket
    entries: dict[bytes, bytes] = field(default_factory=dict)
    asked: list[list[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.listening.getsockname()[1]}"

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, relaying._Spoken):
            stream = cast(IO[bytes], connection.makefile("rwb"))
            while words := relaying._request(stream):
                self.asked.append(words)
                stream.write(self._said(words))
                stream.flush()

    def _said(self, words: list[bytes]) -> bytes:
        match words:
            case [b"GET", key]:
                found = self.entries.get(key)
                return b"$-1\r\n" if found is None else b"$%d\r\n%b\r\n" % (len(found), found)
            case [b"EXISTS", key]:
                return b":%d\r\n" % (key in self.entries)
            case [b"SET", key, value, b"NX"]:
                if key in self.entries:
                    return b"$-1\r\n"
                self.entries[key] = value
        return b"+OK\r\n"


@pytest.fixture
def stand() -> Iterator[Stand]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Stand(listening)
        threading.Thread(target=made.serve, daemon=True).start()
        yield made


def said(place: Path, request: bytes, most: int = 1 << 16) -> bytes:
    """What the relay answers to some bytes, until it has nothing more to say."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(20)
        asking.connect(str(place / relaying.SOCKET))
        answer = b""
        # It may hang up before it has read all.
        with contextlib.suppress(ConnectionError):
            asking.sendall(request)
            asking.shutdown(socket.SHUT_WR)
            while piece := asking.recv(most):
                answer += piece
        return answer


def words(*given: bytes) -> bytes:
    return b"*%d\r\n" % len(given) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in given)


def test_entries_are_read_and_added_under_the_repositorys_own_name_and_never_changed(stand: Stand) -> None:
    with relay(Redis.at(stand.url), "mine") as place:
        assert said(place, words(b"SET", b"ccache:ab", b"one") + words(b"GET", b"ccache:ab")) == b"+OK\r\n$3\r\none\r\n"
        assert said(place, words(b"SET", b"ccache:ab", b"other")) == b"+OK\r\n"
        assert said(place, words(b"get", b"ccache:ab")) == b"$3\r\none\r\n"
        assert said(place, words(b"EXISTS", b"ccache:ab") + words(b"GET", b"ccache:zz")) == b":1\r\n$-1\r\n"
    with relay(Redis.at(stand.url), "yours") as place:
        assert said(place, words(b"GET", b"ccache:ab")) == b"$-1\r\n"
    assert stand.entries == {b"cpubisect:mine:ccache:ab": b"one"}


@pytest.mark.parametrize(
    "request_",
    [
        words(b"FLUSHALL"),
        words(b"DEL", b"ccache:ab"),
        words(b"CONFIG", b"SET", b"dir", b"/etc"),
        words(b"EVAL", b"return 1", b"0"),
        words(b"SET", b"ccache:ab", b"value", b"XX"),
        words(b"KEYS", b"*"),
        words(b"GET", b"ccache:ab\r\nDEL"),
        words(b"SELECT", b"3"),
        words(b"AUTH", b"secret"),
    ],
)
def test_nothing_else_reaches_the_redis(stand: Stand, request_: bytes) -> None:
    with relay(Redis.at(stand.url), "mine") as place:
        assert said(place, request_) == b"-ERR not for a build\r\n"
    assert stand.asked == []


@pytest.mark.parametrize(
    "nonsense",
    [b"hello\r\n", b"*x\r\n", b"*99\r\n", b"*1\r\n$99999999999\r\n", b"*1\r\n:4\r\n", b"*1\r\n$4\r\nPI", b"\0"],
)
def test_what_is_no_request_ends_the_connection(stand: Stand, nonsense: bytes) -> None:
    with relay(Redis.at(stand.url), "mine") as place:
        assert said(place, nonsense) == b""
        assert said(place, words(b"PING")) == b"+PONG\r\n"
    assert stand.asked == []


def test_a_password_and_a_number_are_told_first(stand: Stand) -> None:
    redis = Redis.at(stand.url.replace("//", "//builder:s%20cret@") + "/3")
    with relay(redis, "mine") as place:
        said(place, words(b"GET", b"ccache:ab"))
    assert stand.asked == [[b"AUTH", b"builder", b"s cret"], [b"SELECT", b"3"], [b"GET", b"cpubisect:mine:ccache:ab"]]


def test_temporary_files_may_be_at_a_long_path(stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = tmp_path / ("far" * 40)
    far.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(far))
    near = Path("/tmp") / f"cpubisect-test-{os.getpid()}"
    with relay(Redis.at(stand.url), "mine") as place:
        near.symlink_to(place)
        try:
            assert said(near, words(b"PING")) == b"+PONG\r\n"
        finally:
            near.unlink()


def test_where_no_redis_answers_a_build_is_told_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with relay(Redis("127.0.0.1", port), "mine") as place:
        assert said(place, words(b"PING")) == b""


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis", "is not the address"),
        ("gopher://host", "is not the address"),
        ("redis://host read-only", "is not the address"),
        ("redis://host|read-only", "is not the address"),
        ("redis:///1", "names no host"),
        ("file:///there/is/no/such", "there is no folder"),
    ],
)
def test_addresses_that_no_build_could_use(url: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        shared.check(url)


def test_http_is_not_for_a_sandbox(tmp_path: Path) -> None:
    shared.check("http://cache:8080/ccache")
    with pytest.raises(UserError, match="cannot be reached from a sandbox"):
        shared.check_confined("http://cache:8080/ccache")
    for url in ("", "redis://cache", f"file://{tmp_path}"):
        shared.check(url)
        shared.check_confined(url)


@pytest.fixture
def real_redis(tmp_path: Path) -> Iterator[str]:
    """The address of Debian's redis-server, which ends with the test."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert any("Ready to accept connections" in line for line in server.stdout)
        yield f"redis://127.0.0.1:{port}"
        server.terminate()


def built_on(host: Path, clone: Path, sha: str, address: str, kind: Kind) -> BuildResult:
    """A build on a host that has nothing of its own."""
    settings = settings_in(host, sandbox=kind, shared_cache=address, origin="the-clone")
    return carry_out(recipe_for(sha), BUILDER, clone, host / "work", settings)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_second_host_finds_in_a_redis_what_the_first_compiled(tmp_path: Path, real_redis: str, kind: Kind) -> None:
    sha = commit(tmp_path / "clone", GOOD)
    first, second = (built_on(tmp_path / name, tmp_path / "clone", sha, real_redis, kind) for name in ("a", "b"))
    assert (first.cache_hits, first.cache_misses) == (0, 2)
    assert (second.cache_hits, second.cache_misses) == (2, 0)
    assert first.code == second.code


@pytest.mark.parametrize("kind", list(Kind))
def test_a_second_host_finds_in_a_shared_folder_what_the_first_compiled(tmp_path: Path, kind: Kind) -> None:
    sha = commit(tmp_path / "clone", GOOD)
    (tmp_path / "shared").mkdir()
    url = f"file://{tmp_path / 'shared'}"
    first, second = (built_on(tmp_path / name, tmp_path / "clone", sha, url, kind) for name in ("a", "b"))
    assert (first.cache_misses, second.cache_hits, second.cache_misses) == (2, 2, 0)


def test_a_build_in_a_sandbox_goes_on_without_a_redis_that_is_not_there(tmp_path: Path) -> None:
    sha = commit(tmp_path / "clone", GOOD)
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"redis://127.0.0.1:{free.getsockname()[1]}"
    done = built_on(tmp_path / "a", tmp_path / "clone", sha, url, Kind.BUBBLEWRAP)
    assert (done.outcome, done.cache_misses) == ("built", 2)
