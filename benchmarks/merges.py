"""Builds for one step in histories with nested merges: `python benchmarks/merges.py [--write]`, and of a real one
`python benchmarks/merges.py --known CLONE GOOD BAD CULPRIT`.

Every commit shows the step or does not. The product's chase is run with a prior that names the culprit, with none, and
with one that names another commit; beside it stand git's own bisection of the graph, and the halving of the first
parents and then of each merged line, both ends of which are built. With `--write` the table goes into
`docs/search-benchmark.md`. The last line printed is one JSON object. `--known` tells what the ways without a prior
take in a real history whose culprit is known, if every commit can be built.
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from cpubisect.history.candidates import graph
from cpubisect.history.repository import Repository
from cpubisect.search.exact import SPARE, halvings
from cpubisect.search.graph import Graph
from searching.woven import Builds, by_lines, chased, halved, woven

PAGE = Path(__file__).resolve().parent.parent / "docs" / "search-benchmark.md"
BEGIN, END = "<!-- By `python benchmarks/merges.py --write`: -->", "<!-- Up to here. -->"
DEPTHS = (1, 2, 3, 4)
STEPS = 60
ENDS_AND_PARENT = 3
NAMED = 0.6
"""The part of the prior weight that a named suspect has; the others share the rest evenly."""


def prior(graph: Graph, named: int | None) -> list[float]:
    """The weights of all commits."""
    size = len(graph.nodes)
    if named is None:
        return [1.0] * size
    return [NAMED if number == named else (1 - NAMED) / (size - 1) for number in range(1, size + 1)]


def trial(seed: int, number: int, depth: int) -> dict[str, Builds]:
    """One history and one culprit, by every way of searching."""
    graph = woven(seed, number, STEPS, depth)
    chance = random.Random(f"{seed} {number} {depth}")
    single = [n for n, node in enumerate(graph.nodes[:-1], start=1) if len(node.parents) == 1]
    culprit, other = chance.sample(single, 2)
    return {
        "chase, named": chased(graph, culprit, prior(graph, culprit)),
        "chase, no prior": chased(graph, culprit, prior(graph, None)),
        "chase, wrong name": chased(graph, culprit, prior(graph, other)),
        "git bisect": halved(graph, culprit),
        "line by line": by_lines(graph, culprit),
    }


def table(rows: Sequence[tuple[int, float, dict[str, list[Builds]]]]) -> list[str]:
    """As Markdown: means, and in brackets the most."""
    names = list(rows[0][2])
    lines = [f"| depth | commits | {' | '.join(names)} |", "|--:" * (2 + len(names)) + "|"]
    for depth, commits, found in rows:
        cells = (f"{fmean(one.count for one in own):.1f} ({max(one.count for one in own)})" for own in found.values())
        lines.append(f"| {depth} | {commits:.0f} | {' | '.join(cells)} |")
    return lines


def known(clone: Path, good: str, bad: str, culprit: str) -> dict[str, object]:
    """What it takes in a real history; raises SystemExit for names that are none."""
    repository = Repository(clone)
    shas = [repository.commit(name) for name in (good, bad, culprit)]
    if None in shas:
        raise SystemExit(f"{clone} has not all of {good}, {bad} and {culprit}")
    start, end, sha = map(str, shas)
    found = graph(repository, start, end)
    number = found.numbers[sha]
    return {
        "commits": len(found.nodes),
        "first_parents": len(found.first_parents(end)),
        "merges_deep": len(found.entered(sha)),
        "git bisect": halved(found, number).count,
        "line by line": by_lines(found, number).count,
        "chase, no prior": chased(found, number, prior(found, None)).count,
    }


def main() -> None:
    """Print the table, and a JSON object with what must hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--known", nargs=4, metavar=("CLONE", "GOOD", "BAD", "CULPRIT"))
    asked = parser.parse_args()
    if asked.known:
        print(json.dumps(known(Path(asked.known[0]), *asked.known[1:])))
        return
    rows = []
    for depth in DEPTHS:
        trials = [trial(asked.seed, number, depth) for number in range(asked.trials)]
        commits = fmean(len(woven(asked.seed, number, STEPS, depth).nodes) for number in range(asked.trials))
        rows.append((depth, commits, {name: [one[name] for one in trials] for name in trials[0]}))
    lines = table(rows)
    print(*lines, sep="\n")
    if asked.write:
        text = PAGE.read_text()
        head, _, rest = text.partition(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END]) + rest.partition(END)[2])
    worst = [
        wrong.count - none.count
        for _, _, found in rows
        for wrong, none in zip(found["chase, wrong name"], found["chase, no prior"], strict=True)
    ]
    sizes = [len(woven(asked.seed, number, STEPS, depth).nodes) for depth in DEPTHS for number in range(asked.trials)]
    over = [
        wrong.count - (ENDS_AND_PARENT + halvings(size))
        for wrong, size in zip((one for _, _, found in rows for one in found["chase, wrong name"]), sizes, strict=True)
    ]
    every = [one for _, _, found in rows for own in found.values() for one in own]
    told = {
        "histories": asked.trials * len(DEPTHS),
        "right_share": fmean(one.right for one in every),
        "wrong_name_costs_mean": round(fmean(worst), 2),
        "wrong_name_costs_most": max(worst),
        "wrong_name_costs_more_than_two_share": fmean(cost > SPARE for cost in worst),
        "wrong_name_over_halving_most": max(over),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
