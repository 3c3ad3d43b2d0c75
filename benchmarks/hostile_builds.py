"""What a hostile commit tries to reach, and what it reaches: `python benchmarks/hostile_builds.py [--write]`.

A commit whose Makefile and CMakeLists.txt run a script is built by make and by cmake, each in the sandbox and without
one, on a host made for it (`tests/support/hostile.py`, of which `tests/builders/test_hostile.py` asks the same).
Prints a Markdown table; `--write` puts it into `docs/sandbox.md`.
"""

import argparse
import importlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sandbox.md"
BEGIN, END = "<!-- By `python benchmarks/hostile_builds.py --write`: -->", "<!-- Up to here. -->"


def table(attempts: Sequence[str], tried: Mapping[str, Any], kinds: Sequence[str]) -> Iterator[str]:
    """As Markdown: a row for each attempt, a column for each build system in each kind of sandbox."""
    yield "| tried | " + " | ".join(f"{system}, {kind}" for kind in kinds for system in tried) + " |"
    yield "|---|" + "---|" * (len(kinds) * len(tried))
    for attempt in attempts:
        cells = ["reached" if attempt in one.reached[kind] else "-" for kind in kinds for one in tried.values()]
        yield f"| {attempt} | {' | '.join(cells)} |"
    counts = [f"{len(one.reached[kind])} of {len(attempts)}" for kind in kinds for one in tried.values()]
    yield f"| all | {' | '.join(counts)} |"
    changed = ["yes" if one.changed[kind] else "no" for kind in kinds for one in tried.values()]
    yield f"| anything of the host changed | {' | '.join(changed)} |"


def main(words: Sequence[str]) -> None:
    """Build, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into sandbox.md")
    asked = parser.parse_args(words)
    if asked.write and not all(mark in PAGE.read_text() for mark in (BEGIN, END)):
        parser.error(f"{PAGE} lacks a line that the table stands between: {BEGIN}, {END}")
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    hostile = importlib.import_module("hostile")
    tried = {}
    for system in hostile.BUILDERS:
        with tempfile.TemporaryDirectory() as place:
            tried[system] = hostile.Tried(Path(place), system)
    attempts = list(hostile.World(Path("/"), 0, "", 0).attempts())
    lines = [*table(attempts, tried, (hostile.SANDBOX, hostile.NONE))]
    print(*lines, sep="\n")
    if asked.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END]) + rest.partition(END)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
