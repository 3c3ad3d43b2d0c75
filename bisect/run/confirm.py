"""From a step between two measured commits to a named culprit: measured against its parent, and inside its merge."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Self

from cpubisect.base.metrics import COUNTED
from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import cpu_samples, mean_profile
from cpubisect.records.rows import ProbeRow
from cpubisect.run.chase import chase
from cpubisect.run.classes import merged_lines, narrow, search
from cpubisect.run.crew import begin_all
from cpubisect.run.measuring import Lab, Unobservable, raw_steps
from cpubisect.run.rise import Rise, Rises
from cpubisect.run.strategies.exact import cost
from cpubisect.run.strategies.loop import Searched
from cpubisect.run.strategies.noisy import NoisySearch
from cpubisect.run.wording import reasons
from cpubisect.search import events
from cpubisect.search.costs import Cost, by_bare_name, function_changes
from cpubisect.search.ends import Regime, Yardstick, changed_variables, ruled_out
from cpubisect.search.evidence import LEFT_OF_STEP, shown
from cpubisect.search.exact import Found
from cpubisect.search.line import Line
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Culprit, FunctionChange, Group

MOST_AGAIN = 2
"""So many commits that could not be built are tried once more at each side of a step."""

MOST_REFUSED = 6
"""So many steps of one line that turn out not to show against the parent end its search."""

INSIDE_SHARE = 0.5
"""A merge's step is looked for inside it if the merged branch itself shows this part of it."""

FUNCTIONS_KEPT = 40
FILES_KEPT = 60


@dataclass(frozen=True)
class Findings:
    """What steps came down to: culprits, and groups of commits that can't be told apart or measured any more. `refused`
    are commits whose step did not show against their parent; `placed` says that where code lies makes a difference."""

    culprits: tuple[Culprit, ...] = ()
    groups: tuple[Group, ...] = ()
    refused: tuple[str, ...] = ()
    placed: bool = False

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(
            self.culprits + other.culprits,
            self.groups + other.groups,
            self.refused + other.refused,
            self.placed or other.placed,
        )

    def __bool__(self) -> bool:
        return bool(self.culprits or self.groups)


NOTHING = Findings()


@dataclass(frozen=True)
class Whole:
    """What all steps of a bisection are measured by, in the metric's own unit: the cost where its line begins, which
    `min_step` is a percentage of, and what bad costs more than good."""

    start: float
    difference: float

    @classmethod
    def of(cls, searched: Searched, percent: float, part: float = 1.0) -> Self:
        """That of a line that was searched, bad being so many percent above good, which is a part of the whole."""
        return cls(searched.start, (searched.end - searched.end / (1 + percent / 100)) / part)


