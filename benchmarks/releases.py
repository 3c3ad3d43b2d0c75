"""What it costs to measure tagged releases in place of what tells hardly more: `python benchmarks/releases.py`.

The product's decisions are run with no releases and with some of the commits tagged, by chance: the search on a line
with many small and six planted steps, and the chase of one step through nested merges. The last line printed is one
JSON object.
"""

import argparse
import json
import random
from collections.abc import Callable
from statistics import fmean

from searching.exact import by_product, draw
from searching.woven import chased, woven

SHARES = (0.0, 0.02, 0.1, 0.5)
"""Parts of the commits that are releases; the last is far more than histories have."""

SIZES, DEPTHS, STEPS = (128, 512), (1, 3), 60


def tagged(size: int, share: float, seed: str) -> frozenset[int]:
    """Some of so many numbers."""
    chance = random.Random(seed)
    return frozenset(number for number in range(1, size) if chance.random() < share)


def on_line(seed: int, trial: int, size: int, share: float) -> int:
    """Builds of the search for all steps of one line."""
    return by_product(draw(seed, trial, size), True, tagged(size, share, f"{seed} {trial}"))[1]


def through_merges(seed: int, trial: int, depth: int, share: float) -> int:
    """Builds of the chase of one step, without a prior."""
    graph = woven(seed, trial, STEPS, depth)
    size = len(graph.nodes)
    single = [n for n, node in enumerate(graph.nodes[:-1], start=1) if len(node.parents) == 1]
    culprit = random.Random(f"{seed} {trial} {depth}").choice(single)
    return chased(graph, culprit, [1.0] * size, tagged(size, share, f"{seed} {trial}")).count


def main() -> None:
    """Print the means, and a JSON object with what each share of releases costs more than none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=100)
    asked = parser.parse_args()
    ways: list[tuple[str, Callable[[int, int, int, float], int], int]] = [
        *((f"a line of {size}, all steps", on_line, size) for size in SIZES),
        *((f"merges {depth} deep, one step", through_merges, depth) for depth in DEPTHS),
    ]
    told = {}
    print("| builds with so many commits tagged | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |")
    print("|---|" + "--:|" * len(SHARES))
    for name, builds, of in ways:
        means = [fmean(builds(asked.seed, trial, of, share) for trial in range(asked.trials)) for share in SHARES]
        print(f"| {name} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")
        told[name] = [round(mean / means[0] - 1, 4) for mean in means]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
