"""Everything known of a comparison of versions, finished or not: its tables, and what a table alone would hide."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import reading
from cpubisect.base.plain import Plain
from cpubisect.history.mirrors import public_origin
from cpubisect.records.comparisons import Comparisons, Probed
from cpubisect.records.rows import BuildRow
from cpubisect.records.store import Store
from cpubisect.search.comparing.question import Asked, Row, Side
from cpubisect.search.comparing.relative import COMPARED, Measured, MetricTable, tables
from cpubisect.search.ends import ChangedVariable, changed_variables
from cpubisect.search.events import LeftOut

BUILT = "built"

_Places = Mapping[tuple[str, str, int], Sequence[Probed]]
"""Probes in the order they were made, by commit, test and clients."""


@dataclass(frozen=True)
class Version(Plain):
    """One of the versions: as named, its commit, how its build ended (`outcome`, empty before that) and by which
    compiler; `problem` says why it cannot be built, `sandbox` what it was built in, `none` or `bubblewrap`."""

    name: str
    sha: str
    outcome: str
    toolchain: str
    repairs: int
    build_seconds: float
    problem: str
    sandbox: str = ""


@dataclass(frozen=True)
class CannotRun(Plain):
    """A row that a version cannot run, with the first line that says why."""

    version: str
    row: str
    why: str


@dataclass(frozen=True)
class Remark(Plain):
    """What must be known of a version's samples in a row."""

    version: str
    row: str
    said: str


@dataclass(frozen=True)
class OtherSettings(Plain):
    """The server variables in which a version differs from the base, or that one of them lacks."""

    version: str
    variables: tuple[ChangedVariable, ...]


@dataclass(frozen=True)
class SideBySide(Plain):
    """A comparison as it is told: `base` is the version that all are relative to, None where none was built;
    `clients` are the numbers of clients, `rounds` those that were wanted, `probes` those made, of so many `planned`.
    Times are epoch seconds."""

    id: int
    state: str
    engine: str
    repository: str
    origin: str
    versions: tuple[Version, ...]
    base: str | None
    rows: tuple[Row, ...]
    clients: tuple[int, ...]
    rounds: int
    probes: int
    planned: int
    probe_seconds: float
    counter: str | None
    given: Mapping[str, str]
    flags: Flags
    host: Mapping[str, str | int]
    created: float
    finished: float | None
    tables: tuple[MetricTable, ...]
    settings: tuple[OtherSettings, ...]
    cannot_run: tuple[CannotRun, ...]
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class OneRow:
    """One row of a comparison: `base` is the number of the version that all are relative to, None where none was
    built; `probes` are those of each version in the order they were made, `tables` those of this row alone."""

    versions: tuple[Version, ...]
    base: int | None
    probes: tuple[Sequence[Probed], ...]
    tables: tuple[MetricTable, ...]


def gather_comparison(comparisons: Comparisons, comparison: int) -> SideBySide:
    """What is known of a comparison; raises Missing for an unknown id."""
    row = comparisons.row(comparison)
    asked = row.asked
    probes = comparisons.probes(comparison)
    versions = _versions(comparisons.store, comparison, asked)
    base = _base(versions)
    places = _by_place(probes)
    measured = [_measured(asked, one, places) for one in asked.rows]
    return SideBySide(
        id=row.id,
        state=comparisons.state(row.id, row.state),
        engine=row.engine,
        repository=asked.repository,
        origin=public_origin(Path(asked.repository)),
        versions=versions,
        base=None if base is None else versions[base].name,
        rows=asked.rows,
        clients=asked.clients,
        rounds=asked.rounds,
        probes=len(probes),
        planned=len(asked.rows) * asked.rounds * sum(not version.problem for version in versions),
        probe_seconds=sum(probe.seconds for probe in probes),
        counter=row.counter,
        given=asked.given,
        flags=asked.flags,
        host=row.host,
        created=row.created,
        finished=row.finished,
        tables=tables(measured, len(versions), base) if base is not None else (),
        settings=_settings(comparisons.store, comparison, asked, base) if base is not None else (),
        cannot_run=_cannot_run(asked, places),
        remarks=_remarks(asked, places),
    )


