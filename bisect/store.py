"""The record of every bisection in one SQLite file (WAL); all writes go through here, each in its own transaction."""

import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, create_engine, delete, event, func, insert, or_, select, update
from sqlalchemy.exc import DBAPIError

from cpubisect import schema
from cpubisect.builders.build import BuildResult
from cpubisect.costs import CallGraph
from cpubisect.errors import Missing, UserError
from cpubisect.packing import pack, pack_calls, unpack, unpack_calls
from cpubisect.workloads.probe import Samples

Json = dict[str, Any]

LARGEST_ID = 2**63 - 1
"""SQLite's integers end here."""


@dataclass(frozen=True)
class BuildRow:
    """A finished build as stored; `artifact` is its digest, None unless built; else as in BuildResult."""

    id: int
    sha: str
    outcome: str
    artifact: str | None
    first_error: str
    cpu_seconds: float
    wall_seconds: float
    cache_hits: int
    cache_misses: int
    log: str
    diff: str
    recipe_key: str
    recipe: Json
    repairs: list[Json]
    compiled: list[str]
    code: str

    @property
    def same_as(self) -> str:
        """What the code is known by: its digest, or that of the whole artifact where only that is known."""
        return self.code or self.artifact or ""


@dataclass(frozen=True)
class ProbeRow:
    """A finished probe as stored; `error` says why it failed, `profile` maps functions to instructions/query (self
    cost), `attributed` likewise with what libraries did for them (empty in stores of before that was kept); `started`
    is in epoch seconds."""

    id: int
    build: int
    test: str
    purpose: str
    seconds: float
    error: str | None
    values: Mapping[str, tuple[float, ...]]
    profile: Mapping[str, float]
    variables: Mapping[str, str]
    commands: tuple[str, ...]
    started: float
    attributed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SuspectRow:
    """A candidate's place in the ranking of a path: `position` is its number there, `weight` its prior weight, and
    `because` maps each reason to the part of the weight that it stands for."""

    position: int
    sha: str
    weight: float
    because: Mapping[str, float]


@dataclass(frozen=True)
class ProbedBuild:
    """A commit whose build was probed, and what its code is known by: equal `code`, equal behaviour."""

    sha: str
    code: str


@dataclass(frozen=True)
class BisectionRow:
    """A bisection as stored; times are epoch seconds, `owner` identifies the process that runs it, if any."""

    id: int
    created: float
    finished: float | None
    state: str
    engine: str
    question: Json
    host: Json
    owner: Json | None
    counter: str | None
    regime: str | None
    verdict: Json | None


