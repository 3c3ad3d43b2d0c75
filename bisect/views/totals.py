"""What a bisection has used so far: the same figures wherever they are told."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cpubisect.base.plain import Plain
from cpubisect.records import queries
from cpubisect.records.queries import Spent
from cpubisect.records.store import Store
from cpubisect.search.line import GRAPH, MAIN, OF_GOOD


@dataclass(frozen=True)
class Totals(Plain):
    """`candidates` are the commits from good, which does not count, to bad, with those from the fork point to good if
    they were searched too, and `candidates_inside_merges` those on lines that were looked at because a merge brought
    them.

    `builds` are all that were used, of which `builds_made` were made for this bisection, the others for an earlier one;
    `builds_failed` did not succeed. What the builds took, in wall and in CPU seconds, and how often the compiler cache
    had what was compiled, is of those made for this bisection: the others took nothing here. `probes` are all that were
    made, also those that failed, in `probe_seconds` of wall time. `elapsed_seconds` are from the start to the end, or
    to now. Seconds are to a tenth.
    """

    candidates: int
    candidates_inside_merges: int
    builds: int
    builds_made: int
    builds_failed: int
    build_seconds: float
    build_cpu_seconds: float
    cache_hits: int
    cache_misses: int
    probes: int
    probe_seconds: float
    elapsed_seconds: float


class Dated(Protocol):
    """A bisection with the times when it was begun and finished, in epoch seconds."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def created(self) -> float:
        """When it was asked."""

    @property
    def finished(self) -> float | None:
        """When it was answered, None before."""


def totals(store: Store, bisection: Dated) -> Totals:
    """The totals of one bisection."""
    return totals_of(store, [bisection])[bisection.id]


def totals_of(store: Store, bisections: Sequence[Dated]) -> dict[int, Totals]:
    """The totals of each of some bisections."""
    numbers = [one.id for one in bisections]
    spent, lengths = queries.spent(store, numbers), queries.lengths(store, numbers)
    now = time.time()
    found = {}
    for one in bisections:
        own, paths = spent.get(one.id, Spent()), dict(lengths.get(one.id, {}))
        sides = [
            [max(0, paths.pop(name, 0) - 1) for name in pair]
            for pair in ((MAIN, GRAPH), (OF_GOOD[MAIN], OF_GOOD[GRAPH]))
        ]
        inside = sum(graph - main for main, graph in sides if graph)
        found[one.id] = Totals(
            candidates=sum(main for main, _ in sides),
            candidates_inside_merges=inside or sum(length - 1 for length in paths.values()),
            builds=own.builds,
            builds_made=own.builds_made,
            builds_failed=own.builds_failed,
            build_seconds=round(own.build_seconds, 1),
            build_cpu_seconds=round(own.build_cpu_seconds, 1),
            cache_hits=own.cache_hits,
            cache_misses=own.cache_misses,
            probes=own.probes,
            probe_seconds=round(own.probe_seconds, 1),
            elapsed_seconds=round((one.finished or now) - one.created, 1),
        )
    return found
