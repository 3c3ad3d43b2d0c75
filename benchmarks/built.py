"""Which releases were built, how, at what cost, and what the tests cost on them.

    python benchmarks/built.py [--write] [HOME ...]

Prints a Markdown table for each engine of every release that was tried in home directories, by default in
$CPUBISECT_HOME: by release and compiler the build that compiled most anew (of equals the last, in the order of
homes), its repairs or the first error, its CPU seconds, how many compilations were made anew (the cache had the
others), and thousands of instructions per query of each test with its own settings, the median of all probes of that
release. `--write` puts them into docs/built.md.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Self

from cpubisect.base.home import Home
from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.base.version import Version
from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION
from cpubisect.records import queries
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.purpose import Purpose
from cpubisect.records.store import BuildRow, Store

PAGE = Path(__file__).resolve().parents[1] / "docs/built.md"
BEGIN, END = "<!-- Written by a command: -->", "<!-- Up to here. -->"

Key = tuple[str, str, str]
"""Engine or kind of build, release, and compiler with the variant, if it is not the ordinary one."""


def key_of(build: BuildRow) -> Key:
    """Whose row of a table a build belongs to; where a matrix asked for no optimisation at all, of a table apart."""
    recipe = build.recipe
    variant = f" {recipe['variant']}" if recipe.get("variant") else ""
    flags = [*recipe["options"], *recipe["cxxflags"]]
    plain = any(WITHOUT_OPTIMISATION in flag.split() for flag in flags)
    engine = recipe["engine"] + (", compiled without optimisation" if plain else "")
    return engine, recipe["version"], recipe["toolchain"]["name"] + variant


class Tried:
    """All builds of some stores by release, and the costs that were measured on them, by test."""

    def __init__(self) -> None:
        self.builds: defaultdict[Key, list[BuildRow]] = defaultdict(list)
        self.costs: defaultdict[Key, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    @classmethod
    def of(cls, homes: Sequence[Path]) -> Self:
        """All that some home directories have."""
        tried = cls()
        for home in homes:
            tried.read(Store(Home(home).store))
            tried.read_comparisons(Comparisons.of(Home(home)))
        return tried

    def read(self, store: Store) -> None:
        """Add what the bisections of a store have."""
        for headline in queries.headlines(store):
            keys = {}
            for build, made in store.builds(headline.id):
                keys[build.id] = key_of(build)
                if made:
                    self.builds[keys[build.id]].append(build)
            if store.bisection(headline.id).question.given:
                continue
            for probe in store.probes(headline.id, purpose=Purpose.SEARCH):
                if probe.build in keys:
                    self.costs[keys[probe.build]][probe.test] += probe.values.get(INSTRUCTIONS, ())

    def read_comparisons(self, comparisons: Comparisons) -> None:
        """Add what the comparisons of a store have."""
        for row in comparisons.all():
            keys = {}
            for build, made in comparisons.store.builds(row.id):
                keys[build.sha] = key_of(build)
                if made:
                    self.builds[key_of(build)].append(build)
            own = {(one.test, one.clients) for one in row.asked.rows if not row.asked.given}
            for probe in comparisons.probes(row.id):
                if probe.purpose == Purpose.SEARCH and (probe.test, probe.clients) in own and probe.clients == 1:
                    self.costs[keys[probe.sha]][probe.test] += probe.values.get(INSTRUCTIONS, ())

    def table(self, engine: str) -> Iterable[str]:
        """The lines of an engine's table."""
        keys = sorted((key for key in self.builds if key[0] == engine), key=lambda key: (Version.parse(key[1]), key[2]))
        tests = list(dict.fromkeys(test for key in keys for test, costs in self.costs[key].items() if costs))
        yield "| " + " | ".join(["release", "compiler", "CPU s", "compiled", "repairs or first error", *tests]) + " |"
        yield "|---|---|--:|--:|---|" + "--:|" * len(tests)
        for key in keys:
            built = [build for build in self.builds[key] if build.artifact] or self.builds[key]
            build = max(reversed(built), key=lambda build: build.cache_misses)
            costs = [f"{median(found) / 1000:,.1f}" if (found := self.costs[key][test]) else "" for test in tests]
            compiled = f"{build.cache_misses} of {build.cache_misses + build.cache_hits}"
            yield "| " + " | ".join([*key[1:], f"{build.cpu_seconds:,.0f}", compiled, remarks(build), *costs]) + " |"


def remarks(build: BuildRow) -> str:
    """What had to be changed, or why there is no binary."""
    if not build.artifact:
        return f"{build.outcome}: {build.first_error}".replace("|", "\\|")
    kinds = sorted({f"{repair.kind} {repair.path}".strip() for repair in build.repairs})
    return ", ".join(kinds).replace("|", "\\|")


def page(homes: Sequence[Path]) -> list[str]:
    """All tables, each with its heading."""
    tried = Tried.of(homes)
    lines = []
    for engine in sorted({key[0] for key in tried.builds}):
        lines += [f"## {engine}", "", *tried.table(engine), ""]
    return lines


def main() -> None:
    """Read the homes, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="*", type=Path, metavar="HOME")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = page(asked.homes or [Home.open().root])
    print("\n".join(lines))
    if asked.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, END]) + rest.partition(END)[2])


if __name__ == "__main__":
    main()
