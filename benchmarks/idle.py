"""Whether anything ran of what is compiled without optimisation because no probe is thought to run it.

    python benchmarks/idle.py [HOME ...]

For each release that was built and probed in home directories, by default in $CPUBISECT_HOME, and each test: the share
of a query's instructions that the newest build of it spent in functions which the program has between its marks of the
idle part, and the costliest of them. A share above a thousandth is told by exit code 1: a source has to leave the
matrix's `idle`, or steps into and out of it would look like those of slow code. Builds without marks, in which nothing
is idle, are not shown.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cpubisect.base.home import Home
from cpubisect.builders.trees.idle import BEGINS, ENDS
from cpubisect.records import queries
from cpubisect.records.artifacts import Artifacts
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow
from cpubisect.records.store import Store

ENOUGH = 0.001
"""The share of a query's instructions that idle code may take: a build is to count as the plain one does to 0.1 %."""

PROGRAMS = ("db_bench", "mysqld", "mariadbd")
"""What is measured, by its file name."""

SHOWN = 3
"""So many functions of a test are named."""

_CLONE = re.compile(r"( \[clone [^]]*\]|'\d+)+$")
_SYMBOL = re.compile(r"^[0-9a-f]+ [TtWwiu] (.*)$")


@dataclass(frozen=True)
class Ran:
    """What a test ran of a release's idle part: `share` of the instructions of a query, and the `functions`, costliest
    first."""

    release: str
    test: str
    share: float
    functions: tuple[str, ...]


def plain_name(function: str) -> str:
    """A function's name without what says which copy of it is meant."""
    return _CLONE.sub("", function)


def functions_of(program: Path) -> list[str]:
    """The plain names of all functions that a program has of its own, in the order of their addresses."""
    argv = ["nm", "--demangle", "--numeric-sort", str(program)]
    text = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=True).stdout
    return [plain_name(found[1]) for line in text.splitlines() if (found := _SYMBOL.match(line))]


def idle_functions(program: Path) -> frozenset[str] | None:
    """The names of all functions between the marks of a program, as a profile has them; None if it has no marks."""
    names = functions_of(program)
    if BEGINS not in names or ENDS not in names:
        return None
    first, last = names.index(BEGINS), names.index(ENDS)
    elsewhere = {*names[:first], *names[last:]}
    # A static function of the same name may be anywhere.
    return frozenset(names[first + 1 : last]) - elsewhere


def share(profile: Mapping[str, float], idle: frozenset[str]) -> tuple[float, tuple[str, ...]]:
    """The part of a profile that idle functions have, and their names, costliest first."""
    found = {name: cost for name, cost in profile.items() if plain_name(name) in idle and cost > 0}
    whole = sum(profile.values())
    names = sorted(found, key=lambda name: -found[name])
    return sum(found.values()) / whole if whole else 0.0, tuple(names)


def newest(found: Iterable[tuple[float, Ran]]) -> list[Ran]:
    """By release and test what the last build ran, the most of all its probes; of each it is said when its build
    began."""
    last: dict[tuple[str, str], tuple[float, Ran]] = {}
    for started, one in found:
        key = one.release, one.test
        last[key] = max(last.get(key, (started, one)), (started, one), key=lambda each: (each[0], each[1].share))
    return [one for _, one in last.values()]


def ran(home: Home) -> Iterator[Ran]:
    """What ran of idle parts, by release and test, for every build of a home directory whose program is still there."""
    idle: dict[str, frozenset[str] | None] = {}
    found = []
    for build, test, profile in profiles(home):
        if (digest := build.artifact or "") not in idle:
            program = program_of(home, build)
            idle[digest] = idle_functions(program) if program else None
        names = idle[digest]
        if names is not None and profile:
            release = f"{build.recipe['engine']} {build.recipe['version']}"
            found.append((build.started, Ran(release, test, *share(profile, names))))
    yield from newest(found)


def program_of(home: Home, build: BuildRow) -> Path | None:
    """What a build made and probes measure; None if that is no longer kept."""
    place = Artifacts(home.artifacts).path(build.artifact) if build.artifact else None
    return next((file for name in PROGRAMS for file in (place.rglob(name) if place else ())), None)


def profiles(home: Home, *, as_it_is: bool = False) -> Iterator[tuple[BuildRow, str, Mapping[str, float]]]:
    """Of every probe of a search or a comparison, or only of those of tests `as_it_is`, with their own settings and one
    client: the build, the test and the instructions per query by function."""
    comparisons = Comparisons.of(home)
    store = Store(home.store)
    searches = [row.id for row in queries.headlines(store) if not (as_it_is and store.bisection(row.id).question.given)]
    compared = [row.id for row in comparisons.all() if not (as_it_is and row.asked.given)]
    for one, numbers in ((store, searches), (comparisons.store, compared)):
        for number in numbers:
            builds = {build.id: build for build, _ in one.builds(number)}
            others = set[int]()
            if as_it_is and one is comparisons.store:
                others = {probe.id for probe in comparisons.probes(number) if probe.clients > 1}
            for probe in one.probes(number, purpose=Purpose.SEARCH):
                if probe.build in builds and probe.id not in others:
                    yield builds[probe.build], probe.test, probe.profile


def main() -> None:
    """Read the homes, print, and tell by the exit code whether too much ran."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="*", type=Path, metavar="HOME")
    asked = parser.parse_args()
    homes = [Home(root) for root in asked.homes] or [Home.open()]
    found = [one for home in homes for one in ran(home)]
    for one in sorted(found, key=lambda one: -one.share):
        print(f"{one.share:8.3%}  {one.release}  {one.test}  {'; '.join(one.functions[:SHOWN])}")
    sys.exit(any(one.share > ENOUGH for one in found))


if __name__ == "__main__":
    main()
