"""PURE: one step chased through all commits of a range, branches and all: which commit to ask for it next.

A commit that has the step's signature contains the culprit, one that has not does not. So any commit can be asked,
wherever it lies, and the base and the tip of a merged line need no builds of their own. As on a line the commit is
asked that tells most per second by the prior weights, and wrong weights cannot make the chase longer than halving by
more than SPARE builds where the graph lets itself be halved.

That the step is all there or not at all is presumed. What is caught is a guess, for its parent to confirm.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cpubisect.search.exact import SPARE, Measure, Price, halvings
from cpubisect.search.graph import Graph, members
from cpubisect.search.signature import HAS
from cpubisect.search.splits.interval import NEARLY_BEST, RELEASE, STRONG_SUSPECT
from cpubisect.search.stats import entropy

PAIR = 2.0
"""A suspect and its parent are so many builds: one that is it with this probability over what halving takes is asked
first, wherever it lies and whatever it costs."""

CLEAR = 0.2
"""A share that is nearer to HAS than this is of a step that is spread over several commits, or hidden by what else a
branch lacks."""

MOST_UNCLEAR = 2
"""So many such answers end a chase: a search on the line tells several steps apart."""


def unclear(share: float) -> bool:
    """Whether a share says little of where a step is."""
    return abs(share - HAS) < CLEAR


@dataclass(frozen=True)
class Chase:
    """All a decision depends on.

    `weights` are the prior weights of the numbers from 1 on, 0 for those that cannot be it; `shares` is what part of
    the step the numbers that were measured show, as a ratio; `dead` maps those that can't be measured to why. `tried`
    are the numbers that were measured or failed, in that order, and `free` those that cost no build; `released` are
    those of tagged releases.
    """

    graph: Graph
    weights: Sequence[float]
    shares: Mapping[int, float] = field(default_factory=dict)
    dead: Mapping[int, str] = field(default_factory=dict)
    tried: tuple[int, ...] = ()
    free: frozenset[int] = frozenset()
    released: frozenset[int] = frozenset()

    def with_share(self, number: int, share: float) -> "Chase":
        """The state after a number was measured."""
        return replace(self, shares={**self.shares, number: share}, tried=(*self.tried, number))

    def with_failure(self, number: int, why: str) -> "Chase":
        """The state after a number turned out to be unobservable."""
        return replace(self, dead={**self.dead, number: why}, tried=(*self.tried, number))

    @property
    def suspected(self) -> int:
        """The commits that can be it, as a set of bits, before anything was measured."""
        return sum(1 << number for number, weight in enumerate(self.weights, start=1) if weight > 0)

    @property
    def left(self) -> int:
        """The commits that can still be it, as a set of bits."""
        bits = self.suspected
        for number, share in self.shares.items():
            within = self.graph.within[number]
            bits &= within if share >= HAS else ~within
        return bits


@dataclass(frozen=True)
class Caught:
    """The chase is over: only `number` is left."""

    number: int


@dataclass(frozen=True)
class Lost:
    """The chase is over, and `why` it caught nothing."""

    why: str


def next_move(chase: Chase, price: Price) -> Measure | Caught | Lost:
    """What to ask next, or the end of the chase."""
    left = members(chase.left)
    if sum(unclear(share) for share in chase.shares.values()) >= MOST_UNCLEAR:
        return Lost("it is spread over several commits")
    if not left:
        return Lost("what has the step and what has not contradict each other")
    if len(left) == 1:
        return Caught(left[0])
    pool = [number for number in left if number not in chase.shares and number not in chase.dead]
    if not pool:
        return Lost(f"{len(left)} commits are left that cannot be measured")
    number, share = _choose(chase, left, pool, price)
    why = f"{share:.0%} of the suspicion is on it and what it contains, of {len(left)} commits left"
    return Measure(number, why, 0, len(chase.weights))


def _choose(chase: Chase, left: Sequence[int], pool: Sequence[int], price: Price) -> tuple[int, float]:
    """The number that tells most per second, and the part of the weight in what it contains."""
    bits = chase.left
    whole = sum(chase.weights[number - 1] for number in left)
    held = {number: chase.graph.within[number] & bits for number in pool}
    weight_of = _weigher(chase, left)
    shares = {number: weight_of(held[number]) / whole for number in pool}
    allowance = halvings(chase.suspected.bit_count()) + SPARE - _spent(chase)

    def longest(number: int) -> int:
        size = held[number].bit_count()
        return 1 + halvings(max(size, len(left) - size))

    before = _before_suspects(chase, left, bits)

    def weight(number: int) -> float:
        return max(chase.weights[number - 1], before.get(number, 0.0))

    def suspicion(number: int) -> float:
        return weight(number) if weight(number) * len(left) >= STRONG_SUSPECT * whole else 0.0

    allowed = [number for number in pool if number in chase.free or longest(number) <= allowance]
    if not allowed:
        shortest = min(map(longest, pool))
        allowed = [number for number in pool if longest(number) == shortest]
    likeliest = max(allowed, key=weight)
    if suspicion(likeliest) * halvings(len(left)) >= PAIR * whole:
        return likeliest, shares[likeliest]
    told = entropy([min(1.0, shares[number]) for number in allowed])
    away = _away_from_failures(chase, left)
    rates = {n: float(b) * away(n) / price(n) for n, b in zip(allowed, told, strict=True)}
    most = max(rates.values())

    def is_release(number: int) -> bool:
        return number in chase.released and rates[number] >= RELEASE * most

    near = (number for number in allowed if rates[number] >= NEARLY_BEST * most)
    best = max(near, key=lambda number: (suspicion(number), is_release(number), rates[number], -longest(number)))
    return best, shares[best]


def _before_suspects(chase: Chase, left: Sequence[int], bits: int) -> dict[int, float]:
    """Of what has the step the nearest that it contains and that is left: with the weight of that, for of a suspect
    that has the step the parent is asked next."""
    found: dict[int, float] = {}
    for number in left:
        if number not in chase.shares:
            continue
        waiting, seen = [number], {0}
        while waiting:
            for parent in chase.graph.nodes[waiting.pop() - 1].parents:
                before = chase.graph.numbers.get(parent, 0)
                if before in seen:
                    continue
                seen.add(before)
                if bits >> before & 1:
                    found[before] = max(found.get(before, 0.0), chase.weights[number - 1])
                else:
                    waiting.append(before)
    return found


def _weigher(chase: Chase, left: Sequence[int]) -> Callable[[int], float]:
    """Sums of weights over a set of bits."""
    import numpy as np

    size = len(chase.weights) // 8 + 1
    weights = np.zeros(size * 8)
    weights[list(left)] = [chase.weights[number - 1] for number in left]

    def weigh(bits: int) -> float:
        held = np.frombuffer(bits.to_bytes(size, "little"), dtype=np.uint8)
        return float(np.unpackbits(held, bitorder="little") @ weights)

    return weigh


def _spent(chase: Chase) -> int:
    """Builds that were made for the chase and told something."""
    return sum(1 for number in chase.tried if number in chase.shares and number not in chase.free)


def _away_from_failures(chase: Chase, left: Sequence[int]) -> Callable[[int], float]:
    """What a number is worth beside those that failed: next to one it likely fails too."""
    scale = max(1.0, len(left) / 8)
    place = {number: position for position, number in enumerate(left)}
    failed = [place[number] for number in chase.dead if number in place]

    def worth(number: int) -> float:
        distance = min((abs(place[number] - other) for other in failed), default=math.inf)
        return 1.0 if distance == math.inf else 1 - math.exp(-distance / scale)

    return worth
