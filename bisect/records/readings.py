"""What probes say of a commit: its counts, its CPU time, its profile."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from cpubisect.base.metrics import CPU, INSTRUCTIONS, reading
from cpubisect.records.rows import ProbeRow


def counted(rows: Sequence[ProbeRow], metric: str) -> list[float]:
    """What a metric says that is counted, instructions per query say, one value per probe."""
    return [reading(metric, row.values[metric]) for row in rows]


def instructions(rows: Sequence[ProbeRow]) -> list[float]:
    """Instructions per query, one value per probe."""
    return counted(rows, INSTRUCTIONS)


def cpu_samples(rows: Sequence[ProbeRow]) -> list[float]:
    """CPU microseconds per query, one value per probe: the smallest of its runs."""
    return [reading(CPU, row.values[CPU]) for row in rows]


def mean_profile(rows: Sequence[ProbeRow]) -> Mapping[str, float]:
    """What every function costs in the metric that is counted, averaged over probes."""
    return _mean([row.profile for row in rows])


def mean_attributed(rows: Sequence[ProbeRow]) -> Mapping[str, float]:
    """`mean_profile` with what libraries did for each function, over the probes that know; empty if none does."""
    return _mean([row.attributed for row in rows if row.attributed])


def _mean(profiles: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = {name for profile in profiles for name in profile}
    return {name: fmean(profile.get(name, 0.0) for profile in profiles) for name in names}
