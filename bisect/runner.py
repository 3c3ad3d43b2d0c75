"""The loop: asks the pure core what to do, has it built and probed, and turns what was found into a verdict."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from cpubisect import search
from cpubisect.bench import Bench
from cpubisect.confirm import Confirmer, Whole
from cpubisect.costs import Cost
from cpubisect.defaults import explain_by_defaults
from cpubisect.ends import Counts, Plan, Regime, counting_plan, ruled_out
from cpubisect.errors import UserError
from cpubisect.evidence import search as joining_search
from cpubisect.lab import Lab, Purpose, Unobservable
from cpubisect.narrow import Narrower, Yardstick
from cpubisect.path import Path
from cpubisect.question import Find, MetricChoice
from cpubisect.readings import cpu_samples, instructions, mean_profile
from cpubisect.route import main_path
from cpubisect.stats import Step, standard_error_percent, step
from cpubisect.verdict import Culprit, Group, Kind, Verdict
from cpubisect.workloads.probe import CPU, INSTRUCTIONS, METRICS, Counter

END_REPEATS = 2
"""Instruction counts of each end before the first decision; the spread between them is the counter's noise."""

FIRST_CLOCK_ROUNDS = 5
MOST_CLOCK_ROUNDS = 25
"""Interleaved rounds of CPU time at the ends: at least, and at most, before they count as equal."""

LEAST_MOVED = 0.05
"""Percent: less than this that only moved between functions is not worth a word."""

LEAST_SHARE = 0.25
"""In CPU time a step must by default be this part of the whole difference: smaller ones drown in noise."""


