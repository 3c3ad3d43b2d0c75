"""PURE: raw readings of commits → readings in percent with disturbances drawn in, and each commit's level.

A host drifts: what was read at different times is compared through what was read beside it. The levels are a
generalised least squares fit in which the drift is a random walk, of a size that the readings themselves tell. Readings
in different frames have nothing in common but their differences: a host that changed at once begins a new frame, and
binaries that were linked anew are of frames of their own, for their linker is another.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from cpubisect.search.stats import Step, inflation, known_step

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

CLIP_BELOW, CLIP_ABOVE = 3.0, 2.5
"""Readings are drawn in to so many standard deviations around a median of their commit's; disturbances mostly add."""

NEAR, PAUSE_H = 5, 1 / 6
"""A median is of at most so many readings of a commit, without a pause of so many hours between any two."""

DRIFTS_IN_NOISE = ((0.0, 0.6), (0.1, 0.1), (0.3, 0.1), (1.0, 0.1), (3.0, 0.05), (10.0, 0.05))
"""Spread of the drift after an hour (it grows with the root of time), in units of the noise, with its prior
probability: it shifts the levels that readings of different times are compared by."""

BLUR = 0.3
"""Drift within a stretch of more than this part of the noise of a visit's mean calls for more and shorter visits."""

_SMALLEST_SIGMA = 1e-6
_FEW_VISITS, _MOST_VISITS, _VISITS_OF_ONE = 64, 128, 4
_STRETCH_H = 1 / 12
_LONGER = 1.25


CHANGE_SIGMAS = 6.0
"""A host changed between two readings if those of all commits before and after differ by so many standard errors: of
10,000 histories of 200 readings without a change fewer than one has that."""

CHANGE_WINDOW, MOST_CHANGES = 3, 3
"""So many readings of a commit on each side tell of a change; so many changes at most are looked for."""

CHANGE_WEIGHT = 1.5
"""A change is told by as many readings as three on each side of it, n and m of a commit being worth nm / (n + m): two
disturbed readings of one commit are no change."""

FRAME_SIGMAS = 1000.0
"""How far apart the levels of two frames may be, in standard deviations of a reading: nothing is known of that."""


@dataclass(frozen=True)
class Reading:
    """One probe: what commit `number` cost, in any unit, measured at `at_s` seconds; of a binary that was linked anew
    if `redrawn`."""

    number: int
    value: float
    at_s: float
    redrawn: bool = False


@dataclass(frozen=True)
class Visits:
    """Readings of one commit within one frame and stretch of time, for all of these: `number`, `frame` (odd for
    redraws, larger after a change of the host), mean `percent` and count `taken` of each; `walk` is the covariance
    (visits x visits, in percent²) that a drift of 1 percent per root hour gives to the means. The stretches are
    `stretch_h` hours long."""

    number: Numbers
    frame: Numbers
    percent: Array
    taken: Array
    walk: Array
    stretch_h: float = 0.0

    @property
    def apart(self) -> Array:
        """The covariance (visits x visits) that a spread of 1 between the levels of frames gives to the means."""
        other = self.frame != self.frame.min(initial=len(self.frame) and int(self.frame[0]))
        return np.asarray((self.frame[:, None] == self.frame[None, :]) & other[:, None], dtype=float)


