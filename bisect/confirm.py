"""From a step between two measured commits to a named culprit: measured against its parent, and inside its merge."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from cpubisect.ends import Regime
from cpubisect.lab import Bench, Lab, Purpose, Unobservable
from cpubisect.narrow import Narrower, Yardstick, cpu_samples, instructions, mean_profile
from cpubisect.path import Path
from cpubisect.route import merged_paths
from cpubisect.search import Cost, Found, State, by_bare_name, function_changes, percent_change
from cpubisect.stats import Step, step
from cpubisect.verdict import Culprit, FunctionChange, Group
from cpubisect.workloads.probe import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS

FEWEST_ROUNDS = 5
MOST_ROUNDS = 10
"""Interleaved rounds of CPU time for culprit and parent, at least and at most, before the interval stands."""

COUNTS = 2
"""Instruction counts of culprit and parent, at least."""

INSIDE_SHARE = 0.5
"""A merge's step is looked for inside it if the merged branch itself shows this part of it."""

FUNCTIONS_KEPT = 40

Findings = tuple[list[Culprit], list[Group]]


class Confirmer:
    """Refines steps with one yardstick; `record` stores the path inside a merge under its name."""

    def __init__(self, lab: Lab, bench: Bench, yardstick: Yardstick, record: Callable[[Path, str], None]) -> None:
        self._lab = lab
        self._bench = bench
        self._yardstick = yardstick
        self._record = record
        self._narrower = Narrower(lab, bench, yardstick)

    def refine(self, path: Path, found: Found, state: State) -> Findings:
        """The culprits a step comes down to, or the groups that can't be told apart."""
        if not found.single:
            return [], [self._group(path, found, _reasons(path, found, state))]
        sha = path.built(found.high)
        parent = path.parents[sha]
        try:
            change = self._change(parent, sha)
        except Unobservable as reason:
            return [], [self._group(path, found, f"the parent {parent[:12]} cannot be measured: {reason}")]
        if self._yardstick.direction * change.percent < self._yardstick.min_step / 2:
            return self._inside_class(path, found, parent, change)
        if self._yardstick.regime is Regime.NOISY and not change.sure:
            return [], [self._group(path, found, f"the step against the parent is not sure after {MOST_ROUNDS} rounds")]
        if sha in path.merges:
            return self._inside_merge(path, sha, parent, change)
        return [self._culprit(path, sha, parent)], []

    def _change(self, parent: str, sha: str) -> Step:
        """The step from parent to commit, by repeated probes of both."""
        if self._yardstick.regime is Regime.EXACT:
            count = max(COUNTS, self._yardstick.repeats)
            before, after = self._lab.rounds([parent, sha], Purpose.SEARCH, count)
            return step(instructions(before), instructions(after))
        return self._clock_step(parent, sha)[CPU]

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

    def _inside_class(self, path: Path, found: Found, parent: str, change: Step) -> Findings:
        """The parent shows the step too: the commits before it don't share one binary after all."""
        self._bench.watch("class-split", parent=parent, percent=change.percent)
        singles = path.one_by_one(found.low)
        if singles.size > 1:
            done, state = self._narrower.narrow(singles)
            if done.steps:
                return self._all(singles, done.steps, state)
        return [], [self._group(path, found, "the step does not show between the commit and its parent")]

    def _inside_merge(self, path: Path, merge: str, parent: str, change: Step) -> Findings:
        """Bisect the merged lines for the merge's step; if none shows it by itself, the merge is the culprit."""
        least = abs(change.percent) * INSIDE_SHARE
        culprits: list[Culprit] = []
        groups: list[Group] = []
        why = "nothing on the merged line can change the binary"
        for branch in merged_paths(self._bench.history, self._bench.engine, merge, parent, path.inside):
            self._record(branch, merge)
            self._bench.watch("inside-merge", merge=merge, candidates=len(branch.commits()) - 1)
            if branch.size < 2:
                continue
            try:
                done, state = self._narrower.narrow(branch, min(least, self._yardstick.min_step))
            except Unobservable as reason:
                why = f"the merged line cannot be measured: {reason}"
                continue
            own = self._yardstick.direction * percent_change(state, 0, branch.size - 1)
            if own < least:
                why = (
                    f"the merged line by itself changes the cost by less than {least:.2f} %: only the combination does"
                )
                continue
            why = f"the merged line has no single step of {self._yardstick.min_step:.2f} % or more: many small ones"
            more_culprits, more_groups = self._all(branch, done.steps, state)
            culprits += more_culprits
            groups += more_groups
        if culprits or groups:
            return culprits, groups
        return [replace(self._culprit(path, merge, parent), note=why)], []

    def _all(self, path: Path, steps: tuple[Found, ...], state: State) -> Findings:
        culprits: list[Culprit] = []
        groups: list[Group] = []
        for found in steps:
            more_culprits, more_groups = self.refine(path, found, state)
            culprits += more_culprits
            groups += more_groups
        return culprits, groups

    def _culprit(self, path: Path, sha: str, parent: str) -> Culprit:
        steps: dict[str, Step] = {}
        functions: tuple[FunctionChange, ...] = ()
        if self._yardstick.regime is Regime.EXACT:
            steps[INSTRUCTIONS] = self._change(parent, sha)
            before, after = (
                mean_profile(self._lab.probes(commit, Purpose.SEARCH, self._yardstick.repeats))
                for commit in (parent, sha)
            )
            functions = largest_functions(before, after)
        steps.update(self._clock_step(parent, sha))
        details = self._bench.history.describe(sha)
        return Culprit(
            sha=sha,
            parent=parent,
            subject=details.subject,
            author=details.author,
            date=details.authored.date().isoformat(),
            steps=steps,
            functions=functions,
            inside=path.inside,
        )

    def _group(self, path: Path, found: Found, why: str) -> Group:
        return Group(
            after=path.classes[found.low][-1],
            until=path.built(found.high),
            commits=path.between(found.low, found.high),
            percent=found.percent,
            why=why,
            inside=path.inside,
        )


def largest_functions(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[FunctionChange, ...]:
    """The functions whose self cost changed most between two profiles, growth and shrinkage alike, largest first.

    A function whose signature changed counts as one.
    """
    before, after = by_bare_name(before), by_bare_name(after)
    changes = function_changes(Cost(0.0, before), Cost(0.0, after))
    names = sorted(changes, key=lambda name: (-abs(changes[name]), name))[:FUNCTIONS_KEPT]
    return tuple(FunctionChange(name, before.get(name, 0.0), after.get(name, 0.0)) for name in names)


def _reasons(path: Path, found: Found, state: State) -> str:
    dead = [number for number in sorted(state.dead) if found.low < number < found.high]
    first = f"{path.built(dead[0])[:12]}: {state.dead[dead[0]]}" if dead else ""
    tried = f"{len(dead)} between {'was' if len(dead) == 1 else 'were'} tried and cannot be measured ({first})"
    return tried + (f"; {found.untried} more fail alike on both sides and were not tried" if found.untried else "")
