"""What a culprit calls against what its parent calls, from the call graphs that the store has."""

from dataclasses import dataclass

from cpubisect.draw.calltree import Frame, unfold
from cpubisect.records import queries
from cpubisect.records.purpose import Purpose
from cpubisect.records.store import Store
from cpubisect.search.verdict import Culprit
from cpubisect.views.measured import stand_in


def frames_of(store: Store, bisection: int, culprit: Culprit, test: str) -> Frame | None:
    """The frames of a culprit of one test against its parent: before is the parent.

    None if either has no call graph: instructions were counted by the hardware, the probes were made before calls were
    kept, or the search was on CPU time and never counted these two. A commit whose code equals another's was not probed
    itself; that one's graph is its own.
    """
    kept = _kept(store, bisection, culprit, test)
    if kept is None:
        return None
    before, after = (store.calls(bisection, sha, kept.purpose, test) for sha in (kept.parent, kept.sha))
    return unfold(before, after) if before and after else None


def has_frames(store: Store, bisection: int, culprit: Culprit, test: str) -> bool:
    """Whether there are frames of a culprit, without unfolding them."""
    return _kept(store, bisection, culprit, test) is not None


@dataclass(frozen=True)
class _Kept:
    """For what purpose both a culprit and its parent left call graphs, and of which commits these are."""

    purpose: Purpose
    parent: str
    sha: str


def _kept(store: Store, bisection: int, culprit: Culprit, test: str) -> _Kept | None:
    """The search's graphs of ordinary builds, or where that went by others, those of the probes that confirm the step;
    None if there are none."""
    equal = queries.twins(store, bisection)
    for purpose in (Purpose.SEARCH, Purpose.count(culprit.sha, culprit.parent)):
        kept = queries.with_calls(store, bisection, purpose, test)
        parent, sha = (stand_in(own, equal, kept.__contains__) for own in (culprit.parent, culprit.sha))
        if {parent, sha} <= kept:
            return _Kept(purpose, parent, sha)
    return None
