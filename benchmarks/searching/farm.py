"""Searches on an exact metric with several builders and one probe host, event by event.

A builder builds one commit at a time; the probe host probes one built commit at a time. What a build takes is the
product's own law of prices (the distance to the nearest commit that was finished when it began) times a draw of its
own, the same for a commit whoever builds it. A rule sees the seconds that are expected, never the draw.

A `Search` has no clock and no hosts: here it has builders and a probe host for itself, in `sizing/lab.py` it shares
them with others.
"""

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cpubisect.search.costs import Cost
from cpubisect.search.exact import Found, Price, State, Weigh, even
from cpubisect.search.price import build_share
from searching.exact import PLANTED, QUIET_SHARE
from searching.world import BASE, World

BUILD_S, PROBE_S = 400.0, 13.0
"""A full build as in the other worlds; a probe is a count of instructions."""

SPREAD = 0.4
"""Standard deviation of the logarithm of what builds take over what is expected: two of three are within a factor of
1.5. Of the case studies' forecasts (docs/case-studies/forecasts.md) not even half are, but hosts of a cluster do
nothing else meanwhile."""

OVERDUE = 0.1
"""A build that takes longer than expected is expected to take this part of that still."""

STEP, MIN_STEP = 4.6, 0.4
NAMED = 0.6
"""The part of the prior weight that a named suspect has, as in `benchmarks/merges.py`."""

SMALL, SMALL_AT = 0.02, 512
"""Scale of the small changes beside several planted steps in a history of so many commits; in a longer one they are
smaller, so that they add up to as much."""

FUNCTIONS = 12

_STEPS, _DRAWS, _NAMES = 31, 32, 33


@dataclass(frozen=True)
class Setting:
    """One kind of history: so many candidates, one step or `several`; `dead` is the share that can't be built, in
    stretches; `prior` is "none", "named" (the culprit) or "wrong name". A full build takes `build_s` seconds, a probe
    `probe_s`."""

    size: int
    several: bool = False
    dead: float = 0.0
    prior: str = "none"
    build_s: float = BUILD_S
    probe_s: float = PROBE_S

    @property
    def name(self) -> str:
        """As tables have it."""
        told = [f"{self.size:,}", f"{len(PLANTED)} steps" if self.several else "one step"]
        if self.dead:
            told.append(f"{self.dead:.0%} unbuildable")
        if self.prior != "none":
            told.append(self.prior)
        return ", ".join(told)


class Story:
    """One drawn history of a setting; the same for the same numbers."""

    def __init__(self, setting: Setting, seed: int, trial: int) -> None:
        history = World(size=setting.size, step=STEP, dead=setting.dead).draw(seed, trial)
        self.size = setting.size
        self.full_build_s, self.probe_s = setting.build_s, setting.probe_s
        self.dead: Mapping[int, str] = {number: f"stretch {which}" for number, which in history.dead.items()}
        self._means = history.means
        self.planted = frozenset({history.culprit} if history.culprit else ())
        self._profiles: Profiles | None = None
        if setting.several:
            self.planted, self._profiles = _several(seed, trial, setting.size, self.dead)
        self._factors = np.exp(SPREAD * _stream(seed, trial, _DRAWS).standard_normal(setting.size))
        self._weights: list[float] | None = None
        if setting.prior != "none":
            other = 1 + int(_stream(seed, trial, _NAMES).integers(setting.size - 1))
            named = history.culprit if setting.prior == "named" else other
            assert named is not None, "a step is planted"
            self._weights = [(1 - NAMED) / (setting.size - 2)] * setting.size
            self._weights[named] = NAMED

    def cost(self, number: int) -> Cost:
        """What a number costs."""
        if self._profiles is None:
            return Cost(float(self._means[number]))
        own = self._profiles[number]
        return Cost(float(own.sum()), {f"f{i}": float(cost) for i, cost in enumerate(own)})

    def build_s(self, number: int, expected_s: float) -> float:
        """What a build takes that is expected to take so long."""
        return expected_s * float(self._factors[number])

    @property
    def weigh(self) -> Weigh:
        """The prior weights."""
        weights = self._weights
        return even if weights is None else lambda low, high: weights[low + 1 : high + 1]


Profiles = NDArray[np.float64]


