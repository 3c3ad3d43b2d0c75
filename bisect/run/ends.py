"""The first phase of a bisection: good and bad, and the fork point between them, are measured before anything else."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean

from cpubisect.base.metrics import CPU, INSTRUCTIONS, METRICS
from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import counted, mean_profile
from cpubisect.records.rows import ProbeRow
from cpubisect.run.classes import main_line
from cpubisect.run.crew import begin_all
from cpubisect.run.defaults import NOTHING_RESTORED, Restored, explain_by_defaults, own_defaults
from cpubisect.run.measuring import Beside, Lab, Unobservable, clock_rounds, raw_steps, rounds
from cpubisect.run.wording import (
    AtFork,
    Cancelling,
    EqualCode,
    NotReproduced,
    OnlyLayout,
    OtherWay,
    Outcome,
    Seen,
    TooSmall,
    UnmeasurableEnd,
)
from cpubisect.search import events
from cpubisect.search.clock.noisy import GATE_SIGMAS, LEAST_OF_END, MOST_ROUNDS, hopeless, visible_at
from cpubisect.search.costs import Cost
from cpubisect.search.ends import Counts, Plan, Regime, Yardstick, counting_plan, least_step, ruled_out
from cpubisect.search.exact import State, expected_builds, largest_change
from cpubisect.search.line import Line
from cpubisect.search.many.moves import opening
from cpubisect.search.question import MetricChoice
from cpubisect.search.stats import Step, less, step
from cpubisect.search.verdict import Side, Sides

END_REPEATS = 2
"""Instruction counts of each end before the first decision; the spread between them is the counter's noise."""

CLOCK_ROUNDS = range(LEAST_OF_END, MOST_ROUNDS + 1)
"""Interleaved rounds of CPU time at the ends: at least, and at most, before they count as equal."""

LAYOUT_SIGMAS = 3.0
"""What binaries that are linked anew lack of a difference is where code lies if it is so many standard errors."""

LEAST_SHARE = 0.25
"""In CPU time a step must by default be this part of the whole difference: smaller ones drown in noise."""


@dataclass(frozen=True)
class ToSearch:
    """The ends differ as was asked: the line between them is to be searched, by a yardstick, for what adds up to the
    whole `change`, which is a `part` (a ratio) of the difference between good and bad where only one side of it is
    searched. It begins at `fork` if good is on a branch of its own, `sides` then say what is on which side of that, and
    `restored` says whether changed defaults of the servers explain it."""

    line: Line
    yardstick: Yardstick
    change: Step
    seen: Seen
    fork: str | None = None
    restored: Restored = NOTHING_RESTORED
    sides: Sides | None = None
    part: float = 1.0


@dataclass(frozen=True)
class _Difference:
    """What the ends showed: by metric that was looked at, the smallest step in percent that would have been seen, and
    if they differ, the whole change and what to compare commits by. `linked_once` is why CPU time was not read in
    binaries that are linked anew too, empty if it was or did not matter."""

    visible: Mapping[str, float] = field(default_factory=dict)
    change: Step | None = None
    yardstick: Yardstick | None = None
    linked_once: str = ""


def examine(lab: Lab) -> Outcome | ToSearch:
    """Measure the ends: an answer already, or what to search. Raises Unobservable if an end that could be measured
    can't be any more."""
    line, fork = _range(lab)
    _begin(lab, line, fork)
    missing = _first_probes(lab, fork)
    if missing:
        return missing
    good, bad = lab.question.good_sha, lab.question.bad_sha
    if lab.same_code(good, bad):
        return EqualCode()
    found = _difference(lab)
    given = lab.question.parameters.get(lab.test_name, {})
    own = own_defaults(lab, good, bad, given) if INSTRUCTIONS in found.visible else None
    seen = Seen(_end_steps(lab), found.visible, own)
    change, yardstick = found.change, found.yardstick
    if change is None or yardstick is None:
        return TooSmall(
            seen, _cancelling(lab) if lab.question.metric.counted in found.visible else None, found.linked_once
        )
    metric = yardstick.metric
    lab.tell(
        events.RegimeChosen(
            regime=yardstick.regime.value, metric=metric, percent=change.percent, min_step=yardstick.min_step
        )
    )
    if change.percent * yardstick.direction < 0:
        other = _other_way(lab, ToSearch(line, yardstick, change, seen, fork))
        if not isinstance(other, ToSearch):
            return other
        yardstick, change, seen = other.yardstick, other.change, other.seen
    sides = None
    if fork:
        sides, differs = _since_fork(lab, fork, yardstick, change)
        if not differs:
            return AtFork(seen, metric, fork, sides)
    restored = explain_by_defaults(lab, good, bad, metric) if yardstick.regime is Regime.EXACT else NOTHING_RESTORED
    if restored.tried:
        lab.tell(
            events.DefaultsRestored(
                given=restored.given,
                refused=restored.refused,
                explaining=tuple(one.variable for one in restored.explaining),
            )
        )
    return ToSearch(line, yardstick, change, seen, fork, restored, sides)


