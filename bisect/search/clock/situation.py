"""PURE: what a search on a noisy metric decides from, and what it can decide."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cpubisect.search.clock.digest import Digest, Reading, digest
from cpubisect.search.exact import Found

ENOUGH = 0.5
"""Steps that explain this part of the whole difference are an answer."""


@dataclass(frozen=True)
class Situation:
    """All a decision depends on.

    Number 0 is the good end, `size` - 1 the bad end. `readings` are in the order of time; `dead` maps a number that
    cannot be observed to why. `build_s(number)` is what it costs to have its binary (0 if it is there), `probe_s` one
    reading. `direction` is +1 to look for regressions; `min_step` is in percent of the good end. Ends that don't differ
    surely after `most_rounds` readings each count as equal. Steps that explain `enough` of the whole difference (a
    ratio) are an answer.
    """

    size: int
    readings: Sequence[Reading]
    build_s: Callable[[int], float]
    probe_s: float
    dead: Mapping[int, str] = field(default_factory=dict)
    direction: int = 1
    min_step: float = 0.0
    most_rounds: int = 200
    enough: float = ENOUGH

    @cached_property
    def data(self) -> Digest:
        """What the readings say, worked out once."""
        return digest(self.readings)

    def with_data_of(self, other: "Situation") -> "Situation":
        """The same with what `other`, of the same readings, has worked out from them."""
        vars(self)["data"] = other.data
        return self


@dataclass(frozen=True)
class Probe:
    """Have `number` built, then read it `count` times because of `why`; each time after `beside`, if given, was read
    too: a commit whose side is known, so that drift since it was last read cancels."""

    number: int
    count: int
    why: str
    beside: int | None = None


@dataclass(frozen=True)
class Steps:
    """The search is over: the steps, largest first, and what they leave unexplained, in percent of the good end."""

    found: tuple[Found, ...]
    remainder: float


@dataclass(frozen=True)
class NoStep:
    """The ends don't differ in the wanted direction: `percent` is measured, `visible` would have been seen; `small` if
    they surely differ by less than the smallest step wanted, else noise hides whether they do."""

    percent: float
    visible: float
    small: bool = False
