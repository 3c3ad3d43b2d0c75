"""The record of every bisection in one SQLite file (WAL); all writes go through here, each in its own transaction."""

import math
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from cpubisect.base.errors import Missing
from cpubisect.base.objects import ObjectFile
from cpubisect.base.plain import plain
from cpubisect.records.database import Database, equal, insert, insert_all, listed, unfit, update
from cpubisect.records.packing import pack, pack_calls, pack_objects, unpack, unpack_calls, unpack_objects
from cpubisect.records.purpose import AS_ASKED, Purpose
from cpubisect.records.results import FinishedBuild, FinishedProbe
from cpubisect.records.rows import (
    BISECTION_COLUMNS,
    BUILD_COLUMNS,
    BisectionRow,
    BuildRow,
    Host,
    ProbedBuild,
    ProbeRow,
    SuspectRow,
)
from cpubisect.records.schema import OF_BISECTIONS, VARIANT, Tables
from cpubisect.search import events
from cpubisect.search.costs import CallGraph
from cpubisect.search.events import AnEvent, Entry, Event
from cpubisect.search.question import Question

LARGEST_ID = 2**63 - 1
"""SQLite's integers end here."""


class Store(Database):
    """What is known of all bisections, in one file; or of all comparisons, whose builds, probes and journals the same
    methods write and read, in `tables` of their own."""

    def __init__(self, path: Path, tables: Tables = OF_BISECTIONS) -> None:
        """Open and migrate; raises UserError if the file cannot be used."""
        super().__init__(path)
        self._of = tables

    def create_bisection(self, question: Question, host: Host, state: str = "running") -> int:
        """Add a bisection and return its id."""
        row = {
            "created": time.time(),
            "state": state,
            "engine": question.engine,
            "question": question.to_json(),
            "host": dict(host),
        }
        with self.writing() as connection:
            return insert(connection, "bisections", row)

    def update_bisection(self, bisection: int, **values: Any) -> None:
        """Set columns of one bisection, to dataclasses or to plain data."""
        with self.writing() as connection:
            update(connection, "bisections", plain(values), "id = ?", bisection)

    def change_state(self, bisection: int, among: Sequence[str], state: str, **values: Any) -> bool:
        """Set the state, and other columns, of a bisection whose state is one of some; False, and no change, if not."""
        condition = "id = ? AND state IN (SELECT value FROM json_each(?))"
        with self.writing() as connection:
            row = {"state": state, **values}
            return update(connection, "bisections", row, condition, bisection, listed(among)) > 0

    def bisection(self, bisection: int) -> BisectionRow:
        """One bisection; raises Missing if there is none with that id."""
        known = abs(bisection) <= LARGEST_ID
        rows = self.read(f"SELECT {BISECTION_COLUMNS} FROM bisections WHERE id = ?", bisection) if known else []
        if not rows:
            raise Missing(f"there is no bisection {bisection}", "`bisect list` shows them all")
        return BisectionRow.read(rows[0])

    def set_candidates(self, bisection: int, path: str, rows: Sequence[tuple[str, str, str]]) -> None:
        """Record a path of candidates, oldest first, as (sha, sha it shares its binary with, subject)."""
        values = [
            {
                "bisection": bisection,
                "path": path,
                "position": n,
                "sha": sha,
                "same_binary_as": same,
                "subject": text,
            }
            for n, (sha, same, text) in enumerate(rows)
        ]
        with self.writing() as connection:
            connection.execute("DELETE FROM candidates WHERE bisection = ? AND path = ?", (bisection, path))
            insert_all(connection, "candidates", values)

    def candidates(self, bisection: int, path: str | None = None) -> list[tuple[str, int, str, str, str]]:
        """Recorded candidates as (path, position, sha, sha it shares its binary with, subject)."""
        condition, parameters = equal({"bisection": bisection, "path": path})
        rows = self.read(
            "SELECT path, position, sha, same_binary_as, subject FROM candidates "
            f"WHERE {condition} ORDER BY path, position",
            *parameters,
        )
        return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]

    def set_suspects(self, bisection: int, path: str, rows: Sequence[SuspectRow]) -> None:
        """Record the ranking of a path, in place of an earlier one."""
        with self.writing() as connection:
            connection.execute("DELETE FROM suspects WHERE bisection = ? AND path = ?", (bisection, path))
            insert_all(connection, "suspects", [{"bisection": bisection, "path": path, **asdict(row)} for row in rows])

    def suspects(self, bisection: int, path: str, limit: int | None = None) -> list[SuspectRow]:
        """The ranking of a path, or its first few, the strongest suspect first; among equals in the path's order."""
        rows = self.read(
            "SELECT position, sha, weight, because FROM suspects "
            "WHERE bisection = ? AND path = ? ORDER BY weight DESC, position LIMIT ?",
            bisection,
            path,
            -1 if limit is None else limit,
        )
        return [SuspectRow(**row) for row in rows]

    def add_build(self, bisection: int, result: FinishedBuild, artifact: str | None, started: float) -> BuildRow:
        """Record a finished build, made for this bisection."""
        values = {
            "recipe_key": result.recipe.key(),
            "engine": result.recipe.engine,
            "sha": result.recipe.commit,
            "started": started,
            "recipe": asdict(result.recipe),
            "outcome": str(result.outcome),
            "artifact": artifact,
            "first_error": result.first_error,
            "repairs": [asdict(repair) for repair in result.repairs],
            "diff": result.diff,
            "cpu_seconds": result.cpu_seconds,
            "wall_seconds": result.wall_seconds,
            "cache_hits": result.cache_hits,
            "cache_misses": result.cache_misses,
            "compiled": list(result.compiled),
            "objects": pack_objects(result.objects) if result.objects else None,
            "log": str(result.log),
            "code": result.code,
            "sandbox": str(result.sandbox),
            "origin": result.origin,
        }
        with self.writing() as connection:
            build = insert(connection, "builds", values)
            insert(connection, self._of.uses, {self._of.owner: bisection, "build": build, "made": 1})
        (row,) = self.read(f"SELECT {BUILD_COLUMNS} FROM builds WHERE id = ?", build)
        return BuildRow.read(row)

    def put_back(self, build: int, artifact: str) -> None:
        """Record the artifact of a build that was made once more, with the same code: its probes stay its own."""
        with self.writing() as connection:
            update(connection, "builds", {"artifact": artifact}, "id = ?", build)

    def use_build(self, bisection: int, build: int) -> None:
        """Record that a bisection uses a build that was there before."""
        with self.writing() as connection:
            connection.execute(
                f"INSERT OR IGNORE INTO {self._of.uses} ({self._of.owner}, build, made) VALUES (?, ?, 0)",
                (bisection, build),
            )

    def builds_of_recipe(self, bisection: int, recipe_key: str, origin: str) -> list[BuildRow]:
        """Finished builds of a recipe that a bisection of the clone `origin` may use, newest first."""
        rows = self.read(
            f"SELECT {BUILD_COLUMNS} FROM builds WHERE recipe_key = ? AND {self._usable} ORDER BY id DESC",
            recipe_key,
            origin,
            bisection,
        )
        return [BuildRow.read(row) for row in rows]

    def artifacts_of(self, bisection: int, engine: str, shas: Sequence[str], origin: str) -> list[tuple[str, str, str]]:
        """Successful builds of some commits that a bisection of the clone `origin` may use, whichever made them, as
        (sha, recipe key, artifact)."""
        rows = self.read(
            "SELECT DISTINCT sha, recipe_key, artifact FROM builds WHERE engine = ? AND artifact IS NOT NULL "
            f"AND sha IN (SELECT value FROM json_each(?)) AND {self._usable}",
            engine,
            listed(shas),
            origin,
            bisection,
        )
        return [(row[0], row[1], row[2]) for row in rows]

    @property
    def _usable(self) -> str:
        """The condition, with two parameters, that a build was made from a clone or, if nobody knows from which, for
        whoever asks: what builds of one clone write is not read by another's."""
        made = f"SELECT build FROM {self._of.uses} WHERE {self._of.owner} = ? AND made"
        return f"CASE origin WHEN ? THEN 1 WHEN '' THEN builds.id IN ({made}) ELSE 0 END"

    def builds(
        self, bisection: int, shas: Collection[str] | None = None, build: int | None = None
    ) -> list[tuple[BuildRow, bool]]:
        """Builds a bisection used, of some commits or just one, if given, and whether it made them itself: in order,
        ordinary ones after those of other kinds, as they tell where a commit has both."""
        condition, parameters = equal({f"uses.{self._of.owner}": bisection, "builds.id": build})
        if shas is not None:
            condition += " AND builds.sha IN (SELECT value FROM json_each(?))"
            parameters.append(listed(shas))
        rows = self.read(
            f"SELECT {BUILD_COLUMNS}, uses.made FROM builds JOIN {self._of.uses} AS uses ON uses.build = builds.id "
            f"WHERE {condition} ORDER BY builds.id",
            *parameters,
        )
        found = [(BuildRow.read(row), bool(row["made"])) for row in rows]
        return sorted(found, key=lambda one: not one[0].variant)

    def objects(self, build: int) -> dict[str, ObjectFile]:
        """What each object of a build was made from; empty if not known, as of builds from before it was kept."""
        rows = self.read("SELECT objects FROM builds WHERE id = ? AND objects IS NOT NULL", build)
        return unpack_objects(rows[0]["objects"]) if rows else {}

    def set_links(self, build: int, artifacts: Mapping[int, str]) -> None:
        """Record the artifacts of a build's redraws by their numbers, in place of earlier ones."""
        rows = [{"build": build, "link": link, "artifact": artifact} for link, artifact in artifacts.items()]
        with self.writing() as connection:
            numbers = listed(artifacts)
            connection.execute(
                "DELETE FROM links WHERE build = ? AND link IN (SELECT value FROM json_each(?))", (build, numbers)
            )
            insert_all(connection, "links", rows)

    def links(self, build: int) -> dict[int, str]:
        """The artifacts of a build's redraws by their numbers."""
        rows = self.read("SELECT link, artifact FROM links WHERE build = ?", build)
        return {row["link"]: row["artifact"] for row in rows}

    def add_probe(
        self,
        bisection: int,
        build: int,
        purpose: Purpose,
        test: str,
        parameters: Mapping[str, str],
        started: float,
        result: FinishedProbe | None,
        *,
        seconds: float,
        counter: str,
        error: str | None = None,
    ) -> None:
        """Record a finished probe with all its samples, or why it failed, at once."""
        values = {
            self._of.owner: bisection,
            "build": build,
            "purpose": purpose,
            "test": test,
            "parameters": dict(parameters),
            "counter": counter,
            "started": started,
            "seconds": seconds,
            "error": error,
            "profile": pack(result.profile) if result else None,
            "variables": dict(result.variables) if result else {},
            "commands": list(result.commands) if result else [],
            "attributed": pack(result.attributed) if result else None,
            "calls": pack_calls(result.calls) if result and result.calls else None,
            "note": result.note if result else "",
        }
        with self.writing() as connection:
            probe = insert(connection, self._of.probes, values)
            rows = [
                {"probe": probe, "metric": metric, "number": number, "value": value}
                for metric, numbers in (result.values if result else {}).items()
                for number, value in enumerate(numbers)
            ]
            insert_all(connection, self._of.samples, rows)

    def probes(
        self,
        bisection: int,
        build: int | None = None,
        purpose: Purpose | None = None,
        test: str | None = None,
        probe: int | None = None,
    ) -> list[ProbeRow]:
        """Finished probes in the order they were made; of one build, purpose or test, or just one, if given."""
        condition, parameters = equal(
            {
                f"probes.{self._of.owner}": bisection,
                "probes.id": probe,
                "probes.build": build,
                "probes.purpose": purpose,
                "probes.test": test,
            }
        )
        rows = self.read(
            "SELECT id, build, test, purpose, seconds, error, profile, variables, commands, started, attributed, note "
            f"FROM {self._of.probes} AS probes WHERE {condition} ORDER BY id",
            *parameters,
        )
        values = self.values(condition, *parameters)
        return [
            ProbeRow(
                **{
                    **row,
                    "purpose": Purpose.of(row["purpose"]),
                    "values": values.get(row["id"], {}),
                    "profile": unpack(row["profile"]) if row["profile"] else {},
                    "commands": tuple(row["commands"]),
                    "attributed": unpack(row["attributed"]) if row["attributed"] else {},
                }
            )
            for row in rows
        ]

    def variables(self, bisection: int, sha: str, test: str) -> dict[str, str]:
        """The variables that a commit's server had in the first probe of a test with the question's own settings; empty
        if none told."""
        rows = self.read(
            f"SELECT probes.variables FROM {self._of.probes} AS probes JOIN builds ON builds.id = probes.build "
            f"WHERE {self._as_asked} AND builds.sha = ? AND probes.test = ? ORDER BY probes.id LIMIT 1",
            bisection,
            listed(AS_ASKED),
            sha,
            test,
        )
        return dict(rows[0]["variables"]) if rows else {}

    def first_probes(self, bisection: int) -> dict[tuple[str, str], int]:
        """By commit and test, the first probe with the question's own settings; none where none worked."""
        rows = self.read(
            f"SELECT builds.sha, probes.test, min(probes.id) FROM {self._of.probes} AS probes "
            f"JOIN builds ON builds.id = probes.build WHERE {self._as_asked} GROUP BY builds.sha, probes.test",
            bisection,
            listed(AS_ASKED),
        )
        return {(sha, test): probe for sha, test, probe in rows}

    def variables_in(self, probe: int) -> dict[str, str]:
        """The variables that the server had in a probe; empty if it told none, and if there is no such probe."""
        rows = self.read(f"SELECT variables FROM {self._of.probes} WHERE id = ?", probe)
        return dict(rows[0]["variables"]) if rows else {}

    @property
    def _as_asked(self) -> str:
        """The condition, with two parameters, that a probe of whoever asks worked, with the question's own settings."""
        return (
            f"probes.{self._of.owner} = ? AND probes.error IS NULL "
            "AND EXISTS (SELECT 1 FROM json_each(?) WHERE substr(probes.purpose, 1, length(value)) = value)"
        )

    def values(
        self, condition: str, *parameters: Any, metrics: Sequence[str] = ()
    ) -> dict[int, dict[str, tuple[float, ...]]]:
        """By probe and metric, the samples of those probes that fulfil a condition on `schema`'s probes, of these
        metrics only, where they are given. Raises UserError as `read` does, and for what nobody can have measured."""
        # Samples are stored in this order: with a join SQLite would sort them anew.
        rows = self.each(
            f"SELECT probe, metric, value FROM {self._of.samples} "
            f"WHERE probe IN (SELECT probes.id FROM {self._of.probes} AS probes WHERE {condition})"
            f"{' AND metric IN (SELECT value FROM json_each(?))' if metrics else ''} ORDER BY probe, metric, number",
            *parameters,
            *([listed(metrics)] if metrics else []),
        )
        found: dict[int, dict[str, tuple[float, ...]]] = {}
        for (probe, metric), samples in groupby(rows, itemgetter(0, 1)):
            values = tuple([value for _, _, value in samples])
            if not all(map(math.isfinite, values)):
                impossible = next(value for value in values if not math.isfinite(value))
                problem = ValueError(f"a sample of probe {probe} is {impossible}")
                raise unfit(f"cannot read the store {self.path}", problem)
            found.setdefault(probe, {})[metric] = values
        return found

    def calls(self, bisection: int, sha: str, purpose: Purpose, test: str) -> CallGraph | None:
        """The newest call graph of a commit that a probe of an ordinary build, for this purpose and test, left; None if
        none did: they failed, were made before calls were kept, or counted without callgrind."""
        rows = self.read(
            f"SELECT probes.profile, probes.calls FROM {self._of.probes} AS probes "
            "JOIN builds ON builds.id = probes.build "
            f"WHERE probes.{self._of.owner} = ? AND builds.sha = ? AND probes.purpose = ? AND probes.test = ? "
            f"AND probes.error IS NULL AND probes.calls IS NOT NULL AND {VARIANT} = '' ORDER BY probes.id DESC LIMIT 1",
            bisection,
            sha,
            purpose,
            test,
        )
        return CallGraph(unpack(rows[0]["profile"]), unpack_calls(rows[0]["calls"])) if rows else None

    def probed(self, bisection: int) -> list[ProbedBuild]:
        """The builds of a bisection that could be probed, the one that was probed first before the others."""
        rows = self.read(
            f"SELECT builds.sha, builds.code, builds.artifact FROM builds JOIN {self._of.probes} AS probes "
            f"ON probes.build = builds.id WHERE probes.{self._of.owner} = ? AND probes.error IS NULL "
            "GROUP BY builds.id ORDER BY min(probes.id)",
            bisection,
        )
        return [ProbedBuild(sha, code or artifact or "") for sha, code, artifact in rows]

    def add_event(self, bisection: int, event: Event) -> None:
        """Append to a bisection's journal."""
        row = {self._of.owner: bisection, "at": time.time(), "kind": event.kind, "data": event.to_json()}
        with self.writing() as connection:
            insert(connection, self._of.events, row)

    def events(self, bisection: int, after: int = 0, kinds: Sequence[type[Event]] | None = None) -> list[Entry]:
        """The journal from an event id on; only some kinds where they are given."""
        condition, parameters = equal({self._of.owner: bisection})
        condition += " AND id > ?"
        parameters.append(after)
        if kinds is not None:
            condition += " AND kind IN (SELECT value FROM json_each(?))"
            parameters.append(listed(kind.kind for kind in kinds))
        rows = self.read(f"SELECT id, at, kind, data FROM {self._of.events} WHERE {condition} ORDER BY id", *parameters)
        return [entry_of(row) for row in rows]

    def last_events(self, bisection: int, limit: int) -> list[Entry]:
        """The last so many events of the journal, in order."""
        rows = self.read(
            f"SELECT id, at, kind, data FROM {self._of.events} WHERE {self._of.owner} = ? ORDER BY id DESC LIMIT ?",
            bisection,
            limit,
        )
        return [entry_of(row) for row in reversed(rows)]

    def told(self, bisection: int, kind: type[AnEvent]) -> list[AnEvent]:
        """All events of one kind in a bisection's journal, in order."""
        return [entry.event for entry in self.events(bisection, kinds=(kind,)) if isinstance(entry.event, kind)]

    def artifacts_in_use(self) -> set[str]:
        """Digests that unfinished bisections and comparisons still need, of redraws too."""
        rows = self.read(
            "WITH needed AS (SELECT uses.build FROM uses JOIN bisections ON bisections.id = uses.bisection "
            "WHERE bisections.state IN ('queued', 'running', 'interrupted', 'cancelled') "
            "UNION SELECT used.build FROM comparison_uses AS used JOIN comparisons ON comparisons.id = used.comparison "
            "WHERE comparisons.state IN ('queued', 'running', 'interrupted', 'cancelled')) "
            "SELECT artifact FROM builds WHERE id IN needed AND artifact IS NOT NULL "
            "UNION SELECT artifact FROM links WHERE build IN needed"
        )
        return {row["artifact"] for row in rows}


def entry_of(row: sqlite3.Row) -> Entry:
    """An event as it is in the journal, from its id, time, kind and data."""
    return Entry(row[0], row[1], events.read(row[2], row[3]))
