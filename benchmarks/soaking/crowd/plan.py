"""PURE: which bisections a cluster is asked for, and what of it is killed when: all of it follows from a seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from random import Random

from soaking.plan import Case, Fault, Way


class Part(StrEnum):
    """What a process is for."""

    ASKER = "asker"
    HEAD = "head"
    BUILDER = "builder"
    PROBER = "probe host"


ASKER, HEAD = "asker", "head"

WORKERS: Mapping[str, Part] = {"b1": Part.BUILDER, "b2": Part.BUILDER, "p1": Part.PROBER}
"""By their names; each has one slot."""

PARTS: Mapping[str, Part] = {ASKER: Part.ASKER, HEAD: Part.HEAD, **WORKERS}

WEIGHTS: Mapping[Part, int] = {Part.ASKER: 3, Part.HEAD: 3, Part.BUILDER: 4, Part.PROBER: 2}
"""How often a part is wanted beside the others."""

LOST: Mapping[Part, int] = {Part.ASKER: 2, Part.HEAD: 2, Part.BUILDER: 1, Part.PROBER: 0}
"""So many builds may be lost with a part: those that its builders make now, or have made and not delivered."""

MEAN_PAUSE_S = 4.0
"""Between two kills, in the mean: about as long as a build or two probes."""

MOST_PAUSE_S = 12.0
MOST_AWAY_S = 4.0
"""What was killed is started again within so long."""

KILLS_OF_A_CASE = 16
"""After so many a bisection is left alone."""


@dataclass(frozen=True)
class Shape:
    """A history: what a lookup costs after each commit, the first of which is good; the last is bad."""

    name: str
    costs: tuple[int, ...]


def _stepped(name: str, size: int, steps: Mapping[int, int]) -> Shape:
    """Each commit costs a little more, and some much more."""
    costs = (1000 + number + sum(more for at, more in steps.items() if number >= at) for number in range(size))
    return Shape(name, tuple(costs))


SHAPES = (
    _stepped("early step", 10, {2: 1200}),
    _stepped("late step", 14, {11: 2000}),
    _stepped("two steps", 12, {3: 700, 9: 1500}),
)


@dataclass(frozen=True)
class Kill:
    """A part is killed so many seconds after the last one, and is away for some."""

    after_s: float
    part: Part
    away_s: float


def crowd_cases(seed: int) -> Iterator[Case]:
    """One after another without end: all shapes before any comes again, in an order of the seed."""
    chance = Random(f"{seed}/crowd")
    numbers = count(1)
    while True:
        for shape in chance.sample(SHAPES, len(SHAPES)):
            yield Case(next(numbers), seed, shape.name, Way.COMMAND, Fault.NONE, KILLS_OF_A_CASE)


def shape_of(case: Case) -> Shape:
    """The history that a case is about."""
    return next(shape for shape in SHAPES if shape.name == case.test)


def kills(case: Case) -> Iterator[Kill]:
    """As many as the case has."""
    chance = case.chance("crowd")
    parts = list(WEIGHTS)
    for _ in range(case.kills):
        pause = min(chance.expovariate(1 / MEAN_PAUSE_S), MOST_PAUSE_S)
        part = chance.choices(parts, list(WEIGHTS.values()))[0]
        yield Kill(pause, part, chance.uniform(0.0, MOST_AWAY_S))


def chosen(part: Part, running: Sequence[str], chance: Random) -> str:
    """The name of the process that is killed: one of the part, else any; empty if none runs."""
    fit = [name for name in running if PARTS[name] is part] or list(running)
    return chance.choice(sorted(fit)) if fit else ""
