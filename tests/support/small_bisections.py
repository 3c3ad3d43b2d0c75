"""Bisections over small histories of a one-file db_bench whose costs are macros."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner
from repositories import Story

from cpubisect.base.home import Home
from cpubisect.base.sandbox.policy import Wish
from cpubisect.cli import main
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.run import rise
from cpubisect.search.events import Watch
from cpubisect.search.question import Find, MetricChoice
from cpubisect.service.ask import Ask
from cpubisect.service.ask import ask as ask_first
from cpubisect.service.launch import begin

BENCH = (Path(__file__).parent.parent / "workloads" / "small_bench.c").read_text()
MAKEFILE = "db_bench: small_bench.c cost.h docs/cost.md\n\t$(CC) -O1 -w -include cost.h -o $@ small_bench.c\n"
QUICK = ["--set", "rows=100", "--set", "repeats=1", "--set", "instructions_ops=100,300", "--set", "clock_ops=100,2000"]
QUICK += ["--set", "load=filluniquerandom"]
UNCONFINED = ["--sandbox", "off"]
"""Searches are tried here, not builds: those in a sandbox take longer to begin, and have a cache for each clone."""


def cost(loops: int, more: str = "") -> dict[str, str]:
    """The file that says what a lookup costs."""
    return {"cost.h": f"#define LOOKUP {loops}\n{more}"}


def tree(loops: int) -> dict[str, str]:
    """A whole tree."""
    version = "".join(f"#define MINIKV_{part} 1\n" for part in ("MAJOR", "MINOR", "PATCH"))
    fixed = {"Makefile": MAKEFILE, "small_bench.c": BENCH, "include/minikv/version.h": version, "docs/cost.md": ""}
    return {**fixed, **cost(loops)}


def said(bisection: int) -> list[dict[str, Any]]:
    """The journal of a bisection: each event's data with its `kind`."""
    lines = CliRunner().invoke(main, ["log", str(bisection), "--json"], catch_exceptions=False).stdout.splitlines()
    return [{**event["data"], "kind": event["kind"]} for event in map(json.loads, lines)]


def briefly() -> AbstractContextManager[object]:
    """While this lasts a culprit that was found by its instructions is counted once more, and gets two rounds of CPU
    time: counts of one build are alike, and nobody looks at its CPU time."""
    return mock.patch.multiple(rise, CLOCK_ROUNDS=range(2, 3), COUNTS=1)


def ask(
    path: Path, good: str, bad: str, *more: str, home: Path, tests: Sequence[str] = ("readrandom",)
) -> dict[str, Any]:
    """The report of a bisection of the clone at `path`, whose culprits are confirmed `briefly`."""
    words = ["start", good, bad, "--repo", str(path), "--json", "--quiet", *QUICK, *UNCONFINED, *more]
    words += [word for test in tests for word in ("--test", test)]
    with briefly():
        result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def begun(
    path: Path | str,
    good: str,
    *more: str,
    tests: Sequence[str] = ("readrandom",),
    metric: MetricChoice = MetricChoice.AUTO,
    engine: str | None = None,
    watch: Watch = lambda event: None,
) -> tuple[Registry, int]:
    """The registry of the home in the environment, and a bisection up to main of the clone or URL `path` that has not
    been run; `more` are settings."""
    given = dict(pair.split("=", 1) for pair in (*QUICK[1::2], *more))
    asked = Ask(
        *(good, "main", tuple(tests), str(path), engine, metric, Find.REGRESSION, given),
        min_step=None,
        toolchain=None,
        matrix=None,
        jobs=2,
        sandbox=Wish.OFF,
    )
    home = Home.open()
    registry = Registry(home, Store(home.store))
    return registry, begin(registry, ask_first(home, asked, watch))


def history(*commits: Mapping[str, str | bytes | None]) -> Story:
    """A line of commits, the first one with a whole tree."""
    story = Story()
    for files in commits:
        story.commit(files)
    return story


def verdict_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict in the report of a bisection with one test."""
    (verdict,) = report["verdict"]["tests"].values()
    return dict(verdict)


def percent(culprit: Mapping[str, Any]) -> float:
    """The step of a culprit in instructions."""
    return float(culprit["steps"]["instructions/query"]["percent"])