@dataclass(frozen=True)
class Digest:
    """Readings made ready: `number`, `frame`, `percent` (above the good end's level, outliers drawn in) and `hour`
    (since the first) of each, in the order of time; `sigma` is the standard deviation of one reading in percent, known
    by so many degrees of `freedom`; `level` is the good end's, in the readings' unit. `averages` maps a number to the
    mean of its percent with drift taken out; `spread` is the covariance of those, in the order of the numbers. There
    are at most `most_visits` visits.
    """

    number: Numbers
    frame: Numbers
    percent: Array
    hour: Array
    sigma: float
    freedom: int
    visits: Visits
    averages: Mapping[int, float] = field(default_factory=dict)
    spread: Array = field(default_factory=lambda: np.zeros((0, 0)))
    level: float = 1.0
    most_visits: int = 0

    def count(self, number: int) -> int:
        """How often a number was read: of its own binary if there are any readings of such, else of redraws."""
        kind = self.frame % 2
        return int(((self.number == number) & (kind == kind.min(initial=1))).sum())

    @property
    def changes(self) -> tuple[float, ...]:
        """By how many percent the readings shifted where the host changed, in the order of time."""
        series, epoch = 2 * self.number + self.frame % 2, self.frame // 2
        shifts = []
        for change in range(1, int(epoch.max(initial=0)) + 1):
            before, now = epoch == change - 1, epoch == change
            both = np.intersect1d(series[before], series[now])
            means = [[self.percent[one & (series == own)].mean() for one in (before, now)] for own in both]
            shifts += [float(np.mean([last - first for first, last in means]))] if means else []
        return tuple(shifts)

    def difference(self, low: int, high: int) -> tuple[float, float]:
        """Change from one number that was read to another in percent, and its standard error."""
        order = list(self.averages)
        i, j = order.index(low), order.index(high)
        variance = self.spread[i, i] + self.spread[j, j] - 2 * self.spread[i, j]
        return self.averages[high] - self.averages[low], math.sqrt(max(0.0, float(variance)))

    def step(self, low: int, high: int) -> Step:
        """The change from one number to another in percent of the first one, with its interval."""
        percent, error = self.difference(low, high)
        before = 1 + self.averages[low] / 100
        return known_step(percent / before, error / before, self.freedom)

    def turns(self, low: int, high: int) -> Array:
        """By how much the readings of one number exceed those of another that were made in the same turn, in percent of
        the first number's cost: the k-th reading of each."""
        before, after = (self.percent[self.number == number] for number in (low, high))
        count = min(len(before), len(after))
        return np.asarray((after[:count] - before[:count]) / (1 + self.averages[low] / 100))

    def inside(self, low: int, high: int) -> "Digest":
        """The part of the range from one number to another, renumbered from 0; its levels are still those that all
        readings tell, for its numbers may have been read beside one that is not in it."""
        order = np.asarray(list(self.averages))
        kept, there = (order >= low) & (order <= high), (self.number >= low) & (self.number <= high)
        number, frame = self.number[there] - low, self.frame[there]
        percent, hour = self.percent[there], self.hour[there]
        return replace(
            self,
            number=number,
            frame=frame,
            percent=percent,
            hour=hour,
            visits=_visits(number, frame, percent, hour, self.most_visits),
            averages={n - low: mean for n, mean in self.averages.items() if low <= n <= high},
            spread=self.spread[np.ix_(kept, kept)],
        )


def digest(readings: Sequence[Reading]) -> Digest:
    """Readings in percent of the good end's median, drawn in towards a median of their own commit's readings around
    that time. A clock that was set back stands still.
    """
    number = np.asarray([r.number for r in readings], dtype=np.int64)
    frame = np.asarray([r.redrawn for r in readings], dtype=np.int64)
    value = np.asarray([r.value for r in readings])
    at_s = np.maximum.accumulate(np.asarray([r.at_s for r in readings]))
    if not len(number):
        return Digest(number, frame, value, at_s, math.inf, 1, Visits(number, frame, value, value, np.zeros((0, 0))))
    level = float(np.median(value[(number == number.min()) & (frame == frame[number == number.min()].min())]))
    percent = (value / level - 1) * 100
    hour = (at_s - at_s[0]) / 3600
    series = 2 * number + frame
    drawn, sigma, freedom = _drawn_in(percent, hour, series)
    changes = _changes(_places(series), drawn, sigma)
    if changes.any():
        drawn, sigma, freedom = _drawn_in(percent, hour, series * (MOST_CHANGES + 1) + changes)
    percent = drawn
    frame = frame + 2 * changes
    most = _FEW_VISITS
    visits = _visits(number, frame, percent, hour, most)
    means, spread, drift = levels(visits, sigma)
    blurred = drift * math.sqrt(visits.stretch_h) > BLUR * sigma * math.sqrt(len(visits.taken) / len(number))
    allowed = min(_VISITS_OF_ONE * len(np.unique(series)), _MOST_VISITS)
    if blurred and visits.stretch_h > _STRETCH_H and allowed > most:
        most = allowed
        visits = _visits(number, frame, percent, hour, most)
        means, spread, _ = levels(visits, sigma)
    averages = dict(zip(np.unique(number).tolist(), means.tolist(), strict=True))
    return Digest(number, frame, percent, hour, sigma, freedom, visits, averages, spread, level, most)


def _places(series: Numbers) -> list[Numbers]:
    """The places of each series' readings, in the order of time."""
    return [np.flatnonzero(series == own) for own in np.unique(series)]


