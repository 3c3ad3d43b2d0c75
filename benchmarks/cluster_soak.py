"""Bisections on a cluster of real processes that are killed at random moments until they have their verdicts.

    make soak-cluster KILLS=100 SEED=1 MINUTES=60 [WRITE=yes]
    python benchmarks/cluster_soak.py [--kills N] [--seed N] [--first N] [--minutes N] [--place DIRECTORY] [--write]

A head, two builders and a probe host run below a place of their own, with homes of their own and nothing shared but
the head's address. They are asked for one small history after another. Head, workers and the asking process are
killed with SIGKILL, and started again some seconds later; then the verdict is compared with that of the same history
on one host undisturbed, and homes, stores and /proc are searched for what is repeated, left over or still running.
Goes on until so many were killed, or nothing more is killed after so many minutes; `--first` leaves out the cases
before that one. Prints a Markdown table; `--write`
puts it into docs/cluster.md. Ends with 1 if anything was wrong; what that left is kept in the place.
"""

import argparse
import signal
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from types import FrameType

from soaking.crowd import table
from soaking.crowd.driving import Field
from soaking.crowd.judgement import CrowdRecord
from soaking.crowd.plan import crowd_cases
from soaking.drive import NoVerdict
from soaking.page import positive, say, written

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/cluster.md"
MARKS = ("<!-- What follows is written by `make soak-cluster WRITE=yes`. -->", "<!-- Up to here. -->")


def soak(place: Field, seed: int, first: int, kills: int, deadline: float) -> list[CrowdRecord]:
    """Run cases of a seed, from a number on, until so many processes were killed in all, or the deadline (of the
    monotonic clock) has passed; what became of them."""
    records: list[CrowdRecord] = []
    killed = 0
    try:
        for case in islice(crowd_cases(seed), first - 1, None):
            if killed >= kills or time.monotonic() > deadline:
                break
            records.append(record := place.run(case, deadline))
            killed += record.killed
            state = "good" if record.good else f"WRONG {table.lines([record])[4:]}"
            say(f"case {case.number}: {case.test}, {record.seconds:.0f} s: {state}; {killed} of {kills} kills")
    except KeyboardInterrupt:
        say("interrupted")
    return records


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What was asked for; exits with 2 for what cannot be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=positive, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=positive, default=1, help="the number of the first case")
    parser.add_argument("--minutes", type=positive, default=60)
    parser.add_argument("--place", type=Path, help="a new directory [default: a temporary one]")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(words)
    if asked.place and asked.place.exists():
        parser.error(f"{asked.place} is there already")
    return asked


def main() -> int:
    """Run cases, print, and write if asked; 1 if anything was wrong."""
    asked = arguments()

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    deadline = time.monotonic() + asked.minutes * 60
    root = (asked.place or Path(tempfile.mkdtemp(prefix="soak-cluster-"))).resolve()
    place = Field(root)
    try:
        records = soak(place, asked.seed, asked.first, asked.kills, deadline)
    except NoVerdict as why:
        say(str(why))
        return 1
    finally:
        place.crowd.close()
    lines = [*table.lines(records), *(f"- {text}" for text in place.crowd.wrong)]
    print("\n".join(lines))
    if asked.write:
        PAGE.write_text(written(PAGE.read_text(), lines, MARKS))
    good = all(record.good for record in records) and not place.crowd.wrong
    say(f"what it left is in {root}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
