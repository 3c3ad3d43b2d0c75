"""Rules for several builders: the product's, splitting into k + 1 even parts, and Pinpoint's."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from cpubisect.search.exact import Done, Found, State, percent_change
from cpubisect.search.many.moves import next_moves, next_probe, opening, pointless, spaced
from searching.farm import Rule, View
from searching.pinpoint import between


def _steps(view: View) -> tuple[Found, ...] | State | None:
    """Where the product's own search ends, or goes on once steps are confirmed, which takes no time here."""
    found = view.state.sorted_out
    if not found.open:
        return found.steps
    if not found.steps_first(view.state):
        return None
    return replace(view.state, settled=view.state.settled | {step.high for step in found.steps})


class Together:
    """The product's; with `ends_only` nothing else is built before these are known to differ."""

    def __init__(self, ends_only: bool = False) -> None:
        self._ends_only = ends_only

    def opening(self, size: int, k: int) -> Sequence[int]:
        """The ends, and what is evenly spaced between them."""
        return opening(size, k, ends_only=self._ends_only)

    def begin(self, view: View) -> Collection[int]:
        """What tells most together."""
        moves = next_moves(view.state, view.weigh, view.price, view.k, view.ahead)
        return [] if isinstance(moves, Done) else [move.number for move in moves]

    def end(self, view: View) -> Collection[int]:
        """What an answer made pointless."""
        return pointless(view.state, view.pending, view.price)

    def probe(self, view: View) -> int | None:
        """The most telling first; what is pointless never."""
        move = next_probe(view.state, view.ready, view.weigh)
        return move.number if move else None

    def answer(self, view: View) -> tuple[Found, ...] | State | None:
        """Where the search ends."""
        return _steps(view)


class Evenly:
    """Rounds of k evenly spaced numbers: of the interval that changed most, and if it has fewer, of the next one.

    All of a round are waited for; of what is built no more is probed than tells something, which the rule does not say.
    """

    def opening(self, size: int, k: int) -> Sequence[int]:
        """The ends, and what is evenly spaced between them, as the product's."""
        return opening(size, k)

    def begin(self, view: View) -> Collection[int]:
        """The next round, once nothing is left of the last one."""
        if view.pending or view.probing is not None or self.probe(view) is not None:
            return []
        chosen: list[int] = []
        found = view.state.sorted_out
        for part in found.open:
            left = view.k - len(chosen)
            inside = range(part.low + 1, part.high)
            alive = [n for n in inside if n not in view.state.dead and n not in found.presumed]
            chosen += spaced(alive, left)
        return chosen

    def end(self, view: View) -> Collection[int]:
        """Nothing."""
        return ()

    def probe(self, view: View) -> int | None:
        """Once all are built."""
        if view.pending:
            return None
        move = next_probe(view.state, view.ready)
        return move.number if move else None

    def answer(self, view: View) -> tuple[Found, ...] | State | None:
        """Where the search ends."""
        return _steps(view)


class Pinpoint:
    """The middle of each pair of measured neighbours that differ, all at once, probed as they are built.

    It sees totals, and no limit is set to its builds.
    """

    def opening(self, size: int, k: int) -> Sequence[int]:
        """The ends alone."""
        return opening(size, k, ends_only=True)

    def begin(self, view: View) -> Collection[int]:
        """The largest differences first."""
        under_way = {*view.pending, *view.ready, view.probing}
        wanted = [number for _, _, number in self._pairs(view.state) if number is not None]
        return [number for number in wanted if number not in under_way][: view.k]

    def end(self, view: View) -> Collection[int]:
        """Nothing."""
        return ()

    def probe(self, view: View) -> int | None:
        """The first."""
        return view.ready[0] if view.ready else None

    def answer(self, view: View) -> tuple[Found, ...] | State | None:
        """All pairs that differ and have nothing between them."""
        pairs = self._pairs(view.state)
        if any(number is not None for _, _, number in pairs):
            return None
        return tuple(Found(low, high, 0.0, 0.0) for low, high, _ in pairs)

    def _pairs(self, state: State) -> Sequence[tuple[int, int, int | None]]:
        """Neighbours that differ, the largest difference first, with the number to build between them."""
        pairs = [
            (percent_change(state, low, high), low, high)
            for low, high in pairwise(sorted(state.costs))
            if percent_change(state, low, high) >= state.min_step
        ]
        return [(low, high, between(low, high, state.dead)) for _, low, high in sorted(pairs, reverse=True)]


@dataclass(frozen=True)
class Crew:
    """A rule by its name."""

    name: str
    rule: Callable[[], Rule]


OURS = Crew("cpubisect", Together)
ENDS_FIRST = Crew("cpubisect, ends first", partial(Together, ends_only=True))
EVENLY = Crew("k-way splitting", Evenly)
PINPOINT = Crew("Pinpoint", Pinpoint)
CREWS = (OURS, ENDS_FIRST, EVENLY, PINPOINT)
