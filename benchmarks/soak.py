"""Bisections of the example that are killed and disturbed at random moments until they have their verdicts.

    make soak KILLS=200 SEED=1 MINUTES=60 PLACE=build/soak
    python benchmarks/soak.py [--kills N] [--seed N] [--minutes N] [--place DIRECTORY] [--test NAME]... [--write]

Each case runs `bisect start`, or the worker of `bisect serve`, on one of the example's tests; what it finds below
them it kills, one process at a time, and something else befalls them too: `soaking/faults.py` has what. Then the
verdict is compared with that of the same test undisturbed, and the store, the home directory and /proc are searched
for what is repeated, left over or still running. Cases go on until so many processes were killed or the time is over;
the next call with the same place and seed goes on from there, and runs cases again in which something was wrong.
Prints a Markdown table; `--write` puts it into docs/soak.md. Ends with 1 if anything was wrong; what that left is
kept in the place.
"""

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from cpubisect.base.engine import Engine
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.example.history import generate
from cpubisect.workloads.catalog import tests_of
from soaking import table
from soaking.drive import NoVerdict, Place
from soaking.page import positive, say, written
from soaking.plan import cases

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/soak.md"
MARKS = ("<!-- What follows is written by `make soak WRITE=yes`. -->", "<!-- Up to here. -->")


def example_tests() -> list[str]:
    """The names of the example's tests."""
    engine: Engine = Matrix.load().engine("minikv")
    return [test.name for test in tests_of(engine)]


def soak(place: Place, tests: list[str], seed: int, kills: int, deadline: float) -> None:
    """Run cases of a seed until so many processes were killed in all, or the deadline (of the monotonic clock) has
    passed; what was good before is not run again."""
    done = {record.number: record for record in place.records() if record.seed == seed and record.good}
    killed = sum(record.killed for record in done.values())
    for case in cases(seed, tests):
        if killed >= kills or time.monotonic() > deadline:
            return
        if case.number in done:
            continue
        record = place.run(case)
        place.add(record)
        killed += record.killed
        state = record.skipped or ("good" if record.good else "WRONG")
        say(f"case {case.number}: {case.test} by {case.way}, {case.fault}: {state}; {killed} of {kills} kills")


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What was asked for; exits with 2 for what cannot be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=positive, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=positive, default=60)
    parser.add_argument("--place", type=Path, default=ROOT / "build/soak")
    parser.add_argument("--test", dest="tests", action="append", metavar="NAME", choices=example_tests())
    parser.add_argument("--write", action="store_true")
    return parser.parse_args(words)


def main() -> int:
    """Run cases, print, and write if asked; 1 if anything was wrong."""
    asked = arguments()

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    deadline = time.monotonic() + asked.minutes * 60
    place = Place(asked.place.resolve())
    place.root.mkdir(parents=True, exist_ok=True)
    if not place.example.exists():
        generate(place.example)
    try:
        soak(place, asked.tests or example_tests(), asked.seed, asked.kills, deadline)
    except KeyboardInterrupt:
        say("interrupted; the same command goes on")
    except NoVerdict as why:
        say(str(why))
        return 1
    records = [record for record in place.records() if record.seed == asked.seed]
    lines = table.lines(records)
    print("\n".join(lines))
    if asked.write:
        PAGE.write_text(written(PAGE.read_text(), lines, MARKS))
    return 0 if all(record.good for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
