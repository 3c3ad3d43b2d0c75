"""One bisection for one test: its ends, the search between them, and the steps confirmed."""

from dataclasses import dataclass, replace

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import CPU
from cpubisect.run.chase import NOTHING_CAUGHT
from cpubisect.run.classes import search
from cpubisect.run.confirm import NOTHING, Confirmer, Findings, Whole
from cpubisect.run.defaults import with_commits
from cpubisect.run.ends import ToSearch, examine, examine_redrawn, was_redrawn
from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.run.strategies.exact import cost
from cpubisect.run.strategies.loop import Searched
from cpubisect.run.wording import AtFork, Confirmed, NotReproduced, Outcome, UnmeasurableEnd
from cpubisect.search import events
from cpubisect.search.costs import grown_in_all
from cpubisect.search.ends import Explained, Regime, Yardstick
from cpubisect.search.exact import Done, State, largest_change
from cpubisect.search.question import MetricChoice, Question
from cpubisect.search.verdict import MOST_TELLING, Culprit, Sides, Verdict

WORTH_A_CHASE = 0.5
"""What is left of the difference, or of what grew, is looked into from this part of the smallest step wanted on: a
whole one may be in it, beside what became cheaper."""


def run(lab: Lab) -> Verdict:
    """From the ends to the verdict; run again after an interruption, it repeats nothing that was finished.

    Raises UserError if an end that could be measured can't be measured any more.
    """
    try:
        return _with_other_side(lab, _answer(lab))
    except Unobservable as reason:
        raise UserError(
            f"an end that was measured before cannot be measured now: {reason}",
            f"see what this host lacks; `bisect resume {lab.bisection}` tries again and loses nothing",
        ) from reason


def _answer(lab: Lab, part: float = 1.0) -> Verdict:
    """The verdict on a lab's own question, whose ends make a part of the whole difference; raises Unobservable."""
    outcome = examine(lab)
    if isinstance(outcome, ToSearch):
        outcome = find(lab, replace(outcome, part=part))
    if lab.question.screen and (why := _why_not_screened(outcome)):
        lab.tell(events.ScreenedInVain(why=why))
        verdict = _answer(lab.proof, part)
        told = f"screening builds did not tell ({why}): searched by ordinary builds"
        return replace(verdict, notes=(*verdict.notes, told))
    return outcome.verdict(lab.question, lab.test_name)


def _why_not_screened(outcome: Outcome) -> str:
    """Why what came of screening builds is no answer; empty if it is one: nothing but culprits that ordinary builds
    confirm."""
    if isinstance(outcome, UnmeasurableEnd):
        return f"{outcome.name} cannot be measured in one: {outcome.why}"
    if not isinstance(outcome, Confirmed):
        return "their ends do not differ as was asked"
    if outcome.refused:
        shown = ", ".join(sha[:12] for sha in outcome.refused)
        return f"the step at {shown} does not show in ordinary ones"
    if outcome.groups:
        return "they cannot tell all commits apart"
    return "" if outcome.culprits else "they led to no culprit"


def _with_other_side(lab: Lab, verdict: Verdict) -> Verdict:
    """A verdict that says what of the difference is on which side of the fork point, if there is one; what good's side
    makes of it is searched if that was asked for. Raises Unobservable."""
    sides, question = verdict.sides, lab.question
    if sides is None:
        return verdict
    if question.both_sides and sides.good_share > 0 and _found_as_asked(question, sides):
        other = _answer(lab.on_good_side(_of_good(question, sides, verdict.metric)), sides.good_share)
        verdict = _joined(verdict, _marked(lab, other), question, sides)
    said = sides.sentence(question.good, question.bad, verdict.metric)
    return replace(verdict, summary=f"{verdict.summary}; {said}")


def _found_as_asked(question: Question, sides: Sides) -> bool:
    """Whether bad differs from good in the direction that is asked for."""
    return question.find.direction * (sides.bad.percent - sides.good.percent) > 0


def _of_good(question: Question, sides: Sides, metric: str) -> Question:
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


def _joined(bad: Verdict, good: Verdict, question: Question, sides: Sides) -> Verdict:
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
        notes=(
            *bad.notes,
            *(f"of {question.good}'s own branch: {note}" for note in good.notes if note not in bad.notes),
        ),
        sides=replace(sides, searched=True),
    )


def _marked(lab: Lab, verdict: Verdict) -> Verdict:
    """The answer of good's side, with what must be known of culprits that bad contains too."""
    return replace(verdict, culprits=tuple(_noted(lab, culprit) for culprit in verdict.culprits))


def _noted(lab: Lab, culprit: Culprit) -> Culprit:
    if not lab.history.contains(lab.question.bad_sha, culprit.sha):
        return culprit
    told = f"{lab.question.bad} contains it too, by a merge: it alone does not set the two apart"
    return culprit.noted(told)