class Runner:
    """Answers one question; everything it learns is in the store before the next action begins."""

    def __init__(self, bench: Bench, lab: Lab) -> None:
        self._bench = bench
        self._lab = lab
        self._question = bench.question
        self._direction = bench.question.find.direction

    def run(self) -> Verdict:
        """From the ends to the verdict; run again after an interruption, it repeats nothing that was finished.

        Raises UserError if an end that could be measured can't be measured any more.
        """
        candidates = self._bench.history.candidates(self._question.good_sha, self._question.bad_sha)
        path = main_path(self._bench.history, self._bench.engine, candidates)
        self._record(path, "main")
        ends = [self._question.good_sha, self._question.bad_sha]
        if candidates.fork:
            ends.append(candidates.fork)
        self._bench.watch(
            "range",
            candidates=len(path.commits()) - 1,
            classes=path.size - 1,
            fork=candidates.fork,
            expected_builds=search.expected_builds(path.size) + len(ends) - 2,
        )
        for sha, name in zip(ends, (self._question.good, self._question.bad, "the fork point"), strict=False):
            try:
                self._lab.build(sha)
                self._lab.probes(sha, Purpose.SEARCH, 1)
            except Unobservable as reason:
                return Verdict(
                    Kind.UNBUILDABLE,
                    f"{name} ({sha[:12]}) cannot be measured: {reason}",
                    notes=("choose a neighbouring commit as the end, or add a rule to compiler-matrix.yaml",),
                )
        try:
            return self._decide(path, candidates.fork)
        except Unobservable as reason:
            raise UserError(
                f"an end that was measured before cannot be measured now: {reason}",
                f"see what this host lacks; `bisect resume {self._bench.bisection}` tries again and loses nothing",
            ) from reason

    def _decide(self, path: Path, fork: str | None) -> Verdict:
        good, bad = self._question.good_sha, self._question.bad_sha
        if self._lab.same_code(good, bad):
            names = f"{self._question.good} and {self._question.bad}"
            return Verdict(Kind.NO_REGRESSION, f"no {self._question.find.value}: the code of {names} is equal")
        visible: dict[str, float] = {}
        regime: Regime | None = None
        plan = Plan(1, self._question.min_step or 1.0, 0.0)
        change: Step | None = None
        metric = ""
        if self._bench.counter is not Counter.NONE and self._question.metric is not MetricChoice.CPU:
            counts = Counts(
                *(instructions(rows) for rows in self._lab.rounds([good, bad], Purpose.SEARCH, END_REPEATS))
            )
            change = step(counts.good, counts.bad)
            plan = counting_plan(counts, change.percent, self._question.min_step)
            rows = self._lab.rounds([good, bad], Purpose.SEARCH, max(END_REPEATS, plan.repeats))
            change = step(instructions(rows[0]), instructions(rows[1]))
            visible[INSTRUCTIONS] = plan.min_step
            if abs(change.percent) >= plan.min_step:
                regime, metric = Regime.EXACT, INSTRUCTIONS
        if regime is None and self._question.metric is not MetricChoice.INSTRUCTIONS:
            floor = self._question.min_step or 0.0
            change = self._clock_until(good, bad, Purpose.CLOCK, lambda now: now.visible < floor)
            visible[CPU] = max(floor, change.visible)
            if change.sure and abs(change.percent) >= floor:
                regime, metric = Regime.NOISY, CPU
                plan = Plan(1, floor or abs(change.percent) * LEAST_SHARE, change.visible)
        ends = self._end_steps()
        if regime is None or change is None:
            return Verdict(
                Kind.NO_REGRESSION,
                self._none_sentence(visible),
                ends=ends,
                smallest_visible=visible,
                notes=self._function_note() if INSTRUCTIONS in visible else (),
            )
        if not self._bench.several:
            self._bench.store.update_bisection(self._bench.bisection, regime=regime.value)
        self._bench.watch("regime", regime=regime.value, metric=metric, percent=change.percent, min_step=plan.min_step)
        if change.percent * self._direction < 0:
            return self._other_way(metric, change, ends, visible)
        yardstick = Yardstick(metric, regime, plan.repeats, plan.min_step, self._direction)
        if fork and not self._differs_after_fork(fork, bad, yardstick):
            return self._at_fork(fork, metric, ends, visible)
        if regime is Regime.EXACT:
            defaults = explain_by_defaults(self._lab, good, bad)
            if defaults:
                names = ", ".join(f"{found.variable} ({found.good} → {found.bad})" for found in defaults)
                return Verdict(
                    Kind.CHANGED_DEFAULT,
                    f"a changed default explains the step of {change.percent:+.2f} %: {names}",
                    metric=metric,
                    ends=ends,
                    defaults=defaults,
                    notes=tuple(f"--set mysqld.{found.variable}={found.good} takes it out" for found in defaults),
                )
        return self._search(path, yardstick, ends, visible, change, fork)

    def _search(
        self,
        path: Path,
        yardstick: Yardstick,
        ends: Mapping[str, Step],
        visible: Mapping[str, float],
        change: Step,
        fork: str | None,
    ) -> Verdict:
        narrower = Narrower(self._lab, self._bench, yardstick)
        path, done, state = joining_search(
            self._lab, self._bench, narrower, path, lambda joined: self._record(joined, "main")
        )
        if done.unsure is not None:
            seen = max(yardstick.min_step, done.unsure)
            visible = {**visible, yardstick.metric: seen}
            if fork and done.small:
                return self._at_fork(fork, yardstick.metric, ends, visible)
            rest = (
                f"less than the smallest step looked for, {yardstick.min_step:.2f} %"
                if done.small
                else f"not sure: {seen:.2f} % would have been"
            )
            searched = f"from the fork point {fork[:12]} on " if fork else ""
            return Verdict(
                Kind.NO_REGRESSION,
                f"the ends differed by {change.percent:+.2f} % {yardstick.metric} at first, and {searched}"
                f"by {done.remainder:+.2f} % over more readings, which is {rest}",
                metric=yardstick.metric,
                ends=ends,
                smallest_visible=visible,
                remainder=done.remainder,
            )
        bad = state.costs[path.size - 1].total
        whole = Whole(state.costs[0].total, bad - bad / (1 + change.percent / 100))
        confirmer = Confirmer(self._lab, self._bench, yardstick, whole, self._record)
        culprits: list[Culprit] = []
        groups: list[Group] = []
        for found in done.steps:
            self._bench.watch(
                "step-found", low=path.built(found.low), high=path.built(found.high), percent=found.percent
            )
            more_culprits, more_groups = confirmer.refine(path, found, state)
            culprits += more_culprits
            groups += more_groups
        culprits.sort(key=lambda c: -abs(c.share or 0.0))
        notes = [
            f"after {path.built(f.low)[:12]} up to {path.built(f.high)[:12]} "
            f"{'there is a step the other way' if self._opposes(f, yardstick) else 'cost moved or cancelled'}: "
            f"{f.percent:+.2f} % in total, {f.largest:.2f} % in one function"
            for f in done.shifts
        ]
        if done.hidden:
            notes.append(
                f"what cancels within an unsplit interval is at most {done.hidden:.2f} % per function, without what "
                "seems to have moved from one function to another"
            )
        everything = yardstick.metric != CPU or self._bench.question.min_step is not None
        if not everything and self._direction * done.remainder >= yardstick.min_step:
            notes.append(
                f"{done.remainder:+.2f} % of the difference is not in these steps and was not searched further; "
                "`--min-step` asks for every step of that size"
            )
        kind = Kind.CULPRIT if culprits else Kind.ONE_OF if groups else Kind.NO_REGRESSION
        return Verdict(
            kind,
            _sentence(kind, culprits, groups, yardstick.metric, len(path.commits()) - 1, yardstick.min_step),
            metric=yardstick.metric,
            ends=ends,
            culprits=tuple(culprits),
            groups=tuple(groups),
            smallest_visible={**visible, yardstick.metric: yardstick.min_step},
            remainder=done.remainder,
            notes=tuple(notes),
        )

    def _opposes(self, shift: search.Found, yardstick: Yardstick) -> bool:
        return -self._direction * shift.percent >= yardstick.min_step

    def _clock_until(self, one: str, other: str, purpose: str, settled: Callable[[Step], bool]) -> Step:
        """Interleaved rounds of CPU time until two commits surely differ, their step so far settles the matter, or the
        limit is reached."""
        for count in range(FIRST_CLOCK_ROUNDS, MOST_CLOCK_ROUNDS + 1):
            before, after = (cpu_samples(rows) for rows in self._lab.rounds([one, other], purpose, count))
            change = step(before, after)
            error = max(standard_error_percent(before), standard_error_percent(after))
            if (change.sure and error <= abs(change.percent) / 6) or settled(change):
                return change
        return change

    def _differs_after_fork(self, fork: str, bad: str, yardstick: Yardstick) -> bool:
        """Whether there is, or in CPU time may be, a step from the fork point to bad."""
        if yardstick.regime is Regime.EXACT:
            rows = self._lab.rounds([fork, bad], Purpose.SEARCH, max(END_REPEATS, yardstick.repeats))
            change = step(instructions(rows[0]), instructions(rows[1]))
            return self._direction * change.percent >= yardstick.min_step

        def none(change: Step) -> bool:
            return ruled_out(change, self._direction, yardstick.min_step)

        return not none(self._clock_until(fork, bad, Purpose.clock(fork), none))

    def _at_fork(self, fork: str, metric: str, ends: Mapping[str, Step], visible: Mapping[str, float]) -> Verdict:
        question = self._question
        return Verdict(
            Kind.FORK_POINT,
            f"the difference is already there at the fork point {fork[:12]}: nothing after it on the way to "
            f"{question.bad} adds to it; what sets {question.good} apart is on its own branch",
            metric=metric,
            ends=ends,
            smallest_visible=visible,
            notes=(
                f"to find the commit of the good branch: bisect start {fork[:12]} {question.good} "
                f"--test {self._bench.test.name} --find {_opposite(question.find)}",
            ),
        )

    def _other_way(self, metric: str, change: Step, ends: Mapping[str, Step], visible: Mapping[str, float]) -> Verdict:
        question = self._question
        other = _opposite(question.find)
        word = "cheaper" if change.percent < 0 else "dearer"
        return Verdict(
            Kind.IMPROVEMENT if other is Find.IMPROVEMENT else Kind.NO_REGRESSION,
            f"{question.bad} is {word} than {question.good} ({change.percent:+.2f} % {metric}): "
            f"no {question.find.value}",
            metric=metric,
            ends=ends,
            smallest_visible=visible,
            notes=(
                f"to find what changed it: bisect start {question.good} {question.bad} "
                f"--test {self._bench.test.name} --find {other}",
            ),
        )

    def _end_steps(self) -> dict[str, Step]:
        good, bad = (self._all_values(sha) for sha in (self._question.good_sha, self._question.bad_sha))
        return {m: step(good[m], bad[m]) for m in METRICS if _positive(good.get(m)) and _positive(bad.get(m))}

    def _all_values(self, sha: str) -> dict[str, list[float]]:
        values: dict[str, list[float]] = {}
        build = self._lab.build(sha).id
        for row in self._bench.store.probes(self._bench.bisection, build, test=self._bench.test.name):
            if row.purpose in (Purpose.SEARCH, Purpose.CLOCK):
                for metric, numbers in row.values.items():
                    values.setdefault(metric, []).extend(numbers)
        return values

    def _none_sentence(self, visible: Mapping[str, float]) -> str:
        question = self._question
        parts = " or ".join(f"{percent:.2f} % in {metric}" for metric, percent in visible.items())
        return f"no {question.find.value} from {question.good} to {question.bad}: one of {parts} would have been seen"

    def _function_note(self) -> tuple[str, ...]:
        """What the profiles of the ends say of steps that cancel in the total."""
        rows = [self._lab.probes(sha, Purpose.SEARCH, 1) for sha in (self._question.good_sha, self._question.bad_sha)]
        costs = {n: Cost(fmean(instructions(side)), mean_profile(side)) for n, side in enumerate(rows)}
        if not all(cost.functions for cost in costs.values()):
            return ()
        state = search.State(len(costs), costs)
        net, gross = (search.largest_change(state, 0, 1, net=netted) for netted in (True, False))
        moved = f" if cost only moved between functions, else {gross:.2f} %" if gross >= net + LEAST_MOVED else ""
        return (f"steps that cancel in the total are at most {net:.2f} % per function{moved}",)

    def _record(self, path: Path, name: str) -> None:
        rows = [(sha, group[0], path.subjects.get(sha, "")) for group in path.classes for sha in group]
        self._bench.store.set_candidates(self._bench.bisection, name, rows)


def _positive(values: Sequence[float] | None) -> bool:
    return bool(values) and min(values or (0.0,)) > 0


def _opposite(find: Find) -> Find:
    return Find.IMPROVEMENT if find is Find.REGRESSION else Find.REGRESSION


def _sentence(
    kind: Kind, culprits: Sequence[Culprit], groups: Sequence[Group], metric: str, among: int, min_step: float
) -> str:
    if kind is Kind.CULPRIT:
        first = culprits[0]
        size = f"{first.steps[metric].percent:+.2f} % {metric}"
        more = f", and {len(culprits) - 1} more with smaller shares" if len(culprits) > 1 else ""
        return f"{first.sha[:12]} {first.subject} ({size} against its parent){more}"
    if kind is Kind.ONE_OF:
        group = groups[0]
        return f"one of these {len(group.commits)} commits ({group.percent:+.2f} % {metric}): {group.why}"
    return f"the ends differ, but no step of {min_step:.2f} % or more is among the {among} candidates"
