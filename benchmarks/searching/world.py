"""What a simulated history costs, drawn once per seed, and the noise of each probe of it.

Noise comes in five parts: scatter between probes of one binary (standard deviation SIGMA), one fixed draw per binary
for its code layout, a random walk of the host over time, a jump of the host, and rare upward outliers. Every part has a
random stream of its own, and every binary too, so the r-th probe of one has the same noise whoever asks and whatever
was probed before: searches are compared on common random numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

BASE = 100.0
"""Cost of the good end, so that a cost unit is a percent."""

SIGMA = 1.0
"""Standard deviation between probes of one build, in percent."""

OTHERS_SHARE = 0.25
"""Standard deviation of a step that is not the culprit, as a share of the culprit's."""

OUTLIER_MEAN = 5.0
"""Mean size of an outlier, in units of SIGMA, unless the world says how large each is."""

JUMP_H = (0.2, 2.0)
"""A host that jumps does so once, at any hour between these: while the ends are read, in the search, or after it."""

FREEDOM = 3
"""Degrees of freedom of Student's t in a world with heavy tails, whose scatter's standard deviation is SIGMA too."""

MOST_OF_OTHERS = 0.5
"""One step dominates if all others together, whichever way they go, are at most this part of it."""

TICK_S = 20.0
"""The host's random walk is drawn at this spacing and interpolated between, in seconds."""

_BLOCK = 64
_PLACES, _DEAD, _DRIFT, _COMMIT, _JUMP, _FLAKY, _LINK, _COUNT = range(8)


COUNT_SIGMA = 0.01
"""Standard deviation between counts of one build's instructions, in percent."""

MISCOUNT = 1.0
"""How much a wrong count is too high, in percent."""

EITHER_WAY = (0.5, 2.0)
"""How far layouts that scatter either way are off, at least and at most, in units of the world's layout."""


class Scatter(StrEnum):
    """How the layouts of binaries scatter: normally, or by a part of `layout` between EITHER_WAY, up or down, each as
    likely."""

    NORMAL = "normal"
    EITHER_WAY = "either way"


@dataclass(frozen=True)
class World:
    """One kind of history; all sizes in percent of the good end's cost, times in seconds.

    `size` numbers, 0 good and size - 1 bad; `step` is the culprit's, 0 if there is none; `layout` the scatter between
    binaries, each link of a build being one; `others` the count of further steps; `drift` the random walk's standard
    deviation after one hour; `jump` what the host adds to everything from some hour on; `outliers` the share of probes
    that are one, each of `outlier_size` if that is given; `heavy` says that the scatter has Student's tails; `dead` the
    share of numbers that can't be built, in up to three stretches or, if `strewn`, anywhere; `flaky` the share of
    numbers between the ends whose first build fails and whose second one does not; `releases` how many evenly spread
    numbers, both ends among them, are built beforehand. Linking a build again takes `link_s`, once for each layout.
    With `miscounts` instructions are counted too, and that share of the counts is MISCOUNT too high.
    """

    size: int = 1024
    step: float = 2.0
    layout: float = 0.0
    scatter: Scatter = Scatter.NORMAL
    others: int = 0
    drift: float = 0.0
    jump: float = 0.0
    outliers: float = 0.0
    outlier_size: float | None = None
    heavy: bool = False
    dead: float = 0.0
    strewn: bool = False
    flaky: float = 0.0
    releases: int = 0
    miscounts: float | None = None
    build_s: float = 400.0
    probe_s: float = 40.0
    link_s: float = 10.0

    def draw(self, seed: int, trial: int) -> "History":
        """One history of this kind; the same for the same numbers."""
        places = _stream(seed, trial, _PLACES)
        culprit = 1 + int(places.random() * (self.size - 1))
        changes = np.zeros(self.size)
        free = np.delete(np.arange(1, self.size), culprit - 1)
        where = places.choice(free, size=min(self.others, len(free)), replace=False)
        changes[where] = places.normal(0.0, self.step * OTHERS_SHARE, size=len(where))
        changes[culprit] = self.step
        built: frozenset[int] = frozenset()
        if self.releases:
            built = frozenset(int(n) for n in np.linspace(0, self.size - 1, self.releases).round())
        means = BASE + np.cumsum(changes)
        return History(self, seed, trial, culprit if self.step else None, means, self._dead(seed, trial, built), built)

    def _dead(self, seed: int, trial: int, built: frozenset[int]) -> Mapping[int, int]:
        """Numbers that can't be built, and in which of two or three broken stretches each is."""
        wanted = round(self.dead * self.size)
        if not wanted:
            return {}
        rng = _stream(seed, trial, _DEAD)
        stretches = wanted if self.strewn else min(wanted, 3)
        lengths = 1 + rng.multinomial(wanted - stretches, [1 / stretches] * stretches)
        dead: dict[int, int] = {}
        for stretch, length in enumerate(lengths):
            start = 1 + int(rng.random() * max(1, self.size - 1 - int(length)))
            for number in range(start, min(start + int(length), self.size - 1)):
                if number not in built:
                    dead.setdefault(number, stretch)
        return dead


