"""PURE: what the measured ends say before anything between them is built."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil

from cpubisect.base.metrics import L1_MISSES, LL_MISSES, MISPREDICTIONS
from cpubisect.base.plain import Plain
from cpubisect.search.costs import Cost
from cpubisect.search.stats import Step, spread_percent

DEFAULT_MIN_STEP = 0.5
"""Percent: the floor of the smallest step looked for, as in the instruction metrics of rustc-perf's 'small' class."""

OF_LAYOUT = {L1_MISSES: 1.1, LL_MISSES: 0.2, MISPREDICTIONS: 46.0}
"""Percent: so far apart were simulated counts of builds of the example that only moved code. Smaller steps are looked
for only if they are asked for."""

SHARE_OF_WHOLE = 0.1
"""By default a step must be this part of the whole difference to be looked for."""

NOISE_FACTOR = 3.0
"""A count must differ by this many times its own spread between repeats to count as a step."""

MOST_REPEATS = 5
"""An instruction count is repeated at most so often per commit."""

IGNORED_VARIABLES = (
    "basedir",
    "character_sets_dir",
    "datadir",
    "general_log_file",
    "gtid",
    "hostname",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_version",
    "last_insert",
    "lc_messages",
    "license",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "protocol_version",
    "pseudo_",
    "rand_seed",
    "relay_log",
    "secure_file",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "system_time_zone",
    "timestamp",
    "tls_version",
    "tmpdir",
    "version",
    "wsrep",
)
"""Prefixes of variables that differ between any two servers or say nothing about cost."""


class Regime(StrEnum):
    """How the search observes a commit."""

    EXACT = "exact"
    NOISY = "noisy"


@dataclass(frozen=True)
class Explained:
    """A step that is known: the commit that made it, and what that adds to the cost of all that contain it."""

    sha: str
    step: Cost


@dataclass(frozen=True)
class Yardstick:
    """How commits are compared in this bisection: `repeats` counts per commit in the exact regime, steps from
    `min_step` percent on, `direction` +1 for regressions; in the noisy regime by binaries that are linked anew for each
    reading if `redrawn`.

    In the exact regime commits are compared without what is `explained`; steps that end at the commits built for
    `settled` are known; `variables` are those of the server whose changed values make a part (a ratio) of the step, and
    `values` are good's and bad's of those that explain it.
    """

    metric: str
    regime: Regime
    repeats: int
    min_step: float
    direction: int
    redrawn: bool = False
    explained: tuple[Explained, ...] = ()
    settled: frozenset[str] = frozenset()
    variables: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Counts:
    """Instruction counts per query of repeated probes of the two ends."""

    good: Sequence[float]
    bad: Sequence[float]


@dataclass(frozen=True)
class Plan:
    """How to count: `repeats` probes per commit; steps under `min_step` percent are not looked for; `visible` is the
    smallest step, in percent, that this counting would have shown at all."""

    repeats: int
    min_step: float
    visible: float


def least_step(metric: str) -> float:
    """The smallest step, in percent, that is looked for by default in a metric that is counted."""
    return max(DEFAULT_MIN_STEP, OF_LAYOUT.get(metric, 0.0))


def counting_plan(
    counts: Counts,
    whole_percent: float,
    wanted: float | None,
    expected: float = 0.0,
    least: float = DEFAULT_MIN_STEP,
) -> Plan:
    """The plan for searching on what is counted, given the ends' counts and their difference in percent, and how far
    apart, in percent, counts of one build are `expected` to be: two of them may be close by chance. Without a step that
    is `wanted`, none below `least` percent is looked for.

    Repeats grow with the square of the spread over a quarter of the smallest step, as an error of a mean shrinks.
    """
    spread = max(spread_percent(counts.good), spread_percent(counts.bad), expected)
    floor = max(least, abs(whole_percent) * SHARE_OF_WHOLE) if wanted is None else wanted
    repeats = min(MOST_REPEATS, max(1, ceil((spread / (floor / 4)) ** 2)))
    visible = NOISE_FACTOR * spread / repeats**0.5
    return Plan(repeats, max(floor, visible), max(visible, 0.001))


def ruled_out(change: Step, direction: int, at_least: float) -> bool:
    """True if the step's interval leaves no room for one of so many percent the wanted way."""
    return (change.high if direction > 0 else -change.low) < at_least


@dataclass(frozen=True)
class ChangedVariable(Plain):
    """A server variable with another value than before; None where the server has none of that name."""

    name: str
    before: str | None
    after: str | None


def changed_variables(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[ChangedVariable, ...]:
    """What differs between the variables of two servers, by name; nothing where one of them has not been read."""
    if not before or not after:
        return ()
    return tuple(
        ChangedVariable(name, before.get(name), after.get(name))
        for name in sorted({name for name, _ in before.items() ^ after.items()})
        if not name.lower().startswith(IGNORED_VARIABLES)
    )


def changed_defaults(good: Mapping[str, str], bad: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Variables both servers have with different values that nobody set, as name → (good's, bad's)."""
    return {
        found.name: (found.before, found.after)
        for found in changed_variables(good, bad)
        if found.before is not None and found.after is not None
    }