class Store:
    """One connection pool to the file; any number of readers, and one writer at a time (SQLite's own lock)."""

    def __init__(self, path: Path) -> None:
        """Open and migrate; raises UserError if the file cannot be used."""
        self.path = path
        self._lock = threading.Lock()
        self._engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": 60})
        event.listen(self._engine, "connect", _configure)
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                schema.migrate(connection)
                connection.commit()
        except (DBAPIError, ValueError) as error:
            raise UserError(
                f"cannot use the store {path} ({_reason(error)})",
                "move the file away, or set CPUBISECT_HOME elsewhere",
            ) from error

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._lock, self._engine.connect() as connection:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.commit()
            except DBAPIError as error:
                raise UserError(
                    f"cannot write to the store {self.path} ({_reason(error)})",
                    "free space there and run `bisect resume`; everything finished before is kept",
                ) from error

    def read(self, statement: Any) -> Sequence[Row[*tuple[Any, ...]]]:
        """The rows of a SELECT over `schema`'s tables."""
        with self._engine.connect() as connection:
            return connection.execute(statement).fetchall()

    def create_bisection(self, engine: str, question: Json, host: Json, state: str = "running") -> int:
        """Add a bisection and return its id."""
        with self._write() as connection:
            values = {
                "created": time.time(),
                "state": state,
                "engine": engine,
                "question": question,
                "host": host,
            }
            result = connection.execute(insert(schema.bisections).values(values))
            return int(result.inserted_primary_key[0]) if result.inserted_primary_key else 0

    def update_bisection(self, bisection: int, **values: Any) -> None:
        """Set columns of one bisection."""
        with self._write() as connection:
            connection.execute(update(schema.bisections).where(schema.bisections.c.id == bisection).values(**values))

    def change_state(self, bisection: int, among: Sequence[str], state: str, **values: Any) -> bool:
        """Set the state, and other columns, of a bisection whose state is one of some; False, and no change, if not."""
        table = schema.bisections
        asked = (table.c.id == bisection) & table.c.state.in_(list(among))
        with self._write() as connection:
            return connection.execute(update(table).where(asked).values(state=state, **values)).rowcount > 0

    def bisection(self, bisection: int) -> BisectionRow:
        """One bisection; raises Missing if there is none with that id."""
        known = abs(bisection) <= LARGEST_ID
        rows = self.read(select(schema.bisections).where(schema.bisections.c.id == bisection)) if known else []
        if not rows:
            raise Missing(f"there is no bisection {bisection}", "`bisect list` shows them all")
        return BisectionRow(**rows[0]._mapping)

    def bisections(self) -> list[BisectionRow]:
        """All bisections, newest first."""
        rows = self.read(select(schema.bisections).order_by(schema.bisections.c.id.desc()))
        return [BisectionRow(**row._mapping) for row in rows]

    def set_candidates(self, bisection: int, path: str, rows: Sequence[tuple[str, str, str]]) -> None:
        """Record a path of candidates, oldest first, as (sha, sha it shares its binary with, subject)."""
        table = schema.candidates
        with self._write() as connection:
            connection.execute(delete(table).where(table.c.bisection == bisection, table.c.path == path))
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
            if values:
                connection.execute(insert(table), values)

    def candidates(self, bisection: int, path: str | None = None) -> list[tuple[str, int, str, str, str]]:
        """Recorded candidates as (path, position, sha, sha it shares its binary with, subject)."""
        table = schema.candidates
        query = select(table.c.path, table.c.position, table.c.sha, table.c.same_binary_as, table.c.subject)
        query = query.where(table.c.bisection == bisection).order_by(table.c.path, table.c.position)
        if path is not None:
            query = query.where(table.c.path == path)
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self.read(query)]

    def set_suspects(self, bisection: int, path: str, rows: Sequence[SuspectRow]) -> None:
        """Record the ranking of a path, in place of an earlier one."""
        table = schema.suspects
        with self._write() as connection:
            connection.execute(delete(table).where(table.c.bisection == bisection, table.c.path == path))
            if rows:
                connection.execute(
                    insert(table), [{"bisection": bisection, "path": path, **asdict(row)} for row in rows]
                )

    def suspects(self, bisection: int, path: str, limit: int | None = None) -> list[SuspectRow]:
        """The ranking of a path, or its first few, the strongest suspect first; among equals in the path's order."""
        table = schema.suspects
        query = select(table.c.position, table.c.sha, table.c.weight, table.c.because)
        query = query.where(table.c.bisection == bisection, table.c.path == path)
        return [
            SuspectRow(**row._mapping)
            for row in self.read(query.order_by(table.c.weight.desc(), table.c.position).limit(limit))
        ]

    def add_build(self, bisection: int, result: BuildResult, artifact: str | None, started: float) -> BuildRow:
        """Record a finished build, made for this bisection."""
        values = {
            "recipe_key": result.recipe.key(),
            "engine": result.recipe.engine,
            "sha": result.recipe.commit,
            "started": started,
            "recipe": asdict(result.recipe),
            "outcome": result.outcome.value,
            "artifact": artifact,
            "first_error": result.first_error,
            "repairs": [asdict(repair) for repair in result.repairs],
            "diff": result.diff,
            "cpu_seconds": result.cpu_seconds,
            "wall_seconds": result.wall_seconds,
            "cache_hits": result.cache_hits,
            "cache_misses": result.cache_misses,
            "compiled": list(result.compiled),
            "log": str(result.log),
            "code": result.code,
        }
        with self._write() as connection:
            inserted = connection.execute(insert(schema.builds).values(values)).inserted_primary_key
            build = int(inserted[0]) if inserted else 0
            connection.execute(insert(schema.uses).values(bisection=bisection, build=build, made=1))
        return self._build_rows(schema.builds.c.id == build)[0]

    def use_build(self, bisection: int, build: int) -> None:
        """Record that a bisection uses a build that was there before."""
        with self._write() as connection:
            statement = insert(schema.uses).prefix_with("OR IGNORE")
            connection.execute(statement.values(bisection=bisection, build=build, made=0))

    def builds_of_recipe(self, recipe_key: str) -> list[BuildRow]:
        """Finished builds of a recipe, newest first."""
        return self._build_rows(schema.builds.c.recipe_key == recipe_key)

    def artifacts_of(self, engine: str, shas: Sequence[str]) -> list[tuple[str, str, str]]:
        """Successful builds of some commits, from any bisection, as (sha, recipe key, artifact)."""
        table = schema.builds
        query = select(table.c.sha, table.c.recipe_key, table.c.artifact).where(
            table.c.engine == engine, table.c.artifact.is_not(None), table.c.sha.in_(list(shas))
        )
        return [(row[0], row[1], row[2]) for row in self.read(query.distinct())]

    def builds(
        self, bisection: int, shas: Collection[str] | None = None, build: int | None = None
    ) -> list[tuple[BuildRow, bool]]:
        """Builds a bisection used, of some commits or just one, if given, in order, and whether it made them itself."""
        made = {
            row[0]: bool(row[1])
            for row in self.read(
                select(schema.uses.c.build, schema.uses.c.made).where(schema.uses.c.bisection == bisection)
            )
        }
        wanted: list[Any] = [schema.builds.c.id.in_(list(made))]
        if shas is not None:
            wanted.append(schema.builds.c.sha.in_(list(shas)))
        if build is not None:
            wanted.append(schema.builds.c.id == build)
        rows = self._build_rows(*wanted)
        return [(row, made[row.id]) for row in reversed(rows)]

    def _build_rows(self, *wanted: Any) -> list[BuildRow]:
        columns = [schema.builds.c[name] for name in BuildRow.__dataclass_fields__]
        rows = self.read(select(*columns).where(*wanted).order_by(schema.builds.c.id.desc()))
        return [BuildRow(**row._mapping) for row in rows]

    def add_probe(
        self,
        bisection: int,
        build: int,
        purpose: str,
        test: str,
        parameters: Mapping[str, str],
        started: float,
        result: Samples | None,
        *,
        seconds: float,
        counter: str,
        error: str | None = None,
    ) -> None:
        """Record a finished probe with all its samples, or why it failed, at once."""
        values = {
            "bisection": bisection,
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
        }
        with self._write() as connection:
            inserted = connection.execute(insert(schema.probes).values(values)).inserted_primary_key
            probe = int(inserted[0]) if inserted else 0
            rows = [
                {"probe": probe, "metric": metric, "number": number, "value": value}
                for metric, numbers in (result.values if result else {}).items()
                for number, value in enumerate(numbers)
            ]
            if rows:
                connection.execute(insert(schema.samples), rows)

    def probes(
        self,
        bisection: int,
        build: int | None = None,
        purpose: str | None = None,
        test: str | None = None,
        probe: int | None = None,
    ) -> list[ProbeRow]:
        """Finished probes in the order they were made; of one build, purpose or test, or just one, if given."""
        table = schema.probes
        given = {"id": probe, "build": build, "purpose": purpose, "test": test}
        wanted = [
            table.c.bisection == bisection,
            *(table.c[name] == one for name, one in given.items() if one is not None),
        ]
        columns = [column for column in table.c if column is not table.c.calls]
        rows = self.read(select(*columns).where(*wanted).order_by(table.c.id))
        values = self.values(*wanted)
        return [
            ProbeRow(
                id=row.id,
                build=row.build,
                test=row.test,
                purpose=row.purpose,
                seconds=row.seconds,
                error=row.error,
                values=values.get(row.id, {}),
                profile=unpack(row.profile) if row.profile else {},
                variables=row.variables,
                commands=tuple(row.commands),
                started=row.started,
                attributed=unpack(row.attributed) if row.attributed else {},
            )
            for row in rows
        ]

    def variables(self, bisection: int, sha: str, test: str, purposes: Sequence[str]) -> dict[str, str]:
        """The variables that a commit's server had in the first probe of a test for a purpose that begins with one of
        these; empty if none told."""
        probes = schema.probes
        query = (
            select(probes.c.variables)
            .join(schema.builds, schema.builds.c.id == probes.c.build)
            .where(
                probes.c.bisection == bisection,
                schema.builds.c.sha == sha,
                probes.c.test == test,
                probes.c.error.is_(None),
                or_(*(probes.c.purpose.startswith(purpose, autoescape=True) for purpose in purposes)),
            )
        )
        rows = self.read(query.order_by(probes.c.id).limit(1))
        return dict(rows[0][0]) if rows else {}

    def values(self, *wanted: Any) -> dict[int, dict[str, tuple[float, ...]]]:
        """By probe and metric, the samples of those probes that fulfil conditions on `schema`'s probes and samples."""
        probes, samples = schema.probes, schema.samples
        query = (
            select(samples.c.probe, samples.c.metric, samples.c.value)
            .join(probes, probes.c.id == samples.c.probe)
            .where(*wanted)
            .order_by(samples.c.probe, samples.c.metric, samples.c.number)
        )
        found: dict[int, dict[str, tuple[float, ...]]] = {}
        for probe, metric, value in self.read(query):
            of_probe = found.setdefault(probe, {})
            of_probe[metric] = (*of_probe.get(metric, ()), value)
        return found

    def calls(self, bisection: int, sha: str, purpose: str, test: str) -> CallGraph | None:
        """The newest call graph of a commit that a probe for this purpose and test left; None if none did: they failed,
        were made before calls were kept, or counted without callgrind."""
        builds, probes = schema.builds, schema.probes
        query = (
            select(probes.c.profile, probes.c.calls)
            .join(builds, builds.c.id == probes.c.build)
            .where(probes.c.bisection == bisection, builds.c.sha == sha)
            .where(probes.c.purpose == purpose, probes.c.test == test)
            .where(probes.c.error.is_(None), probes.c.calls.is_not(None))
            .order_by(probes.c.id.desc())
            .limit(1)
        )
        rows = self.read(query)
        return CallGraph(unpack(rows[0].profile), unpack_calls(rows[0].calls)) if rows else None

    def probed(self, bisection: int) -> list[ProbedBuild]:
        """The builds of a bisection that could be probed, the one that was probed first before the others."""
        builds, probes = schema.builds, schema.probes
        query = (
            select(builds.c.sha, builds.c.code, builds.c.artifact)
            .join(probes, probes.c.build == builds.c.id)
            .where(probes.c.bisection == bisection, probes.c.error.is_(None))
            .group_by(builds.c.id)
            .order_by(func.min(probes.c.id))
        )
        return [ProbedBuild(row.sha, row.code or row.artifact or "") for row in self.read(query)]

    def probe_count(self, bisection: int) -> tuple[int, float]:
        """Probes made for a bisection, and their wall seconds."""
        table = schema.probes
        row = self.read(
            select(func.count(), func.coalesce(func.sum(table.c.seconds), 0.0)).where(table.c.bisection == bisection)
        )[0]
        return int(row[0]), float(row[1])

    def add_event(self, bisection: int, kind: str, data: Json) -> None:
        """Append to a bisection's journal."""
        with self._write() as connection:
            connection.execute(insert(schema.events).values(bisection=bisection, at=time.time(), kind=kind, data=data))

    def events(
        self, bisection: int, after: int = 0, kinds: Sequence[str] | None = None
    ) -> list[tuple[int, float, str, Json]]:
        """The journal from an event id on, as (id, epoch seconds, kind, data); only some kinds where they are given."""
        table = schema.events
        query = select(table.c.id, table.c.at, table.c.kind, table.c.data).where(
            table.c.bisection == bisection, table.c.id > after
        )
        if kinds is not None:
            query = query.where(table.c.kind.in_(list(kinds)))
        return [(row[0], row[1], row[2], row[3]) for row in self.read(query.order_by(table.c.id))]

    def artifacts_in_use(self) -> set[str]:
        """Digests that unfinished bisections still need."""
        query = (
            select(schema.builds.c.artifact)
            .join(schema.uses, schema.uses.c.build == schema.builds.c.id)
            .join(schema.bisections, schema.bisections.c.id == schema.uses.c.bisection)
            .where(
                schema.bisections.c.state.in_(("queued", "running", "interrupted", "cancelled")),
                schema.builds.c.artifact.is_not(None),
            )
        )
        return {row[0] for row in self.read(query)}


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "busy_timeout = 60000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _reason(error: Exception) -> str:
    return str(error.orig) if isinstance(error, DBAPIError) else str(error)
