"""What pages and lists read from the store: only the columns that they show, so that they stay quick as it grows."""

from collections.abc import Collection, Mapping, Sequence
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
class SampleRow:
    """A finished probe without its profile: `sha` is the commit it measured, `values` maps metrics to its samples, the
    rest is as in ProbeRow."""

    id: int
    build: int
    sha: str
    test: str
    purpose: str
    seconds: float
    started: float
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


def summaries(store: Store, limit: int, offset: int = 0) -> list[Summary]:
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


def samples(store: Store, bisection: int, test: str | None = None, metrics: Sequence[str] = ()) -> list[SampleRow]:
    """Finished probes in the order they were made, without what takes long to read; of one test, and with the
    samples of these metrics only, where they are given."""
    probes = schema.probes
    wanted = [probes.c.bisection == bisection]
    if test is not None:
        wanted.append(probes.c.test == test)
    query = (
        select(
            probes.c.id,
            schema.builds.c.sha,
            *(probes.c[name] for name in ("build", "test", "purpose", "seconds", "started", "error")),
        )
        .join(schema.builds, schema.builds.c.id == probes.c.build)
        .where(*wanted)
        .order_by(probes.c.id)
    )
    values = store.values(*wanted, *([schema.samples.c.metric.in_(metrics)] if metrics else []))
    return [SampleRow(**row._mapping, values=values.get(row.id, {})) for row in store.read(query)]


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


def positions(store: Store, bisection: int, path: str, shas: Collection[str]) -> dict[str, tuple[int, str]]:
    """Where on one recorded path some commits are, each with its subject; without those that are not on it."""
    found = places(store, bisection, list(shas))
    return {sha: place for (name, sha), place in found.items() if name == path}


def shared_binaries(store: Store, bisection: int, path: str) -> tuple[int, list[tuple[int, int]]]:
    """The last position of a recorded path (0 if it is not recorded yet), and the first and last position of each
    run of several commits that share one binary."""
    table = schema.candidates
    whole = (table.c.bisection == bisection, table.c.path == path)
    first, last = func.min(table.c.position), func.max(table.c.position)
    runs = select(first, last).where(*whole).group_by(table.c.same_binary_as).having(func.count() > 1)
    size = store.read(select(func.coalesce(last, 0)).where(*whole))[0][0]
    return int(size), [(row[0], row[1]) for row in store.read(runs.order_by(first))]


def last_class(store: Store, bisection: int, path: str) -> dict[str, str]:
    """From the first to the last commit of the run that ends a recorded path and shares one binary; empty if it is
    only one commit."""
    size, runs = shared_binaries(store, bisection, path)
    if not runs or runs[-1][1] != size:
        return {}
    table = schema.candidates
    query = select(table.c.sha).where(
        table.c.bisection == bisection, table.c.path == path, table.c.position.in_(runs[-1])
    )
    first, last = (row[0] for row in store.read(query.order_by(table.c.position)))
    return {first: last}


def failures(store: Store, bisection: int) -> dict[str, str]:
    """The commits of a bisection that do not build by any recipe tried, each with the first line that says why."""
    table = schema.builds
    query = (
        select(table.c.sha, table.c.first_error, table.c.outcome)
        .join(schema.uses, schema.uses.c.build == table.c.id)
        .where(schema.uses.c.bisection == bisection)
        .order_by(table.c.id)
    )
    rows = store.read(query)
    built = {sha for sha, _, outcome in rows if outcome == "built"}
    return {sha: error or outcome for sha, error, outcome in rows if sha not in built}


def lengths(store: Store, bisection: int) -> dict[str, int]:
    """The number of commits on each recorded path, its beginning included."""
    table = schema.candidates
    rows = store.read(select(table.c.path, func.count()).where(table.c.bisection == bisection).group_by(table.c.path))
    return {row[0]: row[1] for row in rows}


def ranked(store: Store, bisection: int, path: str) -> int:
    """How many candidates of a path are ranked by suspicion."""
    table = schema.suspects
    asked = (table.c.bisection == bisection) & (table.c.path == path)
    return int(store.read(select(func.count()).where(asked))[0][0])


def latest_events(store: Store, bisection: int, test: str) -> dict[str, tuple[int, float, Json]]:
    """By kind, the last event that names this test or none at all, as (id, epoch seconds, data)."""
    table = schema.events
    named = table.c.data["test"].as_string()
    asked = (table.c.bisection == bisection) & (named.is_(None) | (named == test))
    newest = select(func.max(table.c.id)).where(asked).group_by(table.c.kind)
    rows = store.read(
        select(table.c.id, table.c.at, table.c.kind, table.c.data).where(table.c.id.in_(newest)).order_by(table.c.id)
    )
    return {row[2]: (row[0], row[1], row[3]) for row in rows}


def twins(store: Store, bisection: int) -> dict[str, str]:
    """The commits whose own code was not read in the search, each with the one of equal code whose probes count for
    both."""
    return {data["sha"]: data["twin"] for _, _, _, data in store.events(bisection, kinds=("equal-code",))}


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


def state(store: Store, bisection: int) -> str:
    """The stored state of a bisection that is there."""
    table = schema.bisections
    return str(store.read(select(table.c.state).where(table.c.id == bisection))[0][0])


def states(store: Store) -> list[tuple[int, str]]:
    """Id and stored state of all bisections that are not finished."""
    table = schema.bisections
    return [
        (row[0], row[1]) for row in store.read(select(table.c.id, table.c.state).where(table.c.state != "finished"))
    ]
