"""This product's bisection beside its peers' in simulated histories: `python benchmarks/search.py --small` or `--full`.

`--small` covers every kind of world with few trials and prints a table and, as its last line, one JSON object.
`--full` writes its tables into `docs/search-benchmark.md`, after the text that is there. `--audit` is of this product
alone in the worlds of an audit, with more trials; its tables go into `docs/search-accuracy.md`, and a plot beside that.
What these two have finished is kept under `build/` and not done again. All are the same for the same `--seed`.
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

from searching import audit, cells, exact, table
from searching.run import Results, pieces, run
from searching.searches import OURS, SEARCHES

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "search-benchmark"
PAGE = ROOT / "docs" / "search-benchmark.md"
ACCURACY_PAGE = ROOT / "docs" / "search-accuracy.md"
PLOT = "search-calibration.svg"
MARK = "<!-- What follows is written by `python benchmarks/search.py {kind}`. -->"

SMALL_TRIALS = 12
FULL_TRIALS = 200
AUDIT_TRIALS = 600
"""Histories of each kind of world; without one miss in 600 the one-sided 95 % bound of misses is 0.5 %."""

EXACT_SIZES = (512, 2048)


def small(seed: int, trials: int, processes: int) -> None:
    """Every kind of world, a few times each."""
    results = run(list(pieces(cells.small(), SEARCHES, trials, seed)), processes, None)
    print(*table.terminal(table.summaries(results)), sep="\n")
    print(json.dumps(table.headline(results).as_dict()))


def full(seed: int, trials: int, processes: int, page: Path) -> None:
    """The whole grid, into the documentation; raises SystemExit if the page has no place for it."""
    head = before_mark(page, "--full")
    started = time.monotonic()
    results = run(list(pieces(cells.full(), SEARCHES, trials, seed)), processes, KEPT)
    tallies = {size: exact.compare(seed, trials, size) for size in EXACT_SIZES}
    page.write_text("\n".join([head, *document(results, tallies, seed, trials)]) + "\n")
    print(f"{page}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    print(json.dumps(table.headline(results).as_dict()))


def audited(seed: int, trials: int, processes: int, page: Path) -> None:
    """This product alone in the audit's worlds, into the documentation; raises SystemExit if the page has no place for
    it."""
    head = before_mark(page, "--audit")
    results = run(list(pieces(cells.audit(), [OURS], trials, seed)), processes, KEPT)
    # Not before the work was named by the code that does it: drawing is no part of that.
    from searching import plot

    page.with_name(PLOT).write_text(plot.calibration(audit.points(results), audit.biases(results)))
    numbers = json.dumps(audit.numbers(results))
    page.write_text("\n".join([head, *audit_document(results, numbers, seed, trials)]) + "\n")
    print(*audit.table(results), sep="\n")
    print(numbers)


def audit_document(results: Results, numbers: str, seed: int, trials: int) -> Iterator[str]:
    """The tables of the audit's worlds, as Markdown."""
    yield f"\nSeed {seed}, {trials} histories of each kind of world: `{numbers}`"
    yield "\n## What the answers are worth\n"
    yield from audit.table(results)
    yield "\n## Whether what is stated holds\n"
    yield from audit.held(results)
    yield f"\n![Stated against true]({PLOT})\n"
    yield from audit.bins(results)
    yield "\n## What the answers call themselves\n"
    yield from audit.kinds(results)


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
    yield (
        "\nRight answers + those that hold the culprit without naming it, ! false ones · mean hours. Bold is the "
        "fastest of those that are right in a cell; × has this product's hours over those of the cheapest peer that is "
        "as right."
    )
    yield from table.overview(found)
    yield "\n## How much one step dominates\n"
    yield from table.dominance(results)
    yield "\n## Exact metric\n"
    yield from table.exact(tallies)
    yield "\n## What this product states\n"
    yield from table.stated(results, OURS)
    yield "\nCell by cell:\n"
    yield from table.held(results, OURS)
    yield "\n## What the answers call themselves\n"
    yield from table.kinds(results)
    yield "\n## Everything that was counted\n"
    yield from table.details(found)


def main() -> None:
    """Read the command line and run one of the three."""
    parser = argparse.ArgumentParser(description="Compare searches in simulated histories.")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--small", action="store_true", help="few trials of every kind of world, about a minute")
    kind.add_argument("--full", action="store_true", help="all worlds, into the documentation; can be resumed")
    kind.add_argument(
        "--audit", action="store_true", help="this product alone in the worlds of an audit; can be resumed"
    )
    parser.add_argument("--seed", type=int, default=1, help="of all worlds (default 1)")
    parser.add_argument(
        "--trials",
        type=int,
        help=f"of each search per cell (default: {SMALL_TRIALS}, {FULL_TRIALS}, or {AUDIT_TRIALS})",
    )
    parser.add_argument("--processes", type=int, default=2, help="at a time (default 2)")
    parser.add_argument("--page", type=Path, help="where --full and --audit put their tables")
    asked = parser.parse_args()
    # As Ctrl-C does, so that the worker processes end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if min(asked.processes, 1 if asked.trials is None else asked.trials) < 1 or asked.seed < 0:
        parser.error("trials and processes are at least 1, and the seed is not negative")
    if asked.small:
        small(asked.seed, asked.trials or SMALL_TRIALS, asked.processes)
    elif asked.full:
        full(asked.seed, asked.trials or FULL_TRIALS, asked.processes, asked.page or PAGE)
    else:
        audited(asked.seed, asked.trials or AUDIT_TRIALS, asked.processes, asked.page or ACCURACY_PAGE)


if __name__ == "__main__":
    main()
