"""How far counts of one build differ from probe to probe, for every test: the table of `docs/repeatability.md`.

    python benchmarks/repeatability.py COMMIT [TEST]... --repo CLONE --place DIRECTORY [--probes N] [--again] [--keep]

One build of the commit, found in the homes given (`--home`, read only, copied out) or made now, is probed with each
test, all of them unless some are named, `--probes` times (3). What was measured is kept in `--place`, with profiles,
and not done again unless `--again` says so: the next run goes on from there. `--keep` writes what is known into
`workloads/config/repeatability.json`, where the search finds what spread to expect, and from that the table into the
page. Without `--keep` the figures are only printed, with the functions that vary most.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from kept_builds import KeptBuilds, add_arguments, kept_builds, say

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import INSTRUCTIONS, Counter, reading
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.search.stats import spread_percent
from cpubisect.workloads import catalog, repeatability
from cpubisect.workloads.counters.choice import choose, examine
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Test
from cpubisect.workloads.repeatability import Repeatability, Repeated

PAGE = Path(__file__).resolve().parent.parent / "docs" / "repeatability.md"
MARKS = (
    "<!-- What follows is written by `python benchmarks/repeatability.py`. -->",
    "<!-- Up to here. -->",
)
GOALS = {False: 0.01, True: 0.1}
"""Percent that counts of one build may be apart, by whether the test writes."""
VARYING_SHOWN = 8
"""So many functions that vary most are printed for a test."""


@dataclass(frozen=True)
class Probe:
    """What one probe counted, in instructions per query: the one number that counts, the slopes it was made of, and
    self cost by function; `seconds` is its wall time."""

    count: float
    slopes: tuple[float, ...]
    seconds: float
    profile: Mapping[str, float]


class Bench:
    """One build and where its probes are kept."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.builds: KeptBuilds = kept_builds(arguments, commits=[arguments.commit], made=("ordinary",))
        self.sha = self.builds.commits[0]
        engine = self.builds.engine
        tests = [catalog.find_test(engine, name) for name in arguments.tests] or catalog.tests_of(engine)
        given = dict(pair.split("=", 1) for pair in arguments.set)
        self.parameters = catalog.settings(engine, tests, given)
        self.tests: Sequence[Test] = tests
        self._wanted, self._again = arguments.probes, arguments.again
        self._counter = choose(examine(), Counter.CALLGRIND).counter
        if not self.builds.has(self.sha):
            raise UserError(f"{self.sha[:12]} cannot be built", "see the log below the place")

    def probes(self, test: Test) -> list[Probe]:
        """All probes of a test, as many as wanted; raises ProbeError."""
        kept = self.builds.place.root / "probes" / self.sha[:12] / test.name
        settings = json.dumps(self.parameters[test.name], sort_keys=True)
        about = kept / "settings.json"
        if self._again or (about.exists() and about.read_text() != settings):
            shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True, exist_ok=True)
        about.write_text(settings)
        for number in range(1, self._wanted + 1):
            file = kept / f"probe-{number}.json"
            if not file.exists():
                probe = self._probe(test)
                file.write_text(json.dumps(asdict(probe)))
                say(f"{test.name}: {probe.count:,.2f} in {probe.seconds:.0f} s")
        return [_read(file) for file in sorted(kept.glob("probe-*.json"))]

    def _probe(self, test: Test) -> Probe:
        with tempfile.TemporaryDirectory(dir=self.builds.place.root) as scratch:
            request = ProbeRequest(
                artifact=self.builds.place.artifact(self.sha, ""),
                version=self.builds.version(self.sha),
                test=test,
                parameters=self.parameters[test.name],
                counter=self._counter,
                scratch=Path(scratch),
                clock=False,
            )
            samples = catalog.workload_of(self.builds.engine).probe(request)
        slopes = samples.values[INSTRUCTIONS]
        return Probe(reading(INSTRUCTIONS, slopes), slopes, samples.seconds, samples.profile)


