"""Several builders in a simulated lab: builds go on while the host reads, and its clock says when each has ended."""

from collections.abc import Collection, Mapping

from cpubisect.records.rows import BuildRow
from searching.host import Host
from searching.lab import SimulatedLab

SOON_S = 1.0
"""A build that should have ended is expected to take this still."""


class Builders:
    """So many, all alike; `ended` counts the builds that were withdrawn."""

    def __init__(self, lab: "ManyBuilders", count: int) -> None:
        self.builders = count
        self.ended = 0
        self._lab = lab
        self._ends: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def begin(self, sha: str, seconds: float | None = None) -> bool:
        """On the clock from now on, unless it is there."""
        if sha in self._ends:
            return True
        if self._lab.is_there(sha):
            return False
        self._took[sha] = self._lab.host.begin(int(sha))
        self._ends[sha] = self._lab.host.clock_s + self._took[sha]
        return True

    def begun(self) -> Mapping[str, float]:
        """What is being built, with the seconds that it takes still."""
        return {sha: max(SOON_S, end - self._lab.host.clock_s) for sha, end in self._ends.items()}

    def take_in(self, *, wait: bool) -> tuple[str, ...]:
        """What has ended by the clock, which goes on to the first one's end if so asked."""
        host = self._lab.host
        if wait and self._ends:
            host.clock_s = max(host.clock_s, min(self._ends.values()))
        done = tuple(
            sorted((sha for sha, end in self._ends.items() if end <= host.clock_s), key=self._ends.__getitem__)
        )
        for sha in done:
            self._receive(sha)
        return done

    def wait_for(self, sha: str) -> None:
        """Somebody asks for a commit: the clock goes on to the end of its build, if it has begun."""
        if sha in self._ends:
            self._lab.host.clock_s = max(self._lab.host.clock_s, self._ends[sha])
            self._receive(sha)

    def _receive(self, sha: str) -> None:
        del self._ends[sha]
        self._lab.receive(sha, self._took.pop(sha))

    def want(self, shas: Collection[str]) -> None:
        """There is one test."""

    def withdraw(self, shas: Collection[str], why: str) -> None:
        """Its builder is free at once."""
        for sha in shas:
            if self._ends.pop(sha, None) is not None:
                self.ended += 1


class ManyBuilders(SimulatedLab):
    """A simulated lab with several builders beside its host; its `crew` begins builds ahead."""

    def __init__(self, host: Host, builders: int) -> None:
        super().__init__(host)
        self.crew: Builders = Builders(self, builders)

    def is_there(self, sha: str) -> bool:
        """Whether a commit was built, or could not be."""
        return sha in self._rows or self.host.has(int(sha)) or int(sha) in self.host.failures

    def receive(self, sha: str, seconds: float) -> None:
        """A build that was made elsewhere in so many seconds has ended."""
        share = seconds / self.host.build_s
        self._rows[sha] = (self._row(sha, self.host.end(int(sha)), share, seconds), True)

    def build(self, sha: str) -> BuildRow:
        """What has begun is waited for, all else is built now; raises Unobservable."""
        self.crew.wait_for(sha)
        return super().build(sha)
