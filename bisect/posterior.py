"""PURE: noisy readings of commits → how likely the step is in each gap between measured commits.

The model of a reading (in percent of the good end): level of the side it is on + what this one binary's code layout
does + small steps scattered over the whole range + drift of the host + noise. Layout, small steps and drift are
Gaussian with spreads that nobody knows: a small grid of them is averaged over by how well each explains the readings.
The levels themselves are integrated out (generalised least squares): the probabilities carry their uncertainty too.

All commits of one gap between measured commits explain the readings equally well, so there are as many hypotheses as
gaps, not as commits.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LAYOUTS = ((0.0, 0.85), (0.1, 0.12), (0.25, 0.03))
"""Spread of the layout effect between binaries, in units of the ends' difference, with its prior probability."""

WANDERS = ((0.0, 0.8), (0.35, 0.17), (0.8, 0.03))
"""Spread of what small steps add up to over the whole range, or over WANDER_SPAN commits of a shorter one, likewise."""

WANDER_SPAN = 64

DRIFTS = ((0.0, 0.65), (0.3, 0.25), (1.2, 0.1))
"""Spread of the drift after an hour (it grows with the root of time), likewise."""

OUTLIER_NATS = 4.6
"""A single reading never tells more than this (odds of 99 : 1): one reading in a hundred may be disturbed."""

CLIP_BELOW, CLIP_ABOVE = 3.0, 2.5
"""Readings are drawn in to so many standard deviations around their commit's median; disturbances mostly add."""

_SMALLEST_SIGMA = 1e-6
_MOST_VISITS = 64
_STRETCH_H = 1 / 12


@dataclass(frozen=True)
class Reading:
    """One probe: what commit `number` cost, in any unit, measured at `at_s` seconds."""

    number: int
    value: float
    at_s: float


@dataclass(frozen=True)
class Noise:
    """Standard deviation of one reading in percent of the good end's level, and how many differences it comes from."""

    sigma: float
    freedom: int


@dataclass(frozen=True)
class Posterior:
    """Where the step may be, given all readings.

    `gaps[j]` is a pair of measured neighbours, the step being after the first and not after the second with
    `probabilities[j]`. `step` is the expected size in percent of the good end; `layout`, `wander` (over the whole
    range) and `drift` (per root hour) are root mean square spreads in percent.
    """

    gaps: tuple[tuple[int, int], ...]
    probabilities: Array
    step: float
    noise: Noise
    layout: float
    wander: float
    drift: float

    def dear(self, number: int) -> float:
        """How likely the step is at or before a measured number."""
        return float(sum(p for (_, high), p in zip(self.gaps, self.probabilities, strict=True) if high <= number))


@dataclass(frozen=True)
class Digest:
    """Readings made ready: `number`, `percent` (above the good end's level, outliers drawn in) and `hour` (since the
    first) of each, in the order of time; `averages` maps a number to the mean and count of its own; `level` is the good
    end's."""

    number: npt.NDArray[np.int64]
    percent: Array
    hour: Array
    noise: Noise
    averages: Mapping[int, tuple[float, int]]
    level: float = 1.0

    def count(self, number: int) -> int:
        """How often a number was read."""
        return self.averages.get(number, (0.0, 0))[1]


