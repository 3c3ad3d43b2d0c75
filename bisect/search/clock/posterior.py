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
from dataclasses import dataclass

import numpy as np

from cpubisect.search.clock.digest import FRAME_SIGMAS, Array, Digest

LAYOUTS = ((0.0, 0.85), (0.1, 0.12), (0.25, 0.03))
"""Spread of the layout effect between binaries, in units of the ends' difference, with its prior probability."""

WANDERS = ((0.0, 0.8), (0.35, 0.17), (0.8, 0.03))
"""Spread of what small steps add up to over the whole range, or over WANDER_SPAN commits of a shorter one, in units of
the ends' difference, with its prior probability."""

WANDER_SPAN = 64

DRIFTS_IN_STEPS = ((0.0, 0.6), (0.3, 0.25), (1.0, 0.1), (3.0, 0.05))
"""Spread of the drift after an hour (it grows with the root of time), in units of the ends' difference, with its prior
probability: beside a step only drift of its size matters. `digest.DRIFTS_IN_NOISE` is of what shifts the levels."""

OUTLIER_NATS = 4.6
"""A single reading never tells more than this (odds of 99 : 1): one reading in a hundred may be disturbed."""

_SMALLEST = 1e-6


@dataclass(frozen=True)
class Posterior:
    """Where the step may be, given all readings.

    `gaps[j]` is a pair of measured neighbours, the step being after the first and not after the second with
    `probabilities[j]`. `step` is the expected size in percent of the good end; `sigma` is the noise of one reading,
    `layout`, `wander` (over the whole range) and `drift` (per root hour) are root mean square spreads, all in percent;
    `scattered` is how likely there is any layout.
    """

    gaps: tuple[tuple[int, int], ...]
    probabilities: Array
    step: float
    sigma: float
    layout: float
    wander: float
    drift: float
    scattered: float = 0.0

    def costly(self, number: int) -> float:
        """How likely the step is at or before a measured number."""
        return float(sum(p for (_, high), p in zip(self.gaps, self.probabilities, strict=True) if high <= number))


def posterior(data: Digest) -> Posterior:
    """The posterior; before anything is read, the step is at each number with the same probability.

    The lowest and the highest number that were read are the ends. Raises ValueError if only one number was read.
    """
    numbers = sorted(data.averages)
    if len(numbers) < 2:
        raise ValueError("a posterior needs readings of both ends")
    scale = max(abs(data.difference(numbers[0], numbers[-1])[0]), _SMALLEST)
    visits = data.visits
    where, values = visits.number, visits.percent
    alone = np.asarray([data.count(int(number)) == 1 for number in where])
    off = np.max([np.abs(values - data.averages[end]) for end in (numbers[0], numbers[-1])], axis=0)
    single = np.maximum(data.sigma**2, np.maximum(scale, off) ** 2 / (2 * OUTLIER_NATS))
    variances = np.where(alone, single, data.sigma**2 / visits.taken)
    span = max(WANDER_SPAN, numbers[-1] - numbers[0])
    along = np.minimum.outer(where - numbers[0], where - numbers[0]) / span
    # Binaries that were linked anew each have a layout of their own, which is noise.
    same = ((where[:, None] == where[None, :]) & (visits.frame[:, None] % 2 + visits.frame[None, :] % 2 == 0)).astype(
        float
    )
    grid = [
        (layout * scale, wander * scale, drift * scale, math.log(p * q * r))
        for (layout, p), (wander, q), (drift, r) in itertools.product(LAYOUTS, WANDERS, DRIFTS_IN_STEPS)
    ]
    spreads = np.asarray([g[:3] for g in grid])
    squares = spreads**2
    covariance = (
        (np.diag(variances) + (FRAME_SIGMAS * data.sigma) ** 2 * visits.apart)[None]
        + squares[:, 0, None, None] * same
        + squares[:, 1, None, None] * along
        + squares[:, 2, None, None] * visits.walk
    )
    gaps = tuple(itertools.pairwise(numbers))
    costly = (where[:, None] >= np.asarray([high for _, high in gaps])[None, :]).astype(float)
    evidence, steps = _evidence(covariance, values, costly, scale)
    prior = np.log(np.asarray([float(high - low) for low, high in gaps]))
    joint = evidence + prior[None, :] + np.asarray([g[3] for g in grid])[:, None]
    joint = np.exp(joint - joint.max())
    joint /= joint.sum()
    settings = joint.sum(axis=1)
    rms = np.sqrt(settings @ squares)
    return Posterior(
        gaps=gaps,
        probabilities=joint.sum(axis=0),
        step=float((joint * steps).sum()),
        sigma=data.sigma,
        layout=float(rms[0]),
        wander=float(rms[1]),
        drift=float(rms[2]),
        scattered=float(settings[spreads[:, 0] > 0].sum()),
    )


def _evidence(covariance: Array, values: Array, costly: Array, scale: float) -> tuple[Array, Array]:
    """Log marginal likelihood and expected step for every setting (rows) and gap (columns).

    The good level has a flat prior; the step is normal around 0 with twice the ends' difference.
    """
    _, determinant = np.linalg.slogdet(covariance)
    solved = np.linalg.solve(covariance, np.column_stack([values, np.ones_like(values), costly]))
    weighted, ones = solved[:, :, 0], solved[:, :, 1]
    a = ones.sum(axis=1)[:, None]
    b = ones @ costly
    c = (costly * solved[:, :, 2:]).sum(axis=1) + 1 / (2 * scale) ** 2
    u = weighted.sum(axis=1)[:, None]
    w = weighted @ costly
    det = a * c - b * b
    step = (a * w - b * u) / det
    level = (c * u - b * w) / det
    explained = level * u + step * w
    evidence = -0.5 * (determinant[:, None] + np.log(det) - explained)
    evidence -= 0.5 * (values @ weighted.T)[:, None]
    return evidence, step
