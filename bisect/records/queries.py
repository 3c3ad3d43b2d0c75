"""What pages and lists read from the store: only the columns that they show, so that they stay quick as it grows."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cpubisect.records.database import equal, listed
from cpubisect.records.purpose import Purpose
from cpubisect.records.schema import VARIANT
from cpubisect.records.store import Store, entry_of
from cpubisect.search.events import EqualCode, Latest
from cpubisect.search.question import Question
from cpubisect.search.verdict import Kind


@dataclass(frozen=True)
class Headline:
    """A bisection in one line: `state` is the stored one, `host` its processor and cores, `kind` and `summary` are its
    verdict's, None and empty before there is one; `created` and `finished` are epoch seconds."""

    id: int
    created: float
    finished: float | None
    state: str
    engine: str
    good: str
    bad: str
    tests: tuple[str, ...]
    host: str
    kind: Kind | None
    summary: str


@dataclass(frozen=True)
class Spent:
    """What went into a bisection's builds and probes: `builds` counts those that it used, of which `builds_made` were
    made for it and `builds_failed` did not succeed; seconds, and what the compiler cache had and had not, are of those
    made for it; `probes` counts all of them, failed ones too, and `probe_seconds` is their wall time."""

    builds: int = 0
    builds_made: int = 0
    builds_failed: int = 0
    build_seconds: float = 0.0
    build_cpu_seconds: float = 0.0
    cache_hits: int = 0
    cache_misses: int = 0
    probes: int = 0
    probe_seconds: float = 0.0


@dataclass(frozen=True)
class SampleRow:
    """A finished probe without its profile: `sha` is the commit it measured, `variant` the kind of its build, empty for
    the ordinary one, `values` maps metrics to its samples, the rest is as in ProbeRow."""

    id: int
    build: int
    sha: str
    test: str
    purpose: Purpose
    seconds: float
    started: float
    error: str | None
    values: Mapping[str, tuple[float, ...]]
    note: str = ""
    variant: str = ""


@dataclass(frozen=True)
class BuildLine:
    """A finished build without what it was compiled from; `made` says whether it was made for this bisection, `variant`
    is its kind, empty for the ordinary one."""

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
    variant: str = ""


def queued(store: Store) -> list[int]:
    """Bisections that wait for a worker, the one to be run first before the others."""
    return [row["id"] for row in store.read("SELECT id FROM bisections WHERE state = 'queued' ORDER BY id")]


def count(store: Store) -> int:
    """How many bisections there are."""
    return int(store.read("SELECT count(*) FROM bisections")[0][0])


def headlines(store: Store, limit: int | None = None, offset: int = 0) -> list[Headline]:
    """All bisections, or some, the newest first."""
    rows = store.read(
        """
        SELECT id, created, finished, state, engine,
            coalesce(json_extract(question, '$.good'), '') AS good,
            coalesce(json_extract(question, '$.bad'), '') AS bad,
            coalesce(json_extract(question, '$.tests'), '') AS tests,
            coalesce(json_extract(host, '$.cpu'), '') AS cpu,
            coalesce(json_extract(host, '$.cores'), '') AS cores,
            coalesce(json_extract(verdict, '$.kind'), '') AS kind,
            coalesce(json_extract(verdict, '$.summary'), '') AS summary
        FROM bisections ORDER BY id DESC LIMIT ? OFFSET ?
        """,
        -1 if limit is None else limit,
        offset,
    )
    return [
        Headline(
            id=row["id"],
            created=row["created"],
            finished=row["finished"],
            state=row["state"],
            engine=row["engine"],
            good=row["good"],
            bad=row["bad"],
            tests=tuple(json.loads(row["tests"])),
            host=f"{row['cpu']}, {row['cores']} cores",
            kind=Kind(row["kind"]) if row["kind"] else None,
            summary=row["summary"],
        )
        for row in rows
    ]


def of_same_ends(store: Store, question: Question) -> list[int]:
    """Bisections with an answer, this one too, that are about the same two commits, the newest first."""
    rows = store.read(
        """
        SELECT id FROM bisections
        WHERE engine = ? AND verdict IS NOT NULL AND json_type(verdict) != 'null'
            AND json_extract(question, '$.good_sha') = ? AND json_extract(question, '$.bad_sha') = ?
        ORDER BY id DESC
        """,
        question.engine,
        question.good_sha,
        question.bad_sha,
    )
    return [row["id"] for row in rows]


