"""The numbers of one MySQL probe: read from a test's parameters, and what its runs must not share."""

from collections.abc import Mapping
from dataclasses import dataclass

from cpubisect.base.errors import UserError
from cpubisect.workloads.counters.counting import MOST_COUNTS
from cpubisect.workloads.mysql.tests import SERVER_PREFIX, Script

FIRST_SEED = 10


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
    pin: bool
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
            tables=_whole(parameters, "tables"),
            clients=_whole(parameters, "clients"),
            slice_s=seconds // samples,
            samples=samples,
            queries=_whole(parameters, "queries"),
            warm_queries=_whole(parameters, "warm-queries"),
            repeats=_whole(parameters, "repeats"),
            pin=_one_of(parameters, "pin", ("yes", "no")) == "yes",
            fair=_one_of(parameters, "defaults", ("pinned", "server")) == "pinned",
            overrides={
                name.removeprefix(SERVER_PREFIX): value
                for name, value in parameters.items()
                if name.startswith(SERVER_PREFIX)
            },
        )

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables, as sysbench names them."""
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    def check(self, script: Script) -> None:
        """Raises UserError if a draining test would run out of rows, or miss some."""
        if not script.draining:
            return
        if self.tables > 1 or self.clients > 1:
            raise UserError(
                f"test {script.test.name} has one table and one client, for no statement may miss its row",
                "leave tables and clients at 1",
            )
        # A draining test's events are one query each; one client sends one more before each part.
        self.deck(script).take(1 + self.warm_queries + self.repeats * self._rows_counted)

    def most_counts(self, script: Script) -> int:
        """How often instructions may be counted until that is steady; a draining test has rows for so many only."""
        if not script.draining:
            return MOST_COUNTS
        left = self.rows * self.tables - 1 - self.warm_queries
        return min(MOST_COUNTS, left // self._rows_counted)

    @property
    def _rows_counted(self) -> int:
        """Rows that one count of a draining test removes, by its short run and its long one."""
        return 2 + self.queries

    def deck(self, script: Script) -> "Deck":
        """A fresh deck for the runs of one server start."""
        return Deck(self.rows * self.tables, script.test.writes, script.draining)


@dataclass
class Deck:
    """Hands out what two runs on the same data may not share: seeds, and the rows a draining test has left.

    Tests that only read get the same seed for every run: they then ask for the same keys, and repeat exactly. Writing
    the same values again would change nothing.
    """

    rows: int
    writes: bool
    draining: bool
    seed: int = FIRST_SEED
    used: int = 0

    def next_seed(self) -> int:
        """The seed of the next run."""
        self.seed += self.writes
        return self.seed

    def take(self, events: int) -> int:
        """Reserve rows for a run; returns how many earlier runs took. Raises UserError if too few are left."""
        first = self.used
        if self.draining:
            self.used += events
            if self.used > self.rows:
                raise UserError(
                    f"the test removes {self.used} rows and the table has {self.rows}",
                    "set more rows, fewer queries or fewer warm-queries",
                )
        return first


def _whole(parameters: Mapping[str, str], name: str) -> int:
    text = parameters[name]
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UserError(f"{name} is a whole number from 1 on, not {text!r}", f"for instance --set {name}=1")
    return int(text)


def _one_of(parameters: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    if parameters[name] not in words:
        raise UserError(f"{name} is one of {', '.join(words)}, not {parameters[name]!r}")
    return parameters[name]


def events_for(queries: int, queries_per_event: int) -> int:
    """How many events make about so many queries; one at least."""
    return max(1, queries // queries_per_event)
