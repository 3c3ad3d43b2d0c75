"""PURE: what the measured ends say before anything between them is built."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from cpubisect.stats import Step, spread_percent
from cpubisect.variables import changed_variables

DEFAULT_MIN_STEP = 0.5
"""Percent: the floor of the smallest step looked for, as in the instruction metrics of rustc-perf's 'small' class."""

SHARE_OF_WHOLE = 0.1
"""By default a step must be this part of the whole difference to be looked for."""

NOISE_FACTOR = 3.0
"""A count must differ by this many times its own spread between repeats to count as a step."""

MOST_REPEATS = 5
"""An instruction count is repeated at most so often per commit."""


class Regime(StrEnum):
    """How the search observes a commit."""

    EXACT = "exact"
    NOISY = "noisy"


@dataclass(frozen=True)
class Counts:
    """Instruction counts per query of repeated probes of the two ends."""

    good: Sequence[float]
    bad: Sequence[float]


@dataclass(frozen=True)
class Plan:
    """How to count: `repeats` probes per commit; steps under `min_step` percent are not looked for; `visible` is the
    smallest step, in percent, that this counting would have shown at all."""

    repeats: int
    min_step: float
    visible: float


def counting_plan(counts: Counts, whole_percent: float, wanted: float | None) -> Plan:
    """The plan for searching on instructions, given the ends' counts and their difference in percent.

    Repeats grow with the square of the spread over a quarter of the smallest step, as an error of a mean shrinks.
    """
    spread = max(spread_percent(counts.good), spread_percent(counts.bad))
    floor = max(DEFAULT_MIN_STEP, abs(whole_percent) * SHARE_OF_WHOLE) if wanted is None else wanted
    repeats = min(MOST_REPEATS, max(1, ceil((spread / (floor / 4)) ** 2)))
    visible = NOISE_FACTOR * spread / repeats**0.5
    return Plan(repeats, max(floor, visible), max(visible, 0.001))


def ruled_out(change: Step, direction: int, at_least: float) -> bool:
    """True if the step's interval leaves no room for one of so many percent the wanted way."""
    return (change.high if direction > 0 else -change.low) < at_least


def changed_defaults(good: Mapping[str, str], bad: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Variables both servers have with different values that nobody set, as name → (good's, bad's)."""
    return {
        found.name: (found.before, found.after)
        for found in changed_variables(good, bad)
        if found.before is not None and found.after is not None
    }
