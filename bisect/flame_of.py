"""The flame graph of a culprit against its parent, from the call graphs that the store has."""

from collections.abc import Mapping
from typing import Any

from cpubisect.flame import Frame, unfold
from cpubisect.lab import Purpose
from cpubisect.queries import twins
from cpubisect.question import Question
from cpubisect.store import Store


def flame_of(store: Store, bisection: int, culprit: Mapping[str, Any], test: str | None = None) -> Frame | None:
    """The frames of a culprit, given as in a verdict's plain data, against its parent: before is the parent.

    `test` must be named if the question has several. None if either has no call graph: instructions were counted by the
    hardware, the probes were made before calls were kept, or the search was on CPU time and never counted these two.
    A commit whose code equals another's was not probed itself; that one's graph is its own. Raises UserError for an
    unknown bisection, ValueError if a test has to be named.
    """
    if test is None:
        (test,) = Question.from_json(store.bisection(bisection).question).tests
    equal = twins(store, bisection)
    before, after = (
        store.calls(bisection, sha, Purpose.SEARCH, test)
        or store.calls(bisection, equal.get(sha, sha), Purpose.SEARCH, test)
        for sha in (culprit["parent"], culprit["sha"])
    )
    return unfold(before, after) if before and after else None
