"""The step between two commits, by readings that are made for it alone: fresh counts, or interleaved rounds of CPU
time."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import counted
from cpubisect.records.rows import ProbeRow
from cpubisect.run.crew import begin_all
from cpubisect.run.measuring import Beside, Lab, Unobservable, clock_rounds, rounds
from cpubisect.run.strategies.exact import explained
from cpubisect.search import events
from cpubisect.search.ends import Regime, Yardstick
from cpubisect.search.evidence import (
    COUNTS,
    DOUBT_SIGMAS,
    FAR_SHARE,
    MOST_COUNTS,
    far,
    median_step,
    rounds_for,
    shown,
)
from cpubisect.search.stats import Step

CLOCK_ROUNDS = range(5, 11)
"""Interleaved rounds of CPU time for a culprit that was found by its instructions and its parent, at least and at most,
before the interval stands."""


@dataclass(frozen=True)
class Rise:
    """A step between two commits, and what the first one costs in the metric's own unit; on CPU time how it was
    `clocked`, why it was not with binaries linked anew, how large a cost was `expected`, and how much of it is
    `explained` by steps that are known."""

    before: float
    step: Step
    clocked: Beside | None = None
    unplaced: str = ""
    expected: float = 0.0
    explained: float = 0.0

    @property
    def cost(self) -> float:
        """The step as a cost, without what of it is explained already."""
        return self.step.percent / 100 * self.before - self.explained


class Rises:
    """Measures steps between commits with one yardstick."""

    def __init__(self, lab: Lab, yardstick: Yardstick) -> None:
        self._lab = lab
        self._yardstick = yardstick

    def between(self, parent: str, sha: str, percent: float, noise: float) -> Rise:
        """The step from parent to commit, by repeated probes of both; none if their code is equal, without a probe. On
        CPU time a step of so many `percent` is expected, of readings with a `noise` in percent. Raises Unobservable."""
        begin_all(self._lab.crew, (parent, sha))
        if self._lab.same_code(parent, sha):
            return Rise(0.0, Step(0.0, 0.0, 0.0, 0.0))
        if self._yardstick.regime is Regime.NOISY:
            return self._clocked_anew(parent, sha, rounds_for(percent, noise))
        before, after = (counted(rows, self._yardstick.metric) for rows in self._counted_anew(parent, sha))
        known = self._explained(sha) - self._explained(parent)
        return Rise(median(before), median_step(before, after), explained=known)

    def _explained(self, sha: str) -> float:
        """What of a commit's cost is explained already."""
        return sum(known.total for known in explained(self._lab, sha, self._yardstick))

    def _counted_anew(self, parent: str, sha: str) -> list[Sequence[ProbeRow]]:
        """Counts of a commit and its parent that had no part in the search, more of them while some are far from the
        others of their build; raises Unobservable."""
        purpose, tolerance = Purpose.count(sha, parent), self._yardstick.min_step * FAR_SHARE
        metric = self._yardstick.metric
        for count in range(max(COUNTS, self._yardstick.repeats), max(MOST_COUNTS, self._yardstick.repeats) + 1):
            found = rounds(self._lab, (parent, sha), purpose, count)
            read = (counted(rows, metric) for rows in found)
            strange = {own: far(counts, tolerance) for own, counts in zip((parent, sha), read, strict=True)}
            if sum(map(len, strange.values())) <= count - COUNTS:
                break
            for own, counts in strange.items():
                if counts:
                    self._lab.tell(events.FarCount(sha=own, counts=tuple(counts), of=count, metric=metric))
        return found

    def _clocked_anew(self, parent: str, sha: str, count: int) -> Rise:
        """Interleaved rounds of CPU time, so many or twice as many, of binaries that are linked anew for each where
        that can be done; raises Unobservable."""

        def settled(found: Beside) -> bool:
            sigmas = found.sigmas * self._yardstick.direction
            return shown(sigmas) or sigmas < DOUBT_SIGMAS

        shas, purpose, counts = (parent, sha), Purpose.clock(sha, parent), (count, 2 * count)
        for own in shas:
            self._lab.build(own)
        why = self._lab.redraws
        if not why:
            try:
                found = clock_rounds(self._lab, shas, purpose, counts, settled, redrawn=True)
                return Rise(found.base, found.cpu, found)
            except Unobservable as reason:
                why = str(reason)
        found = clock_rounds(self._lab, shas, purpose, counts, settled)
        return Rise(found.base, found.cpu, found, why)

    def clocked(self, parent: str, sha: str) -> Beside:
        """Interleaved rounds of CPU time until the step is sure; raises Unobservable."""
        purpose = Purpose.clock(sha, parent)
        return clock_rounds(self._lab, (parent, sha), purpose, CLOCK_ROUNDS, lambda found: found.cpu.sure)
