"""Answers against the truth: what counts as right, and what many trials say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import fmean

import numpy as np
from scipy.stats import beta, binomtest, fisher_exact

from searching.host import Host
from searching.result import Result
from searching.world import MOST_OF_OTHERS, History

ENOUGH = 0.99
"""The share of right answers that makes a search right in a cell."""

DOUBT = 0.05
"""A search still counts as right while a one-sided test of its share against ENOUGH is above this, and as right as
another one while a one-sided test of both is."""

BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998, 1.0)
"""Edges of the stated probabilities that are compared with what came true."""

SURE = 0.998
"""What is stated with this probability or more should be true in as many cases."""


class Verdict(StrEnum):
    """What an answer is worth.

    `right`: the culprit is named, or where broken builds hide it, the numbers that nobody can tell apart; a real step
    that is named beside it is not wrong. `unsure`: exactly the culprit, but not confirmed. `set`: the culprit and
    others that are not it. `other`: real steps, but not the culprit. `wrong group`: one of its groups holds no step at
    all. `named wrong`: a commit is named that is no step at all. `none`: nothing is named.
    """

    RIGHT = "right"
    UNSURE = "unsure"
    SET = "set"
    OTHER = "other"
    WRONG_GROUP = "wrong group"
    NAMED_WRONG = "named wrong"
    NONE = "none"


@dataclass(frozen=True)
class Stated:
    """What was stated of one named commit: whether it `is_step`, with which probability if with any, and the step in
    percent of its parent with the 99 % interval; `truth` is that step's true size."""

    is_step: bool
    probability: float | None
    percent: float
    low: float
    high: float
    truth: float

    @property
    def covered(self) -> bool:
        """True if the interval holds the true size."""
        return self.low <= self.truth <= self.high


@dataclass(frozen=True)
class Trial:
    """One bisection of one history.

    `kind` is what the answer calls itself; `visible` the smallest step in percent that an answer which names nothing
    says it would have seen; `whole` what the ends truly differ by; `others` the size of all other steps together over
    the culprit's; `thought_s` is processor time of search and simulation together, which is not part of `clock_s`.
    """

    verdict: Verdict
    kind: str
    stated: tuple[Stated, ...]
    visible: float | None
    whole: float
    builds: int
    probes: int
    probe_s: float
    clock_s: float
    others: float
    thought_s: float

    @property
    def dominated(self) -> bool:
        """True if one step dominated in that history."""
        return self.others <= MOST_OF_OTHERS

    @property
    def blind(self) -> bool:
        """True if it names nothing, although the ends differ by more than what it says it would have seen."""
        return self.verdict is Verdict.NONE and self.visible is not None and self.whole > self.visible


def judge(history: History, result: Result) -> Verdict:
    """Any false statement decides; then the best one does."""
    named = {one.number for one in result.named}
    if named - history.steps:
        return Verdict.NAMED_WRONG
    groups = [range(after + 1, until + 1) for after, until in result.groups]
    if any(history.steps.isdisjoint(group) for group in groups):
        return Verdict.WRONG_GROUP
    if not named and not groups:
        return Verdict.NONE
    if history.culprit in named:
        return Verdict.RIGHT
    around = [group for group in groups if history.culprit in group]
    return _worth(history, min(around, key=len)) if around else Verdict.OTHER


def _worth(history: History, group: range) -> Verdict:
    """What a group with the culprit is worth."""
    low, high = history.within()
    if not (low < group[0] and group[-1] <= high):
        return Verdict.SET
    return Verdict.RIGHT if high - low > 1 else Verdict.UNSURE


def trial(history: History, host: Host, result: Result, thought_s: float) -> Trial:
    """The record of a finished bisection."""
    return Trial(
        verdict=judge(history, result),
        kind=result.kind,
        stated=tuple(
            Stated(
                one.number in history.steps,
                one.probability,
                one.percent,
                one.low,
                one.high,
                history.change(one.number),
            )
            for one in result.named
        ),
        visible=result.visible,
        whole=float(history.means[-1] / history.means[0] - 1) * 100,
        builds=host.builds,
        probes=host.probes,
        probe_s=host.probes * host.probe_s,
        clock_s=host.clock_s,
        others=history.others,
        thought_s=thought_s,
    )


@dataclass(frozen=True)
class Summary:
    """What many trials of one search in one cell say: how many ended how, right ones as a ratio with Wilson's 95 %
    interval, and times in hours."""

    trials: int
    counts: Mapping[Verdict, int]
    right_low: float
    right_high: float
    builds: float
    probes: float
    probe_h: float
    hours: float
    hours_p50: float
    hours_p95: float
    thought_s: float
    passes: bool

    def share(self, *verdicts: Verdict) -> float:
        """The part of the trials that ended so, as a ratio."""
        return sum(self.counts[verdict] for verdict in verdicts) / self.trials

    @property
    def right(self) -> float:
        """The share of right answers."""
        return self.share(Verdict.RIGHT)

    def at_most(self, verdict: Verdict) -> float:
        """One-sided 95 % bound of a share."""
        return upper_bound(self.counts[verdict], self.trials)


