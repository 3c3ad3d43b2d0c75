"""Good on a branch of its own: what that made of the cost since the fork point is searched as a question of its own,
and one answer is made of both."""

from collections.abc import Callable
from dataclasses import replace

from cpubisect.base.metrics import CPU
from cpubisect.run.measuring import Lab
from cpubisect.search.question import MetricChoice, Question
from cpubisect.search.sides import Side, Sides
from cpubisect.search.verdict import MOST_TELLING, Culprit, Verdict

Search = Callable[[Lab, float], Verdict]
"""Answers the question of a lab whose ends make a part, a ratio, of the difference that is asked about."""


def with_other_side(lab: Lab, verdict: Verdict, search: Search) -> Verdict:
    """A verdict that says what of the difference is on which side of the fork point, if there is one; with what a
    search found on good's side, if that was asked for and makes a part of it."""
    sides, question = verdict.sides, lab.question
    if sides is None:
        return verdict
    if question.both_sides and sides.good_share > 0 and found_as_asked(question, sides):
        other = search(lab.on_good_side(of_good(question, sides, verdict.metric)), sides.good_share)
        verdict = joined(verdict, _marked(lab, other), question, sides)
    said = sides.sentence(question.good, question.bad, verdict.metric)
    return replace(verdict, summary=f"{verdict.summary}; {said}")


def found_as_asked(question: Question, sides: Sides) -> bool:
    """Whether bad differs from good in the direction that is asked for."""
    return question.find.direction * (sides.bad.percent - sides.good.percent) > 0


def of_good(question: Question, sides: Sides, metric: str) -> Question:
    """The question of what changed the cost the other way from the fork point to good, in the same metric and, where
    that is counted, for steps of the same size."""
    if metric == CPU:
        choice, min_step = MetricChoice.CPU, question.min_step
    else:
        choice = MetricChoice.INSTRUCTIONS if question.metric is MetricChoice.AUTO else question.metric
        min_step = sides.min_step
    return replace(
        question,
        good=sides.fork[:12],
        good_sha=sides.fork,
        bad=question.good,
        bad_sha=question.good_sha,
        find=question.find.opposite,
        metric=choice,
        min_step=min_step,
        both_sides=False,
    )


def joined(bad: Verdict, good: Verdict, question: Question, sides: Sides) -> Verdict:
    """The answers of both sides as one; the culprits by their parts of the whole difference, largest first."""
    culprits = sorted((*bad.culprits, *good.culprits), key=lambda culprit: -abs(culprit.share or 0.0))
    left = (
        sides.bad.percent if bad.remainder is None else bad.remainder,
        sides.good.percent if good.remainder is None else good.remainder,
    )
    return replace(
        bad,
        kind=min((bad.kind, good.kind), key=MOST_TELLING.index),
        summary=f"{bad.summary}; on {question.good}'s own branch: {good.summary}",
        culprits=tuple(culprits),
        groups=(*bad.groups, *good.groups),
        remainder=left[0] - left[1],
        notes=(*bad.notes, *(f"of {question.good}'s own branch: {note}" for note in good.notes)),
        sides=replace(sides, searched=True),
    )


def _marked(lab: Lab, verdict: Verdict) -> Verdict:
    """The answer of good's side, with what must be known of culprits that bad contains too."""
    return replace(verdict, culprits=tuple(_noted(lab, culprit) for culprit in verdict.culprits))


def _noted(lab: Lab, culprit: Culprit) -> Culprit:
    if culprit.side is Side.BAD or not lab.history.contains(lab.question.bad_sha, culprit.sha):
        return culprit
    told = f"{lab.question.bad} contains it too, by a merge: it alone does not set the two apart"
    return replace(culprit, note="; ".join(filter(None, (culprit.note, told))))
