"""A running private mysqld: started, asked, stopped; it never outlives us."""

import contextlib
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pymysql.cursors import Cursor

from cpubisect.base.process import Guarded, printed
from cpubisect.workloads.mysql.installation import Installation, Place, environment, telling_line
from cpubisect.workloads.mysql.talk import talk, told
from cpubisect.workloads.probe import KILLED, ProbeError

DATABASE = "sbtest"
_DAY_S = 86400.0
_QUIET_LOOKS = 3


class Server:
    """A running server that answers on its socket; leaving the `with` block kills it.

    `launcher` is put before the command line (taskset, setarch, valgrind: programs that become what they start).
    Raises ProbeError if the server does not answer within `patience_s`.
    """

    def __init__(
        self,
        installation: Installation,
        place: Place,
        options: Sequence[str],
        *,
        launcher: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        patience_s: float = 120.0,
    ) -> None:
        self.place = place
        self.installation = installation
        self.sandbox = installation.sandbox(place)
        # Last, so that no option before them holds: this server asks nobody for a password.
        own = (f"--socket={place.socket}", "--skip-grant-tables")
        self.command = (*launcher, *installation.command(place.data, place.temporary, options), *own)
        self._offset = place.log.stat().st_size if place.log.exists() else 0
        with place.log.open("ab") as log:
            own_environment = {**environment(place.temporary), **(variables or {})}
            self._child = Guarded(self.command, env=own_environment, output=log, sandbox=self.sandbox)
        try:
            self._wait_until_it_answers(patience_s)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """True while the server process runs."""
        return self._child.poll()

    @contextlib.contextmanager
    def cursor(self, database: str | None = None, timeout_s: float = 600.0) -> Iterator[Cursor]:
        """A connection as root, for as long as the block; what the server says may raise any Exception."""
        with talk(self.place.socket, database, timeout_s) as cursor:
            yield cursor

    @contextlib.contextmanager
    def old_snapshot(self) -> Iterator[None]:
        """Keep a read view open for as long as the block: meanwhile nothing may be purged, so how far the purge threads
        have come decides nothing (which undo pages are free to use again, say). Raises ProbeError."""
        with contextlib.ExitStack() as stack:
            with self._asking("START TRANSACTION"):
                cursor = stack.enter_context(self.cursor(timeout_s=_DAY_S))
                cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            try:
                yield
            finally:
                # What it says when we leave matters to nobody.
                with contextlib.suppress(Exception):
                    stack.close()

    def variables(self) -> dict[str, str]:
        """SHOW GLOBAL VARIABLES; raises ProbeError if the server refuses."""
        return self._named("SHOW GLOBAL VARIABLES")

    def status(self) -> dict[str, str]:
        """SHOW GLOBAL STATUS; raises ProbeError if the server refuses."""
        return self._named("SHOW GLOBAL STATUS")

    def _named(self, statement: str) -> dict[str, str]:
        with self._asking(statement), self.cursor() as cursor:
            cursor.execute(statement)
            return {str(name): str(value) for name, value in cursor.fetchall()}

    def execute(self, statements: Sequence[str], database: str | None = DATABASE) -> None:
        """Run statements for their effect; raises ProbeError if one fails."""
        with self._asking(statements[0] if len(statements) == 1 else "SQL"), self.cursor(database) as cursor:
            for statement in statements:
                cursor.execute(statement)
                cursor.fetchall()

    @contextlib.contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        """For a block in which nothing can go wrong but what the server says: raises ProbeError if that is so."""
        try:
            yield
        except Exception as error:
            raise self.failure(f"{what}: {told(error)}") from error

    def rest(self, patience_s: float = 5.0) -> None:
        """Wait until no thread has anything to do, or at most so long.

        The thread of a connection that was closed is then ready for the next one, which would otherwise get a new
        thread now and then, with other addresses for what it allocates.
        """
        limit = time.monotonic() + patience_s
        quiet = 0
        while quiet < _QUIET_LOOKS and time.monotonic() < limit:
            quiet = 0 if self._busy() else quiet + 1
            time.sleep(0.002)

    def _busy(self) -> bool:
        """Whether a thread runs or wants to: one that waits for another's lock waits for one that does."""
        states = []
        for task in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                states.append(task.read_text().rpartition(")")[2].split()[0])
        return "R" in states

    def failure(self, otherwise: str) -> ProbeError:
        """The error to raise when something went wrong with this server: its own words if it died of it."""
        if self._child.wait(1.0):
            if self._child.finished().returncode == -signal.SIGKILL:
                return ProbeError(f"the server was {KILLED}", self.place.log)
            return ProbeError(f"the server crashed: {telling_line(self._printed())}", self.place.log)
        return ProbeError(otherwise, self.place.log)

    def stop(self, patience_s: float = 120.0) -> None:
        """Shut the server down in order; raises ProbeError if it must be killed or crashes on the way."""
        self._child.signal(signal.SIGTERM)
        if not self._child.wait(patience_s):
            self._child.kill()
            raise ProbeError(f"the server did not stop within {patience_s:.0f} s", self.place.log)
        finished = self._child.finished()
        if finished.returncode != 0:
            raise ProbeError(
                f"the server ended with status {finished.returncode}: {telling_line(self._printed())}", self.place.log
            )

    def _printed(self) -> str:
        with self.place.log.open("rb") as log:
            return printed(log, self._offset)

    def _wait_until_it_answers(self, patience_s: float) -> None:
        limit = time.monotonic() + patience_s
        refusal = ""
        while time.monotonic() < limit:
            if self._child.wait(0.02):
                text = telling_line(self._printed())
                raise ProbeError(f"the server does not start: {text}", self.place.log)
            if not self.place.socket.exists():
                continue
            try:
                with self.cursor(timeout_s=max(1.0, limit - time.monotonic())) as cursor:
                    cursor.execute("SELECT 1")
                    return
            except Exception as error:
                refusal = told(error)
        last = refusal or telling_line(self._printed())
        raise ProbeError(f"the server does not answer after {patience_s:.0f} s: {last}", self.place.log)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.__exit__(kind, error, trace)
        self.place.socket.unlink(missing_ok=True)
