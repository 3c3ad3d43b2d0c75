"""PURE: on CPU time, what builders that are free make while one host reads: the commits that split the posterior most.

What is read next stays `noisy.next_action`'s decision, which takes what is being built at the seconds that it still
needs (`with_pending`). Beside it, each number that is there or being built cuts the gap that it lies in, and a further
build is worth the probability of its cell times the bits of where it splits that, per second, as on an exact metric
(`moves`).
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cpubisect.search.clock.choice import best_action, information, points
from cpubisect.search.clock.noisy import current, next_action, reproduced
from cpubisect.search.clock.posterior import Posterior
from cpubisect.search.clock.situation import Probe, Situation
from cpubisect.search.many.moves import LEAST
from cpubisect.search.stats import entropy

NOTHING: Mapping[int, float] = {}

HELD = 0.01
"""A build is ended once its gap holds the step with less than this probability: it would tell less than a hundredth of
a bit."""


def next_builds(situation: Situation, k: int = 1, pending: Mapping[int, float] = NOTHING) -> tuple[int, ...]:
    """The numbers that `k` free builders build now, the most telling first, beside what is `pending` (number → seconds
    until it is built); none before the ends surely differ, or once there is an answer. One builder builds what
    `next_action` asks for."""
    if k < 1 or not reproduced(situation):
        return ()
    action = next_action(with_pending(situation, pending))
    if not isinstance(action, Probe):
        return ()
    wanted = (action.number,) if situation.build_s(action.number) > 0 and action.number not in pending else ()
    now = current(situation)
    if now is None or (k == 1 and not pending):
        return wanted
    chosen = [*wanted]
    most = min(k, _readable(situation, now) - len(pending))
    while len(chosen) < most:
        best = _best(situation, now, {*pending, *chosen})
        if best is None or best.bits < LEAST / (k + len(pending) + 1):
            break
        chosen.append(best.number)
    return tuple(chosen[:k])


def with_pending(situation: Situation, pending: Mapping[int, float]) -> Situation:
    """The same question where some binaries are there in so many seconds."""
    made = replace(situation, build_s=lambda number: pending.get(number, situation.build_s(number)))
    return made.with_data_of(situation)


def while_waiting(situation: Situation) -> Probe | None:
    """What the host reads best of what is built, while `next_action` wants something that is not; None if no reading
    would tell anything, or before the ends surely differ."""
    now = current(situation) if reproduced(situation) else None
    if now is None:
        return None

    def build_s(number: int) -> float:
        return math.inf if situation.build_s(number) > 0 else 0.0

    action, rate = best_action(replace(situation, build_s=build_s), situation.data, now)
    return action if rate > 0 else None


def pointless(situation: Situation, pending: Mapping[int, float]) -> frozenset[int]:
    """The pending builds to end: those in gaps that hardly hold the step (`HELD`); none while it is not sure again that
    the ends differ. Whether there is an answer is not asked: it may depend on what these builds still take."""
    now = current(situation) if reproduced(situation) else None
    if now is None:
        return frozenset()
    held = dict(zip(now.gaps, (float(one) for one in now.probabilities), strict=True))
    return frozenset(n for n in pending if not any(low < n < high and held[low, high] >= HELD for low, high in held))


def chances(situation: Situation) -> dict[int, float]:
    """How likely each number is the culprit; empty before the ends surely differ."""
    now = current(situation) if reproduced(situation) else None
    if now is None:
        return {}
    return {
        number: float(probability) / (high - low)
        for (low, high), probability in zip(now.gaps, now.probabilities, strict=True)
        for number in range(low + 1, high + 1)
    }


@dataclass(frozen=True)
class _Offer:
    """What building a number is worth: so many bits, so many of them per second."""

    number: int
    bits: float
    rate: float


def _readable(situation: Situation, now: Posterior) -> int:
    """How many builds the host can make use of: while one is made, it reads so many bits, and one more is wanted then.
    What one reading of a commit in the middle tells is the channel's information (`choice.information`)."""
    build_s = max((situation.build_s(n) for gap in now.gaps for n in points(situation, *gap)), default=0.0)
    distance = np.asarray([abs(now.step) / max(now.sigma, 1e-12)])
    bits = float(information(np.asarray([0.5]), distance)[0])
    return 1 + math.ceil(build_s / situation.probe_s * bits)


def _best(situation: Situation, now: Posterior, made: set[int]) -> _Offer | None:
    """The number that tells most per second besides those that are made or there; None if none is left."""
    offers = []
    for (low, high), probability in zip(now.gaps, now.probabilities, strict=True):
        inside = points(situation, low, high)
        there = {n for n in inside if situation.build_s(n) == 0}
        cuts = sorted({low, high, *there, *(n for n in made if low < n < high)})
        for first, last in itertools.pairwise(cuts):
            mass = float(probability) * (last - first) / (high - low)
            own = [n for n in inside if first < n < last]
            if own:
                bits = mass * entropy([(n - first) / (last - first) for n in own])
                best = max(
                    (_Offer(n, float(b), float(b) / situation.build_s(n)) for n, b in zip(own, bits, strict=True)),
                    key=lambda one: one.rate,
                )
                offers.append(best)
    return max(offers, key=lambda one: one.rate, default=None)
