"""What linking again costs and shows: seconds and bytes of redraws, and how far CPU time differs between them.

    python benchmarks/redraws.py COMMIT... --repo CLONE --test TEST --place DIRECTORY [--links 8] [--rounds 10]

Each commit is built, carried out again, and linked in other orders. Then all links of all commits, those of the builds
themselves too (link 0), are probed in rounds, every other round in reverse, on CPU time; with `--count` each is counted
once besides. What is built and measured is kept in `--place`: the next run goes on from there.

Of each commit the table says what a reading varies by within a link (`within`), what the means of links vary by beyond
that (`between`, both standard deviations in percent, without what all readings of a round have in common), how likely
so much would be by chance (`p`, an F test), and what the build as it was linked costs beside the mean of its redraws
(`link 0`); of neighbours in the order given, the step between the builds as they were linked and that between the means
of redraws, each with its 99 % interval: over readings there, over links here. A line of JSON comes last.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy
from scipy.stats import f as f_distribution

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import CPU, INSTRUCTIONS, reading
from cpubisect.base.version import Version
from cpubisect.builders.build import BuildSettings, Recipe
from cpubisect.builders.carry import carry_out
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.recipes.toolchain import installed_toolchains
from cpubisect.builders.redraw import draw_again
from cpubisect.builders.trees.linker import why_no_redraws
from cpubisect.history.history import History
from cpubisect.search.stats import Step, step
from cpubisect.workloads import catalog
from cpubisect.workloads.counters.choice import choose, examine
from cpubisect.workloads.probe import ProbeRequest

Readings = Mapping[int, Sequence[float]]
"""By link, CPU microseconds per query, one for each round."""


@dataclass(frozen=True)
class Spread:
    """How CPU time of one commit varies: standard deviations within and between links and the difference of link 0
    from the mean of all others in percent; the probability of so much between links by chance."""

    within: float
    between: float
    chance: float
    link_0: float


def spread(readings: Readings) -> Spread:
    """From at least two readings of each of at least two links, as many of each."""
    logs = numpy.log([readings[link] for link in sorted(readings)])
    links, rounds = logs.shape
    # What a round has in common is the host's doing.
    alone = logs - logs.mean(axis=0)
    means = alone.mean(axis=1)
    within = float(((alone - means[:, None]) ** 2).sum()) / ((links - 1) * (rounds - 1))
    among = rounds * float((means**2).sum()) / (links - 1)
    return Spread(
        within=100 * math.sqrt(within),
        between=100 * math.sqrt(max(0.0, among - within) / rounds),
        chance=float(f_distribution.sf(among / within, links - 1, (links - 1) * (rounds - 1))),
        link_0=100 * (math.exp(logs[0].mean() - logs[1:].mean()) - 1),
    )


def steps(before: Readings, after: Readings) -> tuple[Step, Step]:
    """From one commit to another: between all readings as they were linked, and between the means of redraws."""
    first, second = ([fmean(found) for link, found in own.items() if link] for own in (before, after))
    return step(before[0], after[0]), step(first, second)


@dataclass(frozen=True)
class Made:
    """What a build and its redraws took: seconds, hits and misses of the compiler cache, MiB of an artifact; `places`
    counts the layouts among all links, `same_functions` says whether all redraws have the same, of the same sizes."""

    toolchain: str
    build_seconds: float
    build_cpu_seconds: float
    build_cache: tuple[int, int]
    redraw_seconds: float
    redraw_cpu_seconds: float
    redraw_cache: tuple[int, int]
    link_seconds: tuple[float, ...]
    link_0_mib: float
    redraw_mib: float
    same_functions: bool
    same_objects: bool
    places: int


class Place:
    """Where all is kept: artifacts in `SHA/LINK`, numbers in `known.json`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.root.mkdir(parents=True, exist_ok=True)
        self._file = self.root / "known.json"
        self.known: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def artifact(self, sha: str, link: int) -> Path:
        """Where the artifact of a link belongs."""
        return self.root / sha / str(link)

    def keep(self, name: str, found: object) -> None:
        """Remember something."""
        self.known[name] = found
        self._file.write_text(json.dumps(self.known, indent=1))


