"""PURE: of everything that can be measured next on a noisy metric, what tells most per second.

A commit is on the cheap side of the step or on the costly side; its measured cost is normal around one of two levels.
That is a channel with a binary input and Gaussian noise: its mutual information says how much a measurement is worth.
"""

import math
from functools import lru_cache

import numpy as np

from cpubisect.search.clock.digest import Array, Digest
from cpubisect.search.clock.posterior import OUTLIER_NATS, WANDER_SPAN, Posterior
from cpubisect.search.clock.situation import Probe, Situation
from cpubisect.search.stats import entropy

MOST_PRECISE = 0.05
"""A commit is not read again once its mean is known to this part of the step: what is unclear then is no noise."""

COUNTS = (1, 2, 3, 5, 8, 13, 21, 34)
"""Probes of one commit that one action may ask for."""

ANCHOR_PART = 0.2
"""Drift that may have grown to this part of the step since a known side was read calls for an anchor."""

VISIT = 2.0
"""A visit takes at least this times (noise / step)^2 readings: less of them tell next to nothing each."""

_POINTS = 65
_LOGITS = np.linspace(0.0, 14.0, 57)
_DISTANCES = np.concatenate([np.linspace(0.0, 1.0, 11), np.linspace(1.2, 6.0, 25), [7.0, 8.0, 10.0]])
_UNDISTURBED = 1 - float(entropy(np.asarray([math.exp(-OUTLIER_NATS)]))[0])


def best_action(part: Situation, data: Digest, now: Posterior) -> tuple[Probe | None, float]:
    """The action with most information per second, and that rate in bits per second."""
    numbers, costly, builds, taken, wander = _options(part, data, now)
    if not len(numbers):
        return None, 0.0
    sigma, step = now.sigma, abs(now.step)
    k = np.asarray(COUNTS, dtype=float)[None, :]
    fixed = (now.layout**2 + wander**2)[:, None] + 1e-12
    before = taken[:, None]
    old = np.where(before > 0, 1 / (fixed + sigma**2 / np.maximum(before, 1)), 0.0)
    gained = 1 / (fixed + sigma**2 / (before + k)) - old
    single = (before + k) <= 1
    known = (sigma**2 / np.maximum(before, 1) < (MOST_PRECISE * step) ** 2) & (before > 1)
    too_few = k < VISIT * (sigma / max(step, 1e-12)) ** 2
    squares = step**2 * gained
    bits = information(np.broadcast_to(costly[:, None], squares.shape), np.sqrt(np.maximum(squares, 0.0)))
    bits = np.where(known, 0.0, np.where(single, bits * _UNDISTURBED, bits))
    seconds = builds[:, None] + k * part.probe_s
    rates = bits / seconds
    rates[:, :-1] = np.where(too_few[:, :-1], 0.0, rates[:, :-1])
    row, column = np.unravel_index(int(np.argmax(rates)), rates.shape)
    number, count = int(numbers[row]), COUNTS[int(column)]
    why = f"{bits[row, column]:.2f} bits for {seconds[row, column]:,.0f} s, P(step at or before it) = {costly[row]:.2f}"
    beside = None
    if drifts(part, data, now, builds[row] + count * part.probe_s):
        beside = min((0, part.size - 1), key=lambda end: (data.count(end), end))
    return Probe(number, count, why, beside), float(rates[row, column])


def _options(part: Situation, data: Digest, now: Posterior) -> tuple[Array, Array, Array, Array, Array]:
    """Everything that can be measured: number, P(step at or before it), build seconds, readings so far, and the spread
    of small steps since the nearest measured number."""
    numbers: list[int] = []
    costly: list[float] = []
    taken: list[float] = []
    wander: list[float] = []
    before = 0.0
    for (low, high), probability in zip(now.gaps, now.probabilities, strict=True):
        if low and low not in part.dead:
            numbers.append(low)
            costly.append(before)
            taken.append(float(data.count(low)))
            wander.append(_wander(part, now, low))
        if probability > 1e-6:
            for number in points(part, low, high):
                numbers.append(number)
                costly.append(before + float(probability) * (number - low) / (high - low))
                taken.append(0.0)
                wander.append(_wander(part, now, number))
        before += float(probability)
    builds = [part.build_s(n) for n in numbers]
    chance, built = np.asarray(costly), np.asarray(builds)
    return np.asarray(numbers, dtype=float), chance, built, np.asarray(taken), np.asarray(wander)


