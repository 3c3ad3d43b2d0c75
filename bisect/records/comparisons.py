"""All comparisons of one home directory: what they ask, the state each is really in, and their probes."""

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cpubisect.base.errors import Missing, UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import hold, is_held
from cpubisect.base.plain import plain
from cpubisect.records.database import insert, listed, update
from cpubisect.records.purpose import Purpose
from cpubisect.records.schema import OF_COMPARISONS
from cpubisect.records.store import LARGEST_ID, Host, Store
from cpubisect.search.comparing.question import Asked

UNFINISHED = ("queued", "running", "interrupted")
RESUMABLE = (*UNFINISHED, "cancelled")


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


class Comparisons:
    """Records comparisons; who measures one holds its lock. `store` has their builds, probes and journals."""

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

    def row(self, comparison: int) -> ComparisonRow:
        """One comparison; raises Missing if there is none with that id."""
        known = abs(comparison) <= LARGEST_ID
        rows = self.store.read(f"SELECT {_ROW} FROM comparisons WHERE id = ?", comparison) if known else []
        if not rows:
            raise Missing(f"there is no comparison {comparison}", "`bisect compare --list` shows them all")
        return _read(rows[0])

    def all(self) -> list[ComparisonRow]:
        """All comparisons, the newest first."""
        return [_read(row) for row in self.store.read(f"SELECT {_ROW} FROM comparisons ORDER BY id DESC")]

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

    def change_state(self, comparison: int, among: Sequence[str], state: str, **values: Any) -> bool:
        """Set the state, and other columns, of a comparison whose state is one of some; False, unchanged, if not."""
        condition = "id = ? AND state IN (SELECT value FROM json_each(?))"
        with self.store.writing() as connection:
            row = {"state": state, **values}
            return update(connection, "comparisons", row, condition, comparison, listed(among)) > 0

    def cancel(self, comparison: int) -> None:
        """End a comparison; a process that measures it stops. Raises UserError if it is finished already."""
        self.row(comparison)
        changed = self.change_state(comparison, UNFINISHED, "cancelled")
        row = self.row(comparison)
        if not changed:
            raise UserError(f"comparison {comparison} is {row.state}", "only an unfinished one can be cancelled")
        if self.is_running(comparison) and row.owner:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(row.owner["pid"]), signal.SIGTERM)

    def enqueue(self, comparison: int) -> None:
        """Have a worker go on with a comparison; raises UserError if it is finished, queued already, or running."""
        row = self.row(comparison)
        state = self.state(row)
        if row.state == "cancelled" and self.is_running(comparison):
            raise UserError(f"comparison {comparison} is still stopping", "resume it again in a moment")
        if state not in ("interrupted", "cancelled") or not self.change_state(
            comparison, (row.state,), "queued", owner=None
        ):
            raise UserError(f"comparison {comparison} is {state}", "only an interrupted or cancelled one is resumed")

    def state(self, row: ComparisonRow) -> str:
        """The state as it really is: `running` in the store without a living process is `interrupted`."""
        return "interrupted" if row.state == "running" and not self.is_running(row.id) else row.state

    def is_running(self, comparison: int) -> bool:
        """True if a process holds this comparison's lock."""
        return is_held(self._lock(comparison))

    def alone(self, comparison: int) -> AbstractContextManager[None]:
        """Held by the process that measures a comparison; entering raises UserError if another one holds it."""
        refusal = UserError(
            f"comparison {comparison} is being measured by another process",
            f"`bisect compare --show {comparison}` shows what it has so far",
        )
        return hold(self._lock(comparison), refusal)

    def _lock(self, comparison: int) -> Path:
        return self.home.running / f"comparison-{comparison}.lock"

    def probes(self, comparison: int) -> list[Probed]:
        """The probes of a comparison in the order they were made."""
        rows = self.store.read(
            """
            SELECT probes.id, builds.sha, probes.test, json_extract(probes.parameters, '$.clients') AS clients,
                probes.purpose, probes.seconds, probes.error, probes.note
            FROM comparison_probes AS probes JOIN builds ON builds.id = probes.build
            WHERE probes.comparison = ? ORDER BY probes.id
            """,
            comparison,
        )
        values = self.store.values("probes.comparison = ?", comparison)
        return [
            Probed(
                **{
                    **row,
                    "clients": int(row["clients"] or 1),
                    "purpose": Purpose.of(row["purpose"]),
                    "values": values.get(row["id"], {}),
                }
            )
            for row in rows
        ]


def _read(row: sqlite3.Row) -> ComparisonRow:
    return ComparisonRow(**{**row, "asked": Asked.from_json(row["asked"])})
