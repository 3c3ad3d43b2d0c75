"""PURE: which bisections are disturbed, by what, and when: all of it follows from a seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from random import Random
from typing import TypeVar

_Thing = TypeVar("_Thing")


class Way(StrEnum):
    """How a bisection is run: by the command line, by the worker of `bisect serve`, by `bisect worker` beside one."""

    COMMAND = "command"
    SERVE = "serve"
    WORKER = "worker"


class Kind(StrEnum):
    """What a process below a bisection is."""

    COMMAND = "command"
    SERVE = "serve"
    WORKER = "worker"
    GUARD = "guard"
    COMPILER = "compiler"
    PROGRAM = "program"
    OTHER = "other"


class Fault(StrEnum):
    """What befalls a bisection beside kills."""

    NONE = "none"
    DISK = "full disk"
    CACHE = "full cache"
    CLOCK = "jumping clock"
    MATRIX = "matrix edited"
    CLONE = "clone rewritten"
    STORE = "older store"


WEIGHTS: Mapping[Kind, int] = {
    Kind.COMMAND: 6,
    Kind.SERVE: 4,
    Kind.WORKER: 4,
    Kind.GUARD: 2,
    Kind.COMPILER: 2,
    Kind.PROGRAM: 2,
    Kind.OTHER: 1,
}
"""How often a kind is wanted beside the others."""

MEAN_PAUSE_S = 2.5
"""Between two kills, in the mean: about as long as a build from the cache or a probe takes, so that most hit one."""

MOST_PAUSE_S = 12.0
"""Longer pauses hit nothing that shorter ones do not."""

KILLS_OF_A_CASE = 15
"""After so many a bisection is left alone: one that is killed for ever does not end."""

_ALONE = (Fault.MATRIX, Fault.CLONE, Fault.STORE)
"""Pages take no matrix of one's own, and what befalls a store or a clone does so where nobody has it open."""


@dataclass(frozen=True)
class Case:
    """One bisection that is disturbed: its `number`, from 1 on, and the `seed` of all cases."""

    number: int
    seed: int
    test: str
    way: Way
    fault: Fault
    kills: int = KILLS_OF_A_CASE

    def chance(self, of: str) -> Random:
        """The chance that decides one matter of this case."""
        return Random(f"{self.seed}/{self.number}/{of}")


@dataclass(frozen=True)
class Moment:
    """When a process is killed, in seconds after the last one, and of which kind if there is any."""

    after_s: float
    wanted: Kind


def cases(seed: int, tests: Sequence[str], faults: Sequence[Fault] = tuple(Fault)) -> Iterator[Case]:
    """One after another without end: all tests before any comes again, and all faults likewise, in an order of the
    seed."""
    chance = Random(f"{seed}/cases")
    some_tests, some_faults = _dealt(chance, tests), _dealt(chance, faults)
    some_ways = _dealt(chance, (Way.COMMAND, Way.COMMAND, Way.SERVE, Way.WORKER))
    for number in count(1):
        fault, way = next(some_faults), next(some_ways)
        yield Case(number, seed, next(some_tests), Way.COMMAND if fault in _ALONE else way, fault)


def _dealt(chance: Random, things: Sequence[_Thing]) -> Iterator[_Thing]:
    while True:
        yield from chance.sample(list(things), len(things))


def moments(case: Case) -> Iterator[Moment]:
    """As many as the case has kills."""
    chance = case.chance("moments")
    kinds = [kind for kind in Kind if _can_be_there(kind, case.way)]
    for _ in range(case.kills):
        pause = min(chance.expovariate(1 / MEAN_PAUSE_S), MOST_PAUSE_S)
        yield Moment(pause, chance.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0])


def _can_be_there(kind: Kind, way: Way) -> bool:
    return {Kind.SERVE: way is not Way.COMMAND, Kind.WORKER: way is Way.WORKER}.get(kind, True)


def victim(wanted: Kind, there: Sequence[Kind], chance: Random) -> int | None:
    """The place, among what is there, of the process that is killed: one of the wanted kind; None if there is none."""
    fit = [number for number, kind in enumerate(there) if kind is wanted]
    return chance.choice(fit) if fit else None
