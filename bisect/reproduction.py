"""PURE: what has to be measured again to check an answer, and how near the result must come."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cpubisect.report_words import called, verdicts
from cpubisect.workloads.probe import CPU, INSTRUCTIONS

Json = dict[str, Any]

SHARE = {INSTRUCTIONS: 0.1, CPU: 0.5}
"""A step must come out within this part of itself: counts repeat, another compiler of the same name shifts them a
little; CPU time depends on the host."""

FLOOR = {INSTRUCTIONS: 0.1, CPU: 2.0}
"""Percentage points within which it always may come out."""

ENDS_ONLY = 1000.0
"""The smallest step to ask for, in percent, when only the two commits themselves are to be measured."""


@dataclass(frozen=True)
class Case:
    """One pair of commits to build and measure: the cost must change by `percent` from `before` to `after`, within
    `tolerance` percentage points; [`low`, `high`] is the recorded 99 % interval, in percent; `options` are for
    `bisect start`."""

    title: str
    before: str
    after: str
    metric: str
    percent: float
    low: float | None
    high: float | None
    tolerance: float
    options: tuple[str, ...]


def cases(data: Json) -> list[Case]:
    """The pairs that an answer rests on: every culprit with its parent, or without one good and bad; `data` is what
    `report.gather` says. Empty where nothing could be measured."""
    found = []
    tests = data.get("tests", [data["test"]])
    for test, verdict in zip(tests, verdicts(data).values(), strict=False):
        if not verdict or verdict["kind"] == "unbuildable":
            continue
        for culprit in verdict.get("culprits", ()):
            found.append(_culprit(data, test, verdict["metric"], culprit))
        if not verdict.get("culprits"):
            found.append(_ends(data, test, verdict))
    return found


def _culprit(data: Json, test: str, metric: str, culprit: Json) -> Case:
    recorded = culprit["steps"][metric]
    title = f"{test}: culprit {culprit['sha'][:12]} against its parent {culprit['parent'][:12]}"
    least = min(ENDS_ONLY, max(0.001, round(abs(recorded["percent"]) / 2, 3)))
    return _case(data, test, title, (culprit["parent"], culprit["sha"]), metric, recorded, least)


def _ends(data: Json, test: str, verdict: Json) -> Case:
    """Good against bad; where their code is equal nothing was measured, and the step is none."""
    ends = verdict.get("ends") or {}
    metric = verdict.get("metric") or next((metric for metric in SHARE if metric in ends), INSTRUCTIONS)
    recorded = ends.get(metric, {"percent": 0.0, "low": 0.0, "high": 0.0})
    title = f"{test}: bad {called(data['bad'])} against good {called(data['good'])}"
    return _case(data, test, title, (data["good"]["sha"], data["bad"]["sha"]), metric, recorded, ENDS_ONLY)


def _case(
    data: Json,
    test: str,
    title: str,
    pair: tuple[str, str],
    metric: str,
    recorded: Mapping[str, float | None],
    min_step: float,
) -> Case:
    percent = recorded["percent"] or 0.0
    low, high = recorded["low"], recorded["high"]
    half = 0.0 if low is None or high is None else (high - low) / 2
    return Case(
        title=title,
        before=pair[0],
        after=pair[1],
        metric=metric,
        percent=percent,
        low=low,
        high=high,
        tolerance=round(max(half, abs(percent) * SHARE[metric], FLOOR[metric]), 3),
        options=_options(data, test, pair[1], metric, min_step),
    )


def _options(data: Json, test: str, sha: str, metric: str, min_step: float) -> tuple[str, ...]:
    """All settings as they were, also those left to their defaults: a default may be another one by then."""
    words = ["--test", test, "--engine", data["engine"], "--find", data["find"]]
    words += ["--metric", "instructions" if metric == INSTRUCTIONS else "cpu", "--min-step", str(min_step)]
    # Where perf had counted, callgrind will do on a host without it: what is compared are steps.
    words += ["--counter", data["counter"]] if metric == INSTRUCTIONS and data["counter"] == "callgrind" else []
    toolchains = [commit["toolchain"] for commit in data["commits"] if commit["sha"] == sha]
    toolchain = next(iter(toolchains), data["toolchain"])
    words += ["--toolchain", toolchain] if toolchain else []
    parameters = data["parameters"][test] if "tests" in data else data["parameters"]
    for name, value in sorted(parameters.items()):
        words += ["--set", f"{name}={value}"]
    return tuple(words)