def summarise(trials: Sequence[Trial]) -> Summary:
    """Summary of at least one trial."""
    count = len(trials)
    counts = {verdict: sum(one.verdict is verdict for one in trials) for verdict in Verdict}
    right = counts[Verdict.RIGHT]
    interval = binomtest(right, count).proportion_ci(method="wilson")
    hours = np.array([one.clock_s for one in trials]) / 3600
    return Summary(
        trials=count,
        counts=counts,
        right_low=float(interval.low),
        right_high=float(interval.high),
        builds=fmean(one.builds for one in trials),
        probes=fmean(one.probes for one in trials),
        probe_h=fmean(one.probe_s for one in trials) / 3600,
        hours=float(hours.mean()),
        hours_p50=float(np.percentile(hours, 50)),
        hours_p95=float(np.percentile(hours, 95)),
        thought_s=fmean(one.thought_s for one in trials),
        passes=enough(right, count),
    )


def enough(right: int, trials: int) -> bool:
    """True if the share of right answers is ENOUGH, or these trials are too few to tell it from that."""
    return right >= ENOUGH * trials or float(binomtest(right, trials, ENOUGH, alternative="less").pvalue) > DOUBT


def as_right(one: Summary, than: Summary) -> bool:
    """True if a search is right in a cell, and not less often than another one as far as these trials tell (Fisher's
    exact test, one-sided)."""
    first, second = one.counts[Verdict.RIGHT], than.counts[Verdict.RIGHT]
    if not one.passes or first / one.trials >= second / than.trials:
        return one.passes
    table = [[first, one.trials - first], [second, than.trials - second]]
    return float(fisher_exact(table, alternative="less")[1]) > DOUBT


def upper_bound(found: int, trials: int) -> float:
    """The largest share that so many of these trials leave possible, one-sided at 95 % (Clopper and Pearson 1934)."""
    return 1.0 if found == trials else float(beta.ppf(0.95, found + 1, trials - found))


def lower_bound(found: int, trials: int) -> float:
    """The smallest one."""
    return 1.0 - upper_bound(trials - found, trials)


@dataclass(frozen=True)
class Bin:
    """Statements whose probability is in [`low`, `high`), the last bin closed: how many, their mean, and how many of
    them were true."""

    low: float
    high: float
    count: int
    stated: float
    true: int


def statements(trials: Sequence[Trial]) -> list[Stated]:
    """Everything that was stated of named commits."""
    return [one for trial in trials for one in trial.stated]


def brier(found: Sequence[Stated]) -> float | None:
    """Mean squared difference between the stated probability and the truth (Brier 1950); None without any."""
    stated = [(one.probability, one.is_step) for one in found if one.probability is not None]
    return fmean((probability - true) ** 2 for probability, true in stated) if stated else None


def calibration(found: Sequence[Stated]) -> list[Bin]:
    """Stated probability against what came true, in the BINS that have statements."""
    bins: list[Bin] = []
    for low, high in pairwise(BINS):
        inside = [
            (one.probability, one.is_step)
            for one in found
            if one.probability is not None and (low <= one.probability < high or one.probability == high == 1.0)
        ]
        if inside:
            mean = fmean(probability for probability, _ in inside)
            bins.append(Bin(low, high, len(inside), mean, sum(true for _, true in inside)))
    return bins


@dataclass(frozen=True)
class Honesty:
    """How far what was stated of named commits holds: of those with a probability of at least SURE how many there are
    and how many are steps; of how many the 99 % interval holds the true size; the mean stated size of those that are
    steps over the mean true one, with the standard error of that ratio, None without any; and how many of those that
    named nothing are blind."""

    named: int
    sure: int
    sure_true: int
    covered: int
    bias: float | None
    bias_error: float | None
    silent: int
    blind: int


def honesty(trials: Sequence[Trial]) -> Honesty:
    """Of some trials."""
    found = statements(trials)
    sure = [one for one in found if one.probability is not None and one.probability >= SURE]
    steps = [one for one in found if one.is_step]
    silent = [one for one in trials if one.verdict is Verdict.NONE]
    ratio = error = None
    if steps:
        true = fmean(one.truth for one in steps)
        ratio = fmean(one.percent for one in steps) / true
        misses = [one.percent - ratio * one.truth for one in steps]
        error = float(np.std(misses)) / len(steps) ** 0.5 / true
    return Honesty(
        named=len(found),
        sure=len(sure),
        sure_true=sum(one.is_step for one in sure),
        covered=sum(one.covered for one in found),
        bias=ratio,
        bias_error=error,
        silent=len(silent),
        blind=sum(one.blind for one in silent),
    )
