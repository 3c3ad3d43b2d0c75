"""PURE: what a bisection found, in the one or two sentences that a report begins with."""

from statistics import fmean

from cpubisect.base.metrics import CPU, INSTRUCTIONS, L1_MISSES, LL_MISSES, MISPREDICTIONS, digits
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Culprit, Side, Verdict
from cpubisect.views.bisection import Bisection

_PER_QUERY = {
    INSTRUCTIONS: "instructions per query",
    CPU: "CPU time per query",
    L1_MISSES: "simulated misses of the first-level caches per query",
    LL_MISSES: "simulated misses of the last-level cache per query",
    MISPREDICTIONS: "simulated branch mispredictions per query",
}


def finding(told: Bisection) -> list[str]:
    """The answer first, then how it was confirmed; one pair of sentences for each test that was asked about."""
    if told.verdict is None or told.state != "finished":
        return [f"bisection {told.id} is {told.state}: no answer yet"]
    return [sentence for test, verdict in told.verdict.tests.items() for sentence in _told(told, test, verdict)]


def _told(told: Bisection, test: str, verdict: Verdict) -> list[str]:
    if not verdict.found:
        return [f"{told.engine}, {test}: {verdict.summary} ({verdict.kind})"]
    first, step = verdict.found[0]
    more = "more" if step.percent > 0 else "less"
    others = len(verdict.found) - 1
    also = f" {others} more with smaller shares {'is' if others == 1 else 'are'} below." if others else ""
    where = f" on {told.good.called}'s own branch" if first.side is Side.GOOD else ""
    answer = (
        f"{told.engine}, {test}: {abs(step.percent):.2f} % {more} {_PER_QUERY[verdict.metric]} since {_called(first)} "
        f"({first.date}){where}.{also}"
    )
    said = [answer, _confirmed(told, test, verdict.metric, first, step)]
    if verdict.sides:
        sides = verdict.sides.sentence(told.good.called, told.bad.called, verdict.metric)
        said.append(f"{sides[0].upper()}{sides[1:]}.")
    return said


def _called(culprit: Culprit) -> str:
    if not culprit.release:
        return f"commit {culprit.sha[:12]} “{culprit.subject}”"
    return f"release {culprit.release}, commit {culprit.sha[:12]}"


def _confirmed(told: Bisection, test: str, metric: str, culprit: Culprit, step: Step) -> str:
    sides = [told.costs(sha, test, metric) for sha in (culprit.parent, culprit.sha)]
    counted = ""
    if metric != CPU and all(sides):
        before, after = (f"{fmean(side):,.{digits(metric)}f}" for side in sides)
        counted = f": {before} before, {after} after ({told.counter})"
    between = f"; 99 % interval of the step {step.low:+.2f} to {step.high:+.2f} %" if step.bounded else ""
    share = ""
    if culprit.share is not None:
        share = (
            f". It is {culprit.share * 100:.0f} % of the difference between {told.good.called} and {told.bad.called}"
        )
    before = f"its parent {culprit.parent_release or culprit.parent[:12]}"
    how = "in interleaved rounds" if metric == CPU else "repeatedly"
    return (
        f"Confirmed by building this {'release' if culprit.release else 'commit'} and {before} alike and measuring "
        f"both {how}{counted}{between}{share}."
    )
