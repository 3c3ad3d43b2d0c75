"""What measuring each number of a line costs now, from the builds and probes made so far."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from cpubisect.builders.build import Outcome
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow
from cpubisect.run.measuring import Lab
from cpubisect.search.exact import Price
from cpubisect.search.line import Line
from cpubisect.search.price import (
    Built,
    Compilations,
    Prices,
    Versions,
    common_s,
    full_build,
    likely_cost,
    positions_of,
    typical_s,
)

UNKNOWN_BUILD_S = 600.0
UNKNOWN_PROBE_S = 20.0
"""Before the first build and probe were made: only their ratio matters."""

MOST_OF_GRAPH = 3000
"""Of larger graphs prices are guessed by distance: neighbours on different branches differ in thousands of files, and
2,400 commits of MySQL take 2.7 GB already."""

MOST_COMPARED = 12
"""So many builds, the newest, are looked at for objects that need not be compiled again."""


@dataclass(frozen=True)
class _Compared:
    """What each commit compiles, and what any build takes beside that, in seconds, with so many jobs at once."""

    compilations: Compilations
    common_s: float
    jobs: int


class Estimates:
    """Of one line."""

    def __init__(self, lab: Lab, line: Line) -> None:
        self._lab = lab
        self._line = line
        self._positions = positions_of(line.classes)
        self._known = lab.kept([line.built(number) for number in range(line.size)])
        self._versions = Versions()
        self._folders: tuple[str, ...] = ()
        self._compared: tuple[tuple[int, ...], _Compared] | None = None

    def price(self, purpose: Purpose = Purpose.SEARCH) -> Price:
        """Seconds from a number to its first probe for a purpose, as things are now."""
        return self._prices(purpose)(frozenset())

    def build_s(self, number: int, price: Price) -> float | None:
        """Seconds of a `price` for a search that building a number is expected to take; None if its binary is there."""
        seconds = price(number) - self.probe_s()
        return seconds if seconds > 0 else None

    def forecast(self, weights: Sequence[float], purpose: Purpose = Purpose.SEARCH) -> tuple[float, float]:
        """How many numbers between the ends a search for one step is likely to measure, and in how many seconds, by the
        prior weights of the numbers from 1 on; see `likely_cost`."""
        return likely_cost(weights, self._prices(purpose))

    def likely_build_s(self) -> float:
        """What one of the builds of a search is likely to take, in seconds, wherever the step is."""
        builds, seconds = self.forecast([1.0] * (self._line.size - 1))
        return seconds / builds - self.probe_s() if builds else self.full_build_s()

    def free(self) -> frozenset[int]:
        """Numbers whose binary was there before this bisection."""
        made = {row.sha for row, own in self._lab.builds() if own}
        return frozenset(n for n in range(self._line.size) if self._line.built(n) in self._known - made)

    def full_build_s(self) -> float:
        """Median time that the builds so far would have taken with an empty compiler cache."""
        made = [full_build(row.wall_seconds, row.cache_hits, row.cache_misses) for row in self._built()]
        return median(made) if made else UNKNOWN_BUILD_S

    def probe_s(self, purpose: Purpose = Purpose.SEARCH) -> float:
        """Median time of the probes so far for one purpose."""
        return probe_s(self._lab, purpose)

    def _built(self) -> Sequence[BuildRow]:
        """The last of each commit's builds."""
        return list({row.sha: row for row, _ in self._lab.builds() if row.outcome == Outcome.BUILT}.values())

    def _prices(self, purpose: Purpose) -> Callable[[frozenset[int]], Price]:
        """What measuring each number takes, as things are now but that some numbers more were built."""
        shas = [self._line.built(number) for number in range(self._line.size)]
        rows = self._built()
        here = {row.sha for row in rows}
        built = frozenset(number for number, sha in enumerate(shas) if sha in here)
        kept = frozenset(number for number, sha in enumerate(shas) if sha in self._known)
        full_build_s, one_probe_s = self.full_build_s(), self.probe_s(purpose)
        build_s = self._builds(rows)

        def after(also: frozenset[int]) -> Price:
            prices = Prices(
                full_build_s=full_build_s,
                probe_s=one_probe_s,
                positions=tuple(self._positions[number] for number in sorted(built | also)),
                free=built | kept | also,
                build_s=build_s([shas[number] for number in also]),
            )
            return lambda number: prices.seconds(number, self._positions[number])

        return after

    def _builds(self, rows: Sequence[BuildRow]) -> Callable[[Sequence[str]], Mapping[int, float]]:
        """By number the seconds that its build takes, by what it must compile, once some commits more were built; empty
        where builds do not tell."""
        if self._line.of_graph and self._line.size > MOST_OF_GRAPH:
            return lambda also: {}
        telling = [row for row in sorted(rows, key=lambda row: row.id) if self._lab.objects(row.id)][-MOST_COMPARED:]
        if not telling:
            return lambda also: {}
        asked = tuple(row.id for row in telling)
        if self._compared is None or self._compared[0] != asked:
            self._compared = (asked, self._compare(telling))
        found = self._compared[1]

        def build_s(also: Sequence[str]) -> Mapping[int, float]:
            work = found.compilations.work(also)
            return {n: found.common_s + work[self._line.built(n)].wall_s(found.jobs) for n in range(self._line.size)}

        return build_s

    def _compare(self, rows: Sequence[BuildRow]) -> _Compared:
        """The line's commits with builds that tell what their objects were made from."""
        objects = {row.sha: self._lab.objects(row.id) for row in rows}
        jobs = self._lab.question.jobs
        builds = [Built(row.wall_seconds, row.cache_hits, row.cache_misses, objects[row.sha]) for row in rows]
        if not self._folders:
            read = (file for own in objects.values() for one in own.values() for file in one.files)
            self._folders = tuple(sorted({file.partition("/")[0] for file in read}))
        wanted = dict.fromkeys([*(self._line.built(number) for number in range(self._line.size)), *objects])
        new = [sha for sha in wanted if sha not in self._versions.places]
        if new and not self._versions.places:
            self._versions.append(new.pop(0), {})
        *_, last = self._versions.places
        for sha, changed in self._lab.history.versions(list(zip(new, [last, *new], strict=False)), self._folders):
            self._versions.append(sha, changed)
        return _Compared(Compilations(self._versions, objects, typical_s(builds, jobs)), common_s(builds, jobs), jobs)


def probe_s(lab: Lab, purpose: Purpose = Purpose.SEARCH) -> float:
    """Median time of the probes so far for one purpose."""
    seconds = [row.seconds for _, row in lab.series(purpose)]
    return median(seconds) if seconds else UNKNOWN_PROBE_S
