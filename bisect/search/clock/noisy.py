"""PURE: the search on a noisy metric. What was read so far → what to measure next, or where the steps are.

1. *Gate*: both ends are read in turn until their difference is sure, or as good as none.
2. *Search*: of all actions (probe a commit that is built, or build another one and probe it) the one that tells most
   about the place of the step per second, until one gap between neighbours holds it with `SURE` probability. Whether
   it does is then told by readings of both sides that had no part in this.
If a step explains less than half of the difference between the ends, the search goes on beside it. A search that is
late is content with less: a likely gap, and the largest step.
"""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from cpubisect.search.clock.choice import best_action, information, points
from cpubisect.search.clock.digest import Digest
from cpubisect.search.clock.posterior import Posterior, posterior
from cpubisect.search.clock.situation import NoStep, Probe, Situation, Steps
from cpubisect.search.exact import Found
from cpubisect.search.stats import uncertainty

SURE = 0.95
"""A step is worth confirming where it is with at least this probability."""

SET = 0.998
"""A set of commits holds the step with at least this probability."""

GATE_SIGMAS, STAY_SIGMAS = 4.0, 3.0
"""The difference of the ends is sure when it is so many times its own standard error, and stays so while it is so many:
the error grows again where a drifting host is found out late."""

MOST_ROUNDS = 75
"""Ends that don't surely differ after so many readings each count as equal: a difference as large as the noise of one
reading is 6.1 standard errors then."""

HOPELESS_SIGMAS = 3.0
"""The ends count as equal before that, if not even a difference so many standard errors larger could become sure."""

LIKELY = 0.9
"""Where more readings would not help any more or the search is late, this probability is enough for that."""

BETWEEN_SIGMAS, BETWEEN_PART = 4.0, 0.2
"""A commit's cost is on a level of its own if it is so many standard errors, and this part of the whole difference,
away from both ends."""

STUCK_SIGMAS = 1.5
"""So many are enough where the search for a single step has come to nothing."""

PATIENCE = 4.0
"""A set of candidates is the answer if one commit would take so many times the whole search's expected time more, and a
search that took so many times its expected time is late."""

LATE_PART = 0.3
"""Steps that explain this part of the whole difference are an answer of a late search, if none of the intervals that
are left holds more than the largest of them."""

POWER = 0.9
"""A step that would have been seen is one that is seen with this probability."""

LEAST_OF_END, LEAST_FOR_NONE = 3, 8
"""Readings of each end at least, and before their difference is called too small."""


Action = Probe | Steps | NoStep


def next_action(situation: Situation) -> Action:
    """Decide; the same readings give the same decision."""
    data = situation.data
    gate = _gate(situation, data)
    if gate is not None:
        return gate
    whole = data.difference(0, situation.size - 1)[0]
    late = _late(situation, data)
    wanted: Probe | None = None
    left = 0.0
    found: list[Found] = []
    open_intervals = [(0, situation.size - 1)]
    while open_intervals:
        low, high = open_intervals.pop(0)
        part = _inside(situation, low, high)
        own = data if part is situation else data.inside(low, high)
        outcome = _within(part, own, posterior(own), late)
        if isinstance(outcome, Probe):
            wanted = wanted or _shifted(outcome, low)
            if not late:
                return wanted
            left = max(left, abs(data.difference(low, high)[0]))
            continue
        if isinstance(outcome, Found):
            step = replace(outcome, low=outcome.low + low, high=outcome.high + low)
            found.append(step)
            if abs(sum(step.percent for step in found)) >= situation.enough * abs(whole):
                break
            parts = [(low, step.low), (step.high, high)]
        else:
            parts = [(low, low + outcome), (low + outcome, high)]
        sizes = {pair: _residue(situation, data, *pair) for pair in (*open_intervals, *parts)}
        open_intervals = sorted((pair for pair, size in sizes.items() if size), key=lambda pair: -sizes[pair])
    largest = max((abs(step.percent) for step in found if step.single), default=0.0)
    if wanted is not None and largest < max(left, LATE_PART * abs(whole)):
        return wanted
    found.sort(key=lambda step: -abs(step.percent))
    return Steps(tuple(found), whole - sum(step.percent for step in found))


