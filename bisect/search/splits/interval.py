"""PURE: the numbers between two measured ones, and which of them tells most per second about where the step is."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpubisect.search.stats import entropy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]

STRONG_SUSPECT, NEARLY_BEST = 8.0, 0.7
"""A candidate of so many times the average weight is measured before others, or the one before it, where that tells at
least this part of what the best measurement does per second."""

RELEASE = 0.95
"""The commit of a tagged release is measured in place of any other if it tells at least this part of what the best
measurement does per second: releases are what has been built before, and what is asked about. With equal
prices and weights a quarter of an interval, around its middle, tells that much, and a search for one step takes in the
mean at most 1 / RELEASE times what it takes without releases."""

BESIDE_FAILURES = 8
"""A commit next to one that can't be built is likely no better: its worth grows with the distance, on the scale of one
part in so many of the interval (an exponential), so that the ends of an unbuildable range are found in a few steps
instead of one by one."""


@dataclass(frozen=True)
class Split:
    """What measuring `number` tells of the step's place in a part of an interval: so many `bits`, `rate` of them per
    second (less beside failures); `share` of that part's weight is at or before it."""

    number: int
    bits: float
    rate: float
    share: float


@dataclass(frozen=True)
class Interval:
    """What is known of the numbers from `low` to `high`, which are measured; place i of each list is number `low` + i.

    `upto` is the weight after `low`, up to and with a number, and `weights` that of each; `alive` are those that may be
    measured, at `seconds` each; `worth` is what that is worth beside failures, as a ratio; `free` cost no build, and
    `released` are built at a tagged release.
    """

    low: int
    high: int
    weights: "Array"
    upto: "Array"
    alive: "Flags"
    seconds: "Array"
    worth: "Array"
    free: "Flags"
    released: "Flags"

    def mass(self, first: int, last: int) -> float:
        """The part of the interval's weight after one number, up to another; by their count if there is no weight."""
        if not self.upto[-1]:
            return (last - first) / (self.high - self.low)
        return float((self.upto[last - self.low] - self.upto[first - self.low]) / self.upto[-1])

    def split(self, first: int, last: int, longest: int, *, among: "Flags | None" = None) -> Split | None:
        """The number between two others of the interval that tells most per second of a step that is between these;
        None if none is left.

        What it tells is the entropy of the weight up to it, in bits: a measurement says on which side the step is.
        Among nearly equal ones a strong suspect or the commit before it comes first: that is often the whole search
        (Findit tests its suspect and the parent first, and needs two builds instead of five). A release comes next, if
        it tells RELEASE of the best. A binary that is there already is taken although it halves less well. As long as
        there are such, others are not taken that leave more than `longest` numbers on a side. Only those `among` some
        are asked for, if that is given.
        """
        import numpy as np

        inner = slice(first + 1 - self.low, last - self.low)
        alive = self.alive[inner] if among is None else self.alive[inner] & among[inner]
        if not alive.any():
            return None
        numbers = np.arange(first + 1, last)
        sides = np.maximum(numbers - first, last - numbers)
        allowed = alive & (self.free[inner] | (sides <= longest))
        # Failures may have left nothing that keeps to what is allowed.
        chosen = np.flatnonzero(allowed if allowed.any() else alive)
        whole = self.upto[last - self.low] - self.upto[first - self.low]
        shares = (self.upto[inner][chosen] - self.upto[first - self.low]) / whole if whole else np.zeros(len(chosen))
        bits = entropy(shares)
        rates = bits * self.worth[inner][chosen] / self.seconds[inner][chosen]
        heavier = np.maximum(self.weights[inner], self.weights[first + 2 - self.low : last + 1 - self.low])[chosen]
        suspicion = np.where(heavier * (last - first) >= STRONG_SUSPECT * whole, heavier, 0.0)
        most = rates.max()
        release = self.released[inner][chosen] & (rates >= RELEASE * most)
        near = np.flatnonzero(rates >= NEARLY_BEST * most)
        off_middle = np.abs(numbers[chosen] - (first + last) / 2)
        order = np.lexsort((numbers[chosen][near], off_middle[near], -rates[near], ~release[near], -suspicion[near]))
        best = int(near[order[0]])
        return Split(int(numbers[chosen][best]), float(bits[best]), float(rates[best]), float(shares[best]))


def interval(
    low: int,
    high: int,
    weights: Sequence[float],
    price: Callable[[int], float],
    dead: Collection[int],
    presumed: Collection[int] = (),
    free: Collection[int] = (),
    released: Collection[int] = (),
) -> Interval:
    """What is known between two measured numbers: `weights` of those after the first, up to the second; `dead` ones
    failed, and `presumed` ones likely would. `price` is in seconds, and asked of what can be measured alone."""
    import numpy as np

    size = high - low + 1
    inside = range(low + 1, high)

    def flags(numbers: Collection[int]) -> "Flags":
        marked = np.zeros(size, dtype=bool)
        marked[[n - low for n in numbers if low < n < high]] = True
        return marked

    failed = [n for n in dead if low < n < high]
    alive = ~flags(failed) & ~flags(presumed)
    alive[[0, -1]] = False
    seconds = np.ones(size)
    seconds[alive] = [price(n) for n in inside if alive[n - low]]
    own = np.concatenate([[0.0], np.asarray(weights, dtype=float)])
    return Interval(
        low=low,
        high=high,
        weights=own,
        upto=np.cumsum(own),
        alive=alive,
        seconds=seconds,
        worth=_away(size, np.asarray(sorted(n - low for n in failed), dtype=float)),
        free=flags(free),
        released=flags(released),
    )


def _away(size: int, failed: "Array") -> "Array":
    """What measuring each of so many places is worth, as a ratio, some of them having failed."""
    import numpy as np

    if not len(failed):
        return np.ones(size)
    places = np.arange(size)
    after = np.searchsorted(failed, places)
    before = np.abs(places - failed[np.maximum(after - 1, 0)])
    beyond = np.abs(places - failed[np.minimum(after, len(failed) - 1)])
    scale = max(1.0, (size - 1) / BESIDE_FAILURES)
    return np.asarray(1 - np.exp(-np.minimum(before, beyond) / scale))
