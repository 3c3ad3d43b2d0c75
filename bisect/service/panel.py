"""The tests of one question: each gets its own answer, from builds that all of them share; with several builders they
are answered side by side."""

from collections.abc import Callable
from functools import partial

from cpubisect.run.lab import HostLab
from cpubisect.run.runner import run
from cpubisect.search import events
from cpubisect.search.verdict import Answer


def answer(lab: HostLab, so_far: Answer | None, keep: Callable[[Answer], None]) -> Answer:
    """The verdicts of all tests. `so_far` is what an interrupted run had kept; `keep` takes what is known after each
    test. Builds that were begun ahead do not outlast it: what has ended is kept."""
    try:
        found = _answered(lab, so_far, keep)
    except BaseException:
        _stop(lab, "the bisection is interrupted")
        raise
    _stop(lab, "the answer is known without it")
    return found


def _stop(lab: HostLab, why: str) -> None:
    for crew in lab.crews:
        crew.stop(why)


def _answered(lab: HostLab, so_far: Answer | None, keep: Callable[[Answer], None]) -> Answer:
    found = dict(so_far.tests) if so_far else {}
    names = [test.name for test in lab.tests]

    def known() -> Answer:
        return Answer.of({name: found[name] for name in names if name in found}, names)

    def find(own: HostLab) -> None:
        verdict = found[own.test_name] = run(own)
        keep(known())
        own.tell(events.Answered(kind_of=verdict.kind.value, summary=verdict.summary))
        for crew in own.crews:
            crew.leave()

    left = [lab.beside(test) for test in lab.tests if test.name not in found]
    if len(left) > 1 and lab.crew.builders > 1:
        for crew in (crew for own in left for crew in own.crews):
            crew.join()
        lab.turns.run([partial(find, own) for own in left])
    else:
        for own in left:
            find(own)
    return known()
