"""What measuring each number of a line costs now, from the builds and probes made so far."""

from collections.abc import Sequence
from statistics import median

from cpubisect.builders.build import Outcome
from cpubisect.records.purpose import Purpose
from cpubisect.records.store import BuildRow
from cpubisect.run.measuring import Lab
from cpubisect.search.exact import Price
from cpubisect.search.line import Line
from cpubisect.search.price import Prices, full_build, positions_of

UNKNOWN_BUILD_S = 600.0
UNKNOWN_PROBE_S = 20.0
"""Before the first build and probe were made: only their ratio matters."""


class Estimates:
    """Of one line."""

    def __init__(self, lab: Lab, line: Line) -> None:
        self._lab = lab
        self._line = line
        self._positions = positions_of(line.classes)
        self._known = lab.kept([line.built(number) for number in range(line.size)])

    def price(self, purpose: Purpose = Purpose.SEARCH) -> Price:
        """Seconds from a number to its first probe for a purpose, as things are now."""
        here = {row.sha for row in self._built()}
        numbers = {n for n in range(self._line.size) if self._line.built(n) in here}
        free = frozenset(n for n in range(self._line.size) if self._line.built(n) in self._known) | numbers
        prices = Prices(
            full_build_s=self.full_build_s(),
            probe_s=self.probe_s(purpose),
            positions=tuple(self._positions[n] for n in sorted(numbers)),
            free=free,
        )
        return lambda number: prices.seconds(number, self._positions[number])

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
        seconds = [row.seconds for _, row in self._lab.series(purpose)]
        return median(seconds) if seconds else UNKNOWN_PROBE_S

    def _built(self) -> Sequence[BuildRow]:
        """The last of each commit's builds."""
        return list({row.sha: row for row, _ in self._lab.builds() if row.outcome == Outcome.BUILT}.values())
