"""The sysbench client: its command lines, its report, and one run of it against a server."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from cpubisect.base.process import Guarded, run
from cpubisect.base.sandbox.policy import Sandbox
from cpubisect.workloads.mysql.installation import environment
from cpubisect.workloads.mysql.plan import share
from cpubisect.workloads.mysql.script import COMMON, LUA, Script
from cpubisect.workloads.mysql.server import DATABASE, Server

_COUNT = re.compile(r"^\s*(queries|transactions|ignored errors):\s+(\d+)\s+\(([\d.]+) per sec\.\)", re.MULTILINE)
_TELLING = (re.compile(r"\berror:? \d+", re.IGNORECASE), re.compile(r"FATAL"), re.compile(r"\berror\b", re.IGNORECASE))


@dataclass(frozen=True)
class Report:
    """What sysbench says at its end: statements it sent, events (transactions) it finished, statements per second,
    and errors it passed over (deadlocks, duplicate keys)."""

    queries: int
    events: int
    qps: float
    ignored_errors: int

    def counting(self, operations: int) -> "Report":
        """The same with so many operations for each event in place of its statements."""
        queries = self.events * operations
        return replace(self, queries=queries, qps=self.qps * queries / self.queries)


def parse_report(text: str) -> Report:
    """Read sysbench's closing statistics; raises ValueError if they are missing."""
    found = {match[1]: (int(match[2]), float(match[3])) for match in _COUNT.finditer(text)}
    if found.keys() != {"queries", "transactions", "ignored errors"}:
        raise ValueError("sysbench printed no closing statistics")
    return Report(found["queries"][0], found["transactions"][0], found["queries"][1], found["ignored errors"][0])


def telling_line(text: str) -> str:
    """The line of sysbench's output that says why it failed: the server's error, else a FATAL, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for pattern in _TELLING:
        for line in lines:
            if pattern.search(line):
                return line
    return lines[-1] if lines else "it printed nothing"


@dataclass(frozen=True)
class Client:
    """Runs a test's script against a server with the settings of a test.

    `launcher` is put before sysbench (taskset). All runs are repeatable: the caller says the seed.
    """

    server: Server
    script: Script
    parameters: Mapping[str, str]
    launcher: tuple[str, ...] = ()

    def load_command(self) -> tuple[str, ...]:
        """The command line that creates and fills the tables."""
        data = self.script.data
        return self._command(str(LUA / data.loader), _words(data.options), "prepare", threads=1)

    def run_command(self, *, seed: int, events: int, seconds: int, first: int = 0) -> tuple[str, ...]:
        """The command line of one run that ends after `events` or `seconds`, whichever is first; 0 is no limit.

        In a draining test each client makes its share of the events, and has removed `first` rows in earlier runs.
        """
        script = str(LUA / self.script.name) if self.script.own else self.script.name
        options = _words(self.script.options)
        clients = int(self.parameters["clients"])
        options += [f"--{option}={self.parameters[name]}" for option, name in self.script.settable.items()]
        if self.script.draining:
            options += [f"--first={first}", f"--share={share(events, clients)}"]
            events = 0
        options += [f"--events={events}", f"--time={seconds}"]
        options += [f"--rand-type={self._common('distribution')}", f"--rand-seed={seed}"]
        return self._command(script, options, "run", threads=clients)

    def background_command(self, rate: int, rows_per_commit: int) -> tuple[str, ...]:
        """The command line of the writers in the background, which end when they are killed."""
        options = [f"--rows-per-second={rate}", f"--rows-per-commit={rows_per_commit}", "--events=0", "--time=0"]
        script = str(LUA / self.script.background)
        return self._command(script, options, "run", threads=2 * int(self.parameters["clients"]))

    def _common(self, name: str) -> str:
        return self.parameters.get(name, COMMON[name])

    def _command(self, script: str, options: Sequence[str], action: str, *, threads: int) -> tuple[str, ...]:
        return (
            *self.launcher,
            "sysbench",
            script,
            "--db-driver=mysql",
            f"--mysql-socket={self.server.place.socket}",
            "--mysql-user=root",
            f"--mysql-db={DATABASE}",
            f"--db-ps-mode={self._common('db-ps-mode')}",
            f"--table-size={self.parameters['rows']}",
            f"--tables={self.script.tables(self.parameters)}",
            f"--threads={threads}",
            "--percentile=0",
            *options,
            action,
        )

    def load(self, timeout_s: float = 3600.0) -> None:
        """Create and fill the tables; raises ProbeError."""
        self._run(self.load_command(), timeout_s)

    def run(self, *, seed: int, events: int = 0, seconds: int = 0, first: int = 0, timeout_s: float) -> Report:
        """One run with its report; raises ProbeError if sysbench or the server fails, or nothing was done."""
        output = self._run(self.run_command(seed=seed, events=events, seconds=seconds, first=first), timeout_s)
        try:
            report = parse_report(output)
        except ValueError as error:
            raise self.server.failure(f"{error}: {telling_line(output)}") from error
        if report.queries == 0:
            raise self.server.failure("sysbench finished without a single query")
        operations = self.script.operations_per_event(self.parameters)
        return report.counting(operations) if operations else report

    @contextmanager
    def background(self, command: Sequence[str]) -> Iterator[None]:
        """A command beside others, for as long as the block; raises ProbeError if it ends by itself."""
        path = self.server.place.log.with_name("background.log")
        sandbox, environment = self._sandbox(), self._environment()
        with path.open("wb") as log, Guarded(command, env=environment, output=log, sandbox=sandbox) as writers:
            yield
            ended = not writers.poll()
        if ended:
            said = telling_line(path.read_text(errors="replace"))
            raise self.server.failure(f"the writers in the background: {said}")

    def _environment(self) -> dict[str, str]:
        return {**environment(self.server.place.temporary), "LUA_PATH": f"{LUA}/?.lua;;"}

    def _sandbox(self) -> Sandbox | None:
        return self.server.installation.client_sandbox(self.server.place, LUA)

    def _run(self, command: Sequence[str], timeout_s: float) -> str:
        log = self.server.place.log.with_name("sysbench.log")
        finished = run(command, env=self._environment(), timeout_s=timeout_s, log=log, sandbox=self._sandbox())
        if finished.returncode == 127:
            raise self.server.failure("sysbench is not installed")
        if finished.timed_out:
            raise self.server.failure(f"sysbench did not end within {timeout_s:.0f} s")
        if not finished.ok:
            raise self.server.failure(f"sysbench: {telling_line(finished.output)}")
        return finished.output


def _words(options: Mapping[str, str]) -> list[str]:
    return [f"--{option}={value}" for option, value in options.items()]
