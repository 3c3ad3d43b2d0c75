"""One bisection for one test: its ends, the search between them, and the steps confirmed."""

from cpubisect.base.errors import UserError
from cpubisect.run.classes import search
from cpubisect.run.confirm import NOTHING, Confirmer, Findings, Whole
from cpubisect.run.ends import ToSearch, examine
from cpubisect.run.loop import Searched
from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.run.wording import AtFork, Confirmed, NotReproduced, Outcome, Seen
from cpubisect.search import events
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
    """Search the line between the ends and confirm its steps; raises Unobservable if an end can't be measured."""
    searched = search(lab, task.line, task.yardstick)
    if searched.done.unsure is not None:
        return _not_reproduced(task, searched, searched.done.unsure)
    found = _confirmed(lab, task, searched)
    culprits = sorted(found.culprits, key=lambda culprit: -abs(culprit.share or 0.0))
    return Confirmed(task.seen, task.yardstick, searched.line, searched.done, tuple(culprits), found.groups)


def _not_reproduced(task: ToSearch, searched: Searched, visible: float) -> Outcome:
    """More readings did not show the difference again, `visible` percent of which would have been."""
    metric = task.yardstick.metric
    seen = Seen(task.seen.steps, {**task.seen.visible, metric: max(task.yardstick.min_step, visible)})
    if task.fork and searched.done.small:
        return AtFork(seen, metric, task.fork)
    done = searched.done
    return NotReproduced(seen, task.yardstick, task.change, done.remainder, done.small, task.fork)


def _confirmed(lab: Lab, task: ToSearch, searched: Searched) -> Findings:
    whole = Whole(searched.start, searched.end - searched.end / (1 + task.change.percent / 100))
    confirmer = Confirmer(lab, task.yardstick, whole)
    line = searched.line
    findings = NOTHING
    for found in searched.done.steps:
        lab.tell(events.StepFound(low=line.built(found.low), high=line.built(found.high), percent=found.percent))
        findings += confirmer.refine(searched, found)
    return findings
