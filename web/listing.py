"""All bisections, a page at a time."""

import math

from cpubisect import queries
from cpubisect.session import Session
from cpubisect.web.models import Listed, Listing, WorkerState
from cpubisect.web.overview import said
from cpubisect.worker import is_working

PER_PAGE = 100

UNANSWERED: dict[str, str | None] = {"kind": None, "answer": ""}
"""With several tests a verdict is there before it is whole."""


def listing(session: Session, page: int) -> Listing:
    """One page of the list, the first one being 1; a number beyond the last page gives the last."""
    store = session.store
    total = queries.count(store)
    pages = max(1, math.ceil(total / PER_PAGE))
    page = min(max(1, page), pages)
    rows = queries.summaries(store, PER_PAGE, (page - 1) * PER_PAGE)
    listed = []
    for row in rows:
        state = session.state(row.id, row.state)
        listed.append(
            Listed(
                **{**vars(row), "state": state, **({} if state == "finished" else UNANSWERED)},
                now=_now(session, row.id) if state in ("running", "interrupted") else "",
            )
        )
    return Listing(bisections=listed, total=total, page=page, pages=pages, worker=worker_state(session))


def worker_state(session: Session) -> WorkerState:
    """Who runs what is queued."""
    running = [id_ for id_, state in queries.states(session.store) if session.state(id_, state) == "running"]
    return WorkerState(working=is_working(session.home), running=running, queued=queries.queued(session.store))


def _now(session: Session, bisection: int) -> str:
    lines = said(queries.tail(session.store, bisection, 5))
    return lines[-1].text if lines else ""
