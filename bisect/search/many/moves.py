"""PURE: what is measured, what is being built, so many builders free → which commits to build next, all together.

One builder alone gets `exact.next_move`'s answer. Of more, each number that is being built or was chosen cuts the
interval that it lies in, and what a further one tells is the weight of the cell that it falls into times its bits in
there, per second: so many numbers split an interval into so many and one cells of equal weight. All open intervals
share the builders, for all will be asked about.

A build is not begun where waiting for an answer costs less: one that falls into a cell which is not likely to hold the
step, or that the next answer comes long before, waits. Wrong weights cannot cost much here either: there is always one
build that leaves at most a part of SAFE of the candidates.

A loop over it, at each change of state: end what is `pointless`, begin the `next_moves`, probe the `next_probe` of what
is built, wait for the first that is finished, take it in.
"""

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cpubisect.search.exact import (
    SPARE,
    Done,
    Measure,
    Open,
    Price,
    State,
    Weigh,
    alike,
    even,
    next_move,
)
from cpubisect.search.line import Line
from cpubisect.search.splits.interval import Interval, Split

LEAST = 1.2
"""A build is begun if the bits it is likely to tell, times the square of the part of its time that beginning it now
saves, are at least this over the number of builders and one, which is the weight of a cell if as many split an interval
evenly. The square, for what the next answer comes long before is likely ended by it too: eight builders took 2.16 times
the builds of one in 0.353 of the hours, without it 2.44 and 0.335 (2,000 candidates in `benchmarks/many.py`)."""

SAFE = 2 / 3
"""Of an interval, one build that is being made leaves at most this part on a side: three evenly spread do, whatever the
weights."""

LIKELY = 0.4
"""A build for a confirmation is made ahead if it is needed with this probability: it saves that part of a build's time,
and many builders are to take at most 2.5 builds for each that one would make."""

EVENINGS = 4
"""How often chosen numbers are moved between their neighbours: with so many, eight on an even interval are as good as
evenly spaced (3.16 of 3.17 bits)."""

NOTHING: Mapping[int, float] = {}


def next_moves(
    state: State,
    weigh: Weigh = even,
    price: Price = alike,
    k: int = 1,
    pending: Mapping[int, float] = NOTHING,
    *,
    first: bool = False,
) -> tuple[Measure, ...] | Done:
    """What `k` free builders build, the most telling first, beside what is `pending` (number → seconds until it is
    measured); fewer, or nothing, if waiting for that is better. The search is `Done` where `next_move` is. If only the
    `first` step is wanted, nothing else is split. Raises ValueError unless both ends are measured."""
    found = state.sorted_out
    lonely = k == 1 and not pending
    if lonely or not found.open or found.steps_first(state):
        move = next_move(state, weigh, price)
        return move if isinstance(move, Done) else (move,)
    parts = found.open[:1] if first else found.open
    builders = k + len(pending)

    def cut() -> list[_Cut]:
        insides = ((part, found.within(state, part, _weights(weigh, part), price)) for part in parts)
        return [_Cut(part, inside, _inside(part, pending), builders) for part, inside in insides]

    chosen = _choose(cut(), k)
    measured = sum(1 for number in state.tried if number in state.costs)
    # Two builders begin with a suspect and its parent.
    if k > 0 and not chosen[0].safe() and (builders > 2 or measured >= 2 * SPARE):
        chosen = _choose(cut(), k, safely=True)
    return tuple(itertools.chain.from_iterable(own.measures() for own in chosen))


def opening(size: int, k: int, *, ends_only: bool = False) -> tuple[int, ...]:
    """What `k` free builders begin with on a line of which nothing is measured: both ends, and evenly spaced numbers
    unless only the ends are wanted. Those would be idle else: they save a round if the ends differ, and are lost if
    they do not."""
    ends = (0, size - 1) if size > 1 else (0,)
    inner = () if ends_only else spaced(range(1, size - 1), k - len(ends))
    return (*ends, *inner)[: max(0, k)]


