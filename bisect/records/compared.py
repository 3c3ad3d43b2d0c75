"""What is read of probed builds, whichever bisection made them, to show some side by side."""

from dataclasses import dataclass

from cpubisect.records.purpose import Purpose
from cpubisect.records.store import Store


@dataclass(frozen=True)
class Probed:
    """A commit that has a build which was probed."""

    engine: str
    sha: str


@dataclass(frozen=True)
class Sample:
    """One sample of a successful probe; `parameters` are the test's settings by name, `flags` whose its build was
    compiled by."""

    probe: int
    test: str
    parameters: dict[str, str]
    counter: str
    purpose: Purpose
    metric: str
    value: float
    flags: str


def newest_probed(store: Store, limit: int) -> list[Probed]:
    """The commits of the newest builds that were probed, so many builds at most, the newest first."""
    rows = store.read(
        "SELECT engine, sha FROM builds WHERE id IN (SELECT build FROM probes) ORDER BY id DESC LIMIT ?", limit
    )
    return list(dict.fromkeys(Probed(**row) for row in rows))


def probed_from(store: Store, prefix: str) -> list[Probed]:
    """The probed commits whose sha begins so."""
    rows = store.read(
        """
        SELECT DISTINCT engine, sha FROM builds
        WHERE substr(sha, 1, length(?)) = ? AND id IN (SELECT build FROM probes)
        """,
        prefix,
        prefix,
    )
    return [Probed(**row) for row in rows]


def names(store: Store) -> dict[str, str]:
    """What commits were called when they were asked about, by sha; of several names the newest."""
    rows = store.read(
        """
        SELECT json_extract(question, '$.good_sha'), json_extract(question, '$.good'),
            json_extract(question, '$.bad_sha'), json_extract(question, '$.bad')
        FROM bisections ORDER BY id DESC
        """
    )
    found: dict[str, str] = {}
    for good_sha, good, bad_sha, bad in rows:
        found.setdefault(good_sha, good)
        found.setdefault(bad_sha, bad)
    return found


def hosts(store: Store, sha: str) -> list[str]:
    """The hosts that a commit was probed on, each its processor and cores, in order."""
    rows = store.read(
        """
        SELECT DISTINCT json_extract(bisections.host, '$.cpu'), json_extract(bisections.host, '$.cores')
        FROM bisections JOIN probes ON probes.bisection = bisections.id JOIN builds ON builds.id = probes.build
        WHERE builds.sha = ?
        """,
        sha,
    )
    return sorted(f"{cpu}, {cores} cores" for cpu, cores in rows)


def newest_samples(store: Store, probed: Probed) -> list[Sample]:
    """The samples of all probes of a commit's newest build that was probed, by each kind of flags: it may have several,
    by other recipes."""
    rows = store.read(
        """
        SELECT samples.probe, probes.test, probes.parameters, probes.counter, probes.purpose, samples.metric,
            samples.value, newest.flags
        FROM probes JOIN samples ON samples.probe = probes.id JOIN (
            SELECT max(builds.id) AS build, coalesce(json_extract(builds.recipe, '$.flags'), 'pinned') AS flags
            FROM builds JOIN probes ON probes.build = builds.id
            WHERE builds.sha = ? AND builds.engine = ? AND probes.error IS NULL GROUP BY flags
        ) AS newest ON newest.build = probes.build
        WHERE probes.error IS NULL
        """,
        probed.sha,
        probed.engine,
    )
    return [Sample(**{**row, "purpose": Purpose.of(row["purpose"])}) for row in rows]
