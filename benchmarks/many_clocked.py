"""What many builders save where CPU time is searched: `python benchmarks/many_clocked.py [--trials N] [--write]`.

The product's own orchestration, from the ends to the verdict, in simulated histories (`searching/world.py`) with one
probe host and k builders beside it: hours, builds and probes by medians, and how many answers are right. Prints a
Markdown table, and as its last line one JSON object; `--write` puts the table into `docs/search-benchmark.md`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from cpubisect.run.runner import run
from searching.builders import ManyBuilders
from searching.host import Host
from searching.lab import SimulatedLab
from searching.result import Result
from searching.score import Verdict, judge
from searching.world import World

PAGE = Path(__file__).resolve().parent.parent / "docs" / "search-benchmark.md"
BEGIN, END = "<!-- By `python benchmarks/many_clocked.py --write`: -->", "<!-- Up to here, on CPU time. -->"

KS = (1, 2, 4, 8)
WORLDS = (World(size=250), World(size=250, step=5.0), World(size=250, drift=1.0), World(size=2000))
"""Steps of so many times the noise of one reading; builds take ten times as long as a probe of CPU time."""


@dataclass(frozen=True)
class Run:
    """One search: hours of the clock, builds that were begun, probes, and whether its answer is right."""

    hours: float
    builds: int
    probes: int
    right: bool


def search(world: World, k: int, seed: int, trial: int) -> Run:
    """One whole bisection."""
    history = world.draw(seed, trial)
    host = Host(history)
    verdict = run(SimulatedLab(host) if k == 1 else ManyBuilders(host, k))
    return Run(host.clock_s / 3600, host.builds, host.probes, judge(history, Result.of(verdict)) is Verdict.RIGHT)


def table(told: dict[World, dict[int, list[Run]]]) -> Iterator[str]:
    """As Markdown: a row for each kind of history."""
    yield "| candidates | step over noise | drift | | " + " | ".join(f"k = {k}" for k in KS) + " |"
    yield "|--:|--:|--:|---|" + "--:|" * len(KS)
    for world, by_k in told.items():
        base = median(run.hours for run in by_k[1])
        rows = {
            "hours": [f"{(hours := median(run.hours for run in by_k[k])):.2f} (×{hours / base:.2f})" for k in KS],
            "builds": [f"{median(run.builds for run in by_k[k]):.0f}" for k in KS],
            "probes": [f"{median(run.probes for run in by_k[k]):.0f}" for k in KS],
            "right": [f"{sum(run.right for run in by_k[k])} of {len(by_k[k])}" for k in KS],
        }
        head = f"{world.size:,} | {world.step:g} | {world.drift:g} %/√h"
        for place, (name, cells) in enumerate(rows.items()):
            yield f"| {' | | ' if place else head} | {name} | {' | '.join(cells)} |"


def headline(told: dict[World, dict[int, list[Run]]]) -> dict[str, float]:
    """The worst of eight builders beside one by medians, and the share of right answers with either."""
    both = [(by_k[8], by_k[1]) for by_k in told.values()]
    return {
        "hours_8": round(max(median(r.hours for r in many) / median(r.hours for r in one) for many, one in both), 3),
        "builds_8": round(max(median(r.builds for r in many) / median(r.builds for r in one) for many, one in both), 3),
        "right_8": round(fmean(run.right for many, _ in both for run in many), 4),
        "right_1": round(fmean(run.right for _, one in both for run in one), 4),
    }


def main(words: Sequence[str]) -> None:
    """Print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=12, help="histories of each kind (default 12)")
    parser.add_argument("--write", action="store_true", help="put the table into the documentation")
    parser.add_argument("--seed", type=int, default=1, help="of all histories (default 1)")
    asked = parser.parse_args(words)
    if asked.seed < 0 or asked.trials < 1:
        parser.error("the seed is not negative, and there is one trial at least")
    if asked.write and not all(mark in PAGE.read_text() for mark in (BEGIN, END)):
        parser.error(f"{PAGE} lacks a line that the table stands between: {BEGIN}, {END}")
    told = {
        world: {k: [search(world, k, asked.seed, trial) for trial in range(asked.trials)] for k in KS}
        for world in WORLDS
    }
    lines = [*table(told)]
    print(*lines, sep="\n")
    numbers = json.dumps(headline(told))
    if asked.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        note = f"Seed {asked.seed}, {asked.trials} histories of each kind: `{numbers}`"
        PAGE.write_text("\n".join([head + BEGIN, "", note, "", *lines, "", END]) + rest.partition(END)[2])
    print(numbers)


if __name__ == "__main__":
    main(sys.argv[1:])
