"""Chromium Pinpoint's rule, in our own words: is each adjacent pair of measured commits different, the same, or open?

A pair that differs gets a commit between it, an open pair more attempts (10, doubling to 160), and a pair that is the
same is left alone. Different means p ≤ 0.01 by the smaller p of Kolmogorov-Smirnov and Mann-Whitney; the same means a
Mann-Whitney p above the 99th percentile of what the wanted effect would give at this count, simulated beforehand and
kept. An improvement counts as the same, since the direction is known.
"""

import math
from collections.abc import Collection
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

from searching.bench import Bench
from searching.host import Answer

ATTEMPTS = (10, 20, 40, 80, 160)
DIFFERENT_P = 0.01
MAX_BUILDS = 60
DRAWS = 4000
MAGNITUDES = (0.3, 4.0)
"""Effects that have a threshold, in interquartile ranges."""


def search(host: Bench) -> Answer | None:
    """The pair of neighbours with the largest difference among those that differ; None if none do.

    When it is asked for its answer, it makes no more attempts and builds.
    """
    values: dict[int, NDArray[np.float64]] = {}

    def measure(number: int, count: int) -> None:
        before = values.get(number, np.empty(0))
        values[number] = np.concatenate([before, host.probe_times(number, count - len(before))])

    for end in (0, host.size - 1):
        host.build(end)
        measure(end, ATTEMPTS[0])
    found: list[tuple[float, int, int]] = []
    busy = True
    while busy:
        busy = False
        found.clear()
        for low, high in pairwise(sorted(values)):
            verdict = compare(values[low], values[high], host.wanted)
            if verdict is None and not host.spent:
                behind = low if len(values[low]) <= len(values[high]) else high
                measure(behind, next(count for count in ATTEMPTS if count > len(values[behind])))
                busy = True
            elif verdict:
                number = between(low, high, host.failures)
                if number is None or host.spent or (host.builds >= MAX_BUILDS and not host.has(number)):
                    found.append((float(values[high].mean() - values[low].mean()), low, high))
                    continue
                busy = True
                if host.build(number):
                    measure(number, ATTEMPTS[0])
    if not found:
        return None
    _, low, high = max(found)
    if between(low, high, host.failures) is None:
        # After commits that can't be built it blames the one that can.
        low = high - 1
    return Answer(low, high)


def between(low: int, high: int, failures: Collection[int]) -> int | None:
    """The middle of two numbers; of the longer stretch beside the failed builds, if there are some; None if none is.

    Where a build fails, Pinpoint looks for the edges of the broken range like for any other difference.
    """
    failed = [number for number in failures if low < number < high]
    stretches = [(low, min(failed)), (max(failed), high)] if failed else [(low, high)]
    start, end = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
    return (start + end) // 2 if end - start > 1 else None


def compare(before: NDArray[np.float64], after: NDArray[np.float64], wanted: float) -> bool | None:
    """True if `after` costs more, False if it is the same, None if more attempts are needed."""
    if after.mean() <= before.mean():
        return False
    p = mann_whitney(before, after)
    if min(p, kolmogorov_smirnov(before, after)) <= DIFFERENT_P:
        return True
    if min(len(before), len(after)) >= ATTEMPTS[-1]:
        return False
    spread = max(float(np.subtract(*np.percentile(values, (75, 25)))) for values in (before, after))
    magnitude = wanted / spread if spread else math.inf
    lowest, highest = MAGNITUDES
    rounded = math.floor(min(max(magnitude, lowest), highest) * 10) / 10
    same = p > same_threshold(rounded, (len(before) + len(after)) // 2)
    return False if same else None


@cache
def same_threshold(magnitude: float, count: int) -> float:
    """The 99th percentile of Mann-Whitney's p when `count` values a side differ by `magnitude` interquartile ranges.

    From DRAWS simulated pairs of normal samples.
    """
    rng = np.random.default_rng((count, round(magnitude * 10)))
    shift = magnitude * 2 * float(special.ndtri(0.75))
    pooled = rng.standard_normal((DRAWS, 2 * count))
    pooled[:, count:] += shift
    ranks = np.empty_like(pooled)
    np.put_along_axis(ranks, pooled.argsort(axis=1), np.arange(1.0, 2 * count + 1)[np.newaxis, :], axis=1)
    greater = ranks[:, count:].sum(axis=1) - count * (count + 1) / 2
    return float(np.percentile(_p_of_u(greater, count, count), 99))


def mann_whitney(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Two-sided p by the normal approximation with continuity correction; values are continuous, so without ties."""
    greater = np.searchsorted(np.sort(before), after).sum()
    return float(_p_of_u(np.asarray([float(greater)]), len(before), len(after))[0])


def _p_of_u(u: NDArray[np.float64], first: int, second: int) -> NDArray[np.float64]:
    mean = first * second / 2
    deviation = math.sqrt(first * second * (first + second + 1) / 12)
    z = np.maximum(np.abs(u - mean) - 0.5, 0.0) / deviation
    return np.asarray(2 * special.ndtr(-z), dtype=np.float64)


def kolmogorov_smirnov(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Two-sided p by the limiting distribution with Stephens' (1970) correction for small samples."""
    both = np.concatenate([before, after])
    below = [np.searchsorted(np.sort(side), both, side="right") / len(side) for side in (before, after)]
    distance = float(np.abs(below[0] - below[1]).max())
    root = math.sqrt(len(before) * len(after) / (len(before) + len(after)))
    return float(special.kolmogorov((root + 0.12 + 0.11 / root) * distance))
