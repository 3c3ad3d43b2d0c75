"""What a culprit calls against what its parent calls, from the call graphs that the store has."""

from cpubisect.draw.calltree import Frame, unfold
from cpubisect.records.queries import twins
from cpubisect.records.store import Store
from cpubisect.search.verdict import Culprit
from cpubisect.views.measured import calls, stand_in, with_calls


def frames_of(store: Store, bisection: int, culprit: Culprit, test: str) -> Frame | None:
    """The frames of a culprit of one test against its parent: before is the parent.

    None if either has no call graph: instructions were counted by the hardware, the probes were made before calls were
    kept, or the search was on CPU time and never counted these two. A commit whose code equals another's was not probed
    itself; that one's graph is its own.
    """
    equal = twins(store, bisection)
    before, after = (calls(store, bisection, sha, test, equal) for sha in (culprit.parent, culprit.sha))
    return unfold(before, after) if before and after else None


def has_frames(store: Store, bisection: int, culprit: Culprit, test: str) -> bool:
    """Whether there are frames of a culprit, without unfolding them."""
    equal, kept = twins(store, bisection), with_calls(store, bisection, test)
    return all(stand_in(sha, equal, kept.__contains__) in kept for sha in (culprit.parent, culprit.sha))
