"""Server-sent events over a real connection: what happens is told, and who has gone frees their place."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from questions import question
from waitress.server import BaseWSGIServer
from web_home import context

from cpubisect.base.home import Home
from cpubisect.records.store import Store
from cpubisect.search.events import read
from cpubisect.web import live, pages
from cpubisect.web.app import create_app
from cpubisect.web.server import listen

_FEW = 5
"""Pages that may listen, in the test of more."""


class Listener:
    """One open page."""

    def __init__(self, port: int, path: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._connection.request("GET", path)
        self.answer = self._connection.getresponse()

    def next(self) -> dict[str, object]:
        """The data of the next event."""
        while not (line := self.answer.fp.readline()).startswith(b"data: "):
            assert line, "the stream ended"
        found: dict[str, object] = json.loads(line[6:])
        return found

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


@pytest.fixture
def store(home: Path) -> Store:
    """With one bisection that waits."""
    opened = Store(Home.open().store)
    opened.create_bisection(question(), {"cpu": "x", "cores": 1}, "queued")
    return opened


@pytest.fixture
def port(store: Store) -> Iterator[int]:
    """A server as `bisect serve` runs it."""
    own = context(store.path.parent)
    server = listen(create_app(own), "127.0.0.1", 0)
    assert isinstance(server, BaseWSGIServer)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server.effective_port
    own.closing.set()
    server.task_dispatcher.shutdown()
    server.close()
    thread.join()


def test_what_happens_is_told(port: int, store: Store) -> None:
    page = Listener(port, "/bisections/1/stream")
    assert page.answer.headers["Content-Type"].startswith("text/event-stream")
    assert page.next()["event"] == 0
    store.add_event(1, read("notice", {"text": "something"}))
    assert page.next()["event"] == 1
    store.change_state(1, ("queued",), "cancelled")
    assert str(page.next()["state"]).startswith("cancelled")
    page.close()


def test_the_list_is_told_of_every_bisection(port: int, store: Store) -> None:
    page = Listener(port, "/stream")
    before = page.next()
    store.create_bisection(question(), {}, "queued")
    assert page.next()["state"] != before["state"]
    page.close()


def test_too_many_are_told_so_and_places_are_given_back(
    port: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.0)
    monkeypatch.setattr(live, "_free", threading.Semaphore(_FEW))
    listeners = [Listener(port, "/bisections/1/stream") for _ in range(_FEW)]
    refused = Listener(port, "/bisections/1/stream")
    assert refused.answer.status == 503
    assert refused.answer.headers["Retry-After"]
    refused.close()
    for page in listeners:
        page.close()
    # Each place comes back when the server next writes to the closed connection.
    for _ in listeners:
        assert live._free.acquire(timeout=60)
    for _ in listeners:
        live._free.release()


def test_a_page_waits_for_the_first_mark_longer_than_for_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = threading.Event()

    class Telling(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            waits.set()
            return super().wait(timeout)

    def mark() -> live.Mark:
        assert waits.wait(60)
        return 1, "queued"

    monkeypatch.setattr(live, "HEARTBEAT_S", 0.0)
    watch = live._Watch(mark, threading.Event())
    watch.changed = Telling()
    watch.listeners = 1
    watch.start()
    assert watch.after(None) == (1, "queued")
    watch.listeners = 0


def test_a_place_goes_back_to_where_it_was_taken(port: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = threading.Semaphore(1), threading.Semaphore(0)
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.0)
    monkeypatch.setattr(live, "_free", before)
    page = Listener(port, "/bisections/1/stream")
    monkeypatch.setattr(live, "_free", after)
    page.close()
    assert before.acquire(timeout=60)
    assert not after.acquire(blocking=False)


def test_all_who_listen_to_the_same_share_what_asks_for_it(
    port: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(pages, "mark_of", lambda _registry, _number: (asked.append(1), (len(asked) // 3, ""))[1])
    listeners = [Listener(port, "/bisections/1/stream") for _ in range(20)]
    last = [int(str(listener.next()["event"])) for listener in listeners]
    for listener, known in zip(listeners, last, strict=True):
        assert int(str(listener.next()["event"])) > known
        listener.close()
    # Twenty pages that each asked for themselves would have asked forty times.
    assert len(asked) < 20


def test_a_watch_that_fails_ends_its_streams(port: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_registry: object, _number: int) -> tuple[int, str]:
        raise OSError("the store is gone")

    monkeypatch.setattr(pages, "mark_of", fail)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    page = Listener(port, "/bisections/1/stream")
    assert b"data" not in page.answer.read()


def test_there_is_no_stream_of_what_is_not_there(port: int) -> None:
    assert Listener(port, "/bisections/9/stream").answer.status == 404
