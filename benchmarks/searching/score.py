"""Answers against the truth: what counts as right, and what many trials say."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import fmean

import numpy as np
from scipy.stats import binomtest

from searching.host import Answer, Host
from searching.world import MOST_OF_OTHERS, History

ENOUGH = 0.99
"""The share of right answers that makes a search right in a cell."""

DOUBT = 0.05
"""A search still counts as right while a one-sided test of its share against ENOUGH is above this."""

BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998, 1.0)
"""Edges of the stated probabilities that are compared with what came true."""


class Verdict(StrEnum):
    """What an answer is worth."""

    RIGHT = "right"
    SET = "set"
    WRONG = "wrong"
    NONE = "none"


@dataclass(frozen=True)
class Trial:
    """One search of one history.

    `true` says if the answer contains the culprit; `probability` is what the search stated for it; `others` is the size
    of all other steps together over the culprit's; `thought_s` is processor time of the search and the simulation
    together, which is not part of `clock_s`.
    """

    verdict: Verdict
    true: bool
    probability: float | None
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


def judge(history: History, answer: Answer | None) -> Verdict:
    """RIGHT if it is the culprit alone, or as near as broken builds let anybody come; SET if it contains more."""
    if answer is None:
        return Verdict.NONE
    if not answer.low < history.culprit <= answer.high:
        return Verdict.WRONG
    low, high = history.within()
    return Verdict.RIGHT if low <= answer.low and answer.high <= high else Verdict.SET


def trial(history: History, host: Host, answer: Answer | None, thought_s: float) -> Trial:
    """The record of a finished search."""
    verdict = judge(history, answer)
    return Trial(
        verdict,
        verdict in (Verdict.RIGHT, Verdict.SET),
        answer.probability if answer else None,
        host.builds,
        host.probes,
        host.probes * host.probe_s,
        host.clock_s,
        history.others,
        thought_s,
    )


@dataclass(frozen=True)
class Summary:
    """What many trials of one search in one cell say; shares as ratios with Wilson's 95 % interval, times in hours."""

    trials: int
    right: float
    right_low: float
    right_high: float
    sets: float
    none: float
    builds: float
    probes: float
    probe_h: float
    hours: float
    hours_p50: float
    hours_p95: float
    thought_s: float
    passes: bool


def summarise(trials: Sequence[Trial]) -> Summary:
    """Summary of at least one trial."""
    count = len(trials)
    right = sum(one.verdict is Verdict.RIGHT for one in trials)
    interval = binomtest(right, count).proportion_ci(method="wilson")
    hours = np.array([one.clock_s for one in trials]) / 3600
    return Summary(
        trials=count,
        right=right / count,
        right_low=float(interval.low),
        right_high=float(interval.high),
        sets=sum(one.verdict is Verdict.SET for one in trials) / count,
        none=sum(one.verdict is Verdict.NONE for one in trials) / count,
        builds=fmean(one.builds for one in trials),
        probes=fmean(one.probes for one in trials),
        probe_h=fmean(one.probe_s for one in trials) / 3600,
        hours=float(hours.mean()),
        hours_p50=float(np.percentile(hours, 50)),
        hours_p95=float(np.percentile(hours, 95)),
        thought_s=fmean(one.thought_s for one in trials),
        passes=enough(right, count),
    )


def times_longer(trials: Sequence[Trial], than: Sequence[Trial]) -> float:
    """A search's time over another's, in the histories that both searched: the first ones of each."""
    both = list(zip(trials, than, strict=False))
    return sum(one.clock_s for one, _ in both) / sum(other.clock_s for _, other in both)


def enough(right: int, trials: int) -> bool:
    """True if the share of right answers is ENOUGH, or these trials are too few to tell it from that."""
    return right >= ENOUGH * trials or float(binomtest(right, trials, ENOUGH, alternative="less").pvalue) > DOUBT


@dataclass(frozen=True)
class Bin:
    """Answers whose stated probability is in (`low`, `high`]: how many, their mean, and the share that was true."""

    low: float
    high: float
    count: int
    stated: float
    observed: float


def brier(trials: Sequence[Trial]) -> float | None:
    """Mean squared difference between the stated probability and the truth (Brier 1950); None without any."""
    stated = [(one.probability, one.true) for one in trials if one.probability is not None]
    return fmean((probability - true) ** 2 for probability, true in stated) if stated else None


def calibration(trials: Sequence[Trial]) -> list[Bin]:
    """Stated probability against what came true, in the BINS that have answers."""
    found: list[Bin] = []
    for low, high in pairwise(BINS):
        inside = [one for one in trials if one.probability is not None and low < one.probability <= high]
        if inside:
            stated = fmean(one.probability for one in inside if one.probability is not None)
            found.append(Bin(low, high, len(inside), stated, fmean(one.true for one in inside)))
    return found