def _drawn_in(percent: Array, hour: Array, series: Numbers) -> tuple[Array, float, int]:
    """Percents with outliers drawn in towards their own series' median, and the noise of one with its degrees of
    freedom: disturbances that were drawn in are noise now."""
    drawn, places = percent.copy(), _places(series)
    sigma, _ = noise_of([percent[own] for own in places])
    for own in places:
        if len(own) > 1:
            centre = _centres(percent[own], hour[own])
            drawn[own] = np.clip(percent[own], centre - CLIP_BELOW * sigma, centre + CLIP_ABOVE * sigma)
    return drawn, *noise_of([drawn[own] for own in places])


def noise_of(series: Sequence[Array]) -> tuple[float, int]:
    """Standard deviation of one reading, and its degrees of freedom, from successive differences within each commit's
    (von Neumann): drift hardly enters these.

    Differences over four robust deviations are left out: outliers are not noise. Few differences know the variance
    badly; it is inflated as in Student's t. Infinite without any.
    """
    ordered = np.sort(np.concatenate([np.abs(np.diff(own)) for own in series]))
    if not len(ordered):
        return math.inf, 1
    robust = float(np.median(ordered)) / (0.6745 * math.sqrt(2))
    kept = ordered[ordered <= max(4 * math.sqrt(2) * robust, _SMALLEST_SIGMA)]
    variance = float(np.mean(kept**2)) / 2 if len(kept) else robust**2
    freedom = max(1, round(len(kept) * 2 / 3))
    return max(math.sqrt(variance * inflation(freedom)), _SMALLEST_SIGMA), freedom


def _changes(series: Sequence[Numbers], percent: Array, sigma: float) -> Numbers:
    """For each reading how many changes of the host came before it; `series` has the places of each commit's own
    readings, in the order of time.

    At a change the readings of every commit that was read before and after shift alike: the place where they do most,
    all commits together, is one if that is CHANGE_SIGMAS, and then both sides are looked at in the same way.
    """
    size = len(percent)
    changes = np.zeros(size, dtype=np.int64)
    if not math.isfinite(sigma):
        return changes
    stretches = [(0, size)]
    for _ in range(MOST_CHANGES):
        shifts = [(*_shift(series, percent, *stretch), stretch) for stretch in stretches]
        sigmas, place, stretch = max(shifts, key=lambda one: one[0])
        if sigmas < CHANGE_SIGMAS * sigma:
            break
        place = _between(series, percent, *stretch, place)
        changes[place:] += 1
        stretches.remove(stretch)
        stretches += [(stretch[0], place), (place, stretch[1])]
    return changes


def _shift(series: Sequence[Numbers], percent: Array, start: int, end: int) -> tuple[float, int]:
    """The largest shift of all commits' readings between two neighbours of a stretch, in standard errors that one
    percent of noise would make, and the place of the second one."""
    weighted, weights = np.zeros(end - start + 1), np.zeros(end - start + 1)
    for own in series:
        places = own[(own >= start) & (own < end)]
        count = len(places)
        if count < 2:
            continue
        sums = np.concatenate([[0.0], np.cumsum(percent[places])])
        middle = np.arange(1, count)
        first, last = np.maximum(0, middle - CHANGE_WINDOW), np.minimum(count, middle + CHANGE_WINDOW)
        before, after = middle - first, last - middle
        difference = (sums[last] - sums[middle]) / after - (sums[middle] - sums[first]) / before
        weight = before * after / (before + after)
        for array, value in ((weighted, weight * difference), (weights, weight)):
            np.add.at(array, places[:-1] - start + 1, value)
            np.add.at(array, places[1:] - start + 1, -value)
    total, weight = np.cumsum(weighted)[:-1], np.cumsum(weights)[:-1]
    sigmas = np.abs(total) / np.sqrt(np.maximum(weight, 1e-9))
    sigmas[weight < CHANGE_WEIGHT - 1e-9] = 0.0
    place = int(np.argmax(sigmas))
    return float(sigmas[place]), start + place


def _between(series: Sequence[Numbers], percent: Array, start: int, end: int, place: int) -> int:
    """Where a change that is seen from `place` on was: commits that were read on both sides of it tell only after which
    reading and before which one. It was where those in between cost, as far as they can, what others cost before."""
    both = [own for own in ((own[(own >= start) & (own < end)]) for own in series) if len(own) and own[0] < place]
    after = [own[own >= place] for own in both]
    until = min((int(own[0]) for own in after if len(own)), default=place)
    means = [float(percent[own[own < place]].mean()) for own in both]
    shift = np.mean([percent[late].mean() - mean for late, mean in zip(after, means, strict=True) if len(late)])
    low, high = min(means), max(means)

    def off(first: int, last: int, by: float) -> float:
        values = percent[first:last] - by
        return float(np.square(np.clip(low - values, 0.0, None) + np.clip(values - high, 0.0, None)).sum())

    return min(range(place, until + 1), key=lambda here: off(place, here, 0.0) + off(here, until, float(shift)))