def _several(seed: int, trial: int, size: int, dead: Collection[int]) -> tuple[frozenset[int], Profiles]:
    """Where steps that cost more are planted, and what all numbers cost by function: those, others that cost less, all
    in three functions, and small changes beside them."""
    rng = _stream(seed, trial, _STEPS, size)
    functions = rng.integers(FUNCTIONS, size=size)
    scale = SMALL * math.sqrt(SMALL_AT / max(size, SMALL_AT))
    changes = np.where(rng.random(size) < QUIET_SHARE, 0.0, rng.laplace(0.0, scale, size))
    changes[0] = 0.0
    places = [n for n in 1 + rng.permutation(size - 1) if n not in dead and n - 1 not in dead]
    planted = np.asarray(places[: len(PLANTED)])
    changes[planted] = PLANTED
    functions[planted] = np.arange(len(PLANTED)) % 3
    profiles = np.zeros((size, FUNCTIONS))
    profiles[np.arange(size), functions] = changes
    found = frozenset(int(n) for n, step in zip(planted, PLANTED, strict=True) if step > 0)
    return found, BASE / FUNCTIONS + np.cumsum(profiles, axis=0)


@dataclass(frozen=True)
class View:
    """What a rule decides from: the state, `k` free builders of `of`, the numbers that are being built with the seconds
    they are expected to take still, the `ready` ones that are built and wait for the probe host, and prices."""

    state: State
    k: int
    of: int
    pending: Mapping[int, float]
    ready: tuple[int, ...]
    probing: int | None
    weigh: Weigh
    price: Price
    probe_s: float = PROBE_S

    @property
    def ahead(self) -> dict[int, float]:
        """All numbers that will be measured, with the seconds until then at least."""
        here = {number: self.probe_s for number in self.ready if number not in self.pending}
        now = {} if self.probing is None else {self.probing: self.probe_s}
        return {**{n: left + self.probe_s for n, left in self.pending.items()}, **here, **now}


class Rule(Protocol):
    """A way of searching with several builders."""

    def opening(self, size: int, k: int) -> Sequence[int]:
        """What is built before anything is measured; the ends are in any case."""

    def begin(self, view: View) -> Collection[int]:
        """What the free builders begin now."""

    def end(self, view: View) -> Collection[int]:
        """The builds to end."""

    def probe(self, view: View) -> int | None:
        """Which of the ready ones to probe next; None if none."""

    def answer(self, view: View) -> tuple[Found, ...] | State | None:
        """The steps if the search is over, or the state it goes on from, some steps being settled; None to go on."""


@dataclass(frozen=True)
class Run:
    """What a search took: its hours, the builds that were begun and those of them that were ended early, the hours of
    builders, and its answer, as pairs of numbers."""

    hours: float
    builds: int
    ended: int
    builder_hours: float
    found: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Turn:
    """What a search does now: builds that it has `ended` and `begun`, the latter with the seconds that each takes, and
    the number that it has `probed` next, if any; `found` are its steps once it is over."""

    ended: tuple[int, ...] = ()
    begun: tuple[tuple[int, float], ...] = ()
    probed: int | None = None
    found: tuple[Found, ...] | None = None


