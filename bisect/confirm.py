"""From a step between two measured commits to a named culprit: measured against its parent, and inside its merge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from cpubisect.bench import Bench
from cpubisect.costs import Cost, by_bare_name, function_changes
from cpubisect.ends import Regime
from cpubisect.evidence import search
from cpubisect.lab import Lab, Purpose, Unobservable
from cpubisect.narrow import Narrower, Yardstick
from cpubisect.path import Path
from cpubisect.readings import cpu_samples, instructions, mean_profile
from cpubisect.route import merged_paths
from cpubisect.search import Found, State
from cpubisect.stats import Step, step
from cpubisect.variables import changed_variables
from cpubisect.verdict import ChangedFile, Culprit, FunctionChange, Group
from cpubisect.workloads.probe import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS

FEWEST_ROUNDS = 5
MOST_ROUNDS = 10
"""Interleaved rounds of CPU time for culprit and parent, at least and at most, before the interval stands."""

COUNTS = 2
"""Instruction counts of culprit and parent, at least."""

INSIDE_SHARE = 0.5
"""A merge's step is looked for inside it if the merged branch itself shows this part of it."""

FUNCTIONS_KEPT = 40
FILES_KEPT = 60

Findings = tuple[list[Culprit], list[Group]]


@dataclass(frozen=True)
class Whole:
    """What all steps of a bisection are measured by, in the metric's own unit: the cost where its path begins, which
    `min_step` is a percentage of, and what bad costs more than good."""

    start: float
    difference: float


@dataclass(frozen=True)
class Change:
    """A step between two commits, and what the first one costs in the metric's own unit."""

    before: float
    step: Step

    @property
    def cost(self) -> float:
        """The step as a cost."""
        return self.step.percent / 100 * self.before