def _within(part: Situation, data: Digest, now: Posterior, late: bool) -> Probe | Found | int:
    """The next action in one interval, its step, or a commit on a level of its own that splits it."""
    between = _level_between(part, data, now, BETWEEN_SIGMAS)
    if between is not None:
        return _read_twice(part, data, between)
    outcome = _search(part, data, now, late)
    if isinstance(outcome, Found) and not outcome.single:
        between = _level_between(part, data, now, STUCK_SIGMAS)
    return outcome if between is None else _read_twice(part, data, between)


def _read_twice(part: Situation, data: Digest, between: int) -> Probe | int:
    """A commit on a level of its own, once that was not a single reading, which may have been disturbed, or cannot be
    read again."""
    if data.count(between) > 1 or between in part.dead:
        return between
    return Probe(between, 1, "it seems to be on a level of its own")


def reproduced(situation: Situation) -> bool:
    """True once the ends surely differ in the wanted direction."""
    return _gate(situation, situation.data) is None


def held(now: Posterior, low: int, high: int) -> float:
    """How likely the step is after one measured number and not after another."""
    return float(sum(p for (a, b), p in zip(now.gaps, now.probabilities, strict=True) if low <= a and b <= high))


def visible_at(error: float) -> float:
    """The smallest difference of the ends, in percent, that most likely becomes sure at a standard error in percent."""
    return (GATE_SIGMAS + NormalDist().inv_cdf(POWER)) * error


def hopeless(percent: float, error: float, rounds: int, most: int) -> bool:
    """True if a difference of the ends of so many percent, with its standard error after some rounds, will hardly be
    sure after the most there may be (stochastic curtailment, Lan, Simon and Halperin 1982)."""
    if rounds < LEAST_FOR_NONE or not math.isfinite(error):
        return False
    last = error * math.sqrt(rounds / most)
    return abs(percent) + HOPELESS_SIGMAS * math.sqrt(max(0.0, error**2 - last**2)) < GATE_SIGMAS * last


def current(situation: Situation) -> Posterior | None:
    """What is known of the place of the (first) step, for showing; None before both ends were read twice."""
    data = situation.data
    if min(data.count(0), data.count(situation.size - 1)) < 2:
        return None
    return posterior(data)


def expected_cost(
    size: int, step_percent: float, sigma_percent: float, build_s: float, probe_s: float
) -> tuple[float, float]:
    """Builds and seconds that a search is likely to take from the gate on.

    log2(size) bits, and log2(1 / (1 - SURE)) more to be sure, at what one reading of a fresh commit tells
    (Ben-Or and Hassidim 2008: expected queries are the bits over the channel's information); each halving is a build.
    """
    levels = math.log2(max(2, size - 1))
    distance = abs(step_percent) / sigma_percent if sigma_percent else 10.0
    per_reading = float(information(np.asarray([0.5]), np.asarray([distance]))[0])
    readings = max(levels, (levels + math.log2(1 / (1 - SURE))) / max(per_reading, 1e-6))
    return levels, levels * build_s + readings * probe_s


def _inside(situation: Situation, low: int, high: int) -> Situation:
    """The same question about low … high alone, renumbered from 0."""
    if low == 0 and high == situation.size - 1:
        return situation
    return replace(
        situation,
        size=high - low + 1,
        # They are in the digest, once for all parts.
        readings=(),
        dead={n - low: why for n, why in situation.dead.items() if low <= n <= high},
        build_s=lambda number: situation.build_s(number + low),
    )


def _gate(situation: Situation, data: Digest) -> Probe | NoStep | None:
    """Read both ends in turn until they surely differ (None) or surely don't (NoStep)."""
    low, high = 0, situation.size - 1
    behind = min((low, high), key=lambda end: (data.count(end), end))
    rounds = data.count(behind)
    if rounds < LEAST_OF_END:
        return Probe(behind, 1, "the ends must differ surely")
    percent, error = data.difference(low, high)
    wanted = situation.direction * percent
    begun = any(low < number < high for number in data.averages)
    if wanted >= max(situation.min_step, (STAY_SIGMAS if begun else GATE_SIGMAS) * error):
        return None
    visible = visible_at(error)
    if rounds >= LEAST_FOR_NONE and wanted + GATE_SIGMAS * error < situation.min_step:
        return NoStep(percent, visible, small=True)
    if rounds >= situation.most_rounds or (not begun and hopeless(percent, error, rounds, situation.most_rounds)):
        return None if begun and wanted >= error else NoStep(percent, visible)
    return Probe(behind, 1, f"the ends differ by {percent:+.2f} % ± {error:.2f} %: not sure yet")


