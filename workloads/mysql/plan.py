"""The numbers of one MySQL probe: read from a test's parameters, and what its runs must not share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cpubisect.base.errors import UserError
from cpubisect.workloads.counters.counting import MOST_COUNTS
from cpubisect.workloads.mysql.script import WRITES_PER_SECOND, Script

FIRST_SEED = 10

SERVER_PREFIX = "mysqld."
"""A parameter `mysqld.NAME` gives the server the option `--NAME`."""

LARGEST = 2**31 - 1
"""Where numbers end: the key of a table is an INTEGER, and so are sysbench's own options."""

MOST_CLIENTS = 500
"""The server is started with 512 connections, a few of which are ours (`config/mysqld.yaml`)."""

FRACTIONS = frozenset(("zipf-exponent",))
"""Parameters of scripts that need not be whole numbers."""


@dataclass(frozen=True)
class Plan:
    """The numbers of one probe, read from its parameters; `overrides` are the user's own server options."""

    rows: int
    tables: int
    clients: int
    slice_s: int
    samples: int
    queries: int
    warm_queries: int
    repeats: int
    pin: str
    fair: bool
    overrides: Mapping[str, str]

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "Plan":
        """Read a probe's parameters; raises UserError for a value that is not what it should be."""
        seconds = _whole(parameters, "seconds")
        # sysbench knows whole seconds only.
        samples = min(_whole(parameters, "samples"), seconds)
        return cls(
            rows=_whole(parameters, "rows"),
            tables=_whole(parameters, "tables" if "tables" in parameters else "clients"),
            clients=_whole(parameters, "clients"),
            slice_s=seconds // samples,
            samples=samples,
            queries=_whole(parameters, "queries"),
            warm_queries=_whole(parameters, "warm-queries"),
            repeats=_whole(parameters, "repeats"),
            pin=_one_of(parameters, "pin", ("yes", "no", "auto")),
            fair=_one_of(parameters, "defaults", ("pinned", "server")) == "pinned",
            overrides={
                name.removeprefix(SERVER_PREFIX): value
                for name, value in parameters.items()
                if name.startswith(SERVER_PREFIX)
            },
        )

    def pinned(self, *, timed: bool) -> bool:
        """Whether server and clients share one CPU, while they are timed or while something else counts."""
        return self.pin == "yes" or (self.pin == "auto" and not (timed and self.clients > 1))

    def check(self, script: Script) -> None:
        """Raises UserError if there are more clients than connections, or a draining test would run out of rows, or
        miss some."""
        if self.clients > MOST_CLIENTS and "max_connections" not in self.overrides:
            raise UserError(
                f"{self.clients} clients are more than the server takes",
                f"take {MOST_CLIENTS} at most, or set {SERVER_PREFIX}max_connections too",
            )
        if not script.draining:
            return
        if self.tables > 1:
            raise UserError(
                f"test {script.test.name} has one table, for no statement may miss its row", "leave tables at 1"
            )
        self.deck(script).take(self._rows_until_counting + self.repeats * self._rows_counted)

    def most_counts(self, script: Script) -> int:
        """How often instructions may be counted until that is steady; a draining test has rows for so many only."""
        if not script.draining:
            return MOST_COUNTS
        left = self.rows * self.tables - self._rows_until_counting
        return min(MOST_COUNTS, left // self._rows_counted)

    def clock_limit(self, script: Script) -> int:
        """Events of one run of the clock at most, 0 for no limit: a draining test must find the same rows however fast
        the server is."""
        if not script.draining:
            return 0
        return max(1, self.rows // (self.samples + 1) // self.clients) * self.clients

    @property
    def _rows_until_counting(self) -> int:
        return self.clients + _shared(self.warm_queries, self.clients)

    @property
    def _rows_counted(self) -> int:
        """Rows that one count of a draining test removes, by its short run and its long one."""
        return 2 * self.clients + _shared(self.queries, self.clients)

    def deck(self, script: Script) -> "Deck":
        """A fresh deck for the runs of one server start."""
        return Deck(self.rows * self.tables, script.test.writes, script.draining, self.clients)


@dataclass
class Deck:
    """Hands out what two runs on the same data may not share: seeds, and the rows a draining test has left.

    Tests that only read get the same seed for every run: they then ask for the same keys, and repeat exactly. Writing
    the same values again would change nothing.
    """

    rows: int
    writes: bool
    draining: bool
    clients: int = 1
    seed: int = FIRST_SEED
    used: int = 0

    def next_seed(self) -> int:
        """The seed of the next run."""
        self.seed += self.writes
        return self.seed

    def take(self, events: int) -> int:
        """Reserve rows for a run, as many for each client; returns how many of its own each client took earlier. Raises
        UserError if too few are left."""
        first = self.used // self.clients
        if self.draining:
            self.used += _shared(events, self.clients)
            if self.used > self.rows:
                raise UserError(
                    f"the test removes {self.used} rows and the table has {self.rows}",
                    "set more rows, fewer queries or fewer warm-queries",
                )
        return first


def share(events: int, clients: int) -> int:
    """Events of each client, if all make as many; no fewer than `events` together."""
    return -(-events // clients)


def _shared(events: int, clients: int) -> int:
    return share(events, clients) * clients


def check_values(script: Script, parameters: Mapping[str, str]) -> None:
    """Raises UserError for a value of one of the script's own parameters that it could not take."""
    for name in (*script.settable.values(), *([WRITES_PER_SECOND] if script.background else ())):
        if name in FRACTIONS:
            _fraction(parameters, name)
        else:
            _whole(parameters, name)


def _fraction(parameters: Mapping[str, str], name: str) -> None:
    text = parameters[name]
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII) or float(text) <= 0:
        raise UserError(f"{name} is a number above 0, not {text!r}", f"for instance --set {name}=0.8")


def _whole(parameters: Mapping[str, str], name: str) -> int:
    text = parameters[name]
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST)) and 1 <= int(text) <= LARGEST):
        raise UserError(f"{name} is a whole number from 1 to {LARGEST}, not {text!r}", f"for instance --set {name}=1")
    return int(text)


def _one_of(parameters: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    if parameters[name] not in words:
        raise UserError(f"{name} is one of {', '.join(words)}, not {parameters[name]!r}")
    return parameters[name]


def events_for(queries: int, queries_per_event: int) -> int:
    """How many events make about so many queries; one at least."""
    return max(1, queries // queries_per_event)
