"""Whether screening builds show the same steps as ordinary ones, and what both cost.

    python benchmarks/screening.py COMMIT... --repo CLONE --test TEST --place DIRECTORY [--home DIRECTORY]...

Of each commit an ordinary and a screening build are probed with one test. Ordinary artifacts are taken from the homes
given (read only, copied out) as far as they have them; the rest is made only with `--build ordinary` or `--build
screening`, and a commit that lacks one is left out. What is built and measured is kept in `--place`: the next run goes
on from there. Commits are compared with their neighbours in the order given.
Prints a table, and a line of JSON last.
"""

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import INSTRUCTIONS, Counter
from cpubisect.base.version import Version
from cpubisect.builders.build import BuildSettings, Recipe
from cpubisect.builders.carry import carry_out
from cpubisect.builders.catalog import builder_of, screening_builder_named
from cpubisect.builders.recipes.matrix import SCREENING, Matrix
from cpubisect.builders.recipes.toolchain import installed_toolchains
from cpubisect.history.history import History
from cpubisect.workloads import catalog
from cpubisect.workloads.counters.choice import choose, examine
from cpubisect.workloads.probe import ProbeRequest

KINDS = ("", SCREENING)
COLD = 0.25
"""Share of cache hits up to which a build's CPU time counts as that of a full build."""


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


class Place:
    """Where all is kept: artifacts in `KIND/SHA`, numbers in `known.json`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.root.mkdir(parents=True, exist_ok=True)
        self._file = self.root / "known.json"
        self.known: dict[str, float | None] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def artifact(self, sha: str, kind: str) -> Path:
        """Where a build's artifact belongs."""
        return self.root / (kind or "ordinary") / sha

    def keep(self, name: str, value: float | None) -> None:
        """Remember a number."""
        self.known[name] = value
        self._file.write_text(json.dumps(self.known, indent=1))


