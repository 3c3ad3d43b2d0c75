"""One bisection for one test: its ends, the search between them, and the steps confirmed."""

from dataclasses import dataclass, replace

from cpubisect.base.errors import UserError
from cpubisect.run.both import with_other_side
from cpubisect.run.classes import search
from cpubisect.run.confirm import NOTHING, Confirmer, Findings, Whole
from cpubisect.run.defaults import with_commits
from cpubisect.run.ends import ToSearch, examine, examine_redrawn, was_redrawn
from cpubisect.run.exact import cost
from cpubisect.run.loop import Searched
from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.run.wording import AtFork, Confirmed, NotReproduced, Outcome
from cpubisect.search.costs import grown_in_all
from cpubisect.search.ends import Explained, Regime, Yardstick
from cpubisect.search.exact import Done, State, largest_change
from cpubisect.search.verdict import Culprit, Verdict

WORTH_A_CHASE = 0.5
"""What is left of the difference, or of what grew, is looked into from this part of the smallest step wanted on: a
whole one may be in it, beside what became cheaper."""


def run(lab: Lab) -> Verdict:
    """From the ends to the verdict; run again after an interruption, it repeats nothing that was finished.

    Raises UserError if an end that could be measured can't be measured any more.
    """
    try:
        return with_other_side(lab, _answer(lab), _answer)
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
    return outcome.verdict(lab.question, lab.test_name)


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
        whole = chased.whole or Whole.of(searched.start, searched.end, task.change.percent, task.part)
        searched, found = Confirmer(lab, chased.yardstick, whole).find(searched)
        found = chased.found + found
    nothing_shows = bool(found.refused) and not found.culprits
    doubtful = found.placed or (nothing_shows and not task.yardstick.redrawn and not lab.redraws)
    if doubtful and (again := _redrawn(lab, task)):
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
        tuple(lab.mishaps()),
        task.change,
        defaults,
        tuple(f"{lab.setting_of(one.variable)}={task.restored.given[one.variable]}" for one in defaults),
        task.sides,
    )


@dataclass(frozen=True)
class _Chased:
    """What chases of the largest steps came to: culprits, and a yardstick without what they explain. If that is all, or
    only the first is wanted, `searched` says what is left of the line; on CPU time there are none."""

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
    whole = Whole.of(first.total, last.total, task.change.percent, task.part)
    found = NOTHING
    while True:
        own = Confirmer(lab, yardstick, whole).chased(start, end)
        if not own:
            return _Chased(yardstick, found, whole)
        found += own
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
