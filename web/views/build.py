"""One build or one probe of a bisection with its whole record."""

from collections.abc import Sequence
from pathlib import Path

from cpubisect.base.errors import Missing
from cpubisect.records import queries
from cpubisect.records.registry import Registry
from cpubisect.records.rows import BuildRow
from cpubisect.search.events import BuildFinished, BuildStarted, Redrawing, Redrawn
from cpubisect.web.models import BuildView, FunctionCost, ProbeView

LOG_SHOWN = 200_000
"""Bytes of a log's end that a page shows; the whole of it can be downloaded."""

FUNCTIONS_SHOWN = 60


def build_view(registry: Registry, bisection: int, build: int) -> BuildView:
    """A build; raises Missing if the bisection did not use one with that id."""
    row = build_row(registry, bisection, build)
    places = queries.places(registry.store, bisection, [row.sha])
    probes = [row.id for row in queries.samples(registry.store, bisection) if row.build == build]
    return _view(bisection, row, next((subject for _, subject in places.values()), ""), probes)


def builds_of(registry: Registry, bisection: int, shas: Sequence[str]) -> list[BuildView]:
    """The builds of some commits that a bisection used, in that order; logs are left out."""
    rows = {row.sha: row for row, _ in registry.store.builds(bisection, shas)}
    return [_view(bisection, rows[sha], "", [], logged=False) for sha in shas if sha in rows]


def build_row(registry: Registry, bisection: int, build: int) -> BuildRow:
    """A build as stored; raises Missing if the bisection did not use one with that id."""
    registry.store.bisection(bisection)
    rows = registry.store.builds(bisection, build=build)
    if not rows:
        raise Missing(f"bisection {bisection} used no build {build}", f"`bisect report {bisection}` shows its builds")
    return rows[0][0]


def whole_log(row: BuildRow) -> bytes:
    """All output of a build, empty if the file is gone."""
    return _bytes(row.log)


def _bytes(log: str) -> bytes:
    # The path is the store's own: no part of a request is in it.
    return Path(log).read_bytes() if log and Path(log).is_file() else b""


def running_log(registry: Registry, bisection: int) -> bytes:
    """The output so far of the build or redraw that a bisection makes now; raises Missing if it makes none."""
    row = registry.store.bisection(bisection)
    kinds = (BuildStarted, BuildFinished, Redrawing, Redrawn)
    begun = [entry.event for entry in registry.store.events(bisection, kinds=kinds)]
    last = begun[-1] if begun else None
    if registry.state(row.id, row.state) != "running" or not isinstance(last, BuildStarted | Redrawing):
        raise Missing(f"bisection {bisection} builds nothing now", f"`bisect status {bisection}` shows what it does")
    return _bytes(last.log)


def probe_view(registry: Registry, bisection: int, probe: int) -> ProbeView:
    """A probe; raises Missing if the bisection made none with that id."""
    question = registry.store.bisection(bisection).question
    rows = registry.store.probes(bisection, probe=probe)
    if not rows:
        raise Missing(f"bisection {bisection} made no probe {probe}", f"`bisect log {bisection}` shows what it did")
    row = rows[0]
    costly = sorted(row.profile.items(), key=lambda item: -item[1])[:FUNCTIONS_SHOWN]
    return ProbeView(
        bisection=bisection,
        id=probe,
        build=row.build,
        sha=next(line.sha for line in queries.build_lines(registry.store, bisection) if line.id == row.build),
        test=row.test,
        purpose=str(row.purpose),
        started=row.started,
        seconds=row.seconds,
        error=row.error,
        note=row.note,
        commands=list(row.commands),
        values={metric: list(found) for metric, found in row.values.items()},
        variables=dict(row.variables),
        counted=question.metric.counted,
        functions=[FunctionCost(function=name, cost=cost) for name, cost in costly],
    )


def _view(bisection: int, row: BuildRow, subject: str, probes: list[int], *, logged: bool = True) -> BuildView:
    log = whole_log(row) if logged else b""
    return BuildView(
        bisection=bisection,
        id=row.id,
        sha=row.sha,
        subject=subject,
        outcome=row.outcome,
        first_error=row.first_error,
        recipe=row.recipe,
        repairs=row.repairs,
        diff=row.diff,
        cpu_seconds=row.cpu_seconds,
        wall_seconds=row.wall_seconds,
        cache_hits=row.cache_hits,
        cache_misses=row.cache_misses,
        sandbox=row.sandbox,
        log=log[-LOG_SHOWN:].decode(errors="replace"),
        log_bytes=len(log),
        probes=probes,
    )
