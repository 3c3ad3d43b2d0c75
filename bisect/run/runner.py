"""One bisection for one test: its ends, the search between them, and the steps confirmed."""

from dataclasses import replace

from cpubisect.base.errors import UserError
from cpubisect.run.classes import search
from cpubisect.run.confirm import Confirmer, Whole
from cpubisect.run.defaults import with_commits
from cpubisect.run.ends import ToSearch, examine, examine_redrawn, was_redrawn
from cpubisect.run.loop import Searched
from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.run.wording import AtFork, Confirmed, NotReproduced, Outcome
from cpubisect.search.verdict import Verdict


def run(lab: Lab) -> Verdict:
    """From the ends to the verdict; run again after an interruption, it repeats nothing that was finished.

    Raises UserError if an end that could be measured can't be measured any more.
    """
    try:
        outcome = examine(lab)
        if isinstance(outcome, ToSearch):
            outcome = find(lab, outcome)
    except Unobservable as reason:
        raise UserError(
            f"an end that was measured before cannot be measured now: {reason}",
            f"see what this host lacks; `bisect resume {lab.bisection}` tries again and loses nothing",
        ) from reason
    return outcome.verdict(lab.question, lab.test_name)


def find(lab: Lab, task: ToSearch) -> Outcome:
    """Search the line between the ends and confirm its steps; raises Unobservable if an end can't be measured.

    If a step turns out to be made by where code lies, all is read anew in binaries that are linked anew each time.
    """
    if not task.yardstick.redrawn and was_redrawn(lab) and (again := _redrawn(lab, task)):
        return again
    searched = search(lab, task.line, task.yardstick)
    if searched.done.unsure is not None and not searched.scattered:
        return _not_reproduced(task, searched, searched.done.unsure)
    searched, found = Confirmer(lab, task.yardstick, Whole.of(searched, task.change.percent)).find(searched)
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
    )


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
        return AtFork(seen, metric, task.fork)
    done = searched.done
    return NotReproduced(seen, task.yardstick, task.change, done.remainder, done.small, task.fork)
