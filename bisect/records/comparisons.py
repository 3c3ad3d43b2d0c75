"""All comparisons of one home directory: what they ask, the state each is really in, and their probes."""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cpubisect.base.errors import Missing
from cpubisect.base.home import Home
from cpubisect.base.plain import plain
from cpubisect.records.database import equal, insert, listed, update
from cpubisect.records.lifecycle import Lifecycle
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import Host
from cpubisect.records.schema import OF_COMPARISONS
from cpubisect.records.store import LARGEST_ID, Store
from cpubisect.search.comparing.question import Asked


@dataclass(frozen=True)
class ComparisonRow:
    """A comparison as stored; times are epoch seconds, `owner` identifies the process that measures it, if any."""

    id: int
    created: float
    finished: float | None
    state: str
    engine: str
    asked: Asked
    host: Host
    owner: Mapping[str, float] | None
    counter: str | None


@dataclass(frozen=True)
class Probed:
    """A probe of a comparison without its profile: the commit `sha`, with so many `clients`; `error` says why it
    failed, `values` maps metrics to its samples, `note` is what must be known of them."""

    id: int
    sha: str
    test: str
    clients: int
    purpose: Purpose
    seconds: float
    error: str | None
    values: Mapping[str, tuple[float, ...]]
    note: str


_ROW = "id, created, finished, state, engine, asked, host, owner, counter"


class Comparisons(Lifecycle):
    """Records comparisons; who measures one holds its lock. `store` has their builds, probes and journals."""

    kind = "comparison"
    worked_on = "measured"
    shown = "`bisect compare --show {}` shows what it has so far"
    lock_name = "comparison-{}.lock"

    def __init__(self, home: Home, store: Store) -> None:
        self.home = home
        self.store = store

    @classmethod
    def of(cls, home: Home) -> "Comparisons":
        """Those of a home directory; raises UserError if its store cannot be used."""
        return cls(home, Store(home.store, OF_COMPARISONS))

    @classmethod
    def open(cls) -> "Comparisons":
        """Those of the user's home directory; raises UserError if it cannot be used."""
        return cls.of(Home.open())

    def add(self, asked: Asked, host: Host, *, queued: bool = False) -> int:
        """Record a new comparison, to be measured by the caller or, if `queued`, by a worker, and return its id."""
        row = {
            "created": time.time(),
            "state": "queued" if queued else "running",
            "engine": asked.engine,
            "asked": asked.to_json(),
            "host": dict(host),
        }
        with self.store.writing() as connection:
            return insert(connection, "comparisons", row)

    def row(self, number: int) -> ComparisonRow:
        """One comparison; raises Missing if there is none with that id."""
        known = abs(number) <= LARGEST_ID
        rows = self.store.read(f"SELECT {_ROW} FROM comparisons WHERE id = ?", number) if known else []
        if not rows:
            raise Missing(f"there is no comparison {number}", "`bisect compare --list` shows them all")
        return _read(rows[0])

    def all(self, skipped: int = 0, most: int = LARGEST_ID) -> list[ComparisonRow]:
        """The comparisons, the newest first: so many at `most` after those `skipped`."""
        query = f"SELECT {_ROW} FROM comparisons ORDER BY id DESC LIMIT ? OFFSET ?"
        return [_read(row) for row in self.store.read(query, most, skipped)]

    def count(self) -> int:
        """How many comparisons there are."""
        return int(self.store.read("SELECT count(*) AS total FROM comparisons")[0]["total"])

    def newest(self) -> int | None:
        """The newest comparison's id, None if there is none."""
        return next((row["id"] for row in self.store.read("SELECT max(id) AS id FROM comparisons")), None)

    def newest_event(self, comparison: int) -> int:
        """The id of the newest event in a comparison's journal, 0 if there is none."""
        rows = self.store.read("SELECT max(id) AS id FROM comparison_events WHERE comparison = ?", comparison)
        return rows[0]["id"] or 0

    def queued(self) -> list[int]:
        """Comparisons that wait for a worker, the oldest first."""
        rows = self.store.read("SELECT id FROM comparisons WHERE state = 'queued' ORDER BY id")
        return [row["id"] for row in rows]

    def update(self, comparison: int, **values: Any) -> None:
        """Set columns of one comparison, to dataclasses or to plain data."""
        with self.store.writing() as connection:
            update(connection, "comparisons", plain(values), "id = ?", comparison)

    def change_state(self, number: int, among: Sequence[str], state: str, **values: Any) -> bool:
        """Set the state, and other columns, of a comparison whose state is one of some; False, unchanged, if not."""
        condition = "id = ? AND state IN (SELECT value FROM json_each(?))"
        with self.store.writing() as connection:
            row = {"state": state, **values}
            return update(connection, "comparisons", row, condition, number, listed(among)) > 0

    def probes(self, comparison: int, test: str | None = None) -> list[Probed]:
        """The probes of a comparison in the order they were made; of one test, if it is given."""
        condition, parameters = equal({"probes.comparison": comparison, "probes.test": test})
        rows = self.store.read(
            f"""
            SELECT probes.id, builds.sha, probes.test, json_extract(probes.parameters, '$.clients') AS clients,
                probes.purpose, probes.seconds, probes.error, probes.note
            FROM comparison_probes AS probes JOIN builds ON builds.id = probes.build
            WHERE {condition} ORDER BY probes.id
            """,
            *parameters,
        )
        values = self.store.values(condition, *parameters)
        return [
            Probed(
                id=row["id"],
                sha=row["sha"],
                test=row["test"],
                clients=int(row["clients"] or 1),
                purpose=Purpose.of(row["purpose"]),
                seconds=row["seconds"],
                error=row["error"],
                values=values.get(row["id"], {}),
                note=row["note"],
            )
            for row in rows
        ]


def _read(row: sqlite3.Row) -> ComparisonRow:
    return ComparisonRow(**{**row, "asked": Asked.from_json(row["asked"])})
