"""PURE: what a bisection found, in the one or two sentences that a report begins with."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from cpubisect.report_words import called
from cpubisect.workloads.probe import CPU, INSTRUCTIONS

Json = dict[str, Any]

_PER_QUERY = {INSTRUCTIONS: "instructions per query", CPU: "CPU time per query"}


def finding(data: Json) -> list[str]:
    """The answer first, then how it was confirmed; one pair of sentences for each test that was asked about."""
    verdict = data["verdict"]
    if verdict is None or data["state"] != "finished":
        return [f"bisection {data['id']} is {data['state']}: no answer yet"]
    if "tests" not in verdict:
        return _told(data, data["test"], verdict)
    return [sentence for test, own in verdict["tests"].items() for sentence in _told(data, test, own)]


def costs(data: Json, sha: str, test: str, metric: str) -> list[float]:
    """The samples of one commit in one metric, or those of the commit whose code it has."""
    commit: Json = next((one for one in data["commits"] if one["sha"] == sha), {"values": {}})
    values = commit["values"].get(test, {}) if "tests" in data else commit["values"]
    found: list[float] = values.get(metric, [])
    twin = commit.get("equal_to")
    return costs(data, twin, test, metric) if twin and twin != sha and not found else found


def _told(data: Json, test: str, verdict: Json) -> list[str]:
    if not verdict.get("culprits"):
        return [f"{data['engine']}, {test}: {verdict['summary']} ({verdict['kind']})"]
    first, metric = verdict["culprits"][0], verdict["metric"]
    change = first["steps"][metric]
    more = "more" if change["percent"] > 0 else "less"
    others = len(verdict["culprits"]) - 1
    also = f" {others} more with smaller shares {'is' if others == 1 else 'are'} below." if others else ""
    answer = (
        f"{data['engine']}, {test}: {abs(change['percent']):.2f} % {more} {_PER_QUERY[metric]} since commit "
        f"{first['sha'][:12]} “{first['subject']}” ({first['date']}).{also}"
    )
    return [answer, _confirmed(data, test, first, metric, change)]


def _confirmed(data: Json, test: str, culprit: Json, metric: str, change: Mapping[str, float | None]) -> str:
    sides = [costs(data, sha, test, metric) for sha in (culprit["parent"], culprit["sha"])]
    counted = ""
    if metric == INSTRUCTIONS and all(sides):
        counted = f": {fmean(sides[0]):,.0f} before, {fmean(sides[1]):,.0f} after ({data['counter']})"
    between = ""
    if change["low"] is not None and change["high"] is not None:
        between = f"; 99 % interval of the step {change['low']:+.2f} to {change['high']:+.2f} %"
    share = ""
    if culprit.get("share") is not None:
        share = (
            f". It is {culprit['share'] * 100:.0f} % of the difference between "
            f"{called(data['good'])} and {called(data['bad'])}"
        )
    how = "in interleaved rounds" if metric == CPU else "repeatedly"
    return (
        f"Confirmed by building this commit and its parent {culprit['parent'][:12]} alike and measuring both "
        f"{how}{counted}{between}{share}."
    )