class History:
    """One drawn history with its noise; costs are in percent of the good end's. Without a step it has no `culprit`."""

    def __init__(
        self,
        world: World,
        seed: int,
        trial: int,
        culprit: int | None,
        means: NDArray[np.float64],
        dead: Mapping[int, int],
        built: frozenset[int],
    ) -> None:
        self.world = world
        self.culprit = culprit
        self.means = means
        self.dead = dead
        self.built = built
        self._seed = seed
        self._trial = trial
        self._binaries: dict[tuple[int, int], _Binary] = {}
        self._walk = np.zeros(1)

    def value(self, number: int, repeat: int, at_s: float, link: int = 0) -> float:
        """What the `repeat`-th probe of a number's build shows, of its `link`-th redraw, started at `at_s`."""
        binary = self._binaries.get((number, link))
        if binary is None:
            which = (_LINK, number, link) if link else (_COMMIT, number)
            binary = self._binaries[number, link] = _Binary(_stream(self._seed, self._trial, *which), self.world)
        return float(self.means[number]) + binary.value(repeat) + self.drift(at_s)

    def count(self, number: int, repeat: int) -> float:
        """How many instructions the `repeat`-th count of a number's build shows; no layout and no host changes that."""
        rng = _stream(self._seed, self._trial, _COUNT, number, repeat)
        wrong = rng.random() < (self.world.miscounts or 0.0)
        exact = float(self.means[number]) * (1 + COUNT_SIGMA / 100 * float(rng.standard_normal()))
        return exact * (1 + MISCOUNT / 100) if wrong else exact

    def fails_once(self, number: int) -> bool:
        """True if a number's first build fails and its second one does not."""
        inside = 0 < number < self.world.size - 1
        return (
            inside
            and bool(self.world.flaky)
            and _stream(self._seed, self._trial, _FLAKY, number).random() < self.world.flaky
        )

    def drift(self, at_s: float) -> float:
        """What the host adds at `at_s`: how far it has wandered, and its jump."""
        jumped = self.world.jump if self.world.jump and at_s >= self._jump_s else 0.0
        if not self.world.drift:
            return jumped
        place, part = divmod(at_s / TICK_S, 1.0)
        tick = int(place)
        while tick + 1 >= len(self._walk):
            steps = self._walk_stream.standard_normal(4096) * self.world.drift * (TICK_S / 3600) ** 0.5
            self._walk = np.concatenate([self._walk, self._walk[-1] + np.cumsum(steps)])
        return jumped + float(self._walk[tick] * (1 - part) + self._walk[tick + 1] * part)

    @cached_property
    def _jump_s(self) -> float:
        return float(_stream(self._seed, self._trial, _JUMP).uniform(*JUMP_H)) * 3600

    @cached_property
    def others(self) -> float:
        """Size of all steps but the culprit's together, whichever way they go, over the culprit's; 0 without one."""
        return float(np.abs(np.diff(self.means)).sum()) / self.world.step - 1.0 if self.world.step else 0.0

    @cached_property
    def steps(self) -> frozenset[int]:
        """All numbers that cost something else than the one before."""
        return frozenset((np.flatnonzero(np.diff(self.means)) + 1).tolist())

    def change(self, number: int) -> float:
        """What a number costs more than the one before, in percent of that one."""
        return float(self.means[number] / self.means[number - 1] - 1) * 100

    def within(self) -> tuple[int, int]:
        """The closest a search can come: the nearest numbers that can be built before the culprit and from it on.
        Raises ValueError if there is no culprit."""
        if self.culprit is None:
            raise ValueError("nothing is planted in this history")
        low, high = self.culprit - 1, self.culprit
        while low in self.dead:
            low -= 1
        while high in self.dead:
            high += 1
        return low, high

    @cached_property
    def _walk_stream(self) -> np.random.Generator:
        return _stream(self._seed, self._trial, _DRIFT)


class _Binary:
    """The noise of one binary: its layout, and its probes as they are asked for."""

    def __init__(self, rng: np.random.Generator, world: World) -> None:
        self._rng = rng
        self._world = world
        drawn = float(rng.standard_normal())
        if world.scatter is Scatter.EITHER_WAY:
            drawn = math.copysign(float(rng.uniform(*EITHER_WAY)), drawn)
        self._layout = drawn * world.layout
        self._values: list[float] = []

    def value(self, repeat: int) -> float:
        world = self._world
        while repeat >= len(self._values):
            tails = self._rng.standard_t(FREEDOM, _BLOCK) / (FREEDOM / (FREEDOM - 2)) ** 0.5 if world.heavy else None
            noise = (self._rng.standard_normal(_BLOCK) if tails is None else tails) * SIGMA
            rare = self._rng.random(_BLOCK) < world.outliers
            sizes = self._rng.exponential(OUTLIER_MEAN * SIGMA, _BLOCK)
            added = np.where(rare, sizes if world.outlier_size is None else world.outlier_size, 0.0)
            self._values += (self._layout + noise + added).tolist()
        return self._values[repeat]


def _stream(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))
