"""Server-sent events: a page learns that something happened, and fetches itself again."""

import json
import threading
import time
from collections.abc import Callable, Iterator

from flask import Response

from cpubisect.records import queries
from cpubisect.records.registry import Registry

POLL_S = 0.3
"""How often the store is asked; a write by any process is seen after at most this long."""

HEARTBEAT_S = 15.0
"""A comment is sent so often: it keeps proxies from closing the connection and shows us who is gone."""

MOST_STREAMS = 24
"""Each open page holds a thread of the server; further ones fall back to asking from time to time."""

_free = threading.Semaphore(MOST_STREAMS)


def mark_of(registry: Registry, bisection: int) -> tuple[int, str]:
    """What changes whenever something happened in a bisection that is there: its newest event's id, and its state."""
    state = registry.state(bisection, queries.state(registry.store, bisection))
    return queries.newest_event(registry.store, bisection), state


def stream(mark: Callable[[], tuple[int, str]], closing: threading.Event) -> Response:
    """Events, until `closing` is set, whenever `mark` changes, which is the newest event's id with a text on the
    state; 503 if too many listen.

    The first event tells the present mark, so that what happened before the page connected is not missed.
    """
    if not _free.acquire(blocking=False):
        return Response("too many pages listen\n", 503, {"Retry-After": "10"}, mimetype="text/plain")
    response = Response(_events(mark, closing), mimetype="text/event-stream", headers={"X-Accel-Buffering": "no"})
    response.call_on_close(_free.release)
    return response


def _events(mark: Callable[[], tuple[int, str]], closing: threading.Event) -> Iterator[str]:
    yield "retry: 2000\n\n"
    seen: tuple[int, str] | None = None
    spoken = time.monotonic()
    while not closing.is_set():
        now = mark()
        if now != seen:
            yield f"id: {now[0]}\nevent: change\ndata: {json.dumps({'event': now[0], 'state': now[1]})}\n\n"
            seen, spoken = now, time.monotonic()
        elif time.monotonic() - spoken > HEARTBEAT_S:
            yield ": still here\n\n"
            spoken = time.monotonic()
        closing.wait(POLL_S)