class Confirmer:
    """Refines steps with one yardstick; `record` stores the path inside a merge under its name.

    A step against a parent is a percentage of that parent, one of a search a percentage of where its path begins: what
    is compared with another is a cost in the metric's own unit.
    """

    def __init__(
        self, lab: Lab, bench: Bench, yardstick: Yardstick, whole: Whole, record: Callable[[Path, str], None]
    ) -> None:
        self._lab = lab
        self._bench = bench
        self._yardstick = yardstick
        self._whole = whole
        self._record = record
        self._narrower = Narrower(lab, bench, yardstick)

    def refine(self, path: Path, found: Found, state: State) -> Findings:
        """The culprits a step comes down to, or the groups that can't be told apart or measured any more."""
        try:
            return self._refined(path, found, state)
        except Unobservable as reason:
            return [], [self._group(path, found, state, f"not all of these can be measured: {reason}")]

    def _refined(self, path: Path, found: Found, state: State) -> Findings:
        """The culprits of a step, confirmed; raises Unobservable.

        A step that is not all there between the commit and its parent is looked for in the classes beside it, whose
        members are then built one by one: that they share one binary was only presumed. In the noisy regime that is
        done only if nothing of the step shows at the commit, since a small rest is likely noise.
        """
        sha = path.first(found.high)
        parent = path.parents[sha]
        try:
            change = self._change(parent, sha) if found.single else None
        except Unobservable as reason:
            change = None
            why = f"{sha[:12]} or its parent {parent[:12]} cannot be measured: {reason}"
            group = self._group(path, found, state, why, unmeasured=True)
        else:
            group = self._group(path, found, state, reasons(path, found, state, self._yardstick.regime))
        least = self._least() / 2
        shows = change is not None and self._yardstick.direction * change.cost >= least
        hidden: Findings = ([], [])
        explained = 0.0
        if not shows or self._yardstick.regime is Regime.EXACT:
            hidden, explained = self._inside_classes(path, found, least)
        if change is None:
            whole = self._yardstick.direction * found.percent / 100 * state.costs[0].total
            rest = whole - explained
            return hidden if any(hidden) and rest < least else _both(hidden, ([], [group]))
        if not shows:
            equal = " (their code is equal)" if self._lab.same_code(parent, sha) else ""
            why = f"the step does not show between the commit and its parent{equal}"
            return hidden if any(hidden) else ([], [self._group(path, found, state, why)])
        if self._yardstick.regime is Regime.NOISY and not change.step.sure:
            why = f"the step against the parent is not sure after {MOST_ROUNDS} rounds"
            return [], [self._group(path, found, state, why)]
        if sha in path.merges:
            return _both(self._inside_merge(path, sha, parent, change), hidden)
        culprit = replace(self._culprit(path, sha, parent, change), probability=self._stated(found))
        return _both(([culprit], []), hidden)

    def _least(self) -> float:
        """The smallest step wanted, as a cost."""
        return self._yardstick.min_step / 100 * self._whole.start

    def _stated(self, found: Found) -> float | None:
        """How sure the search was of the place; nothing to state on an exact metric."""
        return found.probability if self._yardstick.regime is Regime.NOISY else None

    def _change(self, parent: str, sha: str) -> Change:
        """The step from parent to commit, by repeated probes of both; none if their code is equal, without a probe."""
        if self._lab.same_code(parent, sha):
            return Change(0.0, Step(0.0, 0.0, 0.0, 0.0))
        if self._yardstick.regime is Regime.EXACT:
            count = max(COUNTS, self._yardstick.repeats)
            before, after = (instructions(rows) for rows in self._lab.rounds([parent, sha], Purpose.SEARCH, count))
            return Change(fmean(before), step(before, after))
        change = self._clock_step(parent, sha)[CPU]
        return Change(fmean(cpu_samples(self._lab.probes(parent, Purpose.clock(sha, parent), FEWEST_ROUNDS))), change)

    def _clock_step(self, parent: str, sha: str) -> dict[str, Step]:
        """Steps in CPU time, context switches and QPS, by interleaved rounds until CPU time is sure."""
        for count in range(FEWEST_ROUNDS, MOST_ROUNDS + 1):
            before, after = self._lab.rounds([parent, sha], Purpose.clock(sha, parent), count)
            steps = {CPU: step(cpu_samples(before), cpu_samples(after))}
            if steps[CPU].sure:
                break
        for metric in (CONTEXT_SWITCHES, QPS):
            parents, own = ([value for row in rows for value in row.values.get(metric, ())] for rows in (before, after))
            if parents and own and min(*parents, *own) > 0:
                steps[metric] = step(parents, own)
        return steps

    def _inside_classes(self, path: Path, found: Found, least: float) -> tuple[Findings, float]:
        """What of a step is inside the class before it, or inside the last one, whose end is measured and not its
        beginning; and how much that explains. Only a class whose two ends differ by `least` is opened; both are
        costs."""
        everything: Findings = ([], [])
        explained = 0.0
        for number in (found.low, found.high) if found.high == path.size - 1 else (found.low,):
            singles = path.one_by_one(number)
            first, last = singles.built(0), singles.built(singles.size - 1)
            try:
                if first == last or self._lab.same_code(first, last):
                    continue
                before, after = self._apart(first, last)
                grown = self._yardstick.direction * (after - before)
                if grown < least:
                    continue
                self._bench.watch("class-opened", first=first, last=last, percent=(after - before) / before * 100)
                done, state = self._narrower.narrow(singles, least / before * 100)
            except Unobservable:
                continue
            explained += grown
            everything = _both(everything, self._all(singles, done.steps, state))
        return everything, explained

    def _apart(self, first: str, last: str) -> tuple[float, float]:
        """What two commits with different code cost, alike if noise may have made the difference. Raises
        Unobservable."""
        if self._yardstick.regime is Regime.NOISY:
            change = self._change(first, last)
            return change.before, change.before + (change.cost if change.step.sure else 0.0)
        return self._narrower.cost(first).total, self._narrower.cost(last).total

    def _start(self, sha: str) -> float:
        """What the commit costs where a merged line begins; in CPU time by one reading of the search to come. Raises
        Unobservable."""
        if self._yardstick.regime is Regime.NOISY:
            return fmean(cpu_samples(self._lab.probes(sha, Purpose.CLOCK, 1)))
        return self._narrower.cost(sha).total

    def _inside_merge(self, path: Path, merge: str, parent: str, change: Change) -> Findings:
        """Bisect the merged lines for the merge's step; if none shows it by itself, the merge is the culprit.

        A line on which nothing is thought to change the binary comes last, its commits one by one.
        """
        share = abs(change.step.percent) * INSIDE_SHARE
        least = abs(change.cost) * INSIDE_SHARE
        culprits: list[Culprit] = []
        groups: list[Group] = []
        why = "nothing on the merged line can change the binary"
        branches = merged_paths(self._bench.history, self._bench.engine, merge, parent, path.inside)
        for branch in sorted(branches, key=lambda branch: branch.size < 2):
            opened = branch if branch.size > 1 else branch.one_by_one(0)
            if opened.size < 2 or (opened is not branch and (culprits or groups)):
                continue
            self._bench.watch("inside-merge", merge=merge, candidates=len(opened.commits()) - 1)
            try:
                opened, done, state = search(
                    *(self._lab, self._bench, self._narrower, opened),
                    lambda path: self._record(path, merge),
                    min(least, self._least()) / self._start(opened.built(0)) * 100,
                )
            except Unobservable as reason:
                why = f"the merged line cannot be measured: {reason}"
                continue
            own = state.costs[opened.size - 1].total - state.costs[0].total
            if self._yardstick.direction * own < least:
                why = (
                    f"the merged line by itself changes the cost by less than {share:.2f} %: only the combination does"
                )
                continue
            why = f"the merged line has no single step of {self._yardstick.min_step:.2f} % or more: many small ones"
            more_culprits, more_groups = self._all(opened, done.steps, state)
            culprits += more_culprits
            groups += more_groups
        if culprits or groups:
            return culprits, groups
        return [replace(self._culprit(path, merge, parent, change), note=why)], []

    def _all(self, path: Path, steps: tuple[Found, ...], state: State) -> Findings:
        culprits: list[Culprit] = []
        groups: list[Group] = []
        for found in steps:
            more_culprits, more_groups = self.refine(path, found, state)
            culprits += more_culprits
            groups += more_groups
        return culprits, groups

    def _culprit(self, path: Path, sha: str, parent: str, change: Change) -> Culprit:
        steps: dict[str, Step] = {}
        functions: tuple[FunctionChange, ...] = ()
        if self._yardstick.regime is Regime.EXACT:
            steps[INSTRUCTIONS] = change.step
            profiles = (
                mean_profile(self._lab.probes(commit, Purpose.SEARCH, self._yardstick.repeats))
                for commit in (parent, sha)
            )
            functions = largest_functions(*profiles)
        note = ""
        try:
            steps.update(self._clock_step(parent, sha))
        except Unobservable as reason:
            if self._yardstick.regime is Regime.NOISY:
                raise
            note = f"its CPU time cannot be measured: {reason}"
        details = self._bench.history.describe(sha)
        files = sorted(details.files, key=lambda file: -((file.added or 0) + (file.deleted or 0)))
        return Culprit(
            sha=sha,
            parent=parent,
            subject=details.subject,
            author=details.author,
            date=details.authored.date().isoformat(),
            steps=steps,
            functions=functions,
            inside=path.inside,
            share=change.cost / self._whole.difference,
            note=note,
            message=details.message,
            files=tuple(ChangedFile(file.path, file.added, file.deleted) for file in files[:FILES_KEPT]),
            more_files=max(0, len(files) - FILES_KEPT),
            variables=changed_variables(self._variables(parent), self._variables(sha)),
        )

    def _variables(self, sha: str) -> Mapping[str, str]:
        bench = self._bench
        return bench.store.variables(bench.bisection, sha, bench.test.name, (Purpose.SEARCH, Purpose.CLOCK))

    def _group(self, path: Path, found: Found, state: State, why: str, *, unmeasured: bool = False) -> Group:
        """The candidates of a step: if the commit's parent is `unmeasured`, all after what the class before it was
        measured by, else those after that class."""
        return Group(
            after=path.built(found.low) if unmeasured else path.classes[found.low][-1],
            until=path.built(found.high),
            commits=(path.around if unmeasured else path.between)(found.low, found.high),
            percent=found.percent * state.costs[0].total / self._whole.start,
            why=why,
            inside=path.inside,
        )