def _other_way(lab: Lab, task: ToSearch) -> Outcome | ToSearch:
    """The ends differ in the direction that is not asked for, which on CPU time where code lies or a host that changed
    may have made: binaries that are linked anew tell, and if they differ as was asked, such are to be searched."""
    yardstick = task.yardstick
    if yardstick.regime is Regime.NOISY and not (yardstick.redrawn or lab.redraws):
        turned = replace(task, yardstick=replace(yardstick, direction=-yardstick.direction))
        with suppress(Unobservable):
            again = _examine_redrawn(lab, task, lab.question.good_sha)
            if isinstance(again, ToSearch):
                return again
            again = _examine_redrawn(lab, turned, lab.question.good_sha)
            if not isinstance(again, ToSearch):
                return again
    sides = None
    if task.fork and yardstick.regime is Regime.EXACT:
        sides, _ = _since_fork(lab, task.fork, yardstick, task.change)
    return OtherWay(task.seen, yardstick.metric, task.change, sides)


def _range(lab: Lab) -> tuple[Line, str | None]:
    """The line from good, or from the fork point, to bad, and the fork point if there is one."""
    listed = lab.history.since if lab.side is Side.GOOD else lab.history.candidates
    candidates = listed(lab.question.good_sha, lab.question.bad_sha)
    line = main_line(lab, candidates)
    lab.record_line(line)
    size, classes = len(line.commits()) - 1, line.size - 1
    builds = expected_builds(line.size) + (1 if candidates.fork else 0)
    if lab.side is Side.GOOD:
        fork = lab.question.good_sha
        lab.tell(events.GoodSide(fork=fork, candidates=size, classes=classes, expected_builds=builds))
    else:
        lab.tell(events.Range(candidates=size, classes=classes, fork=candidates.fork, expected_builds=builds))
    return line, candidates.fork


def _begin(lab: Lab, line: Line, fork: str | None) -> None:
    """Have the ends built side by side, where that can be, and what lies evenly between them by builders that are idle
    till these are known: on CPU time, which reads one commit after the other, they would be lost."""
    crew = lab.crew
    if crew.builders < 2:
        return
    question = lab.question
    begin_all(crew, (question.good_sha, question.bad_sha, *([fork] if fork else [])))
    counts = lab.counts_instructions and question.metric is not MetricChoice.CPU
    if not crew.begun():
        # The ends are known: the search says what to build.
        return
    ends = (0, line.size - 1)
    for number in opening(line.size, crew.builders - len(crew.begun()) + len(ends), ends_only=not counts):
        sha = line.built(number)
        if number not in ends and crew.begin(sha):
            lab.tell(events.BuildAhead(sha=sha, why=f"{number} of {line.size - 1}, should the ends differ"))


def _first_probes(lab: Lab, fork: str | None) -> UnmeasurableEnd | None:
    """Build and probe each end; the first one that can't be."""
    ends = [(lab.question.good_sha, lab.question.good), (lab.question.bad_sha, lab.question.bad)]
    if fork:
        ends.append((fork, "the fork point"))
    for sha, name in ends:
        try:
            _build_end(lab, sha)
            lab.probes(sha, Purpose.SEARCH, 1)
        except Unobservable as reason:
            return UnmeasurableEnd(name, sha, str(reason))
    return None


