"""What pages and lists read from the store: only the columns that they show, so that they stay quick as it grows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from cpubisect import schema
from cpubisect.store import Store

Json = dict[str, Any]


@dataclass(frozen=True)
class Summary:
    """A bisection in one line: `kind` and `answer` are its verdict's; seconds are of builds made for it and of probes;
    `builds` and `probes` count all that it used; `created` and `finished` are epoch seconds."""

    id: int
    created: float
    finished: float | None
    state: str
    engine: str
    good: str
    bad: str
    test: str
    host: str
    kind: str | None
    answer: str
    builds: int
    build_seconds: float
    probes: int
    probe_seconds: float


@dataclass(frozen=True)
class ProbeLine:
    """A finished probe without its profile; `started` is in epoch seconds, `values` maps a metric to its samples."""

    id: int
    build: int
    sha: str
    test: str
    purpose: str
    started: float
    seconds: float
    error: str | None
    values: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class BuildLine:
    """A finished build without what it was compiled from; `made` says whether it was made for this bisection."""

    id: int
    sha: str
    started: float
    outcome: str
    first_error: str
    toolchain: str
    repairs: int
    cpu_seconds: float
    wall_seconds: float
    cache_hits: int
    cache_misses: int
    made: bool


def queued(store: Store) -> list[int]:
    """Bisections that wait for a worker, the one to be run first before the others."""
    table = schema.bisections
    return [row[0] for row in store.read(select(table.c.id).where(table.c.state == "queued").order_by(table.c.id))]


def count(store: Store) -> int:
    """How many bisections there are."""
    return int(store.read(select(func.count()).select_from(schema.bisections))[0][0])


def summaries(store: Store, limit: int, offset: int = 0, ids: Sequence[int] | None = None) -> list[Summary]:
    """Some bisections, newest first."""
    table = schema.bisections

    def told(column: Any, name: str) -> Any:
        return func.coalesce(func.json_extract(column, f"$.{name}"), "").label(name)

    query = select(
        table.c.id,
        table.c.created,
        table.c.finished,
        table.c.state,
        table.c.engine,
        *(told(table.c.question, name) for name in ("good", "bad", "test")),
        told(table.c.host, "cpu"),
        told(table.c.host, "cores"),
        told(table.c.verdict, "kind"),
        told(table.c.verdict, "summary"),
    )
    if ids is not None:
        query = query.where(table.c.id.in_(list(ids)))
    rows = store.read(query.order_by(table.c.id.desc()).limit(limit).offset(offset))
    shown = [row.id for row in rows]
    uses, builds, probes = schema.uses, schema.builds, schema.probes
    built = {
        row[0]: row[1:]
        for row in store.read(
            select(uses.c.bisection, func.count(), func.sum(uses.c.made * builds.c.wall_seconds))
            .join(builds, builds.c.id == uses.c.build)
            .where(uses.c.bisection.in_(shown))
            .group_by(uses.c.bisection)
        )
    }
    probed = {
        row[0]: row[1:]
        for row in store.read(
            select(probes.c.bisection, func.count(), func.sum(probes.c.seconds))
            .where(probes.c.bisection.in_(shown))
            .group_by(probes.c.bisection)
        )
    }
    return [
        Summary(
            id=row.id,
            created=row.created,
            finished=row.finished,
            state=row.state,
            engine=row.engine,
            good=row.good,
            bad=row.bad,
            test=row.test,
            host=f"{row.cpu}, {row.cores} cores",
            kind=row.kind or None,
            answer=row.summary,
            builds=built.get(row.id, (0, 0.0))[0],
            build_seconds=built.get(row.id, (0, 0.0))[1],
            probes=probed.get(row.id, (0, 0.0))[0],
            probe_seconds=probed.get(row.id, (0, 0.0))[1],
        )
        for row in rows
    ]


def probe_lines(store: Store, bisection: int, probe: int | None = None) -> list[ProbeLine]:
    """The finished probes of a bisection, or one of them, in the order they were made."""
    probes, builds, samples = schema.probes, schema.builds, schema.samples
    wanted = probes.c.bisection == bisection
    if probe is not None:
        wanted &= probes.c.id == probe
    columns = [probes.c[name] for name in ("id", "build", "test", "purpose", "started", "seconds", "error")]
    rows = store.read(
        select(*columns, builds.c.sha).join(builds, builds.c.id == probes.c.build).where(wanted).order_by(probes.c.id)
    )
    values: dict[int, dict[str, list[float]]] = {}
    numbers = select(samples).join(probes, probes.c.id == samples.c.probe).where(wanted)
    for probe_id, metric, _, value in store.read(numbers.order_by(samples.c.probe, samples.c.metric, samples.c.number)):
        values.setdefault(probe_id, {}).setdefault(metric, []).append(value)
    return [
        ProbeLine(**row._mapping, values={metric: tuple(found) for metric, found in values.get(row.id, {}).items()})
        for row in rows
    ]


def build_lines(store: Store, bisection: int) -> list[BuildLine]:
    """The builds that a bisection used, in the order they were made."""
    builds, uses = schema.builds, schema.uses
    named = ("id", "sha", "started", "outcome", "first_error", "cpu_seconds", "wall_seconds")
    rows = store.read(
        select(
            *(builds.c[name] for name in (*named, "cache_hits", "cache_misses")),
            func.json_array_length(builds.c.repairs).label("repairs"),
            func.json_extract(builds.c.recipe, "$.toolchain.name").label("toolchain"),
            uses.c.made,
        )
        .join(uses, uses.c.build == builds.c.id)
        .where(uses.c.bisection == bisection)
        .order_by(builds.c.id)
    )
    return [BuildLine(**{**row._mapping, "made": bool(row.made)}) for row in rows]


def places(store: Store, bisection: int, shas: Sequence[str]) -> dict[tuple[str, str], tuple[int, str]]:
    """Where some commits are, as (path, sha) to (position, subject): a commit may be on several paths."""
    table = schema.candidates
    rows = store.read(
        select(table.c.path, table.c.sha, table.c.position, table.c.subject).where(
            table.c.bisection == bisection, table.c.sha.in_(list(shas))
        )
    )
    return {(path, sha): (position, subject) for path, sha, position, subject in rows}


def lengths(store: Store, bisection: int) -> dict[str, int]:
    """The number of commits on each recorded path, its beginning included."""
    table = schema.candidates
    rows = store.read(select(table.c.path, func.count()).where(table.c.bisection == bisection).group_by(table.c.path))
    return {row[0]: row[1] for row in rows}


def latest_events(store: Store, bisection: int) -> list[tuple[int, float, str, Json]]:
    """The last event of each kind (and of each test, where there are several), as (id, epoch seconds, kind, data)."""
    table = schema.events
    test = func.coalesce(func.json_extract(table.c.data, "$.test"), "")
    newest = select(func.max(table.c.id)).where(table.c.bisection == bisection).group_by(table.c.kind, test)
    rows = store.read(
        select(table.c.id, table.c.at, table.c.kind, table.c.data).where(table.c.id.in_(newest)).order_by(table.c.id)
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def tail(store: Store, bisection: int, limit: int) -> list[tuple[int, float, str, Json]]:
    """The last events of a bisection, in order, as (id, epoch seconds, kind, data)."""
    table = schema.events
    query = select(table.c.id, table.c.at, table.c.kind, table.c.data).where(table.c.bisection == bisection)
    rows = store.read(query.order_by(table.c.id.desc()).limit(limit))
    return [(row[0], row[1], row[2], row[3]) for row in reversed(rows)]


def newest_event(store: Store, bisection: int | None = None) -> int:
    """The id of the last event, of one or any bisection, 0 if there is none: it grows with everything that happens."""
    table = schema.events
    query = select(func.coalesce(func.max(table.c.id), 0))
    if bisection is not None:
        query = query.where(table.c.bisection == bisection)
    return int(store.read(query)[0][0])


def states(store: Store) -> list[tuple[int, str]]:
    """Id and stored state of all bisections that are not finished."""
    table = schema.bisections
    return [
        (row[0], row[1]) for row in store.read(select(table.c.id, table.c.state).where(table.c.state != "finished"))
    ]
