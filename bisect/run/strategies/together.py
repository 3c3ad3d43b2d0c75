"""One search over one line with several builders: what tells most together is built side by side, and probed as it is
built."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.run.strategies.estimates import probe_s
from cpubisect.run.strategies.exact import built_before, unprobed
from cpubisect.run.strategies.loop import Action, Searched, Strategy, announce
from cpubisect.search import events
from cpubisect.search.line import Line

TOLD_NOTHING = "what was measured since leaves nothing that it could tell"
"""Why a build is withdrawn."""

NEEDED = "a step that is confirmed next likely takes it"
"""Why a build is begun that the search itself does not ask for."""


class Together(Strategy, Protocol):
    """A strategy that can keep several builders busy."""

    def next_together(self, free: int, pending: Mapping[int, float]) -> Sequence[Action] | Searched:
        """What so many free builders begin now, beside what is `pending` (number → seconds until it is measured), or
        the end of the search."""

    def next_probe(self, ready: Collection[int]) -> Action | None:
        """Which of the numbers that are built to measure now; None if none tells anything."""

    def waiting(self, ready: Collection[int]) -> Collection[int]:
        """Those of the numbers that are built which are still to be measured."""

    def pointless(self, pending: Mapping[int, float]) -> frozenset[int]:
        """The pending numbers that nobody asks for any more."""

    def ahead(self, built: Collection[str]) -> Sequence[tuple[str, float]]:
        """The commits that are likely needed to confirm the next step and not `built`, with how likely."""


def carry_out_together(lab: Lab, line: Line, strategy: Together) -> Searched:
    """Search a line to the end; raises Unobservable if one of its ends can't be measured.

    Builds that are begun stay so when the search ends: what comes next may ask for them.
    """
    return _Together(lab, line, strategy).run()


class _Together:
    """A search that goes on: `ready` are the numbers that were built and not probed."""

    def __init__(self, lab: Lab, line: Line, strategy: Together) -> None:
        self._lab = lab
        self._line = line
        self._strategy = strategy
        self._numbers = {line.built(number): number for number in range(line.size)}
        self._ready = {*unprobed(lab, line)}
        self._met = {*built_before(lab, line)}
        self._ahead: set[str] = set()

    def run(self) -> Searched:
        """At each change: end what is pointless, begin what tells most, probe one that is built, or wait for one."""
        crew = self._lab.crew
        while True:
            self._taken_in(crew.take_in(wait=False))
            self._withdraw()
            found = self._begin()
            if isinstance(found, Searched):
                self._withdraw()
                return found
            probe = self._strategy.next_probe(self._ready)
            if probe is not None:
                self._ready.discard(probe.number)
                self._measure(probe)
            elif not self._pending():
                # What is left cannot be begun ahead: it is made when it is asked for.
                self._alone()
            else:
                self._taken_in(crew.take_in(wait=True))

    def _pending(self) -> dict[int, float]:
        """The line's numbers that are being built, with the seconds that this takes still."""
        begun = self._lab.crew.begun()
        return {self._numbers[sha]: left for sha, left in begun.items() if sha in self._numbers}

    def _taken_in(self, shas: Sequence[str]) -> None:
        """Some builds have ended: what failed is no candidate to be probed."""
        for sha in shas:
            number = self._numbers.get(sha)
            # What another test has recorded may have been there when this search began.
            if number is None or number in self._met:
                continue
            self._met.add(number)
            try:
                self._lab.build(sha)
            except Unobservable as reason:
                self._give_up(number, str(reason))
            else:
                self._ready.add(number)

    def _withdraw(self) -> None:
        """End what is pointless."""
        pending = self._pending()
        useless = {self._line.built(number) for number in self._strategy.pointless(pending)}
        self._lab.crew.want({self._line.built(number) for number in pending} - useless)
        wanted = {sha for sha, _ in self._strategy.ahead(())}
        self._ahead &= self._lab.crew.begun().keys()
        useless |= self._ahead - wanted - self._numbers.keys()
        self._lab.crew.withdraw(sorted(useless), TOLD_NOTHING)

    def _begin(self) -> Sequence[Action] | Searched:
        """Begin what free builders are for; what was begun or is ready at once, or the end of the search."""
        crew = self._lab.crew
        begun = crew.begun()
        free = max(0, crew.builders - len(begun))
        own_s = probe_s(self._lab)
        pending = {number: left + own_s for number, left in self._pending().items()}
        waiting = dict.fromkeys(self._strategy.waiting(self._ready), own_s)
        moves = self._strategy.next_together(free, {**pending, **waiting})
        if isinstance(moves, Searched):
            return moves
        for action in moves:
            announce(self._lab, self._line, action)
            if not crew.begin(self._line.built(action.number), action.seconds):
                self._ready.add(action.number)
        self._begin_ahead()
        return moves

    def _begin_ahead(self) -> None:
        """What is left of the builders makes what a confirmation is likely to take."""
        crew = self._lab.crew
        begun = crew.begun()
        free = crew.builders - len(begun)
        # Other builds confirm than are searched by.
        if free <= 0 or self._lab.proof is not self._lab:
            return
        built = {row.sha for row, _ in self._lab.builds()} | begun.keys()
        for sha, _ in [one for one in self._strategy.ahead(built) if one[0] not in self._numbers][:free]:
            if crew.begin(sha):
                self._ahead.add(sha)
                self._lab.tell(events.BuildAhead(sha=sha, why=NEEDED))

    def _measure(self, action: Action) -> None:
        try:
            action.measure()
        except Unobservable as reason:
            self._give_up(action.number, str(reason))

    def _alone(self) -> None:
        action = self._strategy.next()
        if isinstance(action, Action):
            announce(self._lab, self._line, action)
            self._measure(action)

    def _give_up(self, number: int, why: str) -> None:
        """As in a search with one builder; raises Unobservable for an end."""
        if number in (0, self._line.size - 1):
            raise Unobservable(why)
        self._ready.discard(number)
        self._strategy.give_up(number, why)
        self._lab.tell(events.Unobservable(sha=self._line.built(number), why=why))
