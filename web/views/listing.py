"""All bisections, a page at a time."""

from cpubisect.records import queries
from cpubisect.records.registry import Registry
from cpubisect.views.totals import totals_of
from cpubisect.web.models import Listed, Listing, WorkerState
from cpubisect.web.views.overview import said
from cpubisect.web.views.paging import place

PER_PAGE = 100


def listing(registry: Registry, page: int) -> Listing:
    """One page of the list, the first one being 1; a number beyond the last page gives the last."""
    store = registry.store
    total = queries.count(store)
    page, pages = place(total, page, PER_PAGE)
    rows = queries.headlines(store, PER_PAGE, (page - 1) * PER_PAGE)
    used = totals_of(store, rows)
    listed = []
    for row in rows:
        state, own = registry.state(row.id, row.state), used[row.id]
        # A verdict is there before it is whole: test after test is answered.
        answered = state == "finished"
        listed.append(
            Listed(
                id=row.id,
                state=state,
                engine=row.engine,
                good=row.good,
                bad=row.bad,
                tests=list(row.tests),
                kind=row.kind if answered else None,
                answer=row.summary if answered else "",
                now=_now(registry, row.id) if state in ("running", "interrupted") else "",
                host=row.host,
                created=row.created,
                finished=row.finished,
                builds=own.builds,
                build_seconds=own.build_seconds,
                probes=own.probes,
                probe_seconds=own.probe_seconds,
            )
        )
    return Listing(bisections=listed, total=total, page=page, pages=pages, worker=worker_state(registry))


def worker_state(registry: Registry) -> WorkerState:
    """Who runs what is queued."""
    running = [id_ for id_, state in queries.states(registry.store) if registry.state(id_, state) == "running"]
    return WorkerState(working=registry.is_working(), running=running, queued=queries.queued(registry.store))


def _now(registry: Registry, bisection: int) -> str:
    lines = said(registry.store.last_events(bisection, 5))
    return lines[-1].text if lines else ""
