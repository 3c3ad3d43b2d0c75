"""PURE: samples of two builds → how large the step between them is, how sure, and what would have gone unseen."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any, Self

from cpubisect.base.plain import Plain

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

CONFIDENCE = 0.99
POWER = 0.9

MOST_FACTOR = 10.0
"""An interval that holds no change at all and reaches further than this factor from the step bounds nothing: two
samples of a busy host gave "-100 to +6e23 %"."""

LEAST_TURNS = 6
"""Of fewer differences than this a standard deviation says little."""


@dataclass(frozen=True)
class Step(Plain):
    """The relative change from one build to the other in percent, with its interval [`low`, `high`] in percent, which
    is infinite where nothing bounds it.

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

    @property
    def bounded(self) -> bool:
        """True if the interval is finite on both sides."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`, which has None for what is not bounded."""
        return super().from_json({**data, "low": -math.inf if data["low"] is None else data["low"]})


def step(before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE) -> Step:
    """Welch interval of mean(after) / mean(before) − 1.

    On the log scale (delta method), so that the interval of a ratio is not cut below −100 %; degrees of freedom by
    Welch–Satterthwaite. A side with a single sample has unknown spread and takes the other's; with one sample on
    each side the interval is unbounded, and so it is where it would bound nothing (MOST_FACTOR), or where noise has
    left a mean that is not positive (samples that are slopes can be). Raises ValueError if a side is empty.
    """
    if not before or not after:
        raise ValueError("a step needs samples on both sides")
    mean_before, mean_after = fmean(before), fmean(after)
    if mean_before <= 0 or mean_after <= 0:
        return Step(0.0, -math.inf, math.inf, math.inf)
    log_ratio = math.log(mean_after) - math.log(mean_before)
    percent = math.expm1(log_ratio) * 100
    spread_before, spread_after = _relative_variance(before, mean_before), _relative_variance(after, mean_after)
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
    if half > max(math.log(MOST_FACTOR), abs(log_ratio)):
        return Step(percent, -math.inf, math.inf, math.inf)
    visible = half + _quantile(POWER, freedom) * error
    return Step(
        percent,
        _bounded(log_ratio - half),
        _bounded(log_ratio + half),
        _bounded(visible),
    )


def known_step(percent: float, error: float, freedom: int) -> Step:
    """The step of so many percent with a standard error in percent, which is inflated for its degrees of freedom."""
    plain = error / math.sqrt(inflation(freedom))
    if not math.isfinite(error):
        return Step(percent, -math.inf, math.inf, math.inf)
    half = _quantile((1 + CONFIDENCE) / 2, freedom) * plain
    return Step(percent, percent - half, percent + half, half + _quantile(POWER, freedom) * plain)


def widened(told: Step, differences: "Sequence[float] | Array") -> Step:
    """A step whose interval is at least as wide as Student's of the differences that readings show turn by turn, in
    percent: what no model of the noise foresees is in them. Fewer than LEAST_TURNS say nothing."""
    count = len(differences)
    if count < LEAST_TURNS or not told.bounded:
        return told
    error = math.sqrt(variance(float(one) for one in differences) / count)
    half = max(_quantile((1 + CONFIDENCE) / 2, count - 1) * error, (told.high - told.low) / 2)
    visible = max(told.visible, half + _quantile(POWER, count - 1) * error)
    return Step(told.percent, told.percent - half, told.percent + half, visible)


def less(whole: Step, part: Step) -> Step:
    """The step that is left of a whole one once a part of it, read independently, is taken out."""
    logs = [math.log1p(one.percent / 100) for one in (whole, part)]
    percent = math.expm1(logs[0] - logs[1]) * 100
    if not (whole.bounded and part.bounded) or min(whole.low, part.low) <= -100:
        return Step(percent, -math.inf, math.inf, math.inf)
    lows, highs = ([math.log1p(end / 100) for end in ends] for ends in ((whole.low, part.low), (whole.high, part.high)))
    down = math.hypot(logs[0] - lows[0], highs[1] - logs[1])
    up = math.hypot(highs[0] - logs[0], logs[1] - lows[1])
    low, high = (math.expm1(logs[0] - logs[1] + off) * 100 for off in (-down, up))
    return Step(percent, low, high, math.hypot(whole.visible, part.visible))


def inflation(freedom: int) -> float:
    """How much larger a variance must be taken that is known by so many degrees of freedom: Student's variance, which
    is finite from three on; few are taken for four."""
    return freedom / (freedom - 2) if freedom > 4 else 2.0


@dataclass(frozen=True)
class Level(Plain):
    """The mean of some samples with its 99 % interval, in their own unit, None for a single one, and how many samples
    there are."""

    mean: float
    low: float | None
    high: float | None
    samples: int


def level(samples: Sequence[float], confidence: float = CONFIDENCE) -> Level:
    """The mean of samples and its Student interval; raises ValueError if there are none."""
    if not samples:
        raise ValueError("a level needs samples")
    mean = fmean(samples)
    if len(samples) < 2:
        return Level(mean, None, None, len(samples))
    error = math.sqrt(variance(samples, mean) / len(samples))
    half = _quantile((1 + confidence) / 2, len(samples) - 1) * error
    return Level(mean, mean - half, mean + half, len(samples))


def spread_percent(samples: Sequence[float]) -> float:
    """Largest minus smallest sample as a percentage of the mean; 0 for one sample."""
    return (max(samples) - min(samples)) / fmean(samples) * 100 if samples and fmean(samples) else 0.0


def entropy(probability: "Sequence[float] | Array") -> "Array":
    """Bits that the answer to a question with this probability of yes is worth, element by element; 0 at certainty."""
    import numpy as np
    from scipy.special import entr

    p = np.clip(probability, 0.0, 1.0)
    return np.asarray((entr(p) + entr(1.0 - p)) / np.log(2))


def uncertainty(probabilities: "Sequence[float] | Array") -> float:
    """Bits that are missing to know which of some exclusive cases holds; their probabilities add up to 1."""
    import numpy as np
    from scipy.special import entr

    return float(entr(np.asarray(probabilities)).sum() / np.log(2))


@lru_cache(maxsize=1024)
def _quantile(probability: float, freedom: float) -> float:
    """Student's; asked for again and again with the same few whole degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def _relative_variance(samples: Sequence[float], mean: float) -> float | None:
    """None for a single one. Not by `statistics.variance`, whose fractions take ten times as long."""
    if len(samples) < 2:
        return None
    # From the first sample on, so that samples that are equal have none at all.
    offsets = [sample - samples[0] for sample in samples]
    center = math.fsum(offsets) / len(offsets)
    squares = math.fsum((offset - center) ** 2 for offset in offsets)
    return squares / (len(samples) - 1) / mean**2


def _bounded(log_ratio: float) -> float:
    return math.expm1(log_ratio) * 100 if log_ratio < 700 else math.inf
