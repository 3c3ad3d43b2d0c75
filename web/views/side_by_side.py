"""The comparisons that there are, and the journal of one."""

from dataclasses import dataclass

from cpubisect.base.plain import Plain
from cpubisect.records.comparisons import ComparisonRow, Comparisons
from cpubisect.web.views.paging import place

PER_PAGE = 50
LOOKED_AT, EVENTS_SHOWN = 40, 12
"""Events at the end of the journal, more of them if these say too little, and lines made of them."""


@dataclass(frozen=True)
class ListedComparison(Plain):
    """A comparison in one line."""

    id: int
    state: str
    engine: str
    versions: tuple[str, ...]
    tests: tuple[str, ...]
    created: float


@dataclass(frozen=True)
class ListedComparisons(Plain):
    """Some of all comparisons, newest first."""

    comparisons: tuple[ListedComparison, ...]
    total: int
    page: int
    pages: int


def comparisons_listed(comparisons: Comparisons, page: int = 1) -> ListedComparisons:
    """One page of the list, the first one being 1; a number beyond the last page gives the last."""
    total = comparisons.count()
    page, pages = place(total, page, PER_PAGE)
    shown = comparisons.all((page - 1) * PER_PAGE, PER_PAGE)
    return ListedComparisons(tuple(_listed(comparisons, row) for row in shown), total, page, pages)


def _listed(comparisons: Comparisons, row: ComparisonRow) -> ListedComparison:
    return ListedComparison(
        row.id,
        comparisons.state(row.id, row.state),
        row.engine,
        tuple(side.name for side in row.asked.sides),
        row.asked.tests,
        row.created,
    )


def said(comparisons: Comparisons, comparison: int) -> list[tuple[float, str]]:
    """The last lines of a comparison's journal, each with when it happened."""
    looked_at = LOOKED_AT
    while True:
        entries = comparisons.store.last_events(comparison, looked_at)
        lines = [(entry.at, line) for entry in entries if (line := entry.event.sentence)]
        if len(lines) >= EVENTS_SHOWN or len(entries) < looked_at:
            return lines[-EVENTS_SHOWN:]
        looked_at *= 4
