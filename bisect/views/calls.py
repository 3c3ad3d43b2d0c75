"""What a culprit calls against what its parent calls, from the call graphs that the store has."""

from cpubisect.draw.calltree import Frame, unfold
from cpubisect.records import queries
from cpubisect.records.purpose import Purpose
from cpubisect.records.store import Store
from cpubisect.search.costs import CallGraph
from cpubisect.search.verdict import Culprit
from cpubisect.views.measured import stand_in


def frames_of(store: Store, bisection: int, culprit: Culprit, test: str) -> Frame | None:
    """The frames of a culprit of one test against its parent: before is the parent.

    None if either has no call graph: instructions were counted by the hardware, the probes were made before calls were
    kept, or the search was on CPU time and never counted these two. A commit whose code equals another's was not probed
    itself; that one's graph is its own.
    """
    equal = queries.twins(store, bisection)
    for purpose in _purposes(culprit):
        graphs = [_graph(store, bisection, sha, purpose, test, equal.get(sha, sha)) for sha in _pair(culprit)]
        before, after = graphs
        if before and after:
            return unfold(before, after)
    return None


def has_frames(store: Store, bisection: int, culprit: Culprit, test: str) -> bool:
    """Whether there are frames of a culprit, without unfolding them."""
    equal = queries.twins(store, bisection)
    for purpose in _purposes(culprit):
        kept = queries.with_calls(store, bisection, purpose, test)
        if all(stand_in(sha, equal, kept.__contains__) in kept for sha in _pair(culprit)):
            return True
    return False


def _pair(culprit: Culprit) -> tuple[str, str]:
    return culprit.parent, culprit.sha


def _purposes(culprit: Culprit) -> tuple[Purpose, Purpose]:
    """What probes of ordinary builds were made for, those of the search first: where that went by others, only those
    are there that confirm the step."""
    return Purpose.SEARCH, Purpose.count(culprit.sha, culprit.parent)


def _graph(store: Store, bisection: int, sha: str, purpose: Purpose, test: str, twin: str) -> CallGraph | None:
    """The call graph of a commit, or of its twin; None if neither has one."""
    return next(filter(None, (store.calls(bisection, one, purpose, test) for one in dict.fromkeys((sha, twin)))), None)
