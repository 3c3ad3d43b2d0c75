"""PURE: samples of two builds → how large the step between them is, how sure, and what would have gone unseen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, variance

from scipy.special import stdtrit

CONFIDENCE = 0.99
POWER = 0.9


@dataclass(frozen=True)
class Step:
    """The relative change from one build to the other in percent, with its interval [`low`, `high`] in percent.

    `visible` is the smallest step, in percent, that these samples would have shown with 90 % power.
    """

    percent: float
    low: float
    high: float
    visible: float

    @property
    def sure(self) -> bool:
        """True if the interval excludes "no change"."""
        return self.low > 0 or self.high < 0


def step(before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE) -> Step:
    """Welch interval of mean(after) / mean(before) − 1.

    On the log scale (delta method), so that the interval of a ratio is not cut below −100 %; degrees of freedom by
    Welch–Satterthwaite. A side with a single sample has unknown spread and takes the other's; with one sample on
    each side the interval is unbounded, and so it is where noise has left a mean that is not positive (samples that
    are slopes can be). Raises ValueError if a side is empty.
    """
    if not before or not after:
        raise ValueError("a step needs samples on both sides")
    if fmean(before) <= 0 or fmean(after) <= 0:
        return Step(0.0, -math.inf, math.inf, math.inf)
    log_ratio = math.log(fmean(after)) - math.log(fmean(before))
    percent = math.expm1(log_ratio) * 100
    spread_before, spread_after = _relative_variance(before), _relative_variance(after)
    if spread_before is None and spread_after is None:
        return Step(percent, -math.inf, math.inf, math.inf)
    of_before = (spread_after or 0.0) if spread_before is None else spread_before
    of_after = (spread_before or 0.0) if spread_after is None else spread_after
    a, b = of_before / len(before), of_after / len(after)
    error = math.sqrt(a + b)
    if error == 0.0:
        return Step(percent, percent, percent, 0.0)
    freedom = (a + b) ** 2 / (a**2 / max(1, len(before) - 1) + b**2 / max(1, len(after) - 1))
    half = _quantile((1 + confidence) / 2, freedom) * error
    visible = half + _quantile(POWER, freedom) * error
    return Step(
        percent,
        _bounded(log_ratio - half),
        _bounded(log_ratio + half),
        _bounded(visible),
    )


@dataclass(frozen=True)
class Level:
    """The mean of some samples with its interval, in their own unit; the interval is None with less than two."""

    mean: float
    low: float | None
    high: float | None


def level(samples: Sequence[float], confidence: float = CONFIDENCE) -> Level:
    """The mean of samples and its Student interval; raises ValueError if there are none."""
    if not samples:
        raise ValueError("a level needs samples")
    mean = fmean(samples)
    if len(samples) < 2:
        return Level(mean, None, None)
    error = math.sqrt(variance(samples, mean) / len(samples))
    half = _quantile((1 + confidence) / 2, len(samples) - 1) * error
    return Level(mean, mean - half, mean + half)


def spread_percent(samples: Sequence[float]) -> float:
    """Largest minus smallest sample as a percentage of the mean; 0 for one sample."""
    return (max(samples) - min(samples)) / fmean(samples) * 100 if samples and fmean(samples) else 0.0


def standard_error_percent(samples: Sequence[float]) -> float:
    """Standard error of the mean in percent of it; infinite for fewer than two samples."""
    relative = _relative_variance(samples)
    return math.inf if relative is None else math.sqrt(relative / len(samples)) * 100


@lru_cache(maxsize=1024)
def _quantile(probability: float, freedom: float) -> float:
    """Student's; asked for again and again with the same few whole degrees of freedom."""
    return float(stdtrit(freedom, probability))


def _relative_variance(samples: Sequence[float]) -> float | None:
    return variance(samples) / fmean(samples) ** 2 if len(samples) > 1 else None


def _bounded(log_ratio: float) -> float:
    return math.expm1(log_ratio) * 100 if log_ratio < 700 else math.inf
