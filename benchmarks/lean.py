"""What cheaper builds save, and whether they count the same: CPU seconds and instructions per query beside plain ones.

    python benchmarks/lean.py matrix > plain.yaml
    python benchmarks/lean.py table --plain HOME --lean HOME [--write]

`matrix` prints the compiler matrix without what makes builds cheaper: no headers compiled once, no sources without
optimisation or left out, and libraries of the tree instead of the host's. `bisect compare … --matrix plain.yaml` in a
home of its own then makes plain builds, and without `--matrix`, in another one, lean ones; each with a compiler cache
of its own, so that all is compiled. `table` reads both homes: for each release that both have built, the CPU seconds of
the build that compiled the largest part, and for each test that both have counted, how much more instructions the lean
one takes; and of each of them how much of that is in the program's own functions, not in those of the host's
libraries, and the functions that differ most between the newest builds. `--write` puts both tables into
docs/lean-builds.md.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from built import BEGIN, END, Key, Tried, key_of, together
from idle import functions_of, plain_name, profiles, program_of

from cpubisect.base.home import Home
from cpubisect.base.version import Version
from cpubisect.builders.recipes.matrix import locate_matrix

PAGE = Path(__file__).resolve().parents[1] / "docs/lean-builds.md"
CHEAPER = ("idle", "left_out", "precompiled")
"""Keys of rules that do nothing but make a build cheaper."""

CACHING = "CCACHE_DEPEND"
"""The variable that does the same."""


def plain_matrix() -> str:
    """The compiler matrix without what makes builds cheaper; what its patches are stays beside the original."""
    matrix: dict[str, Any] = yaml.load(locate_matrix().read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    for section in matrix["engines"].values():
        for rule in section.get("rules", ()):
            for key in CHEAPER:
                rule.pop(key, None)
            rule.get("environment", {}).pop(CACHING, None)
            rule["options"] = [_of_the_tree(option) for option in rule.get("options", ())]
    return yaml.safe_dump(matrix, sort_keys=False, width=120)


def _of_the_tree(option: str) -> str:
    """TLS stays the host's: no tree has it any more."""
    name, _, value = option.partition("=")
    return f"{name}=bundled" if value == "system" and name != "-DWITH_SSL" else option


def table(plain: Tried, lean: Tried) -> Iterator[str]:
    """A row for each release that was built in both ways."""
    both = sorted(plain.builds.keys() & lean.builds.keys(), key=lambda key: (key[0], Version.parse(key[1]), key[2]))
    tests = list(dict.fromkeys(test for key in both for test in plain.costs[key] if lean.costs[key].get(test)))
    heads = ["engine", "release", "compiler", "plain, CPU s", "compiled", "lean, CPU s", "compiled", *tests]
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|---|" + "--:|" * (4 + len(tests))
    for key in both:
        costs = [_change(plain, lean, key, test) for test in tests]
        yield "| " + " | ".join([*key, *_build(plain, key), *_build(lean, key), *costs]) + " |"


@dataclass(frozen=True)
class Profiled:
    """A build that was begun at a time in epoch seconds: the instructions per query of all `functions` that a test ran,
    and the plain names of those that are its `own`, none if its program is no longer there."""

    started: float
    functions: Mapping[str, float]
    own: frozenset[str]


Profiles = Mapping[tuple[Key, str], Profiled]
"""The newest profile by release and test."""

SHOWN = 2
"""So many functions of a test are named."""

ENOUGH = 0.01
"""Instructions per query from which on a function differs: rarer calls are those of what runs beside queries."""


def newest_profiles(homes: Sequence[Path]) -> Profiles:
    """What the homes have."""
    found: dict[tuple[Key, str], Profiled] = {}
    own: dict[str, frozenset[str]] = {}
    for home in homes:
        for build, test, profile in profiles(Home(home), as_it_is=True):
            key, digest = (key_of(build), test), build.artifact or ""
            if not profile or (key in found and found[key].started > build.started):
                continue
            if digest not in own:
                program = program_of(Home(home), build)
                own[digest] = frozenset(functions_of(program) if program else ())
            found[key] = Profiled(build.started, profile, own[digest])
    return found


def own_change(plain: Profiled, lean: Profiled) -> float | None:
    """How much more the lean program's own functions take, in percent of all of the plain one's instructions; None if
    it is not known of one which these are."""
    if not plain.own or not lean.own:
        return None
    before, after = (
        sum(cost for name, cost in one.functions.items() if plain_name(name) in plain.own | lean.own)
        for one in (plain, lean)
    )
    return (after - before) / sum(plain.functions.values()) * 100


def differing(plain: Mapping[str, float], lean: Mapping[str, float]) -> list[tuple[str, float]]:
    """The functions that differ, and by how much, those that differ most first."""
    change = {name: lean.get(name, 0.0) - plain.get(name, 0.0) for name in plain.keys() | lean.keys()}
    apart = [(name, by) for name, by in change.items() if abs(by) >= ENOUGH]
    return sorted(apart, key=lambda one: (-abs(one[1]), one[0]))


def by_function(plain: Profiles, lean: Profiles) -> Iterator[str]:
    """A row for each release and test that both have a profile of."""
    yield "| engine | release | test | plain | lean | in its own functions | functions that differ most |"
    yield "|---|---|---|--:|--:|--:|---|"
    for key, test in sorted(plain.keys() & lean.keys(), key=lambda one: (one[0][0], Version.parse(one[0][1]), one)):
        before, after = plain[key, test], lean[key, test]
        most = [f"`{name}` {by:+,.1f}" for name, by in differing(before.functions, after.functions)[:SHOWN]]
        whole = (f"{sum(each.functions.values()):,.1f}" for each in (before, after))
        own = own_change(before, after)
        said = "" if own is None else f"{own:+.3f} %"
        yield "| " + " | ".join([*key[:2], test, *whole, said, ", ".join(most).replace("|", "\\|")]) + " |"


def _build(tried: Tried, key: Key) -> tuple[str, str]:
    """CPU seconds of a build, and how many of its compilations the cache did not have."""
    (row,) = together((), (row for row in tried.rows() if row.key == key))
    return row.cpu_seconds, f"{row.made} of {row.compilations}"


def _change(plain: Tried, lean: Tried, key: Key, test: str) -> str:
    counts = plain.costs[key].get(test), lean.costs[key].get(test)
    if not all(counts):
        return ""
    before, after = (median(found) for found in counts if found)
    return f"{(after / before - 1) * 100:+.3f} %"


def main() -> None:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("matrix")
    made = words.add_parser("table")
    made.add_argument("--plain", required=True, action="append", type=Path, metavar="HOME")
    made.add_argument("--lean", required=True, action="append", type=Path, metavar="HOME")
    made.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.word == "matrix":
        print(plain_matrix(), end="")
        return
    lines = list(table(Tried.of(asked.plain), Tried.of(asked.lean)))
    lines += ["", *by_function(newest_profiles(asked.plain), newest_profiles(asked.lean))]
    print("\n".join(lines))
    if asked.write:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END]) + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
