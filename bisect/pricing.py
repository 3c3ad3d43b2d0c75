"""What measuring each number of a path costs now, from the builds and probes made so far."""

from statistics import median

from cpubisect.lab import Lab, Purpose
from cpubisect.path import Path
from cpubisect.price import Prices, full_build, positions_of
from cpubisect.search import Price

UNKNOWN_BUILD_S = 600.0
UNKNOWN_PROBE_S = 20.0
"""Before the first build and probe were made: only their ratio matters."""


class Pricing:
    """Prices of one path."""

    def __init__(self, lab: Lab, path: Path) -> None:
        self._lab = lab
        self._path = path
        self._positions = positions_of(path.classes)
        self._known = lab.kept([path.built(number) for number in range(path.size)])

    def now(self, purpose: str = Purpose.SEARCH) -> Price:
        """Seconds from a number to its first probe for a purpose, as things are now."""
        here = self._lab.built()
        numbers = {n for n in range(self._path.size) if self._path.built(n) in here}
        free = frozenset(n for n in range(self._path.size) if self._path.built(n) in self._known) | numbers
        prices = Prices(
            full_build_s=self.full_build_s(),
            probe_s=self.probe_s(purpose),
            positions=tuple(self._positions[n] for n in sorted(numbers)),
            free=free,
        )
        return lambda number: prices.seconds(number, self._positions[number])

    def free(self) -> frozenset[int]:
        """Numbers whose binary was there before this bisection."""
        made = set(self._lab.made())
        return frozenset(n for n in range(self._path.size) if self._path.built(n) in self._known - made)

    def full_build_s(self) -> float:
        """Median time that the builds so far would have taken with an empty compiler cache."""
        made = [full_build(row.wall_seconds, row.cache_hits, row.cache_misses) for row in self._lab.built().values()]
        return median(made) if made else UNKNOWN_BUILD_S

    def probe_s(self, purpose: str = Purpose.SEARCH) -> float:
        """Median time of the probes so far for one purpose."""
        seconds = [row.seconds for _, row in self._lab.series(purpose)]
        return median(seconds) if seconds else UNKNOWN_PROBE_S