def keep(builds: KeptBuilds, sha: str, found: Mapping[str, Sequence[Probe]]) -> None:
    """Write what was found into the data file; tests of other commits of the engine are dropped."""
    known = json.loads(repeatability.FILE.read_text())
    about = {"commit": sha, "version": str(builds.version(sha))}
    before = known.get(builds.engine.name, {})
    tests = before.get("tests", {}) if before.get("commit") == sha else {}
    tests |= {name: asdict(_repeated(probes)) for name, probes in found.items()}
    known[builds.engine.name] = {**about, "tests": tests}
    repeatability.FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    repeatability.measured.cache_clear()


def _repeated(probes: Sequence[Probe]) -> Repeated:
    counts = [probe.count for probe in probes]
    # Six digits are more than the spread of three probes can mean.
    spread = float(f"{spread_percent(counts):.6g}")
    return Repeated(len(probes), round(fmean(counts), 2), spread, round(fmean(probe.seconds for probe in probes), 1))


def page(text: str) -> str:
    """A page with today's tables between its marks."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return "\n\n".join([before + MARKS[0], *tables(), MARKS[1] + after])


def tables() -> list[str]:
    """A table for each engine: every test of its catalogue, the least steady first, then those not measured."""
    return [_table(engine, known) for engine, known in repeatability.measured().items()]


def _table(engine: str, known: Repeatability) -> str:
    tests = {test.name: test for test in catalog.tests_of(Matrix.load().engine(engine))}
    lines = [
        f"## {engine}, commit {known.commit[:12]} ({known.version})",
        "",
        "| test | instructions/query | probes | spread | goal | seconds each |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, one in sorted(known.tests.items(), key=lambda item: -item[1].spread_percent):
        goal = GOALS[tests[name].writes]
        missed = "" if one.spread_percent <= goal else ", missed"
        lines.append(
            f"| {name} | {one.count:,.1f} | {one.probes} | {one.spread_percent:.4f} % | {goal:g} %{missed} "
            f"| {one.seconds:.0f} |"
        )
    left = [name for name in tests if name not in known.tests]
    return "\n".join([*lines, "", f"Not measured: {', '.join(left) or 'none'}."])


def _read(file: Path) -> Probe:
    kept = json.loads(file.read_text())
    return Probe(kept["count"], tuple(kept["slopes"]), kept["seconds"], kept["profile"])


def varying(probes: Sequence[Probe]) -> Iterator[tuple[str, float, float]]:
    """The functions whose self cost varies most between probes: name, least and most, in instructions per query."""
    names = {name for probe in probes for name in probe.profile}
    costs = {name: [probe.profile.get(name, 0.0) for probe in probes] for name in names}
    worst = sorted(names, key=lambda name: (min(costs[name]) - max(costs[name]), name))[:VARYING_SHOWN]
    return ((name, min(costs[name]), max(costs[name])) for name in worst)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", metavar="COMMIT")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    parser.add_argument("--probes", type=int, default=3)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--keep", action="store_true")
    add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.keep and arguments.set:
        parser.error("only figures of the tests as they are can be kept: leave out --keep or --set")
    try:
        bench = Bench(arguments)
    except UserError as error:
        raise SystemExit(str(error)) from None
    found: dict[str, Sequence[Probe]] = {}
    for test in bench.tests:
        try:
            probes = bench.probes(test)
        except ProbeError as error:
            say(f"{test.name} cannot be probed: {error}")
            continue
        found[test.name] = probes
        counts = [probe.count for probe in probes]
        print(f"{test.name:24} {fmean(counts):15,.1f} {spread_percent(counts):10.5f} % of {len(probes)}", flush=True)
        for name, least, most in varying(probes):
            print(f"    {least:14,.2f} {most:14,.2f} {most - least:12,.2f}  {name[:90]}")
    if arguments.keep:
        keep(bench.builds, bench.sha, found)
        PAGE.write_text(page(PAGE.read_text()))


if __name__ == "__main__":
    main()
