"""Whether screening builds show the same steps as ordinary ones, and what both cost.

    python benchmarks/screening.py COMMIT... --repo CLONE --test TEST --place DIRECTORY [--home DIRECTORY]...

Of each commit an ordinary and a screening build are probed with one test. Ordinary artifacts are taken from the homes
given (read only, copied out) as far as they have them; the rest is made only with `--build ordinary` or `--build
screening`, and a commit that lacks one is left out. What is built and measured is kept in `--place`: the next run goes
on from there. Commits are compared with their neighbours in the order given.
Prints a table, and a line of JSON last.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from kept_builds import add_arguments, cpu_name, kept_builds, say

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import INSTRUCTIONS, Counter
from cpubisect.builders.build import SCREENING
from cpubisect.workloads import catalog
from cpubisect.workloads.counters.choice import choose, examine
from cpubisect.workloads.probe import ProbeRequest

KINDS = ("", SCREENING)


@dataclass(frozen=True)
class Row:
    """One commit: instructions per operation and CPU seconds of its ordinary and its screening build; None for the
    time of a build that the compiler cache helped."""

    sha: str
    version: str
    instructions: tuple[float, float]
    cpu_seconds: tuple[float | None, float | None]


@dataclass(frozen=True)
class Step:
    """From one commit to the next: the change in percent, ordinary and screening."""

    old: str
    new: str
    percent: tuple[float, float]

    @property
    def difference(self) -> float:
        """How far the screening builds are from the ordinary ones, in percentage points."""
        return self.percent[1] - self.percent[0]


def steps(rows: Sequence[Row]) -> list[Step]:
    """The step of each neighbouring pair."""
    found = []
    for old, new in pairwise(rows):
        ordinary, screening = (
            (after / before - 1) * 100 for before, after in zip(old.instructions, new.instructions, strict=True)
        )
        found.append(Step(old.sha, new.sha, (ordinary, screening)))
    return found


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """What the line of JSON says; the ratios of CPU time are screening over ordinary: the mean of those of single
    commits, and that of the means of all full builds."""
    found = steps(rows)
    pairs = [
        (ordinary, screening) for ordinary, screening in (row.cpu_seconds for row in rows) if ordinary and screening
    ]
    full = [[seconds for row in rows if (seconds := row.cpu_seconds[kind])] for kind in (0, 1)]
    return {
        "commits": [row.sha for row in rows],
        "worst_difference_points": max((abs(step.difference) for step in found), default=None),
        "mean_cpu_ratio": fmean(screening / ordinary for ordinary, screening in pairs) if pairs else None,
        "ratio_of_mean_cpu": fmean(full[1]) / fmean(full[0]) if all(full) else None,
        "steps_percent": [[step.old[:12], step.new[:12], *step.percent] for step in found],
    }


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the table: each commit with the step that leads to it."""
    heads = ["commit", "version", "ordinary", "screening", "CPU_s", "CPU_s", "step_%", "step_%", "points"]
    yield _line(heads)
    for row, step in zip(rows, [None, *steps(rows)], strict=True):
        cpu = ("cached" if seconds is None else f"{seconds:.0f}" for seconds in row.cpu_seconds)
        change = (f"{number:+.2f}" for number in (*step.percent, step.difference)) if step else ()
        yield _line([row.sha[:10], row.version, *(f"{count:.0f}" for count in row.instructions), *cpu, *change])


def _line(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>10}" for cell in cells)


class Bench:
    """Everything that does not change from commit to commit."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._builds = kept_builds(arguments, commits=arguments.commits, made=arguments.build)
        self._place = self._builds.place
        engine = self._builds.engine
        self._test = catalog.find_test(engine, arguments.test)
        given = dict(pair.split("=", 1) for pair in arguments.set)
        self._parameters = catalog.settings(engine, [self._test], given)[self._test.name]
        self._counter = choose(examine()).counter
        if self._counter is Counter.NONE:
            raise UserError("this host counts no instructions", "install valgrind")

    def rows(self) -> Iterator[Row]:
        """Every commit of which both builds can be had, in the order given."""
        for sha in self._builds.commits:
            if all(self._builds.has(sha, kind) for kind in KINDS):
                ordinary, screening = (self._instructions(sha, kind) for kind in KINDS)
                times = (self._place.known.get(cpu_name(sha, "")), self._place.known.get(cpu_name(sha, SCREENING)))
                yield Row(sha, str(self._builds.version(sha)), (ordinary, screening), times)

    def _instructions(self, sha: str, kind: str) -> float:
        """Instructions per operation of a build, measured now unless they are known."""
        settings = ",".join(f"{name}={value}" for name, value in sorted(self._parameters.items()))
        name = f"{sha} {kind} {self._test.name} {self._counter} {settings}"
        known = self._place.known.get(name)
        if known is not None:
            return known
        with tempfile.TemporaryDirectory(dir=self._place.root) as scratch:
            request = ProbeRequest(
                artifact=self._place.artifact(sha, kind),
                version=self._builds.version(sha),
                test=self._test,
                parameters=self._parameters,
                counter=self._counter,
                scratch=Path(scratch),
                clock=False,
            )
            samples = catalog.workload_of(self._builds.engine).probe(request)
        measured = fmean(samples.values[INSTRUCTIONS])
        say(f"{sha[:12]} {kind or 'ordinary'}: {measured:,.0f} instructions/query")
        self._place.keep(name, measured)
        return measured


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="+", metavar="COMMIT")
    parser.add_argument("--test", required=True)
    parser.add_argument("--build", action="append", default=[], choices=["ordinary", SCREENING])
    add_arguments(parser)
    try:
        rows = list(Bench(parser.parse_args()).rows())
    except UserError as error:
        raise SystemExit(str(error)) from None
    print("\n".join(table(rows)))
    print(json.dumps(summary(rows)))


if __name__ == "__main__":
    main()
