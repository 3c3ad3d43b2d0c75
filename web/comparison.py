"""Builds or releases side by side: QPS and cost per query of each test, relative to the first one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from sqlalchemy import func, select

from cpubisect import schema
from cpubisect.errors import Missing, UserError
from cpubisect.lab import Purpose
from cpubisect.readings import value
from cpubisect.session import Session
from cpubisect.web.catalog import groups_by_test
from cpubisect.web.models import Cell, Column, Comparison, Group, Line
from cpubisect.workloads.probe import CPU, INSTRUCTIONS, QPS

MOST_COLUMNS = 12
MOST_CHOICES = 500
"""Builds that are offered, the newest first; any other can be asked for by its commit."""


@dataclass(frozen=True)
class _Key:
    """What must be equal for two probes to be comparable."""

    test: str
    settings: tuple[tuple[str, str], ...]
    counter: str


def comparison(session: Session, wanted: Sequence[str]) -> Comparison:
    """The builds of some commits, the first of them the base; raises UserError for one that was never probed, and for
    more than MOST_COLUMNS names, also if some are empty or the same.

    A commit is a sha, the beginning of one, or a name that a bisection was asked with. Probes count together if test,
    settings and engine are equal; columns of different hosts are marked by their host, for they are not comparable.
    """
    if len(wanted) > MOST_COLUMNS:
        raise UserError(f"{len(wanted)} builds are too many to compare", f"choose at most {MOST_COLUMNS}")
    choices = _choices(session)
    columns = [_chosen(session, choices, name) for name in dict.fromkeys(wanted) if name]
    measured = [_measured(session, column) for column in columns]
    keys = dict.fromkeys(key for found in measured for key in found)
    lines: dict[str, list[Line]] = {}
    for engine in dict.fromkeys(column.engine for column in columns):
        groups = groups_by_test(engine)
        for key in sorted(keys, key=lambda key: (list(groups).index(key.test) if key.test in groups else 0, key.test)):
            if any(key in found for found, column in zip(measured, columns, strict=True) if column.engine == engine):
                group, defaults = groups.get(key.test, ("", {}))
                settings = {name: value for name, value in key.settings if defaults.get(name) != value}
                cells = _cells([found.get(key) for found in measured])
                lines.setdefault(group, []).append(Line(test=key.test, settings=settings, cells=cells))
    return Comparison(
        columns=columns, choices=choices, groups=[Group(name=name, lines=found) for name, found in lines.items()]
    )


def _cells(values: Sequence[Mapping[str, float] | None]) -> list[Cell]:
    base = values[0] or {}
    return [_cell(found or {}, base) for found in values]


def _cell(found: Mapping[str, float], base: Mapping[str, float]) -> Cell:
    def relative(metric: str) -> float | None:
        return found[metric] / base[metric] if found.get(metric) and base.get(metric) else None

    return Cell(
        qps=found.get(QPS),
        instructions=found.get(INSTRUCTIONS),
        cpu_us=found.get(CPU),
        relative_qps=relative(QPS),
        relative_instructions=relative(INSTRUCTIONS),
        relative_cpu=relative(CPU),
    )


def _choices(session: Session) -> list[Column]:
    """The newest builds that were probed, those with a name first."""
    builds, probes, bisections = schema.builds, schema.probes, schema.bisections
    rows = session.store.read(
        select(builds.c.engine, builds.c.sha)
        .where(builds.c.id.in_(select(probes.c.build)))
        .order_by(builds.c.id.desc())
        .limit(MOST_CHOICES)
    )
    named = [func.json_extract(bisections.c.question, f"$.{key}") for key in ("good", "good_sha", "bad", "bad_sha")]
    names: dict[str, str] = {}
    for good, good_sha, bad, bad_sha in session.store.read(select(*named).order_by(bisections.c.id.desc())):
        names.setdefault(good_sha, good)
        names.setdefault(bad_sha, bad)
    found = dict.fromkeys((row.engine, row.sha) for row in rows)
    columns = [Column(engine=engine, sha=sha, name=names.get(sha, ""), host="") for engine, sha in found]
    return sorted(columns, key=lambda column: not column.name)


def _chosen(session: Session, choices: Sequence[Column], name: str) -> Column:
    exact = [column for column in choices if name in (column.sha, column.name)]
    near = exact or _by_prefix(session, choices, name)
    if not near:
        raise Missing(f"no build of {name!r} was probed", "the page offers those there are")
    if len({column.sha for column in near}) > 1:
        raise UserError(f"{name!r} may be {' or '.join(column.sha[:12] for column in near)}", "give more of the commit")
    return near[0].model_copy(update={"host": _hosts(session, near[0].sha)})


def _by_prefix(session: Session, choices: Sequence[Column], name: str) -> list[Column]:
    """Builds whose commit begins with `name`, from at least 6 digits on; older ones than are offered, too."""
    if not re.fullmatch("[0-9a-f]{6,40}", name):
        return []
    offered = {(column.engine, column.sha): column for column in choices}
    builds = schema.builds
    rows = session.store.read(
        select(builds.c.engine, builds.c.sha)
        .distinct()
        .where(builds.c.sha.startswith(name), builds.c.id.in_(select(schema.probes.c.build)))
    )
    unnamed = [Column(engine=row.engine, sha=row.sha, name="", host="") for row in rows]
    return [offered.get((column.engine, column.sha), column) for column in unnamed]


def _hosts(session: Session, sha: str) -> str:
    builds, probes, bisections = schema.builds, schema.probes, schema.bisections
    host = func.json_extract(bisections.c.host, "$.cpu")
    cores = func.json_extract(bisections.c.host, "$.cores")
    rows = session.store.read(
        select(host, cores)
        .distinct()
        .join(probes, probes.c.bisection == bisections.c.id)
        .join(builds, builds.c.id == probes.c.build)
        .where(builds.c.sha == sha)
    )
    return "; ".join(sorted(f"{cpu}, {count} cores" for cpu, count in rows))


def _measured(session: Session, column: Column) -> dict[_Key, dict[str, float]]:
    """Per test with its settings, the mean of each metric over the probes with the question's own settings.

    Of several builds of a commit, by other recipes, the newest that was probed counts.
    """
    builds, probes, samples = schema.builds, schema.probes, schema.samples
    newest = (
        select(func.max(builds.c.id))
        .join(probes, probes.c.build == builds.c.id)
        .where(builds.c.sha == column.sha, builds.c.engine == column.engine, probes.c.error.is_(None))
    )
    rows = session.store.read(
        select(
            *(probes.c[name] for name in ("id", "test", "parameters", "counter", "purpose")),
            samples.c.metric,
            samples.c.value,
        )
        .join(samples, samples.c.probe == probes.c.id)
        .where(probes.c.build == newest.scalar_subquery(), probes.c.error.is_(None))
    )
    runs: dict[_Key, dict[str, dict[int, list[float]]]] = {}
    for row in rows:
        if Purpose.counts(row.purpose):
            key = _Key(row.test, tuple(sorted(row.parameters.items())), row.counter)
            runs.setdefault(key, {}).setdefault(row.metric, {}).setdefault(row.id, []).append(row.value)
    return {
        key: {metric: fmean(value(metric, found) for found in by_probe.values()) for metric, by_probe in own.items()}
        for key, own in runs.items()
    }
