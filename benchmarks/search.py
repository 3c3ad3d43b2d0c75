"""This product's search beside its peers in simulated histories: `python benchmarks/search.py --small` or `--full`.

`--small` covers every kind of world with few trials and prints a table and, as its last line, one JSON object.
`--full` writes its tables into `docs/search-benchmark.md`, after the text that is there. `--accuracy` leaves out
the peers and the worlds with further steps, and so has more trials of this product; its table goes into
`docs/search-accuracy.md`. What these two have finished is kept under `build/` and not done again. All are the same for
the same `--seed`.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

# Two processes that each solve small systems with several threads get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from searching import cells, exact, table
from searching.run import Results, pieces, run
from searching.searches import OURS, SEARCHES

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "search-benchmark"
PAGE = ROOT / "docs" / "search-benchmark.md"
ACCURACY_PAGE = ROOT / "docs" / "search-accuracy.md"
MARK = "<!-- What follows is written by `python benchmarks/search.py {kind}`. -->"

FULL_TRIALS = 200
ACCURACY_TRIALS = 100
SMALL_TRIALS = dict.fromkeys(SEARCHES, 200) | {OURS: 10, "git_bayesect": 20, "Pinpoint": 16}
"""As many of each search as a minute allows: those that think least are tried as often as in the full grid."""
EXACT_SIZES = (512, 2048)


def small(seed: int, trials: Mapping[str, int], processes: int) -> None:
    """Every kind of world, a few times each."""
    grid = list(cells.small())
    results = run(list(pieces(grid, trials, seed)), processes, None)
    print(*table.terminal(table.summaries(results)), sep="\n")
    print(json.dumps(table.headline(results).as_dict()))


def full(seed: int, trials: int, processes: int, page: Path) -> None:
    """The whole grid, into the documentation; raises SystemExit if the page has no place for it."""
    head = before_mark(page, "--full")
    started = time.monotonic()
    works = list(pieces(cells.full(), dict.fromkeys(SEARCHES, trials), seed))
    results = run(works, processes, KEPT)
    tallies = {size: exact.compare(seed, trials, size) for size in EXACT_SIZES}
    page.write_text("\n".join([head, *document(results, tallies, seed, trials)]) + "\n")
    print(f"{page}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    print(json.dumps(table.headline(results).as_dict()))


def accuracy(seed: int, trials: int, processes: int, page: Path) -> None:
    """This product alone where there is one step and it promises to be right, into the documentation; raises SystemExit
    if the page has no place for it."""
    head = before_mark(page, "--accuracy")
    promised = [cell for cell in cells.full() if cell.promised and not cell.world.others]
    results = run(list(pieces(promised, {OURS: trials}, seed)), processes, KEPT)
    numbers = json.dumps(table.accuracy_numbers(results))
    about = f"\nSeed {seed}, {trials} histories of each kind: `{numbers}`\n"
    page.write_text("\n".join([head, about, *table.accuracy(results)]) + "\n")
    print(numbers)


def before_mark(page: Path, kind: str) -> str:
    """A page up to the line that its tables come after; raises SystemExit if it lacks that."""
    text, mark = page.read_text() if page.is_file() else "", MARK.format(kind=kind)
    if mark not in text:
        raise SystemExit(f"{page} lacks the line that the tables come after: {mark}")
    return text[: text.index(mark)] + mark


def document(
    results: Results, tallies: Mapping[int, Mapping[str, exact.Tally]], seed: int, trials: int
) -> Iterator[str]:
    """The tables, as Markdown."""
    found = table.summaries(results)
    numbers = table.headline(results).as_dict()
    yield f"\nSeed {seed}, {trials} trials a cell: " + ", ".join(f"{name} {value}" for name, value in numbers.items())
    yield "\n## Right answers and hours"
    yield "\nRight answers + sets with the culprit · mean hours. Bold is the fastest of those that are right in a cell."
    yield from table.overview(found)
    yield "\n## How much one step dominates\n"
    yield from table.dominance(results)
    yield "\n## Exact metric\n"
    yield from table.exact(tallies)
    yield "\n## Stated probability\n"
    yield from table.stated(results, OURS)
    yield "\nCell by cell:\n"
    yield from table.brier_by_cell(results, OURS)
    yield "\n## Everything that was counted\n"
    yield from table.details(found)


def main() -> None:
    """Read the command line and run one of the two."""
    parser = argparse.ArgumentParser(description="Compare searches in simulated histories.")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--small", action="store_true", help="few trials of every kind of world, under a minute")
    kind.add_argument("--full", action="store_true", help="all worlds, into the documentation; can be resumed")
    kind.add_argument(
        "--accuracy", action="store_true", help="this product alone where it promises to be right; can be resumed"
    )
    parser.add_argument("--seed", type=int, default=1, help="of all worlds (default 1)")
    parser.add_argument(
        "--trials",
        type=int,
        help=f"of each search per cell (default: as many as a minute allows, {FULL_TRIALS}, or {ACCURACY_TRIALS})",
    )
    parser.add_argument("--processes", type=int, default=2, help="at a time (default 2)")
    parser.add_argument("--page", type=Path, help="where --full and --accuracy put their tables")
    asked = parser.parse_args()
    # As Ctrl-C does, so that the worker processes end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if min(asked.processes, 1 if asked.trials is None else asked.trials) < 1 or asked.seed < 0:
        parser.error("trials and processes are at least 1, and the seed is not negative")
    if asked.small:
        small(asked.seed, dict.fromkeys(SEARCHES, asked.trials) if asked.trials else SMALL_TRIALS, asked.processes)
    elif asked.full:
        full(asked.seed, asked.trials or FULL_TRIALS, asked.processes, asked.page or PAGE)
    else:
        accuracy(asked.seed, asked.trials or ACCURACY_TRIALS, asked.processes, asked.page or ACCURACY_PAGE)


if __name__ == "__main__":
    main()
