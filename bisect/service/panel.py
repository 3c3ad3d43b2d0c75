"""The tests of one question: each gets its own answer, from builds that all of them share."""

from collections.abc import Callable

from cpubisect.run.lab import HostLab
from cpubisect.run.runner import run
from cpubisect.search import events
from cpubisect.search.verdict import Answer


def answer(lab: HostLab, so_far: Answer | None, keep: Callable[[Answer], None]) -> Answer:
    """The verdicts of all tests. `so_far` is what an interrupted run had kept; `keep` takes what is known after each
    test."""
    found = dict(so_far.tests) if so_far else {}
    names = [test.name for test in lab.tests]
    for test in lab.tests:
        if test.name not in found:
            own = lab.beside(test)
            verdict = found[test.name] = run(own)
            keep(Answer.of(found, names))
            own.tell(events.Answered(kind_of=verdict.kind.value, summary=verdict.summary))
    return Answer.of(found, names)
