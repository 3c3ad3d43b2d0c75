"""What a command costs before it does anything: CPU time of whole processes, as ratios to a bare start.

    python benchmarks/start.py [--home DIRECTORY] [--rounds N] [--limit SECONDS]

A bare start is Python that imports click. Commands take turns with it, so that a change of the host's speed hits both;
medians are printed, then one JSON object. Without --home, the commands find an empty home directory.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

BARE = (sys.executable, "-c", "import click")
COMMANDS: Mapping[str, Sequence[str]] = {
    "--help": ("--help",),
    "start --help": ("start", "--help"),
    "list": ("list",),
    "list --json": ("list", "--json"),
    "status": ("status",),
}
LIMIT_S = 0.3
"""CPU seconds that these commands may take, on the machine where it was set; ratios hold elsewhere."""


def cpu_s(argv: Sequence[str], home: Path) -> float:
    """CPU seconds of one process, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "CPUBISECT_HOME": str(home)}
    subprocess.run(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="a home directory with bisections")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="CPU seconds")
    parser.add_argument("--bisect", type=Path, default=Path(sys.executable).with_name("bisect"), help="another one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as empty:
        home = arguments.home or Path(empty)
        taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
        bare: list[float] = []
        for number in range(arguments.rounds + 1):
            for name, words in COMMANDS.items():
                pair = cpu_s(BARE, home), cpu_s((str(arguments.bisect), *words), home)
                # The first round fills the file cache.
                if number:
                    bare.append(pair[0])
                    taken[name].append(pair[1])
    start = median(bare)
    print(f"{'bare start':<14}{start:8.3f} CPU s")
    for name, values in taken.items():
        print(f"{name:<14}{median(values):8.3f} CPU s  {median(values) / start:6.1f} times a bare start")
    slowest = max(median(values) for values in taken.values())
    told = {
        "bare_cpu_s": round(start, 3),
        "cpu_s": {name: round(median(values), 3) for name, values in taken.items()},
        "ratios": {name: round(median(values) / start, 1) for name, values in taken.items()},
        "within": slowest <= arguments.limit,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