def _both(one: Findings, other: Findings) -> Findings:
    return [*one[0], *other[0]], [*one[1], *other[1]]


def largest_functions(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[FunctionChange, ...]:
    """The functions whose self cost changed most between two profiles, growth and shrinkage alike, largest first.

    A function whose signature changed counts as one.
    """
    before, after = by_bare_name(before), by_bare_name(after)
    changes = function_changes(Cost(0.0, before), Cost(0.0, after))
    names = sorted(changes, key=lambda name: (-abs(changes[name]), name))[:FUNCTIONS_KEPT]
    return tuple(FunctionChange(name, before.get(name, 0.0), after.get(name, 0.0)) for name in names)


def reasons(path: Path, found: Found, state: State, regime: Regime) -> str:
    """Why the candidates of a step that was searched to its end cannot be told apart."""
    between = range(found.low + 1, found.high)
    dead = [number for number in between if number in state.dead]
    told = []
    if regime is Regime.NOISY and len(dead) < len(between):
        told.append(f"noise hides which; one of them has the step with P = {min(1.0, found.probability):.3f}")
    if dead:
        tried = f"{len(dead)} between {'was' if len(dead) == 1 else 'were'} tried and cannot be measured"
        told.append(f"{tried} ({path.built(dead[0])[:12]}: {state.dead[dead[0]]})")
    if found.untried:
        told.append(f"{found.untried} more fail alike on both sides and were not tried")
    return "; ".join(told)
