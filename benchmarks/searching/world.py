"""What a simulated history costs, drawn once per seed, and the noise of each probe of it.

Noise comes in four parts: scatter between probes of one build (standard deviation SIGMA), one fixed draw per build for
its code layout, a random walk of the host over time, and rare upward outliers. Every part has a random stream of its
own, and every commit too, so the r-th probe of a commit has the same noise whoever asks and whatever was probed before:
searches are compared on common random numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
"""Mean size of an outlier, in units of SIGMA."""

MOST_OF_OTHERS = 0.5
"""One step dominates if all others together, whichever way they go, are at most this part of it."""

TICK_S = 20.0
"""The host's random walk is drawn at this spacing and interpolated between, in seconds."""

_BLOCK = 64
_PLACES, _DEAD, _DRIFT, _COMMIT = range(4)


@dataclass(frozen=True)
class World:
    """One kind of history; all sizes in percent of the good end's cost, times in seconds.

    `size` numbers, 0 good and size - 1 bad; `step` is the culprit's; `layout` the scatter between builds; `others`
    the count of further steps; `drift` the random walk's standard deviation after one hour; `outliers` the share of
    probes that are one; `dead` the share of numbers that can't be built; `releases` how many evenly spread numbers,
    both ends among them, are built beforehand.
    """

    size: int = 1024
    step: float = 2.0
    layout: float = 0.0
    others: int = 0
    drift: float = 0.0
    outliers: float = 0.0
    dead: float = 0.0
    releases: int = 0
    build_s: float = 400.0
    probe_s: float = 40.0

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
        return History(self, seed, trial, culprit, BASE + np.cumsum(changes), self._dead(seed, trial, built), built)

    def _dead(self, seed: int, trial: int, built: frozenset[int]) -> Mapping[int, int]:
        """Numbers that can't be built, and in which of two or three broken stretches each is."""
        wanted = round(self.dead * self.size)
        if not wanted:
            return {}
        rng = _stream(seed, trial, _DEAD)
        stretches = min(wanted, 3)
        lengths = 1 + rng.multinomial(wanted - stretches, [1 / stretches] * stretches)
        dead: dict[int, int] = {}
        for stretch, length in enumerate(lengths):
            start = 1 + int(rng.random() * max(1, self.size - 1 - int(length)))
            for number in range(start, min(start + int(length), self.size - 1)):
                if number not in built:
                    dead.setdefault(number, stretch)
        return dead


class History:
    """One drawn history with its noise; costs are in percent of the good end's."""

    def __init__(
        self,
        world: World,
        seed: int,
        trial: int,
        culprit: int,
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
        self._commits: dict[int, _Commit] = {}
        self._walk = np.zeros(1)

    def value(self, number: int, repeat: int, at_s: float) -> float:
        """What the `repeat`-th probe of a number shows, started at `at_s`."""
        commit = self._commits.get(number)
        if commit is None:
            commit = self._commits[number] = _Commit(_stream(self._seed, self._trial, _COMMIT, number), self.world)
        return float(self.means[number]) + commit.value(repeat) + self.drift(at_s)

    def drift(self, at_s: float) -> float:
        """How far the host has wandered by `at_s`."""
        if not self.world.drift:
            return 0.0
        place, part = divmod(at_s / TICK_S, 1.0)
        tick = int(place)
        while tick + 1 >= len(self._walk):
            steps = self._walk_stream.standard_normal(4096) * self.world.drift * (TICK_S / 3600) ** 0.5
            self._walk = np.concatenate([self._walk, self._walk[-1] + np.cumsum(steps)])
        return float(self._walk[tick] * (1 - part) + self._walk[tick + 1] * part)

    @cached_property
    def others(self) -> float:
        """Size of all steps but the culprit's together, whichever way they go, over the culprit's."""
        return float(np.abs(np.diff(self.means)).sum()) / self.world.step - 1.0

    def within(self) -> tuple[int, int]:
        """The closest a search can come: the nearest numbers that can be built before the culprit and from it on."""
        low, high = self.culprit - 1, self.culprit
        while low in self.dead:
            low -= 1
        while high in self.dead:
            high += 1
        return low, high

    @cached_property
    def _walk_stream(self) -> np.random.Generator:
        return _stream(self._seed, self._trial, _DRIFT)


class _Commit:
    """The noise of one commit: its layout, and its probes as they are asked for."""

    def __init__(self, rng: np.random.Generator, world: World) -> None:
        self._rng = rng
        self._outliers = world.outliers
        self._layout = float(rng.standard_normal()) * world.layout
        self._values: list[float] = []

    def value(self, repeat: int) -> float:
        while repeat >= len(self._values):
            noise = self._rng.standard_normal(_BLOCK) * SIGMA
            rare = self._rng.random(_BLOCK) < self._outliers
            sizes = self._rng.exponential(OUTLIER_MEAN * SIGMA, _BLOCK)
            self._values += (self._layout + noise + np.where(rare, sizes, 0.0)).tolist()
        return self._values[repeat]


def _stream(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))