def _wander(part: Situation, now: Posterior, number: int) -> float:
    """What small steps may add up to between a number and the nearer end, in percent."""
    return now.wander * math.sqrt(min(number, part.size - 1 - number) / max(WANDER_SPAN, part.size - 1))


def points(part: Situation, low: int, high: int) -> list[int]:
    """Unmeasured numbers of a gap that are worth weighing: all, or evenly spread ones and those that are built.

    Next to a commit that can't be built there is likely another: a number is left out if a failure is nearer than an
    eighth of the gap.
    """
    failures = sorted(n for n in part.dead if low < n < high)
    inside = range(low + 1, high)
    if high - low - 1 > _POINTS:
        spread = {low + round(i * (high - low) / (_POINTS + 1)) for i in range(1, _POINTS + 1)}
        chosen = sorted(spread | {n for n in inside if part.build_s(n) == 0.0})
    else:
        chosen = list(inside)
    alive = [n for n in chosen if n not in part.dead]
    if not failures:
        return alive
    near = (high - low) / 8

    def distance(number: int) -> float:
        return min(abs(number - failure) for failure in failures)

    far = [n for n in alive if distance(n) >= near]
    return far or alive or [n for n in inside if n not in part.dead]


def drifts(part: Situation, data: Digest, now: Posterior, ahead_s: float) -> bool:
    """Whether drift since any known side was last read, and in so many seconds from now, could look like the step."""
    sides = {number: now.costly(number) for number in data.averages}
    known = [hour for number, hour in zip(data.number, data.hour, strict=True) if not 0.02 < sides[int(number)] < 0.98]
    passed = max(0.0, float(data.hour[-1]) - max(known, default=0.0) + ahead_s / 3600)
    return now.drift * math.sqrt(passed) >= ANCHOR_PART * abs(now.step)


def information(probability: Array, distance: Array) -> Array:
    """Mutual information in bits between the side and one measurement, element by element.

    `probability` is how likely the costly side is; `distance` the gap between the levels over the measurement's
    standard deviation. From a table of numerically integrated values, interpolated linearly; above a distance of 10 the
    measurement tells everything. For small probabilities the information is as good as proportional to the entropy, so
    the table holds their ratio.
    """
    p = np.clip(np.minimum(probability, 1.0 - probability), 1e-9, 0.5)
    logit = np.clip(np.log((1.0 - p) / p), 0.0, _LOGITS[-1])
    table = _ratios()
    row = logit / (_LOGITS[1] - _LOGITS[0])
    low = np.minimum(row.astype(int), len(_LOGITS) - 2)
    part = row - low
    d = np.clip(np.abs(distance), 0.0, _DISTANCES[-1])
    right = np.clip(np.searchsorted(_DISTANCES, d, side="right"), 1, len(_DISTANCES) - 1)
    left = right - 1
    along = (d - _DISTANCES[left]) / (_DISTANCES[right] - _DISTANCES[left])
    upper = table[low, left] * (1 - along) + table[low, right] * along
    lower = table[low + 1, left] * (1 - along) + table[low + 1, right] * along
    return np.asarray((upper * (1 - part) + lower * part) * entropy(p))


@lru_cache(maxsize=1)
def _ratios() -> Array:
    """Information over entropy for the table's logits (rows) and distances (columns)."""
    z = np.linspace(-9.0, 19.0, 2801)
    width = z[1] - z[0]
    p = (1.0 / (1.0 + np.exp(_LOGITS)))[:, None]
    rows = []
    for distance in _DISTANCES:
        near = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        far = np.exp(-((z - distance) ** 2) / 2) / np.sqrt(2 * np.pi)
        both = p * far + (1 - p) * near
        posterior = np.clip(p * far / np.maximum(both, 1e-300), 0.0, 1.0)
        left = (both * entropy(posterior)).sum(axis=1) * width
        rows.append(1.0 - left / entropy(p[:, 0]))
    table: Array = np.clip(np.stack(rows, axis=1), 0.0, 1.0)
    return table
