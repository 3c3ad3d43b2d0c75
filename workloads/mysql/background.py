"""Writers in the background of a test: how fast they are to be, and whether they were."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cpubisect.workloads.mysql.client import Client
from cpubisect.workloads.mysql.server import Server

LEAST_SHARE = 0.95
"""Writers that do less of what they are to do have missed it; the limit by which the insert benchmark's results are
taken or marked."""


@dataclass(frozen=True)
class Pace:
    """What is asked of the writers: `rows` that are inserted, and as many that are deleted, in a second for each of the
    `clients`; a statement does `rows_per_commit` of them."""

    rows: int
    clients: int
    rows_per_commit: int

    @property
    def asked(self) -> int:
        """Rows in a second, of all of them together."""
        return self.rows * self.clients

    def missed(self, statements: int, seconds: float) -> str:
        """Empty if the writers kept up, else by how much they did not; `statements` are those that they finished, of
        the kind that they finished fewer of. The statement of each that was under way does not count against it."""
        written = statements * self.rows_per_commit
        under_way = self.clients * self.rows_per_commit
        if written + under_way >= LEAST_SHARE * self.asked * seconds:
            return ""
        return (
            f"the writers in the background missed their rate: {written / seconds:.0f} of {self.asked} rows inserted "
            "and deleted per second"
        )


@dataclass
class Writers:
    """The writers beside the clock of one server, or none if there is no `pace`; `command` is what started them."""

    server: Server
    pace: Pace | None = None
    command: Sequence[str] = ()
    began: float = 0.0
    before: int = 0

    def begin(self) -> None:
        """From now on it counts what they do; raises ProbeError."""
        if self.pace:
            self.before, self.began = self._statements(), time.monotonic()

    def missed(self) -> str:
        """Empty if they kept up since `begin`, else by how much they did not; raises ProbeError."""
        if not self.pace:
            return ""
        seconds = time.monotonic() - self.began
        return self.pace.missed(self._statements() - self.before, seconds)

    def _statements(self) -> int:
        status = self.server.status()
        return min(int(status["Com_insert"]), int(status["Com_delete"]))


@contextmanager
def writers(client: Client, pace: Pace | None) -> Iterator[Writers]:
    """They write for as long as the block; raises ProbeError if they end by themselves."""
    if pace is None:
        yield Writers(client.server)
        return
    command = client.background_command(pace.rows, pace.rows_per_commit)
    with client.background(command):
        yield Writers(client.server, pace, (" ".join(command),))
