"""PURE: when readings that had no part in finding a step show it."""

import math
from collections.abc import Sequence
from statistics import median

from cpubisect.search.stats import Step, step

SHOWN_SIGMAS = 3.5
"""A step is confirmed when it is so many of its own standard errors: of steps that are not there 1 in 4,000 is."""

PLANNED_SIGMAS = 5.5
"""Rounds are planned so that a step of the size that is expected is so many standard errors: their number does not
depend on what they show, for a step that is read until it is clear looks larger than it is."""

DOUBT_SIGMAS = 1.0
"""A step that is less than this after its rounds is not worth as many again."""

LEFT_OF_STEP = 0.5
"""A step of which less than this part is there is not the one that was found; if surely so in binaries linked anew, it
was made by where code lies."""

FEWEST_ROUNDS, MOST_PLANNED = 6, 150
"""Rounds of culprit and parent."""


COUNTS, MOST_COUNTS = 3, 7
"""Instruction counts of culprit and parent that had no part in the search: at least, so that one can be wrong, and at
most where some are far from the others."""


FAR_SHARE = 0.25
"""A count is far from another one of its build if it differs by this part of the smallest step that is looked for."""


def far(counts: Sequence[float], tolerance_percent: float) -> list[float]:
    """The counts of one build that are further from their median than counts of one build are."""
    middle = median(counts)
    return [count for count in counts if abs(count - middle) > abs(middle) * tolerance_percent / 100]


def median_step(before: Sequence[float], after: Sequence[float]) -> Step:
    """The step between the medians of two builds' counts; its interval is as wide as that between their means."""
    means = step(before, after)
    percent = (median(after) / median(before) - 1) * 100
    shift = percent - means.percent
    return Step(percent, means.low + shift, means.high + shift, means.visible)


def shown(sigmas: float) -> bool:
    """Whether a step of so many standard errors the expected way is confirmed."""
    return sigmas >= SHOWN_SIGMAS


def rounds_for(percent: float, noise_percent: float) -> int:
    """Rounds that show a step of so many percent, of readings with such a standard deviation."""
    wanted = 2 * (PLANNED_SIGMAS * noise_percent / max(abs(percent), 1e-9)) ** 2
    return min(MOST_PLANNED, max(FEWEST_ROUNDS, math.ceil(wanted)))
