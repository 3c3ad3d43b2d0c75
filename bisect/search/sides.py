"""PURE: good on a branch of its own: what of the difference each side of the fork point makes."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from cpubisect.base.plain import Plain
from cpubisect.search.stats import Step


class Side(StrEnum):
    """On which way from the fork point something is: to bad, the only one where there is no fork, or to good."""

    BAD = "bad"
    GOOD = "good"


@dataclass(frozen=True)
class Sides(Plain):
    """Where the lines of good and bad parted, at `fork`, and the steps from there to `good` and to `bad`, in the metric
    that was searched on.

    `good_share` and `bad_share` are what of the whole difference is on each side, as ratios that add up to 1: what good
    saved counts as much as what bad added, and a side that lessens the difference is below 0. `min_step` is the
    smallest step looked for, in percent; `searched` says whether good's side was searched too.
    """

    fork: str
    good: Step
    bad: Step
    good_share: float
    bad_share: float
    min_step: float
    searched: bool = False

    @classmethod
    def of(cls, fork: str, good: Step, bad: Step, min_step: float) -> Self:
        """From the two steps, which must not be alike."""
        apart = bad.percent - good.percent
        return cls(fork, good, bad, -good.percent / apart, bad.percent / apart, min_step)

    def sentence(self, good: str, bad: str, metric: str) -> str:
        """What is on which side, ends being called as they were asked for."""
        return (
            f"since the fork point {self.fork[:12]} {bad} changed by {self.bad.percent:+.2f} % and {good} by "
            f"{self.good.percent:+.2f} % {metric}: {_part(self.bad_share)} of the difference is on {bad}'s side and "
            f"{_part(self.good_share)} on {good}'s"
        )


def _part(share: float) -> str:
    # Rounding must not make a zero with a sign.
    return f"{round(share * 100) or 0} %"


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