class Bench:
    """Everything that does not change from commit to commit."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.place = Place(Path(arguments.place))
        self._homes = [Path(home) for home in arguments.home]
        self._build, self._jobs = arguments.build, arguments.jobs
        self._matrix = Matrix.load()
        self._history = History(Path(arguments.repo))
        self._engine = self._history.detect_engine(self._matrix.engines())
        self._test = catalog.find_test(self._engine, arguments.test)
        given = dict(pair.split("=", 1) for pair in arguments.set)
        self._parameters = catalog.settings(self._engine, [self._test], given)[self._test.name]
        self._counter = choose(examine()).counter
        if self._counter is Counter.NONE:
            raise UserError("this host counts no instructions", "install valgrind")
        self._toolchains = installed_toolchains()
        self._commits = [self._history.resolve(name).sha for name in arguments.commits]
        versions = [self._version(sha) for sha in self._commits]
        self._toolchain = self._matrix.shared_toolchain(self._engine, versions, self._toolchains)

    def rows(self) -> Iterator[Row]:
        """Every commit of which both builds can be had, in the order given."""
        for sha in self._commits:
            if all(self._has_build(sha, kind) for kind in KINDS):
                ordinary, screening = (self._instructions(sha, kind) for kind in KINDS)
                times = (self.place.known.get(_cpu_name(sha, "")), self.place.known.get(_cpu_name(sha, SCREENING)))
                yield Row(sha, str(self._version(sha)), (ordinary, screening), times)

    def _version(self, sha: str) -> Version:
        version = self._history.version_at(sha)
        if version is None:
            raise UserError(f"commit {sha[:12]} has no version file of {self._engine.name}", "leave it out")
        return version

    def _recipe(self, sha: str, kind: str) -> Recipe:
        version = self._version(sha)
        return self._matrix.recipe(self._engine, sha, version, self._toolchains, prefer=self._toolchain, variant=kind)

    def _has_build(self, sha: str, kind: str) -> bool:
        """Whether the artifact is there, found or made now if need be."""
        if not self.place.artifact(sha, kind).is_dir():
            recipe = self._recipe(sha, kind)
            if not self._find(recipe) and (kind or "ordinary") in self._build:
                self._make(recipe)
        return self.place.artifact(sha, kind).is_dir()

    def _find(self, recipe: Recipe) -> bool:
        """Copy the artifact from a home that has built this recipe; the fullest of its builds gives the time."""
        key = recipe.key()
        found = [(*build, home) for home in self._homes for build in _builds(home / "store.sqlite", key)]
        for _, artifact, cpu_seconds, hits, misses, home in sorted(found, key=lambda build: build[3] - build[4]):
            source = home / "artifacts" / artifact[:2] / artifact
            if source.is_dir():
                self._take(recipe, source, _cold(cpu_seconds, hits, misses))
                return True
        return False

    def _make(self, recipe: Recipe) -> None:
        builder = builder_of(self._engine)
        if recipe.variant:
            module = self._matrix.screening_builder(self._engine)
            if module is None:
                raise UserError(f"{self._engine.name} has no screening builder", "name one in the matrix")
            builder = screening_builder_named(module, self._engine.name)
        settings = BuildSettings(self.place.root / "ccache", self._matrix.patches_dir, jobs=self._jobs)
        log = self.place.root / "logs" / f"{recipe.commit[:12]}-{recipe.variant or 'ordinary'}.log"
        with tempfile.TemporaryDirectory(dir=self.place.root) as work:
            result = carry_out(recipe, builder, self._history.path, Path(work), settings, log=log)
            say(f"{recipe.commit[:12]} {recipe.variant or 'ordinary'}: {result.outcome} {result.first_error}")
            if result.output:
                cpu_seconds = _cold(result.cpu_seconds, result.cache_hits, result.cache_misses)
                self._take(recipe, result.output, cpu_seconds)

    def _take(self, recipe: Recipe, output: Path, cpu_seconds: float | None) -> None:
        target = self.place.artifact(recipe.commit, recipe.variant)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as staged:
            shutil.copytree(output, Path(staged, "copy"), symlinks=True)
            Path(staged, "copy").rename(target)
        self.place.keep(_cpu_name(recipe.commit, recipe.variant), cpu_seconds)

    def _instructions(self, sha: str, kind: str) -> float:
        """Instructions per operation of a build, measured now unless they are known."""
        settings = ",".join(f"{name}={value}" for name, value in sorted(self._parameters.items()))
        name = f"{sha} {kind} {self._test.name} {self._counter} {settings}"
        known = self.place.known.get(name)
        if known is not None:
            return known
        with tempfile.TemporaryDirectory(dir=self.place.root) as scratch:
            request = ProbeRequest(
                artifact=self.place.artifact(sha, kind),
                version=self._version(sha),
                test=self._test,
                parameters=self._parameters,
                counter=self._counter,
                scratch=Path(scratch),
                clock=False,
            )
            samples = catalog.workload_of(self._engine).probe(request)
        measured = fmean(samples.values[INSTRUCTIONS])
        say(f"{sha[:12]} {kind or 'ordinary'}: {measured:,.0f} instructions/query")
        self.place.keep(name, measured)
        return measured


def _cpu_name(sha: str, kind: str) -> str:
    return f"{sha} {kind} cpu seconds"


def _cold(cpu_seconds: float, hits: int, misses: int) -> float | None:
    return cpu_seconds if hits <= COLD * (hits + misses) else None


def _builds(store: Path, key: str) -> list[tuple[str, str, float, int, int]]:
    """Built artifacts of a recipe in a store: key, digest, CPU seconds, cache hits and misses. Only reads."""
    with contextlib.closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        question = (
            "select recipe_key, artifact, cpu_seconds, cache_hits, cache_misses from builds"
            " where recipe_key = ? and outcome = 'built' and artifact is not null"
        )
        return list(connection.execute(question, (key,)))


def say(text: str) -> None:
    """A line of progress."""
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="+", metavar="COMMIT")
    parser.add_argument("--repo", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--place", required=True)
    parser.add_argument("--home", action="append", default=[])
    parser.add_argument("--build", action="append", default=[], choices=["ordinary", SCREENING])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    try:
        rows = list(Bench(parser.parse_args()).rows())
    except UserError as error:
        raise SystemExit(str(error)) from None
    print("\n".join(table(rows)))
    print(json.dumps(summary(rows)))


if __name__ == "__main__":
    main()
