"""The builds of one bisection that are made on other hosts ahead of the moment when they are asked for."""

import contextlib
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from cpubisect.base.errors import UserError
from cpubisect.run.bench.making import Begun, Bench
from cpubisect.search import events
from cpubisect.search.events import HostThere

UNKNOWN_S = 600.0
"""What a build is expected to take of which nothing is known: as in `run.estimates`."""

OVERDUE = 0.1
"""A build that takes longer than expected is expected to take this part of that still, as in `benchmarks/many.py`."""

ROLL_S = 5.0
"""So often it is looked which hosts there are."""

POLL_S = 0.5
"""So long one build is waited for before the others are looked at."""

GRACE_S = 8.0
"""After an interruption it is looked so long which builds have ended: a worker that was asked to stop has 20 s."""


@dataclass
class HostCrew:
    """The hosts of the executor of a `bench`, on which builds are made side by side, for one test of several that share
    them. Only the thread that waits here writes to the store."""

    bench: Bench
    _roll: Sequence[HostThere] = ()
    _rolled_at: float = field(default=float("-inf"))

    @property
    def builders(self) -> int:
        """As the executor says; while it cannot be asked none but what has begun."""
        if self.bench.executor.here:
            return 1
        try:
            found = self.bench.executor.builders
            self._call_the_roll()
        except UserError:
            return max(1, len(self.bench.begun))
        # With nobody there one build waits, and says for what.
        return max(1, found)

    def begin(self, sha: str, seconds: float | None = None) -> bool:
        """Order it, unless it is there, or ordered for another test."""
        being_built = self.bench.begin(sha, seconds or UNKNOWN_S)
        self.want((sha,))
        return being_built

    def want(self, shas: Collection[str]) -> None:
        """What another test has begun is this one's too."""
        for sha in shas:
            if (one := self.bench.begun.get(sha)) is not None:
                one.wanted_by.add(self.bench.asker)

    def begun(self) -> dict[str, float]:
        """What was ordered and has not been taken in."""
        now = time.monotonic()
        return {sha: _left(one, now) for sha, one in self.bench.begun.items()}

    def take_in(self, *, wait: bool) -> tuple[str, ...]:
        """Record those that have ended, and hear of those that other tests have recorded; raises UserError if one could
        not be carried out, or the disk is full."""
        if wait:
            # Other tests have their turn even where something has ended already.
            self.bench.turns.pass_on()
        while not (ended := [*self._heard(), *self.bench.ended()]):
            waiting = next(iter(self.bench.begun.values()), None)
            if waiting is None or not wait:
                return ()
            self._call_the_roll()
            waiting.handle.wait(POLL_S)
            self.bench.turns.pass_on()
        for sha in ended:
            if sha in self.bench.begun:
                self.bench.receive(sha)
        return tuple(ended)

    def _heard(self) -> list[str]:
        inbox = self.bench.inboxes.get(self.bench.asker, [])
        heard, inbox[:] = list(inbox), []
        return heard

    def withdraw(self, shas: Collection[str], why: str) -> None:
        """Cancel them, but for those that another test wants."""
        for sha in shas:
            if (one := self.bench.begun.get(sha)) is not None:
                one.wanted_by.discard(self.bench.asker)
                if not one.wanted_by:
                    self._cancel(sha, why)

    def _cancel(self, sha: str, why: str) -> None:
        self.bench.begun.pop(sha).handle.cancel()
        self.bench.tell(events.BuildWithdrawn(sha=sha, why=why))

    def join(self) -> None:
        """This test is answered beside others from now on."""
        self.bench.inboxes[self.bench.asker] = []

    def leave(self) -> None:
        """This test has its answer: it wants nothing more, and what is being built is the others' to end."""
        self.bench.inboxes.pop(self.bench.asker, None)
        for one in self.bench.begun.values():
            one.wanted_by.discard(self.bench.asker)

    def stop(self, why: str) -> None:
        """Keep what has ended by now, as far as that can be, and cancel all else."""
        latest = time.monotonic() + GRACE_S
        for sha, one in list(self.bench.begun.items()):
            with contextlib.suppress(Exception):
                if time.monotonic() < latest and one.handle.done():
                    self.bench.receive(sha)
        for sha in list(self.bench.begun):
            self._cancel(sha, why)

    def _call_the_roll(self) -> None:
        """Tell which hosts there are where these are others than before."""
        if time.monotonic() - self._rolled_at < ROLL_S:
            return
        self._rolled_at = time.monotonic()
        try:
            there = tuple(self.bench.executor.hosts())
        except UserError:
            return
        if there != self._roll:
            names = {one.name for one in there}
            # Of one that was lost with a build is told by that.
            names |= {one.host for one in self.bench.begun.values()}
            lost = tuple(one.name for one in self._roll if one.name not in names)
            self._roll = there
            self.bench.tell(events.Hosts(there=there, lost=lost, idle=not self.bench.begun))


def _left(one: Begun, now: float) -> float:
    return max(one.seconds - (now - one.at), OVERDUE * one.seconds)
