"""PURE: what free builders build in a chase ahead of its answers: what each answer would have asked next, the likeliest
first."""

import heapq
from collections.abc import Collection, Mapping
from itertools import count

from cpubisect.search.chase import Chase, next_move
from cpubisect.search.exact import Measure, Price
from cpubisect.search.graph import members
from cpubisect.search.signature import HAS

MOST_LOOKED_AT = 3
"""So many times as many moves are looked at as there are builders: most that are likely are pending already."""


def moves_ahead(
    chase: Chase, price: Price, free: int, pending: Mapping[int, float]
) -> tuple[tuple[Measure, float], ...]:
    """What so many `free` builders begin beside what is `pending` (number → seconds until it is measured), with the
    probability that it is asked; none if the chase is over, or waiting for an answer is better.

    A move is worth a builder if it comes with at least the probability that each of as many moves has which split the
    suspicion evenly.
    """
    builders = free + len(pending)
    least = 1 / (builders + 1)

    def now(number: int) -> float:
        return pending.get(number, price(number))

    chosen: dict[int, tuple[Measure, float]] = {}
    order = count()
    waiting = [(-1.0, next(order), chase)]
    looked = 0
    while waiting and len(chosen) < free and looked < MOST_LOOKED_AT * builders:
        negative, _, state = heapq.heappop(waiting)
        if -negative < least:
            break
        looked += 1
        move = next_move(state, now)
        if not isinstance(move, Measure):
            continue
        if move.number not in pending and move.number not in chosen:
            chosen[move.number] = (move, -negative)
        held = share_held(state, move.number)
        for answer, chance in ((1.0, held), (0.0, 1 - held)):
            heapq.heappush(waiting, (negative * chance, next(order), state.with_share(move.number, answer)))
    return tuple(chosen.values())


def share_held(chase: Chase, number: int) -> float:
    """How likely a number has the step: the part of the weight that is left in what it contains."""
    left = members(chase.left)
    whole = sum(chase.weights[one - 1] for one in left)
    within = chase.graph.within[number]
    return sum(chase.weights[one - 1] for one in left if within >> one & 1) / whole if whole else HAS


def telling(chase: Chase, numbers: Collection[int]) -> list[int]:
    """Those of some numbers that have an answer still to give, the one that tells most first."""
    left = chase.left
    halves = {number: share_held(chase, number) for number in numbers if number not in chase.dead}
    open_ = [n for n in halves if n not in chase.shares and left & chase.graph.within[n] not in (0, left)]
    return sorted(open_, key=lambda number: (abs(halves[number] - HAS), number))
