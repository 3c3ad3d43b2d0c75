"""Which releases were built, how, at what cost, and what the tests cost on them.

    python benchmarks/built.py [--write] [HOME ...]

Prints a Markdown table for each engine of every release that was tried in home directories, by default in
$CPUBISECT_HOME: by release and compiler the build that compiled the largest part anew (of those that are equal to a
percent the last, in the order of homes), its repairs or the first error, its CPU seconds, how many compilations were
made anew (the cache had the others), and thousands of instructions per query of some tests with their own settings, the
median of all probes of that release. `--write` puts them into docs/built.md: what that has of releases, or tests of a
release, that no home knows stays, since homes do not.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Self

from cpubisect.base.flags import Flags
from cpubisect.base.home import Home
from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.base.version import Version
from cpubisect.builders.build import Outcome
from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION
from cpubisect.records import queries
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow
from cpubisect.records.store import Store

PAGE = Path(__file__).resolve().parents[1] / "docs/built.md"
BEGIN, END = "<!-- Written by a command: -->", "<!-- Up to here. -->"

Key = tuple[str, str, str]
"""Engine or kind of build, release, and compiler with the variant, if it is not the ordinary one."""


def key_of(build: BuildRow) -> Key:
    """Whose row of a table a build belongs to; where a matrix asked for no optimisation at all, or each release's
    own flags were taken, of a table apart."""
    recipe = build.recipe
    variant = f" {recipe['variant']}" if recipe.get("variant") else ""
    flags = [*recipe["options"], *recipe["cxxflags"]]
    plain = any(WITHOUT_OPTIMISATION in flag.split() for flag in flags)
    shipped = recipe.get("flags", Flags.PINNED) != Flags.PINNED
    engine = recipe["engine"] + (", compiled without optimisation" if plain else "")
    engine += ", as each release builds itself" if shipped else ""
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

    def rows(self) -> Iterator["Row"]:
        """One for each build that was made, in their order."""
        for key, all_of_them in self.builds.items():
            costs = {test: f"{median(found) / 1000:,.1f}" for test, found in self.costs[key].items() if found}
            for build in [build for build in all_of_them if build.artifact] or all_of_them:
                made = (build.cache_misses, build.cache_misses + build.cache_hits)
                yield Row(*key, f"{build.cpu_seconds:,.0f}", *made, remarks(build), costs)


@dataclass(frozen=True)
class Row:
    """What became of a release: CPU seconds, how many of all compilations were made anew, what was repaired or the
    first error, and by test what it costs, both as they are shown."""

    engine: str
    release: str
    compiler: str
    cpu_seconds: str
    made: int
    compilations: int
    remarks: str
    costs: Mapping[str, str]

    @property
    def key(self) -> Key:
        """Which row it is."""
        return self.engine, self.release, self.compiler

    def after(self, older: "Row") -> "Row":
        """With what an older one has beside it: the build that made the larger part of its compilations anew, to a
        percent, or any before one that failed, and costs of other tests."""
        costs = {**older.costs, **self.costs}
        return replace(self if self._worth >= older._worth else older, costs=costs)

    @property
    def failed(self) -> bool:
        """Whether there is no program."""
        return self.remarks.startswith(tuple(f"{outcome}: " for outcome in Outcome))

    @property
    def _worth(self) -> tuple[bool, float]:
        return not self.failed, round(self.made / self.compilations, 2) if self.compilations else 0.0


HEADS = ("release", "compiler", "CPU s", "compiled", "repairs or first error")

SHOWN = (
    *("point-query", "read-only", "scan", "update-nonindex", "insert"),
    *("readseq", "overwrite", "readrandom", "seekrandom"),
)
"""The tests that have a column: what all of them cost is the matter of comparisons."""


def read(page: str) -> list[Row]:
    """The rows of tables as they were written."""
    rows, engine, tests = [], "", []
    for line in page.splitlines():
        if line.startswith("## "):
            engine = line.removeprefix("## ")
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if tuple(cells[: len(HEADS)]) == HEADS:
            tests = cells[len(HEADS) :]
        elif len(cells) >= len(HEADS) and not cells[0].startswith("---"):
            release, compiler, cpu_seconds, compiled, remark = cells[: len(HEADS)]
            made, _, compilations = compiled.partition(" of ")
            costs = {test: cost for test, cost in zip(tests, cells[len(HEADS) :], strict=True) if cost}
            rows.append(Row(engine, release, compiler, cpu_seconds, int(made), int(compilations), remark, costs))
    return rows


def together(older: Iterable[Row], newer: Iterable[Row]) -> list[Row]:
    """All rows, of those that both have the newer ones `after` the others."""
    found = {row.key: row for row in older}
    for row in newer:
        found[row.key] = row.after(found[row.key]) if row.key in found else row
    return list(found.values())


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of an engine's table."""
    ordered = sorted(rows, key=lambda row: (Version.parse(row.release), row.compiler))
    tests = [test for test in SHOWN if any(test in row.costs for row in ordered)]
    yield "| " + " | ".join([*HEADS, *tests]) + " |"
    yield "|---|---|--:|--:|---|" + "--:|" * len(tests)
    for row in ordered:
        costs = [row.costs.get(test, "") for test in tests]
        compiled = f"{row.made} of {row.compilations}"
        yield "| " + " | ".join([row.release, row.compiler, row.cpu_seconds, compiled, row.remarks, *costs]) + " |"


def remarks(build: BuildRow) -> str:
    """What had to be changed, or why there is no binary."""
    if not build.artifact:
        return f"{build.outcome}: {build.first_error}".replace("|", "\\|")
    kinds = sorted({f"{repair.kind} {repair.path}".strip() for repair in build.repairs})
    return ", ".join(kinds).replace("|", "\\|")


def page(rows: Sequence[Row]) -> list[str]:
    """All tables, each with its heading."""
    lines = []
    for engine in sorted({row.engine for row in rows}):
        lines += [f"## {engine}", "", *table([row for row in rows if row.engine == engine]), ""]
    return lines


def main() -> None:
    """Read the homes, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="*", type=Path, metavar="HOME")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = together((), Tried.of(asked.homes or [Home.open().root]).rows())
    print("\n".join(page(rows)))
    if asked.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        lines = page(together(read(rest.partition(END)[0]), rows))
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, END]) + rest.partition(END)[2])


if __name__ == "__main__":
    main()
