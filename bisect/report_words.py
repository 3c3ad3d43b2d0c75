"""PURE: what several parts of a report read from the data that `report.gather` gives."""

import shlex
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def verdicts(data: Json) -> dict[str, Json]:
    """The verdicts there are, each by what stands before it: the test's name and a colon if there are several."""
    verdict = data["verdict"] or {}
    return {f"{test}: ": found for test, found in verdict["tests"].items()} if "tests" in verdict else {"": verdict}


def called(end: Json) -> str:
    """What good or bad is called in a sentence: the name it was given, a whole sha cut as all others are."""
    name: str = end["name"]
    return name[:12] if name == end["sha"] else name


def name_of(bisection: int, verdict: Json | None) -> str:
    """What a bisection's files are called: after its first culprit, else after the kind of its answer."""
    owns = [verdict, *verdict.get("tests", {}).values()] if verdict else []
    first = next((culprit["sha"][:12] for own in owns for culprit in own.get("culprits", ())), "")
    return f"cpubisect-{bisection}-{first or (verdict or {}).get('kind', 'unfinished')}"


def reproduce(data: Json) -> list[str]:
    """The words of the command that asks the same question again, of the public repository where one is known."""
    words = ["bisect", "start", data["good"]["sha"], data["bad"]["sha"]]
    words += [word for test in data.get("tests", [data["test"]]) for word in ("--test", test)]
    words += ["--repo", data.get("origin") or data["repository"], "--engine", data["engine"]]
    if data["find"] != "regression":
        words += ["--find", data["find"]]
    if data["metric"] != "auto":
        words += ["--metric", data["metric"]]
    for option, name in (("--min-step", "min_step"), ("--toolchain", "toolchain"), ("--counter", "counter_asked")):
        if data[name] is not None:
            words += [option, str(data[name])]
    for key, value in sorted(data["given"].items()):
        words += ["--set", f"{key}={value}"]
    return words


def command(words: Sequence[str], width: int = 74) -> str:
    """Words as a shell command over several lines, broken between words only."""
    lines = [""]
    for word in map(shlex.quote, words):
        if lines[-1] and len(lines[-1]) + len(word) > width - 4:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return " \\\n".join(lines)