def levels(visits: Visits, sigma: float) -> tuple[Array, Array, float]:
    """Level of each number that was visited, in their order, the covariance of these, and the drift per root hour.

    Every number has a level of its own. The drift is the root mean square over `DRIFTS_IN_NOISE`, each weighed by its
    restricted likelihood (Patterson and Thompson 1971), in which the levels are integrated out.
    """
    numbers = np.unique(visits.number)
    design = (visits.number[:, None] == numbers[None, :]).astype(float)
    if not math.isfinite(sigma):
        means = (design.T @ (visits.percent * visits.taken)) / (design.T @ visits.taken)
        return means, np.diag(np.full(len(numbers), math.inf)), 0.0
    noise = np.diag(sigma**2 / visits.taken) + (FRAME_SIGMAS * sigma) ** 2 * visits.apart
    squares = np.asarray([(drift * sigma) ** 2 for drift, _ in DRIFTS_IN_NOISE])
    _, _, evidence = _fit(noise + squares[:, None, None] * visits.walk, design, visits.percent)
    evidence += np.log([prior for _, prior in DRIFTS_IN_NOISE])
    weights = np.exp(evidence - evidence.max())
    square = float(squares @ weights / weights.sum())
    means, spread, _ = _fit(noise + square * visits.walk, design, visits.percent)
    return means, spread, math.sqrt(square)


def _fit(covariance: Array, design: Array, values: Array) -> tuple[Array, Array, Array]:
    """Generalised least squares: coefficients, their covariance, and the restricted log likelihood; of each, if there
    are several covariances."""
    weighted = np.linalg.solve(covariance, np.column_stack([design, values]))
    precision = design.T @ weighted[..., :-1]
    spread = np.linalg.inv(precision)
    explained = design.T @ weighted[..., -1:]
    means = spread @ explained
    misfit = weighted[..., -1] @ values - (means * explained).sum(axis=(-2, -1))
    size = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(precision)[1]
    return means[..., 0], spread, -0.5 * (size + misfit)


def _centres(values: Array, hour: Array) -> Array:
    """For each of one commit's readings the median of those next to it in time: of as many as NEAR with no long pause
    in between, for the host may have drifted meanwhile. A reading with a pause before and after it gets the median of
    its neighbours all the same.

    With an even count it is the lower of the two middle ones, since disturbances mostly add.
    """
    lonely = _running_medians(values)
    starts = np.flatnonzero(np.diff(hour, prepend=-math.inf) > PAUSE_H)
    if len(starts) == 1:
        return lonely
    runs = np.split(np.arange(len(values)), starts[1:])
    return np.concatenate([_running_medians(values[run]) if len(run) > 1 else lonely[run] for run in runs])


def _running_medians(values: Array) -> Array:
    if len(values) <= NEAR:
        return np.full(len(values), np.sort(values)[(len(values) - 1) // 2])
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(values, NEAR), axis=1)
    medians = windows[:, (NEAR - 1) // 2]
    return np.asarray(medians[np.clip(np.arange(len(values)) - NEAR // 2, 0, len(medians) - 1)])


def _visits(number: Numbers, frame: Numbers, percent: Array, hour: Array, most: int) -> Visits:
    """Readings put together by commit, frame and stretch of time; the stretches grow until the visits are so few.

    A random walk's values at two times have the earlier time as their covariance: the time during which both were still
    to come. Averaged over the readings of two visits it integrates the product of the parts of both still to come.
    """
    stretch, frames = _STRETCH_H, int(frame.max()) + 1
    own, owns = number * frames + frame, (int(number.max()) + 1) * frames
    while True:
        slots = (hour // stretch).astype(np.int64)
        keys, place = np.unique(slots * owns + own, return_inverse=True)
        if len(keys) <= most or stretch > hour[-1]:
            break
        stretch *= _LONGER
    taken = np.bincount(place).astype(float)
    means = np.bincount(place, weights=percent) / taken
    member = (place[None, :] == np.arange(len(taken))[:, None]) / taken[:, None]
    to_come = member[:, ::-1].cumsum(axis=1)[:, ::-1]
    own = keys % owns
    return Visits(
        own // frames, own % frames, means, taken, (to_come * np.diff(hour, prepend=0.0)) @ to_come.T, stretch
    )