def spaced(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """So many of some numbers, evenly spaced: they split the others into parts that are one apart at most."""
    count = max(0, min(count, len(numbers)))
    return tuple(numbers[(i + 1) * (len(numbers) + 1) // (count + 1) - 1] for i in range(count))


def next_probe(state: State, ready: Collection[int], weigh: Weigh = even) -> Measure | None:
    """Which of the numbers that are built to measure first, in the order of `next_move`; None if none would tell."""
    import numpy as np

    found = state.sorted_out
    for part in found.open:
        among = np.isin(np.arange(part.low, part.high + 1), list(ready))
        if among.any():
            inside = replace(found.within(state, part, _weights(weigh, part), alike), alive=among)
            split = inside.split(part.low, part.high, part.high - part.low)
            if split is not None:
                return part.measure(split.number, split.share)
    return None


def never(number: int) -> float:
    """Nobody else will ask for a number."""
    return 0.0


def pointless(
    state: State, pending: Mapping[int, float], price: Price = alike, later: Callable[[int], float] = never
) -> frozenset[int]:
    """The pending builds to end: no open interval holds them any more, and to finish them takes longer than they save.

    `pending` has the seconds that each still takes; `later` is the probability that another search will ask for a
    number, which then takes its whole `price` again: finishing is worth it up to the product of both, where the mean
    of what is lost is the same either way.
    """
    open_intervals = state.sorted_out.open
    useless = (n for n in pending if not any(part.low < n < part.high for part in open_intervals))
    return frozenset(n for n in useless if pending[n] > later(n) * price(n))


def chances(state: State, weigh: Weigh = even) -> dict[int, float]:
    """How likely each number is the culprit that the search comes to next: of the largest step, if one cannot be split
    or is in the interval that is split first. Empty where no step is left."""
    found = state.sorted_out
    new = [step for step in found.steps if step.high not in state.settled]
    if new and (not found.open or found.steps_first(state)):
        low, high = new[0].low, new[0].high
    elif found.open:
        low, high = found.open[0].low, found.open[0].high
    else:
        return {}
    weights = weigh(low, high)
    whole = sum(weights)
    even_share = 1 / (high - low)
    return {low + 1 + i: weight / whole if whole else even_share for i, weight in enumerate(weights)}


def ahead(line: Line, likely: Mapping[int, float], built: Collection[str]) -> tuple[tuple[str, float], ...]:
    """The commits that confirming the next culprit takes, with the probability of each, the likeliest first, by how
    `likely` each number is it. Of the commits that are not `built`, those that are LIKELY to be needed."""
    needed: dict[str, float] = {}
    for number, chance in likely.items():
        sha = line.first(number)
        for commit in (sha, line.parents.get(sha, sha)):
            needed[commit] = needed.get(commit, 0.0) + (chance if commit not in built else 0.0)
    worth = [(sha, min(1.0, chance)) for sha, chance in needed.items() if chance >= LIKELY]
    return tuple(sorted(worth, key=lambda one: -one[1]))


@dataclass(frozen=True)
class _Offer:
    """A number that may be built: its `rate` of bits per second, and what beginning it `now` rather than after the next
    answer is worth, in bits."""

    number: int
    rate: float
    now: float


@dataclass
class _Cut:
    """An open interval and the numbers in it that are being built, with the seconds they still take, or were chosen."""

    part: Open
    inside: Interval
    pending: dict[int, float]
    builders: int

    def __post_init__(self) -> None:
        self.cuts = sorted({self.part.low, *self.pending, self.part.high})
        self.chosen: list[int] = []
        self._offers: dict[tuple[int, int], _Offer | None] = {}

    @cached_property
    def least(self) -> float:
        """The bits that beginning a build now must be worth: where even the best one alone tells little, as beside a
        stretch that can't be built, a part of that."""
        split = self.inside.split(self.part.low, self.part.high, self.part.high - self.part.low)
        alone = split.bits * float(self.inside.worth[split.number - self.part.low]) if split else 1.0
        return LEAST * alone / (self.builders + 1)

    def best(self) -> _Offer | None:
        """The number that tells most besides what is being built and chosen; None if none is left.

        An answer that leaves a cell with something to measure takes another round of builds, whatever its weight: one
        that leaves nothing is worth a round's bits more.
        """
        for cell in itertools.pairwise(self.cuts):
            if cell not in self._offers:
                self._offers[cell] = self._offer(*cell)
        offers = (self._offers[cell] for cell in itertools.pairwise(self.cuts))
        return max((one for one in offers if one is not None), key=lambda one: (one.rate, -one.number), default=None)

    def _offer(self, low: int, high: int) -> _Offer | None:
        mass, round_bits = self.inside.mass(low, high), math.log2(self.builders + 1)
        if len(self.cuts) > 2 and mass * (1 + round_bits) < self.least:
            return None
        split = self.inside.split(low, high, high - low)
        if split is None:
            return None
        number, place = split.number, split.number - self.part.low
        before, after = self.inside.alive[low + 1 - self.part.low : place], self.inside.alive[place + 1 :]
        ends = split.share * (not before.any()) + (1 - split.share) * (not after[: high - number - 1].any())
        bits = mass * float(self.inside.worth[place]) * (split.bits + ends * round_bits)
        seconds = float(self.inside.seconds[place])
        saved = min(1.0, min(self.pending.values(), default=seconds) / seconds)
        return _Offer(number, bits / seconds, bits * saved**2)

    def take(self, number: int) -> None:
        """Have a number built."""
        self.cuts = sorted({*self.cuts, number})
        self.chosen.append(number)
        if self.inside.free[number - self.part.low]:
            self.pending[number] = float(self.inside.seconds[number - self.part.low])
            self._offers.clear()

    def safe(self) -> bool:
        """Whether some number that is being built leaves few enough candidates on either side of it."""
        return any(self._longest_beside(number) <= self.longest for number in self.cuts[1:-1])

    @property
    def longest(self) -> int:
        """How many candidates the safe build may leave on one side."""
        return int(SAFE * (self.part.high - self.part.low) + 1e-9)

    def safest(self) -> Split | None:
        """The number that tells most per second of those that are safe, or are the safest there are."""
        import numpy as np

        low, high = self.part.low, self.part.high
        taken = np.zeros(high - low + 1, dtype=bool)
        taken[[number - low for number in self.cuts]] = True
        alive = np.flatnonzero(self.inside.alive & ~taken) + low
        if not len(alive):
            return None
        shortest = min(self._longest_beside(int(number)) for number in alive)
        return self.inside.split(low, high, max(self.longest, shortest), among=~taken)

    def even_out(self, fixed: int | None) -> None:
        """Move what was chosen, but for one number, to where it tells most between its neighbours."""
        for _ in range(EVENINGS):
            before = list(self.cuts)
            for number in [one for one in before if one in self.chosen and one != fixed]:
                place = self.cuts.index(number)
                split = self.inside.split(self.cuts[place - 1], self.cuts[place + 1], self.part.high - self.part.low)
                if split is not None:
                    self.cuts[place] = split.number
                    self.chosen[self.chosen.index(number)] = split.number
            if self.cuts == before:
                break

    def measures(self) -> list[Measure]:
        """What was chosen."""
        return [self.part.measure(number, self.inside.mass(self.part.low, number)) for number in self.chosen]

    def _longest_beside(self, number: int) -> int:
        return max(number - self.part.low, self.part.high - number)


def _choose(cuts: list[_Cut], k: int, *, safely: bool = False) -> list[_Cut]:
    """Open intervals with what is to be built in them; `safely` if one of the builds is chosen so that wrong weights
    can't cost much."""
    first = cuts[0]
    left, fixed = max(0, k), None
    if safely and (split := first.safest()) is not None:
        fixed = split.number
        first.take(fixed)
        left -= 1
    while left:
        offers = [(offer, own) for own in cuts if (offer := own.best()) is not None]
        idle = len(first.cuts) == 2
        worth = [one for one in offers if (one[1] is first if idle else one[0].now >= one[1].least)]
        if not worth:
            break
        offer, own = max(worth, key=lambda one: one[0].rate)
        own.take(offer.number)
        left -= 1
    for own in cuts:
        own.even_out(fixed)
    return cuts


def _inside(part: Open, pending: Mapping[int, float]) -> dict[int, float]:
    return {number: seconds for number, seconds in pending.items() if part.low < number < part.high}


def _weights(weigh: Weigh, part: Open) -> Sequence[float]:
    """The prior weights in an interval; where there are none, all weigh alike."""
    weights = weigh(part.low, part.high)
    return weights if sum(weights) else even(part.low, part.high)