def _build_end(lab: Lab, sha: str) -> None:
    """Have an end built, by a second try if the first one fails; raises Unobservable."""
    try:
        lab.build(sha)
    except Unobservable:
        if not lab.build_again(sha):
            raise


def _difference(lab: Lab) -> _Difference:
    """What good and bad differ by in what is counted or, where that is not enough or not asked for, in CPU time."""
    choice = lab.question.metric
    found = _Difference()
    if lab.counts_instructions and choice is not MetricChoice.CPU:
        found = _counted(lab)
    if found.yardstick is None and choice.clocked:
        found = _clocked(lab, found.visible)
    return found


def _counted(lab: Lab) -> _Difference:
    question = lab.question
    ends = (question.good_sha, question.bad_sha)
    metric = question.metric.counted
    counts = Counts(*(counted(rows, metric) for rows in rounds(lab, ends, Purpose.SEARCH, END_REPEATS)))
    expected = lab.expected_spread if metric == INSTRUCTIONS else 0.0
    whole = step(counts.good, counts.bad).percent
    plan = counting_plan(counts, whole, question.min_step, expected, least_step(metric))
    good, bad = rounds(lab, ends, Purpose.SEARCH, max(END_REPEATS, plan.repeats))
    change = step(counted(good, metric), counted(bad, metric))
    visible = {metric: plan.min_step}
    if abs(change.percent) < plan.min_step:
        return _Difference(visible)
    return _Difference(visible, change, _yardstick(lab, metric, Regime.EXACT, plan))


def _clocked(lab: Lab, visible: Mapping[str, float]) -> _Difference:
    """As built and, since where code lies can hide a difference as well as make one, in binaries that are linked anew
    where the builds do not surely differ."""
    found = _clocked_as(lab, visible, redrawn=False)
    if found.yardstick is not None:
        return found
    why = lab.redraws
    if not why:
        try:
            return _clocked_as(lab, visible, redrawn=True)
        except Unobservable as reason:
            why = str(reason)
    return replace(found, linked_once=why)


def _clocked_as(lab: Lab, visible: Mapping[str, float], *, redrawn: bool) -> _Difference:
    """As built, or in binaries that are linked anew for each round; raises Unobservable."""
    question = lab.question
    floor = question.min_step or 0.0
    found = _clock_until_sure(
        lab, question.good_sha, _of_ends(lab), lambda now: visible_at(now.error) < floor, redrawn=redrawn
    )
    change, least = found.cpu, visible_at(found.error)
    visible = {**visible, CPU: max(floor, least)}
    if abs(found.sigmas) < GATE_SIGMAS or abs(change.percent) < floor:
        return _Difference(visible)
    plan = Plan(1, floor or abs(change.percent) * LEAST_SHARE, least)
    return _Difference(visible, change, replace(_yardstick(lab, CPU, Regime.NOISY, plan), redrawn=redrawn))


def _of_ends(lab: Lab) -> Purpose:
    """What rounds of CPU time of the ends are for: good's side has some of its own, for good was read beside bad."""
    question = lab.question
    return Purpose.CLOCK if lab.side is Side.BAD else Purpose.clock(question.good_sha, question.bad_sha)


def was_redrawn(lab: Lab) -> bool:
    """Whether the search had already begun to read binaries that are linked anew before it was interrupted: it begins
    with the ends."""
    linked = (row.purpose for sha, row in lab.clocked() if row.purpose.link and sha == lab.question.bad_sha)
    return any(purpose == _of_ends(lab).linked(purpose.link) for purpose in linked)


def examine_redrawn(lab: Lab, task: ToSearch) -> Outcome | ToSearch:
    """Measure the ends of a line in binaries that are linked anew for each round: an answer already, or what to search
    in such. Raises Unobservable if an end can't be linked anew."""
    return _examine_redrawn(lab, task, task.line.built(0))