class Search:
    """One search by a rule: what it knows, what is built and probed for it, and what it wants next.

    It reckons with so many `builders`, which may be other ones at each turn; `busy_s` is how long what it ordered was
    under way.
    """

    def __init__(self, story: Story, builders: int, rule: Rule) -> None:
        self.story = story
        self.builders = builders
        self.state = State(story.size, {}, min_step=MIN_STEP)
        self.begun = self.ended = 0
        self.busy_s = 0.0
        self.building: dict[int, tuple[float, float]] = {}
        self.probing: int | None = None
        self._rule = rule
        self._ready: list[int] = []
        self._finished: list[int] = []
        self.ends = (0, story.size - 1)
        waiting = [*rule.opening(story.size, builders)]
        self._waiting = [*waiting, *(end for end in self.ends if end not in waiting)]
        self._shares = np.asarray([build_share(distance) for distance in range(story.size)])
        self._prices: list[float] = [story.probe_s + story.full_build_s] * story.size
        self._priced_at = 0

    def turn(self, now_s: float) -> Turn:
        """What it does after an event."""
        if len(self.state.costs) < len(self.ends):
            return self._open(now_s)
        while isinstance(said := self._rule.answer(self._view(now_s)), State):
            self.state = said
        if said is not None:
            return Turn(found=said)
        ended = tuple(self._rule.end(self._view(now_s)))
        for number in ended:
            self._end(number, now_s)
        view = self._view(now_s)
        begun = tuple((number, self._begin(number, now_s)) for number in (self._rule.begin(view) if view.k else ()))
        wanted = self.probing is None and self._ready
        return Turn(ended, begun, self._probe(self._rule.probe(self._view(now_s)) if wanted else None))

    def built(self, number: int, now_s: float) -> None:
        """A build has ended."""
        self.busy_s += now_s - self.building.pop(number)[0]
        if number in self.story.dead:
            self.state = self.state.with_failure(number, self.story.dead[number])
        else:
            self._finished.append(number)
            self._ready.append(number)

    def probed(self, number: int) -> None:
        """A probe has ended."""
        self.probing = None
        self.state = self.state.with_cost(number, self.story.cost(number))
        if number in self.ends and len(self.state.costs) == len(self.ends):
            self.state = replace(self.state, tried=())

    def _open(self, now_s: float) -> Turn:
        """Before both ends are measured: what it begins with, and nothing else is probed."""
        begun = []
        while self._waiting and len(self.building) < self.builders:
            number = self._waiting.pop(0)
            begun.append((number, self._begin(number, now_s)))
        ends = [number for number in self._ready if number in self.ends] if self.probing is None else []
        return Turn(begun=tuple(begun), probed=self._probe(ends[0] if ends else None))

    @property
    def prices(self) -> list[float]:
        """What measuring each number takes now, by the product's law."""
        if len(self._finished) != self._priced_at:
            numbers, built = np.arange(self.story.size), np.sort(np.asarray(self._finished, dtype=int))
            after = np.searchsorted(built, numbers)
            beside = [built[np.clip(after + side, 0, len(built) - 1)] for side in (-1, 0)]
            distance = np.minimum(*(np.abs(numbers - place) for place in beside))
            build_s = self.story.full_build_s * self._shares[distance]
            self._prices = [*map(float, self.story.probe_s + build_s)]
            self._priced_at = len(self._finished)
        return self._prices

    def _begin(self, number: int, now_s: float) -> float:
        """The seconds that it takes."""
        expected = self.prices[number] - self.story.probe_s
        self.begun += 1
        self.building[number] = (now_s, expected)
        return self.story.build_s(number, expected)

    def _end(self, number: int, now_s: float) -> None:
        self.busy_s += now_s - self.building.pop(number)[0]
        self.ended += 1

    def _probe(self, number: int | None) -> int | None:
        if number is not None:
            self._ready.remove(number)
            self.probing = number
        return number

    def _view(self, now_s: float) -> View:
        pending = {n: max(took - (now_s - at), OVERDUE * took) for n, (at, took) in self.building.items()}
        return View(
            self.state,
            max(0, self.builders - len(self.building)),
            self.builders,
            pending,
            tuple(self._ready),
            self.probing,
            self.story.weigh,
            self.prices.__getitem__,
            self.story.probe_s,
        )


def search(story: Story, builders: int, rule: Rule) -> Run:
    """A whole search: both ends, then what the rule asks for, up to its answer."""
    one, now_s = Search(story, builders, rule), 0.0
    events: list[tuple[float, int, str]] = []
    while (turn := one.turn(now_s)).found is None:
        for number, seconds in turn.begun:
            heapq.heappush(events, (now_s + seconds, number, "built"))
        if turn.probed is not None:
            heapq.heappush(events, (now_s + story.probe_s, turn.probed, "probed"))
        at, number, what = heapq.heappop(events)
        if what == "probed":
            now_s = at
            one.probed(number)
        elif number in one.building:
            now_s = at
            one.built(number, now_s)
    busy_s = one.busy_s + sum(now_s - at for at, _ in one.building.values())
    found = frozenset((step.low, step.high) for step in turn.found)
    return Run(now_s / 3600, one.begun, one.ended + len(one.building), busy_s / 3600, found)


def _stream(*key: int) -> np.random.Generator:
    return np.random.default_rng(key)
