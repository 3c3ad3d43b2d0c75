"""Server-sent events: a page learns that something happened, and fetches itself again."""

import json
import threading
from collections.abc import Callable, Iterator

from flask import Response, request

from cpubisect.records import queries
from cpubisect.records.registry import Registry

POLL_S = 0.3
"""How often the store is asked, once for all pages that show the same; a write is seen after at most this long."""

HEARTBEAT_S = 15.0
"""A comment is sent so often: it keeps proxies from closing the connection and shows us who is gone."""

MOST_STREAMS = 512
"""Each open page holds a sleeping thread of the server; further ones fall back to asking from time to time."""

Mark = tuple[int, str]
"""The newest event's id, and a text on the state."""

_free = threading.Semaphore(MOST_STREAMS)


def mark_of(registry: Registry, bisection: int) -> Mark:
    """What changes whenever something happened in a bisection that is there: its newest event's id, and its state."""
    state = registry.state(bisection, queries.state(registry.store, bisection))
    return queries.newest_event(registry.store, bisection), state


class _Watch:
    """Asks for one mark as long as somebody listens to it, and wakes the listeners when it changes."""

    def __init__(self, mark: Callable[[], Mark], closing: threading.Event) -> None:
        self._mark, self._closing = mark, closing
        self.listeners = 0
        self.changed = threading.Condition()
        self.seen: Mark | None = None
        self.ended = False

    def start(self) -> None:
        """Begin to ask."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            while self.listeners and not self._closing.is_set():
                now = self._mark()
                if now != self.seen:
                    with self.changed:
                        self.seen = now
                        self.changed.notify_all()
                self._closing.wait(POLL_S)
        finally:
            # Whatever it was, a page that hears nothing more connects again.
            with self.changed:
                self.ended = True
                self.changed.notify_all()

    def after(self, known: Mark | None) -> Mark | None:
        """The mark once it is another than is known, or after a while; None when nothing more will come. The first one
        is waited for however long it takes to be read."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or self.seen is not None)
            self.changed.wait_for(lambda: self.ended or self.seen != known, HEARTBEAT_S)
            return None if self.ended else self.seen


class _Watches:
    """Those of all servers of this process, by the address that is listened to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[tuple[threading.Event, str], _Watch] = {}

    def join(self, path: str, mark: Callable[[], Mark], closing: threading.Event) -> _Watch:
        """The one at an address, begun for its first listener."""
        with self._lock:
            watch = self._watches.get((closing, path))
            if begins := watch is None or watch.ended:
                watch = self._watches[closing, path] = _Watch(mark, closing)
            assert watch is not None
            watch.listeners += 1
        if begins:
            watch.start()
        return watch

    def leave(self, path: str, watch: _Watch, closing: threading.Event) -> None:
        """One listener less; the last one ends it."""
        with self._lock:
            watch.listeners -= 1
            if not watch.listeners and self._watches.get((closing, path)) is watch:
                del self._watches[closing, path]


_watches = _Watches()


def stream(mark: Callable[[], Mark], closing: threading.Event) -> Response:
    """Events, until `closing` is set, whenever `mark` changes; 503 if too many listen.

    The first event tells the present mark, so that what happened before the page connected is not missed. All who
    listen to the address of this request share what asks for it.
    """
    free = _free  # where it is given back, whatever stands there by then
    if not free.acquire(blocking=False):
        return Response("too many pages listen\n", 503, {"Retry-After": "10"}, mimetype="text/plain")
    path = request.path
    watch = _watches.join(path, mark, closing)

    def gone() -> None:
        _watches.leave(path, watch, closing)
        free.release()

    response = Response(_events(watch), mimetype="text/event-stream", headers={"X-Accel-Buffering": "no"})
    response.call_on_close(gone)
    return response


def _events(watch: _Watch) -> Iterator[str]:
    yield "retry: 2000\n\n"
    seen: Mark | None = None
    while (now := watch.after(seen)) is not None:
        if now != seen:
            yield f"id: {now[0]}\nevent: change\ndata: {json.dumps({'event': now[0], 'state': now[1]})}\n\n"
            seen = now
        else:
            yield ": still here\n\n"