def _examine_redrawn(lab: Lab, task: ToSearch, start: str) -> Outcome | ToSearch:
    yardstick, ends = task.yardstick, (start, lab.question.bad_sha)
    found = _clock_until_sure(lab, ends[0], _of_ends(lab), lambda now: False, redrawn=True)
    least = visible_at(found.error)
    seen = replace(task.seen, visible={**task.seen.visible, yardstick.metric: least})
    floor = lab.question.min_step or 0.0
    wanted = found.cpu.percent * yardstick.direction
    if found.sigmas * yardstick.direction < GATE_SIGMAS or wanted < floor:
        before = Beside(*(lab.probes(sha, _of_ends(lab), 0) for sha in ends))
        apart = (before.cpu.percent - found.cpu.percent) / math.hypot(before.error, found.error)
        if apart * yardstick.direction >= LAYOUT_SIGMAS:
            return OnlyLayout(seen, yardstick.metric, before.cpu, found.cpu, len(found.after))
        return NotReproduced(seen, yardstick, task.change, found.cpu.percent, False, task.fork)
    redrawn = replace(yardstick, redrawn=True, min_step=floor or wanted * LEAST_SHARE)
    # What the sides are was read in binaries as they were built.
    return replace(task, yardstick=redrawn, change=found.cpu, sides=None)


def _yardstick(lab: Lab, metric: str, regime: Regime, plan: Plan) -> Yardstick:
    return Yardstick(metric, regime, plan.repeats, plan.min_step, lab.question.find.direction)


def _clock_until_sure(
    lab: Lab, one: str, purpose: Purpose, settled: Callable[[Beside], bool], *, redrawn: bool = False
) -> Beside:
    """CPU time of a commit and of bad, by interleaved rounds until they surely differ, or are as good as sure not to,
    their step so far settles the matter, or the limit is reached; of binaries linked anew if `redrawn`."""

    def enough(found: Beside) -> bool:
        count = len(found.after)
        told = hopeless(found.cpu.percent, found.error, count, MOST_ROUNDS)
        return abs(found.sigmas) >= GATE_SIGMAS or told or settled(found)

    return clock_rounds(lab, (one, lab.question.bad_sha), purpose, CLOCK_ROUNDS, enough, redrawn=redrawn)


def _since_fork(lab: Lab, fork: str, yardstick: Yardstick, change: Step) -> tuple[Sides, bool]:
    """What each side changed since the fork point, bad being a `change` from good, and whether there is, or in CPU time
    may be, a step from the fork point to bad."""
    if yardstick.regime is Regime.EXACT:
        trio = (fork, lab.question.good_sha, lab.question.bad_sha)
        read = rounds(lab, trio, Purpose.SEARCH, max(END_REPEATS, yardstick.repeats))
        before, good, bad = (counted(rows, yardstick.metric) for rows in read)
        to_bad = step(before, bad)
        sides = Sides.of(fork, step(before, good), to_bad, yardstick.min_step)
        return sides, yardstick.direction * to_bad.percent >= yardstick.min_step

    def none(found: Beside) -> bool:
        return ruled_out(found.cpu, yardstick.direction, yardstick.min_step)

    found = _clock_until_sure(lab, fork, Purpose.clock(fork), none, redrawn=yardstick.redrawn)
    return Sides.of(fork, less(found.cpu, change), found.cpu, yardstick.min_step), not none(found)


def _end_steps(lab: Lab) -> dict[str, Step]:
    """The step from good to bad in every metric that both have."""
    good, bad = (_searched(lab, sha) for sha in (lab.question.good_sha, lab.question.bad_sha))
    return raw_steps(METRICS, good, bad)


def _searched(lab: Lab, sha: str) -> Sequence[ProbeRow]:
    """The probes of an end that were made for the search."""
    return [row for purpose in (Purpose.SEARCH, Purpose.CLOCK) for row in lab.probes(sha, purpose, 0)]


def _cancelling(lab: Lab) -> Cancelling | None:
    """How much may cancel in the total, by the profiles of the ends; None without profiles."""
    rows = [lab.probes(sha, Purpose.SEARCH, 1) for sha in (lab.question.good_sha, lab.question.bad_sha)]
    metric = lab.question.metric.counted
    costs = {n: Cost(fmean(counted(side, metric)), mean_profile(side)) for n, side in enumerate(rows)}
    if not all(cost.functions for cost in costs.values()):
        return None
    state = State(len(costs), costs)
    return Cancelling(largest_change(state, 0, 1), largest_change(state, 0, 1, net=False))