def digest(readings: Sequence[Reading], whole: "Digest | None" = None) -> Digest:
    """Readings in percent of the good end's median, drawn in towards their own commit's median.

    Those of a part of the range take the level and the noise of the `whole`. A clock that was set back stands still.

    With an even count the lower of the two middle ones is the centre, since disturbances mostly add.
    """
    number = np.asarray([r.number for r in readings], dtype=np.int64)
    value = np.asarray([r.value for r in readings])
    at_s = np.maximum.accumulate(np.asarray([r.at_s for r in readings]))
    if not len(number):
        return Digest(number, value, at_s, Noise(math.inf, 0), {})
    level = whole.level if whole else float(np.median(value[number == number.min()]))
    percent = (value / level - 1) * 100
    own = {int(n): np.flatnonzero(number == n) for n in np.unique(number)}
    noise = whole.noise if whole else noise_of([percent[places] for places in own.values()])
    averages = {}
    for n, places in own.items():
        if len(places) > 1:
            centre = np.sort(percent[places])[(len(places) - 1) // 2]
            below, above = centre - CLIP_BELOW * noise.sigma, centre + CLIP_ABOVE * noise.sigma
            percent[places] = np.clip(percent[places], below, above)
        averages[n] = (float(percent[places].mean()), len(places))
    return Digest(number, percent, (at_s - at_s[0]) / 3600, noise, averages, level)


def noise_of(series: Sequence[Array]) -> Noise:
    """Noise of one reading from successive differences within each commit's (von Neumann), which drift hardly enters.

    Differences over four robust deviations are left out: outliers are not noise. Few differences know the variance
    badly; it is inflated as in Student's t. Infinite without any.
    """
    ordered = np.sort(np.concatenate([np.abs(np.diff(own)) for own in series]))
    if not len(ordered):
        return Noise(math.inf, 0)
    robust = float(np.median(ordered)) / (0.6745 * math.sqrt(2))
    kept = ordered[ordered <= max(4 * math.sqrt(2) * robust, _SMALLEST_SIGMA)]
    variance = float(np.mean(kept**2)) / 2 if len(kept) else robust**2
    freedom = max(1, round(len(kept) * 2 / 3))
    inflated = variance * (freedom / (freedom - 2) if freedom > 4 else 2.0)
    return Noise(max(math.sqrt(inflated), _SMALLEST_SIGMA), len(kept))


def posterior(data: Digest, mass: Callable[[int, int], float]) -> Posterior:
    """The posterior; `mass(low, high)` is the prior weight of the numbers low+1 … high.

    The lowest and the highest number that were read are the ends. Raises ValueError if only one number was read.
    """
    numbers = sorted(data.averages)
    if len(numbers) < 2:
        raise ValueError("a posterior needs readings of both ends")
    gap = data.averages[numbers[-1]][0] - data.averages[numbers[0]][0]
    scale = max(abs(gap), _SMALLEST_SIGMA)
    where, values, hours, taken = _visits(data)
    alone = np.asarray([data.count(int(number)) == 1 for number in where])
    single = max(data.noise.sigma**2, scale**2 / (2 * OUTLIER_NATS))
    variances = np.where(alone, single, data.noise.sigma**2 / taken)
    span = max(WANDER_SPAN, numbers[-1] - numbers[0])
    along = np.minimum.outer(where - numbers[0], where - numbers[0]) / span
    time = np.minimum.outer(hours, hours)
    same = (where[:, None] == where[None, :]).astype(float)
    grid = [
        (layout * scale, wander * scale, drift * scale, math.log(p * q * r))
        for (layout, p), (wander, q), (drift, r) in itertools.product(LAYOUTS, WANDERS, DRIFTS)
    ]
    spreads = np.asarray([g[:3] for g in grid])
    squares = spreads**2
    covariance = (
        np.diag(variances)[None]
        + squares[:, 0, None, None] * same
        + squares[:, 1, None, None] * along
        + squares[:, 2, None, None] * time
    )
    gaps = tuple(itertools.pairwise(numbers))
    dear = np.asarray([[float(number >= high) for _, high in gaps] for number in where])
    evidence, steps = _evidence(covariance, values, dear, scale)
    prior = np.log(np.asarray([max(mass(low, high), 1e-300) for low, high in gaps]))
    joint = evidence + prior[None, :] + np.asarray([g[3] for g in grid])[:, None]
    joint = np.exp(joint - joint.max())
    joint /= joint.sum()
    settings = joint.sum(axis=1)
    rms = np.sqrt(settings @ squares)
    return Posterior(
        gaps=gaps,
        probabilities=joint.sum(axis=0),
        step=float((joint * steps).sum()),
        noise=data.noise,
        layout=float(rms[0]),
        wander=float(rms[1]),
        drift=float(rms[2]),
    )


def _evidence(covariance: Array, values: Array, dear: Array, scale: float) -> tuple[Array, Array]:
    """Log marginal likelihood and expected step for every setting (rows) and gap (columns).

    The good level has a flat prior; the step is normal around 0 with twice the ends' difference.
    """
    inverse = np.linalg.inv(covariance)
    _, determinant = np.linalg.slogdet(covariance)
    weighted = inverse @ values
    ones = inverse.sum(axis=2)
    a = ones.sum(axis=1)[:, None]
    b = ones @ dear
    c = (dear * (inverse @ dear)).sum(axis=1) + 1 / (2 * scale) ** 2
    u = weighted.sum(axis=1)[:, None]
    w = weighted @ dear
    det = a * c - b * b
    step = (a * w - b * u) / det
    level = (c * u - b * w) / det
    explained = level * u + step * w
    evidence = -0.5 * (determinant[:, None] + np.log(det) - explained)
    evidence -= 0.5 * (values @ weighted.T)[:, None]
    return evidence, step


def _visits(data: Digest) -> tuple[npt.NDArray[np.int64], Array, Array, Array]:
    """Number, mean, hour and count of visits: readings of one commit within one stretch of time.

    The stretches grow until the visits are few.
    """
    stretch = _STRETCH_H
    while True:
        slots = (data.hour // stretch).astype(np.int64)
        keys, place = np.unique(np.stack([slots, data.number]), axis=1, return_inverse=True)
        place = place.reshape(-1)
        if keys.shape[1] <= _MOST_VISITS or stretch > data.hour[-1]:
            break
        stretch *= 2
    taken = np.bincount(place).astype(float)
    means = np.bincount(place, weights=data.percent) / taken
    hours = np.bincount(place, weights=data.hour) / taken
    return keys[1], means, hours, taken