def find(lab: Lab, task: ToSearch) -> Outcome:
    """Search the line between the ends and confirm its steps; raises Unobservable if an end can't be measured.

    If a step turns out to be made by where code lies, all is read anew in binaries that are linked anew each time.
    """
    if not task.yardstick.redrawn and was_redrawn(lab) and (again := _redrawn(lab, task)):
        return again
    chased = _chase(lab, task)
    if chased.searched:
        searched, found = chased.searched, chased.found
    else:
        searched = search(lab, task.line, chased.yardstick)
        if searched.done.unsure is not None and not searched.scattered:
            return _not_reproduced(task, searched, searched.done.unsure)
        whole = chased.whole or Whole.of(searched, task.change.percent, task.part)
        searched, found = Confirmer(lab, chased.yardstick, whole).find(searched)
        found = chased.found + found
    nothing_shows = bool(found.refused) and not found.culprits
    doubtful = found.placed or (nothing_shows and not task.yardstick.redrawn and not lab.redraws)
    if doubtful and not lab.question.screen and (again := _redrawn(lab, task)):
        return again
    if searched.done.unsure is not None and not found:
        return _not_reproduced(task, searched, searched.done.unsure)
    culprits = sorted(found.culprits, key=lambda culprit: -abs(culprit.share or 0.0))
    defaults = with_commits(lab, task.restored, culprits)
    return Confirmed(
        task.seen,
        task.yardstick,
        searched.line,
        searched.done,
        tuple(culprits),
        found.groups,
        tuple(dict.fromkeys((*lab.mishaps(), *lab.proof.mishaps()))),
        task.change,
        defaults,
        tuple(f"{lab.setting_of(one.variable)}={task.restored.given[one.variable]}" for one in defaults),
        task.sides,
        found.refused,
    )


@dataclass(frozen=True)
class _Chased:
    """What chases of the largest steps came to: culprits, and a yardstick without what they explain. If that is all, or
    only the first is wanted, `searched` says what is left of the line; that of screening builds whose catch was refused
    says nothing. On CPU time there are none."""

    yardstick: Yardstick
    found: Findings = NOTHING
    whole: Whole | None = None
    searched: Searched | None = None


def _chase(lab: Lab, task: ToSearch) -> _Chased:
    """Chase the largest step through the whole graph, then what it leaves, until that is too small even without
    what became cheaper, the first is enough or a chase fails. Raises Unobservable if an end can't be measured."""
    yardstick = replace(task.yardstick, variables=task.restored.shares, values=task.restored.values)
    if yardstick.regime is Regime.NOISY:
        return _Chased(yardstick)
    start, end = task.line.built(0), task.line.built(task.line.size - 1)
    first, last = (cost(lab, sha, yardstick) for sha in (start, end))
    whole = Whole(first.total, (last.total - last.total / (1 + task.change.percent / 100)) / task.part)
    found = NOTHING
    while True:
        own = Confirmer(lab, yardstick, whole).chased(start, end)
        if not own:
            return _Chased(yardstick, found, whole)
        found += own
        if own.refused and lab.question.screen:
            return _Chased(yardstick, found, whole, Searched(task.line, NOTHING_CAUGHT, {}, {}))
        known = [_explained(lab, one, yardstick) for one in own.culprits]
        yardstick = replace(yardstick, explained=(*yardstick.explained, *known), variables={}, values={})
        first, last = (cost(lab, sha, yardstick) for sha in (start, end))
        rest = (last.total - first.total) / first.total * 100
        hidden = largest_change(State(2, {0: first, 1: last}), 0, 1)
        grown = grown_in_all(first, last, yardstick.direction) / first.total * 100
        if max(yardstick.direction * rest, grown) < yardstick.min_step * WORTH_A_CHASE or lab.question.first:
            done = Done((), (), rest, hidden)
            costs = {0: first.total, task.line.size - 1: last.total}
            return _Chased(yardstick, found, whole, Searched(task.line, done, costs, {}))


def _explained(lab: Lab, culprit: Culprit, yardstick: Yardstick) -> Explained:
    """What a culprit adds to all that contains it; raises Unobservable."""
    return Explained(culprit.sha, cost(lab, culprit.sha, yardstick) - cost(lab, culprit.parent, yardstick))


def _redrawn(lab: Lab, task: ToSearch) -> Outcome | None:
    """What binaries that are linked anew come to; None if the ends can't be."""
    try:
        again = examine_redrawn(lab, task)
    except Unobservable:
        return None
    return find(lab, again) if isinstance(again, ToSearch) else again


def _not_reproduced(task: ToSearch, searched: Searched, visible: float) -> Outcome:
    """More readings did not show the difference again, `visible` percent of which would have been."""
    metric = task.yardstick.metric
    seen = replace(task.seen, visible={**task.seen.visible, metric: max(task.yardstick.min_step, visible)})
    if task.fork and searched.done.small:
        return AtFork(seen, metric, task.fork, task.sides)
    done = searched.done
    return NotReproduced(seen, task.yardstick, task.change, done.remainder, done.small, task.fork)