def _level_between(part: Situation, data: Digest, now: Posterior, sigmas: float) -> int | None:
    """A measured number that is surely on neither end's level: there is a step before it and another one after it.

    Code layout may make up for as much of the difference as it is thought to.
    """
    low, high = min(data.averages), max(data.averages)
    whole = abs(data.difference(low, high)[0])
    found: list[tuple[float, int]] = []
    for number in data.averages:
        if low < number < high:
            sides = []
            for end in (low, high):
                percent, error = data.difference(end, number)
                sides.append((abs(percent), math.sqrt(error**2 + 2 * now.layout**2)))
            worth = max(_residue(part, data, low, number), _residue(part, data, number, high))
            if worth and all(percent >= max(sigmas * error, BETWEEN_PART * whole) for percent, error in sides):
                found.append((min(percent for percent, _ in sides), number))
    return max(found)[1] if found else None


def _residue(situation: Situation, data: Digest, low: int, high: int) -> float:
    """What is surely left to find between two measured numbers, in percent; 0 if too little."""
    if low == high:
        return 0.0
    percent, error = data.difference(low, high)
    wanted = situation.direction * percent
    return wanted if wanted >= max(situation.min_step, GATE_SIGMAS * error) else 0.0


def _search(part: Situation, data: Digest, now: Posterior, late: bool) -> Probe | Found:
    """The next action inside one interval, or its step; a late search is content with a likely one."""
    best = int(np.argmax(now.probabilities))
    low, high = now.gaps[best]
    inside = [n for n in range(low + 1, high) if n not in part.dead]
    probability = float(now.probabilities[best])
    if not inside and probability >= (LIKELY if late else SURE):
        return _step(data, low, high, probability)
    action, rate = best_action(part, data, now)
    if action is not None and not _hopeless(part, data, now, rate):
        return action
    if not inside and probability >= LIKELY:
        return _step(data, low, high, probability)
    first, last = _credible(now)
    return _step(data, first, last, held(now, first, last))


def _step(data: Digest, low: int, high: int, probability: float) -> Found:
    """The step between two measured numbers, which is there with some probability."""
    percent = data.difference(low, high)[0]
    return Found(low, high, percent, abs(percent), probability=probability)


def _hopeless(part: Situation, data: Digest, now: Posterior, rate: float) -> bool:
    """True if the rest would take far longer than the whole search was likely to: noise that does not average out."""
    expected_s = _expected_s(part, data, _full_build_s(part, *max(now.gaps, key=lambda gap: gap[1] - gap[0])))
    return uncertainty(now.probabilities) / max(rate, 1e-12) > PATIENCE * expected_s


def _late(situation: Situation, data: Digest) -> bool:
    """True if the search took far longer than it was likely to, and is not asked for all steps there are."""
    if situation.enough >= 1.0:
        return False
    build_s = _full_build_s(situation, 0, situation.size - 1)
    # Longer than a build and a probe beside an anchor is a pause.
    taken_s = float(np.minimum(np.diff(data.hour) * 3600, build_s + 2 * situation.probe_s).sum())
    return taken_s > PATIENCE * _expected_s(situation, data, build_s)


def _full_build_s(part: Situation, low: int, high: int) -> float:
    """What the costliest build between two numbers costs."""
    return max((part.build_s(number) for number in points(part, low, high)), default=0.0)


def _expected_s(part: Situation, data: Digest, build_s: float) -> float:
    """What the search for one step as large as the whole difference is likely to take."""
    whole = data.difference(0, part.size - 1)[0]
    return expected_cost(part.size, whole, data.sigma, build_s, part.probe_s)[1]


def _shifted(probe: Probe, offset: int) -> Probe:
    beside = None if probe.beside is None else probe.beside + offset
    return replace(probe, number=probe.number + offset, beside=beside)


def _credible(now: Posterior) -> tuple[int, int]:
    """The shortest run of gaps that holds the step with SET probability, as (after, until)."""
    best = (now.gaps[0][0], now.gaps[-1][1])
    for first in range(len(now.gaps)):
        total = 0.0
        for last in range(first, len(now.gaps)):
            total += float(now.probabilities[last])
            if total >= SET:
                run = (now.gaps[first][0], now.gaps[last][1])
                best = min(best, run, key=lambda pair: pair[1] - pair[0])
                break
    return best
