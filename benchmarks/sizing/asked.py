"""The bisections of a simulated day: which are asked, and when. The mix is assumed; what each takes is measured."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from searching.farm import Setting, Story
from sizing.lab import DAY_S, Asked
from sizing.units import MYSQL_57, MYSQL_80, ROCKSDB, Units

WORKING_H = (8, 18)
WORKING_SHARE = 0.6
"""Of the bisections that part is asked evenly in these hours, the rest evenly in the others."""

COUNTS = 6
"""A commit and its parent are counted three times each to confirm a step (`search/evidence.COUNTS`)."""

ROUNDS = 15
"""The clock is read five to ten times of each; in the case of docs/case-studies/mysql-5.6.51-to-5.7.33-along-the-
releases.md it was 90 readings for 6 culprits."""

PRIORS = (("named", 0.5), ("none", 0.4), ("wrong name", 0.1))
"""The part of the bisections whose prior names the culprit, nothing, or another commit."""

DEAD, DEAD_SHARE = 0.1, 1 / 3
"""In that share of the histories so many commits cannot be built."""


@dataclass(frozen=True)
class Kind:
    """A `part` of the bisections is of a series, with so many candidates."""

    series: str
    size: int
    part: float


KINDS = (
    Kind(ROCKSDB, 250, 0.35),
    Kind(ROCKSDB, 2000, 0.15),
    Kind(MYSQL_57, 250, 0.15),
    Kind(MYSQL_57, 2000, 0.10),
    Kind(MYSQL_80, 250, 0.10),
    Kind(MYSQL_80, 2000, 0.15),
)


def asked(count: int, units: Units, seed: int) -> Sequence[Asked]:
    """So many in a day, the first one first; the same for the same numbers."""
    draw = random.Random(f"a day {seed}")
    found = []
    for trial in range(count):
        (kind,) = draw.choices(KINDS, [one.part for one in KINDS])
        program = units.program(kind.series)
        (prior,) = draw.choices([name for name, _ in PRIORS], [part for _, part in PRIORS])
        setting = Setting(
            kind.size,
            dead=DEAD if draw.random() < DEAD_SHARE else 0.0,
            prior=prior,
            build_s=program.build_s,
            probe_s=program.search_s,
        )
        confirmation = (*[program.search_s] * COUNTS, *[program.clock_s] * ROUNDS)
        found.append(Asked(_when(draw), kind.series, kind.size, partial(Story, setting, seed, trial), confirmation))
    return sorted(found, key=lambda one: one.at_s)


def _when(draw: random.Random) -> float:
    """A second of the day."""
    first, last = (hour * 3600.0 for hour in WORKING_H)
    if draw.random() < WORKING_SHARE:
        return draw.uniform(first, last)
    at = draw.uniform(0.0, DAY_S - (last - first))
    return at if at < first else at + last - first
