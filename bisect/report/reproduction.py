"""PURE: what has to be measured again to check an answer, and how near the result must come."""

from dataclasses import dataclass
from math import isfinite

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import CPU, INSTRUCTIONS, SIMULATED, Counter
from cpubisect.report.words import verdicts
from cpubisect.search.question import Find
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Culprit, Kind, Side, Verdict
from cpubisect.views.bisection import Bisection

SHARE = {INSTRUCTIONS: 0.1, CPU: 0.5, **dict.fromkeys(SIMULATED, 0.25)}
"""A step must come out within this part of itself: counts repeat, another compiler of the same name shifts them a
little, and those of misses more; CPU time depends on the host."""

FLOOR = {INSTRUCTIONS: 0.1, CPU: 2.0, **dict.fromkeys(SIMULATED, 1.0)}
"""Percentage points within which it always may come out."""

ENDS_ONLY = 1000.0
"""The smallest step to ask for, in percent, when only the two commits themselves are to be measured."""


@dataclass(frozen=True)
class Case:
    """One pair of commits to build and measure: the cost must change by `percent` from `before` to `after`, within
    `tolerance` percentage points; [`low`, `high`] is the recorded 99 % interval, in percent, None where it is not
    bounded; `options` are for `bisect start`."""

    title: str
    before: str
    after: str
    metric: str
    percent: float
    low: float | None
    high: float | None
    tolerance: float
    options: tuple[str, ...]


def cases(told: Bisection) -> list[Case]:
    """The pairs that an answer rests on: every culprit with its parent, or without one good and bad; none where nothing
    could be measured."""
    found = []
    for test, verdict in verdicts(told):
        found += [_culprit(told, test, verdict.metric, culprit, step) for culprit, step in verdict.found]
        if not verdict.found and verdict.kind is not Kind.UNBUILDABLE:
            found.append(_ends(told, test, verdict))
    return found


def _culprit(told: Bisection, test: str, metric: str, culprit: Culprit, recorded: Step) -> Case:
    title = f"{test}: culprit {culprit.sha[:12]} against its parent {culprit.parent[:12]}"
    least = min(ENDS_ONLY, max(0.001, round(abs(recorded.percent) / 2, 3)))
    find = told.find.opposite if culprit.side is Side.GOOD else told.find
    return _case(told, test, title, (culprit.parent, culprit.sha), metric, recorded, least, find)


def _ends(told: Bisection, test: str, verdict: Verdict) -> Case:
    """Good against bad; where their code is equal nothing was measured, and the step is none."""
    metric = verdict.metric or next((metric for metric in SHARE if metric in verdict.ends), INSTRUCTIONS)
    recorded = verdict.ends.get(metric, Step(0.0, 0.0, 0.0, 0.0))
    title = f"{test}: bad {told.bad.called} against good {told.good.called}"
    return _case(told, test, title, (told.good.sha, told.bad.sha), metric, recorded, ENDS_ONLY, told.find)


def _case(
    told: Bisection,
    test: str,
    title: str,
    pair: tuple[str, str],
    metric: str,
    recorded: Step,
    min_step: float,
    find: Find,
) -> Case:
    half = (recorded.high - recorded.low) / 2 if recorded.bounded else 0.0
    return Case(
        title=title,
        before=pair[0],
        after=pair[1],
        metric=metric,
        percent=recorded.percent,
        low=recorded.low if isfinite(recorded.low) else None,
        high=recorded.high if isfinite(recorded.high) else None,
        tolerance=round(max(half, abs(recorded.percent) * SHARE[metric], FLOOR[metric]), 3),
        options=_options(told, test, pair[1], metric, min_step, find),
    )


def _options(told: Bisection, test: str, sha: str, metric: str, min_step: float, find: Find) -> tuple[str, ...]:
    """All settings as they were, also those left to their defaults: a default may be another one by then."""
    words = ["--test", test, "--engine", told.engine, "--find", find.value]
    words += ["--metric", "cpu" if metric == CPU else metric.removesuffix("/query"), "--min-step", str(min_step)]
    # Where a counter without functions had counted, any other will do: what is compared are steps.
    if metric == INSTRUCTIONS and told.counter is not None and Counter(told.counter).tells_functions:
        words += ["--counter", told.counter]
    toolchain = next((commit.toolchain for commit in told.commits if commit.sha == sha), told.toolchain)
    words += ["--toolchain", toolchain] if toolchain else []
    words += ["--flags", told.flags.value] if told.flags is not Flags.PINNED else []
    words += ["--unsafe-settings"] if told.unsafe_settings else []
    for name, value in sorted(told.parameters[test].items()):
        words += ["--set", f"{name}={value}"]
    return tuple(words)