def gather_row(comparisons: Comparisons, comparison: int, asked: Asked, row: Row) -> OneRow:
    """What is known of one row of a comparison that asks this."""
    versions = _versions(comparisons.store, comparison, asked)
    base = _base(versions)
    places = _by_place(comparisons.probes(comparison, row.test))
    return OneRow(
        versions=versions,
        base=base,
        probes=tuple(_of(row, side, places) for side in asked.sides),
        tables=tables([_measured(asked, row, places)], len(versions), base) if base is not None else (),
    )


def _versions(store: Store, comparison: int, asked: Asked) -> tuple[Version, ...]:
    builds = {build.sha: build for build, _ in store.builds(comparison)}
    told = store.told(comparison, LeftOut)
    return tuple(_version(side.name, side.sha, builds, told) for side in asked.sides)


def _base(versions: Sequence[Version]) -> int | None:
    """The number of the first version that was built."""
    return next((number for number, version in enumerate(versions) if version.outcome == BUILT), None)


def _version(name: str, sha: str, builds: Mapping[str, BuildRow], told: Sequence[LeftOut]) -> Version:
    build = builds.get(sha)
    why = next((event.why for event in reversed(told) if event.sha == sha and not event.row), "")
    if build is None:
        return Version(name, sha, "no recipe" if why else "", "", 0, 0.0, why)
    failed = "" if build.outcome == BUILT else build.first_error or build.outcome
    return Version(
        name,
        sha,
        build.outcome,
        build.recipe["toolchain"]["release"],
        len(build.repairs),
        round(build.wall_seconds, 1),
        failed,
        build.sandbox,
    )


def _by_place(probes: Iterable[Probed]) -> _Places:
    found: dict[tuple[str, str, int], list[Probed]] = {}
    for probe in probes:
        found.setdefault((probe.sha, probe.test, probe.clients), []).append(probe)
    return found


def _of(row: Row, side: Side, probes: _Places) -> Sequence[Probed]:
    return probes.get((side.sha, row.test, row.clients), ())


def _measured(asked: Asked, row: Row, probes: _Places) -> Measured:
    own = [_of(row, side, probes) for side in asked.sides]
    values = {
        metric: [[reading(metric, found) for probe in side if (found := probe.values.get(metric))] for side in own]
        for metric in COMPARED
    }
    return Measured(asked.label(row), row.group, values, row.spread_percent)


def _settings(store: Store, comparison: int, asked: Asked, base: int) -> tuple[OtherSettings, ...]:
    """What the first test that read them from both says."""
    first = store.first_probes(comparison)

    def variables(side: Side, test: str) -> Mapping[str, str]:
        probe = first.get((side.sha, test))
        return {} if probe is None else store.variables_in(probe)

    others = [side for number, side in enumerate(asked.sides) if number != base]
    found: dict[Side, tuple[ChangedVariable, ...]] = {}
    for test in asked.tests:
        of_base = variables(asked.sides[base], test)
        for side in others:
            if side not in found and (changed := changed_variables(of_base, variables(side, test))):
                found[side] = changed
    return tuple(OtherSettings(side.name, found[side]) for side in others if side in found)


def _cannot_run(asked: Asked, probes: _Places) -> tuple[CannotRun, ...]:
    """Rows of which a version has no reading, but a failure."""
    found = []
    for row in asked.rows:
        for side in asked.sides:
            own = _of(row, side, probes)
            if own and all(probe.error for probe in own):
                found.append(CannotRun(side.name, asked.label(row), own[-1].error or ""))
    return tuple(found)


def _remarks(asked: Asked, probes: _Places) -> tuple[Remark, ...]:
    """The notes of probes, and failures among those that worked, each once."""
    found = []
    for row in asked.rows:
        for side in asked.sides:
            own = _of(row, side, probes)
            said = dict.fromkeys(probe.note for probe in own if probe.note)
            failed = [probe.error for probe in own if probe.error]
            if failed and len(failed) < len(own):
                said[f"{len(failed)} of {len(own)} probes failed: {failed[-1]}"] = None
            found += [Remark(side.name, asked.label(row), one) for one in said]
    return tuple(found)
