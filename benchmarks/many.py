"""What many builders save in simulated histories: `python benchmarks/many.py [--full] [--write]`.

Hours and builds of whole searches with k builders and one probe host, by the product's rule, by splitting into k + 1
even parts, and by Pinpoint's. Prints Markdown tables, and as its last line what must hold of them as one JSON object.
Without `--full` a few histories of a few kinds are drawn. What `--full` has finished is kept under `build/` and not
done again; `--write` puts its tables into `docs/search-benchmark.md`.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median

from searching.crews import CREWS, ENDS_FIRST, EVENLY, OURS, Crew
from searching.farm import Run, Setting, Story, search

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "search-benchmark.md"
KEPT = ROOT / "build" / "many-builders"
BEGIN, END = "<!-- By `python benchmarks/many.py --full --write`: -->", "<!-- Up to here. -->"

KS, FEW = (1, 2, 4, 8, 16, 64), (1, 8)
ONE, SEVERAL = Setting(0), Setting(0, several=True)
OTHERS = (Setting(0, dead=0.1), Setting(0, prior="named"), Setting(0, prior="wrong name"))
FULL: Sequence[tuple[Setting, int, Sequence[int]]] = tuple(
    (replace(kind, size=size), trials, ks)
    for size, kind, trials, ks in (
        (250, ONE, 16, KS),
        *((250, kind, 16, FEW) for kind in OTHERS),
        (250, SEVERAL, 8, KS),
        (2000, ONE, 10, KS),
        *((2000, kind, 10, FEW) for kind in OTHERS),
        (2000, SEVERAL, 4, FEW),
        (30_000, ONE, 6, KS),
        (30_000, OTHERS[0], 6, FEW),
        (30_000, SEVERAL, 2, FEW),
    )
)
"""All kinds of histories, how many are drawn of each, and with how many builders they are searched."""

SMALL = ((Setting(250), 12, FEW), (Setting(250, dead=0.1), 12, FEW), (Setting(2000), 6, FEW))

HOURS, BUILDS = 0.45, 2.5
"""Eight builders are to take at most this part of the hours of one, and so many times its builds."""

Results = Mapping[tuple[str, int], Sequence[Run]]
"""The runs of one kind of history by rule and builders."""


@dataclass(frozen=True)
class Held:
    """What must hold in one kind of history: hours and builds of eight builders over those of one, by medians and
    means; hours over those of even splitting with as many builders, where that is worst; and the share of searches
    that come to the same answer as with one builder."""

    hours: float
    hours_mean: float
    builds: float
    builds_mean: float
    later: float
    later_mean: float
    same: float

    @property
    def within(self) -> bool:
        """Whether it does, by medians."""
        return self.hours <= HOURS and self.builds <= BUILDS and self.later <= 1


def runs(setting: Setting, crew: Crew, k: int, seed: int, trials: int, kept: Path | None) -> list[Run]:
    """So many searches; those that are kept are not done again."""
    path = kept / f"{_key(setting, crew, k, seed, trials)}.json" if kept else None
    if path and path.exists():
        return [Run(**{**one, "found": frozenset(map(tuple, one["found"]))}) for one in json.loads(path.read_text())]
    done = [search(Story(setting, seed, trial), k, crew.rule()) for trial in range(trials)]
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps([{**asdict(one), "found": sorted(one.found)} for one in done]))
        unfinished.replace(path)
    return done


def _key(setting: Setting, crew: Crew, k: int, seed: int, trials: int) -> str:
    """Names an outcome; changes with the code of the search and of the simulation."""
    folder = Path(__file__).parent / "searching"
    sources = [folder / f"{name}.py" for name in ("farm", "crews", "exact", "world", "pinpoint")]
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("cpubisect.search.")]
    sources += [Path(module.__file__) for module in modules if module.__file__]
    code = b"".join(path.read_bytes() for path in sources)
    return hashlib.sha256(repr((setting, crew.name, k, seed, trials)).encode() + code).hexdigest()[:24]


def held(results: Results) -> Held:
    """What must hold, of one kind of history."""
    one, eight = results[OURS.name, 1], results[OURS.name, 8]
    others = [k for name, k in results if name == EVENLY.name and k > 1]

    def hours(name: str, k: int) -> list[float]:
        return [run.hours for run in results[name, k]]

    def builds(several: Sequence[Run]) -> list[int]:
        return [run.builds for run in several]

    more = [
        (mine, first)
        for (name, k), own in results.items()
        if name == OURS.name
        for mine, first in zip(own, one, strict=True)
    ]
    return Held(
        hours=median(hours(OURS.name, 8)) / median(hours(OURS.name, 1)),
        hours_mean=fmean(hours(OURS.name, 8)) / fmean(hours(OURS.name, 1)),
        builds=median(builds(eight)) / median(builds(one)),
        builds_mean=fmean(builds(eight)) / fmean(builds(one)),
        later=max(median(hours(OURS.name, k)) / median(hours(EVENLY.name, k)) for k in others),
        later_mean=max(fmean(hours(OURS.name, k)) / fmean(hours(EVENLY.name, k)) for k in others),
        same=fmean(mine.found == first.found for mine, first in more),
    )


def table(told: Mapping[Setting, Results]) -> Iterator[str]:
    """Medians, as Markdown: hours, and over those of the product with one builder, and builds."""
    ks = sorted({k for results in told.values() for _, k in results})
    yield "| candidates | histories | rule | " + " | ".join(f"k = {k}" for k in ks) + " |"
    yield "|---|--:|---|" + "---|" * len(ks)
    for setting, results in told.items():
        base = median(run.hours for run in results[OURS.name, 1])
        head = f"{setting.name} | {len(results[OURS.name, 1])}"
        for place, name in enumerate(dict.fromkeys(name for name, _ in results)):
            cells = (_cell(results.get((name, k), ()), base) for k in ks)
            yield f"| {' | ' if place else head} | {name} | " + " | ".join(cells) + " |"


def _cell(several: Sequence[Run], base: float) -> str:
    if not several:
        return ""
    hours = median(run.hours for run in several)
    return f"{hours:.2f} h (×{hours / base:.2f}) · {median(run.builds for run in several):.0f}"


def verdicts(told: Mapping[Setting, Results]) -> Iterator[str]:
    """What must hold, kind by kind, as Markdown: medians, and means in brackets."""
    heads = (
        "candidates",
        "hours, k = 8",
        "builds, k = 8",
        "builder hours, k = 8",
        "beside even splitting",
        "same answer",
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---" + "|--:" * 5 + "|"
    for setting, results in told.items():
        one = held(results)
        busy = [fmean(run.builder_hours for run in results[OURS.name, k]) for k in (8, 1)]
        cells = (
            f"×{one.hours:.2f} (×{one.hours_mean:.2f})",
            f"×{one.builds:.2f} (×{one.builds_mean:.2f})",
            f"×{busy[0] / busy[1]:.2f}",
            f"×{one.later:.2f} (×{one.later_mean:.2f})",
            f"{one.same:.1%}",
        )
        yield f"| {setting.name} | {' | '.join(cells)} |"


def headline(told: Mapping[Setting, Results]) -> dict[str, object]:
    """The worst of what must hold, where the prior does not name the culprit, and where it does."""
    of = {setting: held(results) for setting, results in told.items()}
    plain = [one for setting, one in of.items() if setting.prior != "named"]
    named = [one.hours for setting, one in of.items() if setting.prior == "named"]
    return {
        "histories": sum(len(results[OURS.name, 1]) for results in told.values()),
        "hours_8": round(max(one.hours for one in plain), 3),
        "hours_8_mean": round(max(one.hours_mean for one in plain), 3),
        "builds_8": round(max(one.builds for one in plain), 3),
        "builds_8_mean": round(max(one.builds_mean for one in plain), 3),
        "beside_even_splitting": round(max(one.later for one in of.values()), 3),
        "beside_even_splitting_mean": round(max(one.later_mean for one in of.values()), 3),
        "same_answers": round(min(one.same for setting, one in of.items() if not setting.several), 4),
        "named_hours_8": round(max(named), 3) if named else None,
        "holds": all(one.within for one in plain) and all(one.later <= 1 for one in of.values()),
    }


def main(words: Sequence[str]) -> None:
    """Print the tables, and write them if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all kinds of histories; can be resumed")
    parser.add_argument("--write", action="store_true", help="put the tables into the documentation; with --full")
    parser.add_argument("--seed", type=int, default=1, help="of all histories (default 1)")
    asked = parser.parse_args(words)
    if asked.seed < 0:
        parser.error("the seed is not negative")
    if asked.write and not asked.full:
        parser.error("--write is for the tables of --full: give both")
    if asked.write and BEGIN not in PAGE.read_text():
        parser.error(f"{PAGE} lacks the line that the tables come after: {BEGIN}")
    told: dict[Setting, Results] = {}
    for setting, trials, ks in FULL if asked.full else SMALL:
        crews = CREWS if asked.full else (OURS, ENDS_FIRST, EVENLY)
        told[setting] = {
            (crew.name, k): runs(setting, crew, k, asked.seed, trials, KEPT if asked.full else None)
            for crew in crews
            for k in ks
            if crew is not ENDS_FIRST or k > 2
        }
    lines = [*table(told), "", *verdicts(told)]
    print(*lines, sep="\n")
    numbers = headline(told)
    if asked.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        note = f"Seed {asked.seed}: `{json.dumps(numbers)}`"
        PAGE.write_text("\n".join([head + BEGIN, "", note, "", *lines, "", END]) + rest.partition(END)[2])
    print(json.dumps(numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