def newest(store: Store) -> int | None:
    """The last bisection, None if there is none."""
    return store.read("SELECT max(id) FROM bisections")[0][0]  # type: ignore[no-any-return]


def spent(store: Store, bisections: Sequence[int]) -> dict[int, Spent]:
    """What went into each of some bisections that has any builds or probes."""
    build_sums = """
        SELECT uses.bisection,
            count(*) AS builds,
            sum(uses.made) AS builds_made,
            count(*) FILTER (WHERE builds.outcome != 'built') AS builds_failed,
            sum(uses.made * builds.wall_seconds) AS build_seconds,
            sum(uses.made * builds.cpu_seconds) AS build_cpu_seconds,
            sum(uses.made * builds.cache_hits) AS cache_hits,
            sum(uses.made * builds.cache_misses) AS cache_misses
        FROM uses JOIN builds ON builds.id = uses.build
        WHERE uses.bisection IN (SELECT value FROM json_each(?)) GROUP BY uses.bisection
    """
    probe_sums = """
        SELECT bisection, count(*) AS probes, sum(seconds) AS probe_seconds
        FROM probes WHERE bisection IN (SELECT value FROM json_each(?)) GROUP BY bisection
    """
    found: dict[int, dict[str, Any]] = {}
    for sums in (build_sums, probe_sums):
        for row in store.read(sums, listed(bisections)):
            known = dict(row)
            found.setdefault(known.pop("bisection"), {}).update(known)
    return {bisection: Spent(**known) for bisection, known in found.items()}


def samples(store: Store, bisection: int, test: str | None = None, metrics: Sequence[str] = ()) -> list[SampleRow]:
    """Finished probes in the order they were made, without what takes long to read; of one test, and with the
    samples of these metrics only, where they are given."""
    condition, parameters = equal({"probes.bisection": bisection, "probes.test": test})
    rows = store.read(
        f"""
        SELECT probes.id, builds.sha, probes.build, probes.test, probes.purpose, probes.seconds, probes.started,
            probes.error, probes.note, {VARIANT} AS variant
        FROM probes JOIN builds ON builds.id = probes.build WHERE {condition} ORDER BY probes.id
        """,
        *parameters,
    )
    values = store.values(condition, *parameters, metrics=metrics)
    return [
        SampleRow(**{**row, "purpose": Purpose.of(row["purpose"]), "values": values.get(row["id"], {})}) for row in rows
    ]


def build_lines(store: Store, bisection: int) -> list[BuildLine]:
    """The builds that a bisection used, in the order they were made."""
    rows = store.read(
        f"""
        SELECT builds.id, builds.sha, builds.started, builds.outcome, builds.first_error, builds.cpu_seconds,
            builds.wall_seconds, builds.cache_hits, builds.cache_misses, uses.made,
            json_array_length(builds.repairs) AS repairs,
            json_extract(builds.recipe, '$.toolchain.name') AS toolchain,
            {VARIANT} AS variant
        FROM builds JOIN uses ON uses.build = builds.id WHERE uses.bisection = ? ORDER BY builds.id
        """,
        bisection,
    )
    return [BuildLine(**{**row, "made": bool(row["made"])}) for row in rows]


def places(store: Store, bisection: int, shas: Sequence[str]) -> dict[tuple[str, str], tuple[int, str]]:
    """Where some commits are, as (path, sha) to (position, subject): a commit may be on several paths."""
    rows = store.read(
        "SELECT path, sha, position, subject FROM candidates "
        "WHERE bisection = ? AND sha IN (SELECT value FROM json_each(?))",
        bisection,
        listed(shas),
    )
    return {(path, sha): (position, subject) for path, sha, position, subject in rows}


def positions(store: Store, bisection: int, path: str, shas: Collection[str]) -> dict[str, tuple[int, str]]:
    """Where on one recorded path some commits are, each with its subject; without those that are not on it."""
    found = places(store, bisection, list(shas))
    return {sha: place for (name, sha), place in found.items() if name == path}


def shared_binaries(store: Store, bisection: int, path: str) -> tuple[int, list[tuple[int, int]]]:
    """The last position of a recorded path (0 if it is not recorded yet), and the first and last position of each
    run of several commits that share one binary."""
    whole = "FROM candidates WHERE bisection = ? AND path = ?"
    size = store.read(f"SELECT coalesce(max(position), 0) {whole}", bisection, path)[0][0]
    runs = store.read(
        f"""
        SELECT min(position), max(position) {whole}
        GROUP BY same_binary_as HAVING count(*) > 1 ORDER BY min(position)
        """,
        bisection,
        path,
    )
    return int(size), [(first, last) for first, last in runs]