class Bench:
    """Everything that does not change from commit to commit."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.place = Place(Path(arguments.place))
        self.links, self._rounds = range(arguments.links + 1), arguments.rounds
        self._jobs, self._ccache = arguments.jobs, Path(arguments.ccache or self.place.root / "ccache")
        self._matrix = Matrix.load()
        self._history = History(Path(arguments.repo))
        self._engine = self._history.detect_engine(self._matrix.engines())
        self._test = catalog.find_test(self._engine, arguments.test)
        given = dict(pair.split("=", 1) for pair in arguments.set)
        self._parameters = catalog.settings(self._engine, [self._test], given)[self._test.name]
        self._counter = choose(examine()).counter
        self._toolchains = installed_toolchains()
        self.commits = [self._history.resolve(name).sha for name in arguments.commits]
        versions = [self._version(sha) for sha in self.commits]
        self._toolchain = arguments.toolchain or self._matrix.shared_toolchain(self._engine, versions, self._toolchains)

    def _version(self, sha: str) -> Version:
        version = self._history.version_at(sha)
        if version is None:
            raise UserError(f"commit {sha[:12]} has no version file of {self._engine.name}", "leave it out")
        return version

    def make(self, sha: str) -> Made:
        """Build a commit and draw its layout anew, unless that is done; what it took."""
        name = f"{sha} making"
        if name not in self.place.known:
            version = self._version(sha)
            recipe = self._matrix.recipe(self._engine, sha, version, self._toolchains, prefer=self._toolchain)
            self.place.keep(name, asdict(self._make(recipe)))
        return Made(**self.place.known[name])

    def _make(self, recipe: Recipe) -> Made:
        settings = BuildSettings(self._ccache, self._matrix.patches_dir, jobs=self._jobs)
        where = (recipe, builder_of(self._engine), self._history.path)
        logs = self.place.root / "logs"
        with tempfile.TemporaryDirectory(dir=self.place.root) as work:
            built = carry_out(*where, Path(work), settings, log=logs / f"{recipe.commit[:12]}-build.log")
            if built.output is None:
                raise UserError(f"{recipe.commit[:12]} does not build: {built.first_error}", f"see {built.log}")
            links = self.links[1:]
            drawn = draw_again(*where, Path(work), settings, links, log=logs / f"{recipe.commit[:12]}-links.log")
            if not drawn.outputs:
                raise UserError(f"{recipe.commit[:12]} cannot be linked anew: {drawn.first_error}", f"see {drawn.log}")
            for link, output in {0: built.output, **drawn.outputs}.items():
                target = self.place.artifact(recipe.commit, link)
                target.parent.mkdir(exist_ok=True)
                output.rename(target)
        artifacts = [self.place.artifact(recipe.commit, link) for link in self.links]
        sizes = list(map(_size, artifacts))
        return Made(
            toolchain=recipe.toolchain.name,
            build_seconds=built.wall_seconds,
            build_cpu_seconds=built.cpu_seconds,
            build_cache=(built.cache_hits, built.cache_misses),
            redraw_seconds=drawn.wall_seconds,
            redraw_cpu_seconds=drawn.cpu_seconds,
            redraw_cache=(drawn.cache_hits, drawn.cache_misses),
            link_seconds=drawn.link_seconds,
            link_0_mib=sizes[0],
            redraw_mib=fmean(sizes[1:]),
            same_functions=len(set(map(_functions, artifacts[1:]))) == 1,
            same_objects=drawn.code == built.code,
            places=len(set(map(_places, artifacts))),
        )

    def count(self, sha: str, link: int) -> float:
        """Instructions per query of a link."""
        name = f"{sha} {link} counted {self._asked()}"
        if name not in self.place.known:
            self.place.keep(name, self._probe(sha, link, counting=True))
        return float(self.place.known[name])

    def clock(self) -> dict[str, Readings]:
        """CPU time of all links of all commits, in rounds."""
        found: dict[str, dict[int, list[float]]] = {sha: {link: [] for link in self.links} for sha in self.commits}
        everything = [(sha, link) for link in self.links for sha in self.commits]
        for number in range(self._rounds):
            for sha, link in everything if number % 2 else reversed(everything):
                name = f"{sha} {link} clocked {number} {self._asked()}"
                if name not in self.place.known:
                    self.place.keep(name, self._probe(sha, link))
                found[sha][link].append(float(self.place.known[name]))
            say(f"round {number + 1} of {self._rounds}")
        return {**found}

    def _asked(self) -> str:
        return f"{self._test.name} " + ",".join(f"{name}={given}" for name, given in sorted(self._parameters.items()))

    def _probe(self, sha: str, link: int, *, counting: bool = False) -> float:
        with tempfile.TemporaryDirectory(dir=self.place.root) as scratch:
            request = ProbeRequest(
                artifact=self.place.artifact(sha, link),
                version=self._version(sha),
                test=self._test,
                parameters=self._parameters,
                counter=self._counter,
                scratch=Path(scratch),
                instructions=counting,
                clock=not counting,
            )
            values = catalog.workload_of(self._engine).probe(request).values
        metric = INSTRUCTIONS if counting else CPU
        return reading(metric, values[metric])


def _size(artifact: Path) -> float:
    return sum(file.stat().st_size for file in artifact.rglob("*") if file.is_file()) / 2**20


def _symbols(artifact: Path, *columns: int) -> str:
    """Some columns of the largest program's functions: address, size, name."""
    program = max((file for file in artifact.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
    listed = subprocess.run(["nm", "--print-size", str(program)], check=True, capture_output=True, text=True).stdout
    rows = [words for line in listed.splitlines() if len(words := line.split()) == 4 and words[2] in "tTwW"]
    return "\n".join(sorted(" ".join(row[column] for column in columns) for row in rows))


def _functions(artifact: Path) -> str:
    return _symbols(artifact, 1, 3)


def _places(artifact: Path) -> str:
    return _symbols(artifact, 0, 3)


def told(sha: str, made: Made, found: Spread, counts: Sequence[float]) -> Iterator[str]:
    """What is to be said of one commit."""
    links = made.link_seconds
    yield f"{sha[:12]} with {made.toolchain}"
    yield f"  build: {_seconds(made.build_seconds, made.build_cpu_seconds, made.build_cache)}"
    yield f"  {len(links)} redraws: {_seconds(made.redraw_seconds, made.redraw_cpu_seconds, made.redraw_cache)}"
    yield f"  a link: {fmean(links):.2f} s ({min(links):.2f} to {max(links):.2f})"
    yield f"  {made.link_0_mib:.1f} MiB as built, {made.redraw_mib:.1f} MiB a redraw"
    yield (
        f"  objects as built: {made.same_objects}; functions the same in all redraws: {made.same_functions}; "
        f"layouts: {made.places}"
    )
    if counts:
        yield f"  instructions/query by link: {', '.join(f'{count:,.1f}' for count in counts)}"
    yield (
        f"  CPU time: within {found.within:.2f} %, between {found.between:.2f} % (p {found.chance:.2g}), "
        f"link 0 {found.link_0:+.2f} %"
    )


def _seconds(wall: float, cpu: float, cache: Sequence[int]) -> str:
    return f"{wall:.1f} s, {cpu:.1f} s CPU, {cache[0]} of {sum(cache)} compiles from the cache"


def _percent(found: Step) -> str:
    return f"{found.percent:+.2f} % [{found.low:+.2f}, {found.high:+.2f}]"


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
    parser.add_argument("--links", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--toolchain", help="e.g. clang-14; else as in the matrix")
    parser.add_argument("--ccache", help="a compiler cache of which it may take; else one of its own")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if why := why_no_redraws():
        raise SystemExit(why)
    try:
        bench = Bench(arguments)
        made = {sha: bench.make(sha) for sha in bench.commits}
        counts = {sha: [bench.count(sha, link) for link in bench.links] if arguments.count else [] for sha in made}
        readings = bench.clock()
    except UserError as error:
        raise SystemExit(str(error)) from None
    spreads = {sha: spread(readings[sha]) for sha in made}
    for sha in made:
        print("\n".join(told(sha, made[sha], spreads[sha], counts[sha])))
    pairs = []
    for before, after in pairwise(bench.commits):
        linked, drawn = steps(readings[before], readings[after])
        pairs.append({"before": before, "after": after, "as_linked": asdict(linked), "redrawn": asdict(drawn)})
        print(f"{before[:12]} to {after[:12]}: as linked {_percent(linked)}, redrawn {_percent(drawn)}")
    of_commits = {sha: {**asdict(made[sha]), **asdict(spreads[sha]), "counts": counts[sha]} for sha in made}
    print(json.dumps({**of_commits, "steps": pairs}))


if __name__ == "__main__":
    main()
