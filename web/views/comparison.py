"""Builds or releases side by side: QPS and cost per query of each test, relative to the first one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from cpubisect.base.errors import Missing, UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import CPU, INSTRUCTIONS, QPS, reading
from cpubisect.records import compared
from cpubisect.records.compared import Probed
from cpubisect.records.registry import Registry
from cpubisect.web.models import Cell, ComparedBuild, ComparedGroup, ComparedTest, Comparison
from cpubisect.web.service.catalog import groups_by_test

MOST_COLUMNS = 12
MOST_CHOICES = 500
"""Builds that are offered, the newest first; any other can be asked for by its commit."""


@dataclass(frozen=True)
class _Key:
    """What must be equal for two probes to be comparable."""

    test: str
    settings: tuple[tuple[str, str], ...]
    counter: str


def comparison(registry: Registry, wanted: Sequence[str]) -> Comparison:
    """The builds of some commits, the first of them the base; raises UserError for one that was never probed, and for
    more than MOST_COLUMNS names, also if some are empty or the same.

    A commit is a sha, the beginning of one, or a name that a bisection was asked with. Probes count together if test,
    settings and engine are equal; columns of different hosts are marked by their host, for they are not comparable.
    """
    if len(wanted) > MOST_COLUMNS:
        raise UserError(f"{len(wanted)} builds are too many to compare", f"choose at most {MOST_COLUMNS}")
    choices = _choices(registry)
    columns = [_chosen(registry, choices, name) for name in dict.fromkeys(wanted) if name]
    measured = [_measured(registry, column) for column in columns]
    keys = dict.fromkeys(key for found in measured for key in found)
    lines: dict[str, list[ComparedTest]] = {}
    for engine in dict.fromkeys(column.engine for column in columns):
        groups = groups_by_test(engine)
        for key in sorted(keys, key=lambda key: (list(groups).index(key.test) if key.test in groups else 0, key.test)):
            if any(key in found for found, column in zip(measured, columns, strict=True) if column.engine == engine):
                group, defaults = groups.get(key.test, ("", {}))
                settings = {name: value for name, value in key.settings if defaults.get(name) != value}
                cells = _cells([found.get(key) for found in measured])
                lines.setdefault(group, []).append(ComparedTest(test=key.test, settings=settings, cells=cells))
    return Comparison(
        columns=columns,
        choices=choices,
        groups=[ComparedGroup(name=name, lines=found) for name, found in lines.items()],
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


def _choices(registry: Registry) -> list[ComparedBuild]:
    """The newest builds that were probed, those with a name first."""
    names = compared.names(registry.store)
    found = compared.newest_probed(registry.store, MOST_CHOICES)
    columns = [ComparedBuild(engine=one.engine, sha=one.sha, name=names.get(one.sha, ""), host="") for one in found]
    return sorted(columns, key=lambda column: not column.name)


def _chosen(registry: Registry, choices: Sequence[ComparedBuild], name: str) -> ComparedBuild:
    exact = [column for column in choices if name in (column.sha, column.name)]
    near = exact or _by_prefix(registry, choices, name)
    if not near:
        raise Missing(f"no build of {name!r} was probed", "the page offers those there are")
    if len({column.sha for column in near}) > 1:
        raise UserError(f"{name!r} may be {' or '.join(column.sha[:12] for column in near)}", "give more of the commit")
    return near[0].model_copy(update={"host": "; ".join(compared.hosts(registry.store, near[0].sha))})


def _by_prefix(registry: Registry, choices: Sequence[ComparedBuild], name: str) -> list[ComparedBuild]:
    """Builds whose commit begins with `name`, from at least 6 digits on; older ones than are offered, too."""
    if not re.fullmatch("[0-9a-f]{6,40}", name):
        return []
    offered = {(column.engine, column.sha): column for column in choices}
    found = compared.probed_from(registry.store, name)
    unnamed = [ComparedBuild(engine=one.engine, sha=one.sha, name="", host="") for one in found]
    return [offered.get((column.engine, column.sha), column) for column in unnamed]


def _measured(registry: Registry, column: ComparedBuild) -> dict[_Key, dict[str, float]]:
    """Per test with its settings, the mean of each metric over the probes with the question's own settings.

    Of several builds of a commit, by other recipes, the newest that was probed counts; those by the flags of a release
    count by themselves, as with another setting.
    """
    runs: dict[_Key, dict[str, dict[int, list[float]]]] = {}
    for sample in compared.newest_samples(registry.store, Probed(column.engine, column.sha)):
        if sample.purpose.counts:
            by = {} if sample.flags == Flags.PINNED else {"flags": sample.flags}
            key = _Key(sample.test, tuple(sorted({**sample.parameters, **by}.items())), sample.counter)
            runs.setdefault(key, {}).setdefault(sample.metric, {}).setdefault(sample.probe, []).append(sample.value)
    return {
        key: {metric: fmean(reading(metric, found) for found in by_probe.values()) for metric, by_probe in own.items()}
        for key, own in runs.items()
    }