def last_class(store: Store, bisection: int, path: str) -> dict[str, str]:
    """From the first to the last commit of the run that ends a recorded path and shares one binary; empty if it is
    only one commit."""
    size, runs = shared_binaries(store, bisection, path)
    if not runs or runs[-1][1] != size:
        return {}
    rows = store.read(
        "SELECT sha FROM candidates WHERE bisection = ? AND path = ? AND position IN (?, ?) ORDER BY position",
        bisection,
        path,
        *runs[-1],
    )
    first, last = (row["sha"] for row in rows)
    return {first: last}


def failures(store: Store, bisection: int, variant: str = "") -> dict[str, str]:
    """The commits of a bisection of which no build of one kind succeeded, each with the first line that says why."""
    rows = store.read(
        "SELECT builds.sha, builds.first_error, builds.outcome FROM builds JOIN uses ON uses.build = builds.id "
        f"WHERE uses.bisection = ? AND {VARIANT} = ? ORDER BY builds.id",
        bisection,
        variant,
    )
    built = {sha for sha, _, outcome in rows if outcome == "built"}
    return {sha: error or outcome for sha, error, outcome in rows if sha not in built}


def lengths(store: Store, bisections: Sequence[int]) -> dict[int, dict[str, int]]:
    """Of each of some bisections, the number of commits on each recorded path, its beginning included."""
    rows = store.read(
        "SELECT bisection, path, count(*) FROM candidates "
        "WHERE bisection IN (SELECT value FROM json_each(?)) GROUP BY bisection, path",
        listed(bisections),
    )
    found: dict[int, dict[str, int]] = {}
    for bisection, path, count in rows:
        found.setdefault(bisection, {})[path] = count
    return found


def ranked(store: Store, bisection: int, path: str) -> int:
    """How many candidates of a path are ranked by suspicion."""
    return int(store.read("SELECT count(*) FROM suspects WHERE bisection = ? AND path = ?", bisection, path)[0][0])


def latest_events(store: Store, bisection: int, test: str) -> Latest:
    """The last event of each kind that names this test or none at all."""
    rows = store.read(
        """
        SELECT id, at, kind, data FROM events WHERE id IN (
            SELECT max(id) FROM events
            WHERE bisection = ? AND coalesce(json_extract(data, '$.test') = ?, TRUE) GROUP BY kind
        ) ORDER BY id
        """,
        bisection,
        test,
    )
    return Latest([entry_of(row) for row in rows])


def twins(store: Store, bisection: int, variant: str = "") -> dict[str, str]:
    """The commits whose own code was not read in the search, each with the one of equal code whose probes count for
    both, by builds of one kind."""
    return {found.sha: found.twin for found in store.told(bisection, EqualCode) if found.variant == variant}


def with_calls(store: Store, bisection: int, purpose: Purpose, test: str) -> set[str]:
    """The commits of which a probe of an ordinary build, for this purpose and test, left a call graph."""
    rows = store.read(
        f"""
        SELECT builds.sha FROM probes JOIN builds ON builds.id = probes.build
        WHERE probes.bisection = ? AND probes.purpose = ? AND probes.test = ?
            AND probes.error IS NULL AND probes.calls IS NOT NULL
            AND {VARIANT} = ''
        """,
        bisection,
        purpose,
        test,
    )
    return {row[0] for row in rows}


def newest_event(store: Store, bisection: int | None = None) -> int:
    """The id of the last event, of one or any bisection, 0 if there is none: it grows with everything that happens."""
    query = "SELECT coalesce(max(id), 0) FROM events"
    rows = store.read(query) if bisection is None else store.read(f"{query} WHERE bisection = ?", bisection)
    return int(rows[0][0])


def state(store: Store, bisection: int) -> str:
    """The stored state of a bisection that is there."""
    return str(store.read("SELECT state FROM bisections WHERE id = ?", bisection)[0]["state"])


def states(store: Store) -> list[tuple[int, str]]:
    """Id and stored state of all bisections that are not finished."""
    return [
        (row["id"], row["state"]) for row in store.read("SELECT id, state FROM bisections WHERE state != 'finished'")
    ]