class Confirmer:
    """Refines steps with one yardstick.

    A step against a parent is a percentage of that parent, one of a search a percentage of where its line begins: what
    is compared with another is a cost in the metric's own unit.
    """

    def __init__(self, lab: Lab, yardstick: Yardstick, whole: Whole) -> None:
        self._lab = lab
        self._yardstick = yardstick
        self._whole = whole
        self._noisy = yardstick.regime is Regime.NOISY
        self._rises = Rises(lab.proof, yardstick)
        self._refined_before: dict[tuple[tuple[str, ...], str, str], Findings] = {}
        self._announced: set[str] = set()

    def find(self, searched: Searched, yardstick: Yardstick | None = None) -> tuple[Searched, Findings]:
        """The culprits of a line that was searched, the largest step first: the search goes on once that is confirmed,
        unless only the first is wanted. Where readings that had no part in finding a step do not show it, they are
        given to the search, which goes on too, by the `yardstick` that it began with if that is another; the last one
        is what comes back. Raises Unobservable if an end can't be measured."""
        by = yardstick or self._yardstick
        refused: set[str] = set()
        settled: frozenset[str] = frozenset()
        while not searched.scattered:
            if self._mended(searched):
                searched = search(self._lab, searched.line, replace(by, settled=settled))
                continue
            self._tell(searched, settled)
            found = self._all(searched)
            settled |= {searched.line.built(step.high) for step in searched.done.steps}
            new = set(found.refused) - refused
            refused |= new
            most = 0 if self._lab.question.screen else MOST_REFUSED
            enough = found.placed or len(refused) > most or (bool(found) and self._lab.question.first)
            if enough or not (new or searched.done.more):
                return searched, found
            searched = search(self._lab, searched.line, replace(by, settled=settled))
        return searched, Findings(placed=True)

    def chased(self, start: str, end: str, inside: tuple[str, ...] = ()) -> Findings:
        """The culprits that a chase of the step between two measured commits comes to; none where it fails. Of what
        screening builds caught, that ordinary ones refuse it."""
        try:
            caught = chase(self._lab, start, end, self._yardstick, inside)
        except Unobservable:
            return NOTHING
        if caught is None:
            return NOTHING
        step = caught.done.steps[0]
        if self._yardstick.direction * step.percent / 100 * caught.start < self._least():
            self._lab.tell(events.ChaseLost(why=f"{caught.line.first(1)[:12]} does not show it", inside=inside))
            return NOTHING
        found = self._refined_once(caught, step)
        # Builds that only screen are asked no further once ordinary ones do not show what they led to.
        return found if found.culprits or (found.refused and self._lab.question.screen) else NOTHING

    def explained(self, found: Findings) -> float:
        """What the culprits add to the cost, in the wanted direction."""
        shares = (culprit.share or 0.0 for culprit in found.culprits)
        return self._yardstick.direction * sum(shares) * self._whole.difference

    def _mended(self, searched: Searched) -> bool:
        """Whether a commit beside a step, of those next to what could be measured, could be built after all."""
        line = searched.line
        mended = False
        for found in searched.done.steps:
            failed = [number for number in range(found.low + 1, found.high) if number in searched.dead]
            for number in dict.fromkeys((*failed[:MOST_AGAIN], *failed[-MOST_AGAIN:])):
                mended |= self._lab.build_again(line.built(number))
        return mended

    def _tell(self, searched: Searched, settled: Collection[str]) -> None:
        """The steps of a line that are new, into the journal."""
        line = searched.line
        for found in searched.done.steps:
            low, high = line.built(found.low), line.built(found.high)
            if high not in settled:
                self._lab.tell(events.StepFound(low=low, high=high, percent=found.percent))

    def _refined_once(self, searched: Searched, found: Found) -> Findings:
        """`refine`, unless that was done for the same step before and came to something."""
        line = searched.line
        key = (line.inside, line.built(found.low), line.built(found.high))
        if key not in self._refined_before:
            findings = self.refine(searched, found)
            if self._noisy or findings.refused:
                return findings
            self._refined_before[key] = findings
            for culprit in findings.culprits:
                self._announce(culprit)
        return self._refined_before[key]

    def _announce(self, culprit: Culprit) -> None:
        """Tell of a culprit, once."""
        if culprit.sha in self._announced:
            return
        self._announced.add(culprit.sha)
        metric = self._yardstick.metric
        self._lab.tell(
            events.CulpritFound(
                sha=culprit.sha,
                subject=culprit.subject,
                percent=culprit.steps[metric].percent,
                metric=metric,
                share=culprit.share or 0.0,
                release=culprit.release,
            )
        )

    def refine(self, searched: Searched, found: Found) -> Findings:
        """The culprits that a step of a line comes down to, or the groups that can't be told apart or measured."""
        try:
            return self._refined(searched, found)
        except Unobservable as reason:
            return _only(self._group(searched, found, f"not all of these can be measured: {reason}"))

    def _refined(self, searched: Searched, found: Found) -> Findings:
        """The culprits of a step, confirmed; raises Unobservable.

        A step that is not all there between the commit and its parent is looked for in the classes beside it, whose
        members are then built one by one: that they share one binary was only presumed. In the noisy regime that is
        done only if nothing of the step shows at the commit, since a small rest is likely noise.
        """
        line = searched.line
        sha = line.first(found.high)
        parent = line.parents[sha]
        rise: Rise | None = None
        group = self._group(searched, found, reasons(line, found, searched.dead, self._yardstick.regime))
        if self._noisy and not found.single:
            return self._of_several(searched, found, group)
        try:
            rise = self._expected_rise(parent, sha, searched, found) if found.single else None
        except Unobservable as reason:
            if any(self._lab.proof.build_again(own) for own in (parent, sha)):
                return self._refined(searched, found)
            why = f"{sha[:12]} or its parent {parent[:12]} cannot be measured: {reason}"
            group = self._group(searched, found, why, unmeasured=True)
        least = self._least() / 2
        shows = rise is not None and self._shows(rise, least)
        hidden, explained = NOTHING, 0.0
        if not shows or not self._noisy:
            hidden, explained = self._inside_classes(searched, found, least)
        if rise is None:
            rest = self._yardstick.direction * found.percent / 100 * searched.start - explained
            return hidden if hidden and rest < least else hidden + _only(group)
        if not shows:
            return hidden or self._refused(searched, found, rise, parent, sha)
        return self._shown(searched, found, rise) + hidden

    def _of_several(self, searched: Searched, found: Found, group: Group) -> Findings:
        """A step on CPU time that may be any of several commits': it too must show. Raises Unobservable."""
        before, after = searched.line.built(found.low), searched.line.built(found.high)
        rise = self._expected_rise(before, after, searched, found)
        if self._shows(rise, self._least() / 2):
            return _only(group)
        return self._refused(searched, found, rise, before, after)

    def _expected_rise(self, parent: str, sha: str, searched: Searched, found: Found) -> Rise:
        """The step that was found; raises Unobservable."""
        # A step looks largest where it is found: what all readings of the ends say limits it.
        expected = min(abs(found.percent), abs(searched.end / searched.start - 1) * 100)
        rise = self._rises.between(parent, sha, expected, searched.noise)
        if self._lab.question.screen:
            # What it is a part of was measured in the builds of the search, with all that is explained by now.
            whole = replace(self._yardstick, explained=())
            rise = replace(rise, before=cost(self._lab, searched.line.built(found.low), whole).total)
        return replace(rise, expected=expected / 100 * searched.start)

    def _shows(self, rise: Rise, least: float) -> bool:
        """Whether a step of at least so much is there; on CPU time by readings that had no part in finding it. Those,
        and other builds than it was found by, must show a part of what was found: a smaller one is not that."""
        direction = self._yardstick.direction
        if rise.clocked is not None or self._lab.question.screen:
            least = max(least, rise.expected * LEFT_OF_STEP)
        surely = rise.clocked is None or shown(rise.clocked.sigmas * direction)
        return surely and direction * rise.cost >= least

    def _refused(self, searched: Searched, found: Found, rise: Rise, parent: str, sha: str) -> Findings:
        """A step that does not show between two commits; raises Unobservable."""
        equal = " (their code is equal)" if self._lab.proof.same_code(parent, sha) else ""
        count = f" in {len(rise.clocked.after)} rounds" if rise.clocked else ""
        which = "the commit and its parent" if found.single else f"{parent[:12]} and {sha[:12]}"
        by = " by ordinary builds" if self._lab.question.screen else ""
        why = f"the step does not show between {which}{count}{by}{equal}"
        group = self._group(searched, found, why)
        if rise.clocked is None:
            return Findings(groups=(group,), refused=(sha,))
        placed = not (self._yardstick.redrawn or rise.unplaced) and ruled_out(
            rise.step, self._yardstick.direction, rise.expected * LEFT_OF_STEP / rise.before * 100
        )
        self._lab.tell(
            events.NotConfirmed(
                sha=sha,
                parent=parent,
                expected=found.percent,
                percent=rise.step.percent,
                rounds=len(rise.clocked.after),
                placed=placed,
            )
        )
        return Findings(groups=(group,), refused=(sha,), placed=placed)

    def _shown(self, searched: Searched, found: Found, rise: Rise) -> Findings:
        """The culprits of a step that shows between a commit and its parent; raises Unobservable."""
        line = searched.line
        sha = line.first(found.high)
        parent = line.parents[sha]
        screened = self._lab.question.screen
        told = f"in the search, by screening builds, it was {found.percent:+.2f} %" if screened else ""
        if sha in line.merges:
            return self._inside_merge(line, sha, parent, rise, told)
        # Nothing to state on an exact metric.
        stated = max(found.probability, self._stated(searched, found)) if self._noisy else None
        culprit = replace(self._culprit(line, sha, parent, rise), probability=stated)
        return Findings((culprit.noted(told),))

    def _stated(self, searched: Searched, found: Found) -> float:
        """How likely a step is where it was found, with the readings that confirm it."""
        return NoisySearch(self._lab, searched.line, self._yardstick).stated(found.low, found.high)

    def _least(self) -> float:
        """The smallest step wanted, as a cost."""
        return self._yardstick.min_step / 100 * self._whole.start

    def _inside_classes(self, searched: Searched, found: Found, least: float) -> tuple[Findings, float]:
        """What of a step is inside the class before it, or inside the last one, whose end is measured and not its
        beginning; and how much that explains. Only a class whose two ends differ by `least` is opened; both are
        costs."""
        line, everything, explained = searched.line, NOTHING, 0.0
        for number in (found.low, found.high) if found.high == line.size - 1 else (found.low,):
            try:
                findings, grown = self._opened(line.one_by_one(number), least, searched.noise)
            except Unobservable:
                continue
            everything += findings
            explained += grown
        return everything, explained

    def _opened(self, singles: Line, least: float, noise: float) -> tuple[Findings, float]:
        """What is between the first and the last commit of a class, and what that costs; nothing if it is less than
        `least`. A reading of CPU time has a `noise` in percent. Raises Unobservable."""
        first, last = singles.built(0), singles.built(singles.size - 1)
        begin_all(self._lab.crew, (first, last))
        if first == last or self._lab.same_code(first, last):
            return NOTHING, 0.0
        before, after = self._apart(first, last, least, noise)
        grown = self._yardstick.direction * (after - before)
        if grown < least:
            return NOTHING, 0.0
        self._lab.tell(events.ClassOpened(first=first, last=last, percent=(after - before) / before * 100))
        own = replace(self._yardstick, min_step=least / before * 100)
        searched = narrow(self._lab, singles, own)
        while searched.done.more:
            own = replace(own, settled=own.settled | {singles.built(step.high) for step in searched.done.steps})
            searched = narrow(self._lab, singles, own)
        return self._all(searched), grown

    def _apart(self, first: str, last: str, least: float, noise: float) -> tuple[float, float]:
        """What two commits with different code cost, alike if noise may have made the difference, one of `least` being
        looked for. Raises Unobservable."""
        if self._noisy:
            start = self._start(first)
            rise = self._rises.between(first, last, least / start * 100, noise)
            return rise.before, rise.before + (rise.cost if self._shows(rise, least) else 0.0)
        return self._counted(first), self._counted(last)

    def _counted(self, sha: str) -> float:
        return cost(self._lab, sha, self._yardstick).total

    def _start(self, sha: str) -> float:
        """What the commit costs where a merged line begins; in CPU time by one reading of the search to come. Raises
        Unobservable."""
        return fmean(cpu_samples(self._lab.probes(sha, Purpose.CLOCK, 1))) if self._noisy else self._counted(sha)

    def _inside_merge(self, line: Line, merge: str, parent: str, rise: Rise, told: str) -> Findings:
        """Chase the merge's step through all it brought, and if that does not explain it, bisect the merged lines; if
        none shows it by itself, the merge is the culprit, with what is `told` of it.

        A line on which nothing is thought to change the binary comes last, its commits one by one.
        """
        found = NOTHING if self._noisy else self.chased(parent, merge, (*line.inside, merge))
        if found.refused and self._lab.question.screen:
            return found
        if found and self._yardstick.direction * rise.cost - self.explained(found) < self._least():
            return found
        found = NOTHING
        why = "nothing on the merged line can change the binary"
        branches = merged_lines(self._lab, merge, parent, line.inside)
        for branch in sorted(branches, key=lambda branch: branch.size < 2):
            opened = branch if branch.size > 1 else branch.one_by_one(0)
            if opened.size < 2 or (opened is not branch and found):
                continue
            self._lab.tell(events.InsideMerge(merge=merge, candidates=len(opened.commits()) - 1))
            try:
                own, missing = self._of_branch(opened, rise)
            except Unobservable as reason:
                why = f"the merged line cannot be measured: {reason}"
                continue
            why = missing
            found += own
        return found or Findings((replace(self._culprit(line, merge, parent, rise), note=why).noted(told),))

    def _of_branch(self, opened: Line, rise: Rise) -> tuple[Findings, str]:
        """The culprits on a merged line, and if there are none, why; raises Unobservable."""
        least = abs(rise.cost) * INSIDE_SHARE
        min_step = min(least, self._least()) / self._start(opened.built(0)) * 100
        own = replace(self._yardstick, min_step=min_step)
        searched = search(self._lab, opened, own)
        if not searched.scattered and self._yardstick.direction * (searched.end - searched.start) < least:
            share = abs(rise.step.percent) * INSIDE_SHARE
            return NOTHING, (
                f"the merged line by itself changes the cost by less than {share:.2f} %: only the combination does"
            )
        why = f"the merged line has no single step of {self._yardstick.min_step:.2f} % or more: many small ones"
        return self.find(searched, own)[1], why

    def _all(self, searched: Searched) -> Findings:
        line = searched.line
        firsts = [line.first(found.high) for found in searched.done.steps if found.single]
        begin_all(self._lab.proof.crew, (own for sha in firsts for own in (line.parents[sha], sha)))
        return sum((self._refined_once(searched, found) for found in searched.done.steps), NOTHING)

    def _culprit(self, line: Line, sha: str, parent: str, rise: Rise) -> Culprit:
        """All that is told of a culprit."""
        steps: dict[str, Step] = {}
        functions: tuple[FunctionChange, ...] = ()
        if not self._noisy:
            probes = self._profiled(parent, sha)
            steps.update({**raw_steps(COUNTED, *probes), self._yardstick.metric: rise.step})
            functions = largest_functions(*map(mean_profile, probes))
        note = f"the layout of its code could not be drawn anew: {rise.unplaced}" if rise.unplaced else ""
        try:
            steps.update((rise.clocked or self._rises.clocked(parent, sha)).steps)
        except Unobservable as reason:
            note = f"its CPU time cannot be measured: {reason}"
        details = self._lab.history.describe(sha)
        files = sorted(details.files, key=lambda file: -((file.added or 0) + (file.removed or 0)))
        return Culprit(
            sha=sha,
            parent=parent,
            subject=details.subject,
            author=details.author,
            date=details.authored.date().isoformat(),
            steps=steps,
            functions=functions,
            inside=line.inside,
            share=rise.cost / self._whole.difference,
            note=note,
            message=details.message,
            files=tuple(files[:FILES_KEPT]),
            more_files=max(0, len(files) - FILES_KEPT),
            variables=changed_variables(self._lab.variables(parent), self._lab.variables(sha)),
            release=self._lab.history.release(sha),
            parent_release=self._lab.history.release(parent),
            side=self._lab.side,
        )

    def _profiled(self, parent: str, sha: str) -> list[Sequence[ProbeRow]]:
        """The counts of a commit and its parent that tell which functions changed: those of the search, and where that
        went by other builds, those that confirm it. Raises Unobservable."""
        purpose = Purpose.count(sha, parent) if self._lab.question.screen else Purpose.SEARCH
        return [self._lab.proof.probes(own, purpose, self._yardstick.repeats) for own in (parent, sha)]

    def _group(self, searched: Searched, found: Found, why: str, *, unmeasured: bool = False) -> Group:
        """The candidates of a step: if the commit's parent is `unmeasured`, all after what the class before it was
        measured by, else those after that class."""
        line = searched.line
        return Group(
            after=line.built(found.low) if unmeasured else line.classes[found.low][-1],
            until=line.built(found.high),
            commits=(line.around if unmeasured else line.between)(found.low, found.high),
            percent=found.percent * searched.start / self._whole.start,
            why=why,
            inside=line.inside,
            side=self._lab.side,
        )


def _only(group: Group) -> Findings:
    return Findings(groups=(group,))


def largest_functions(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[FunctionChange, ...]:
    """The functions whose self cost changed most between two profiles, growth and shrinkage alike, largest first.

    A function whose signature changed counts as one.
    """
    before, after = by_bare_name(before), by_bare_name(after)
    changes = function_changes(Cost(0.0, before), Cost(0.0, after))
    names = sorted(changes, key=lambda name: (-abs(changes[name]), name))[:FUNCTIONS_KEPT]
    return tuple(FunctionChange(name, before.get(name, 0.0), after.get(name, 0.0)) for name in names)
