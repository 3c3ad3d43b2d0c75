"""What bisections said that their builds and searches would take, beside what they took.

    python benchmarks/forecast.py [--write] [HOME ...]

Prints a Markdown table of the bisections in home directories, by default in $CPUBISECT_HOME: the builds whose time was
forecast, and the searches that built something. `--write` puts it into docs/case-studies/forecasts.md.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cpubisect.base.home import Home
from cpubisect.records.store import Store
from cpubisect.search import events
from cpubisect.search.events import Entry

PAGE = Path(__file__).resolve().parents[1] / "docs/case-studies/forecasts.md"
BEGIN, END = "<!-- By `python benchmarks/forecast.py --write`: -->", "<!-- Up to here. -->"

CLOSE = 1.5
"""A forecast is right if it is within this factor of what was taken."""


@dataclass(frozen=True)
class Forecast:
    """Of `what`, the seconds that were said beforehand, None if none were, and those that it took."""

    what: str
    said: float | None
    taken: float

    @property
    def ratio(self) -> float | None:
        """What was taken in units of what was said; None if nothing was said."""
        return self.taken / self.said if self.said else None

    @property
    def close(self) -> bool:
        """Whether the forecast was right."""
        return self.ratio is not None and 1 / CLOSE <= self.ratio <= CLOSE


@dataclass
class Search:
    """One search over one line: what was said of it, and which commits it measured in how many seconds."""

    price: events.Price
    shas: set[str] = field(default_factory=set)
    seconds: float = 0.0
    builds: int = 0
    ended: bool = False

    def forecast(self) -> Forecast:
        """Of the whole search."""
        where = f"inside {self.price.inside[-1][:12]}" if self.price.inside else "from good to bad"
        test = f"{self.price.test}: " if self.price.test else ""
        what = f"{test}search {where}, {self.builds} builds ({self.price.builds} said)"
        return Forecast(what, self.price.seconds, self.seconds)


def forecast_builds(journal: Iterable[Entry]) -> list[Forecast]:
    """Of each commit that a search built, in order."""
    said: dict[str, float | None] = {}
    found = []
    for entry in journal:
        match entry.event:
            case events.Next(sha=sha, seconds=seconds):
                said[sha] = seconds
            case events.BuildFinished(sha=sha, outcome="built", wall_seconds=taken) as built if sha in said:
                compiled = f"{built.cache_misses} of {built.cache_hits + built.cache_misses} compiled"
                found.append(Forecast(f"{sha[:12]} ({compiled})", said[sha], taken))
    return found


def forecast_searches(journal: Iterable[Entry]) -> list[Search]:
    """The searches of a journal, one that was interrupted and taken up again being one."""
    found: list[Search] = []
    for entry in journal:
        event, now = entry.event, found[-1] if found else None
        if isinstance(event, events.Price):
            goes_on = now and not now.ended and (now.price.test, now.price.inside) == (event.test, event.inside)
            if not goes_on:
                found.append(Search(event))
        if now is None or now.ended:
            continue
        match event:
            case events.Next(sha=sha):
                now.shas.add(sha)
            case events.BuildFinished(sha=sha, wall_seconds=seconds) if sha in now.shas:
                now.seconds += seconds
                now.builds += 1
            case events.ProbeFinished(sha=sha, seconds=seconds) if sha in now.shas:
                now.seconds += seconds
            case events.StepFound():
                now.ended = True
    return found


def table(told: Mapping[str, Sequence[Forecast]]) -> list[str]:
    """Lines of Markdown: the forecasts by what was asked, and how many are right."""
    lines = ["| bisection | | forecast | taken | taken / forecast |", "|---|---|--:|--:|--:|"]
    for asked, forecasts in told.items():
        for one in forecasts:
            said = "not told" if one.said is None else f"{one.said:.0f} s"
            ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
            lines.append(f"| {asked} | {one.what} | {said} | {one.taken:.0f} s | {ratio} |")
    known = {asked: [one for one in forecasts if one.said is not None] for asked, forecasts in told.items()}
    lines += ["", f"Within a factor of {CLOSE}:", ""]
    lines += [f"- {asked}: {sum(one.close for one in own)} of {len(own)}" for asked, own in known.items() if own]
    return lines


def read(home: Path) -> dict[str, list[Forecast]]:
    """By what was asked, the forecasts of the bisections of a home directory, which is only read but for what a newer
    version adds to its store."""
    store = Store(home / "store.sqlite")
    found: dict[str, list[Forecast]] = {}
    for (number,) in store.read("SELECT id FROM bisections ORDER BY id"):
        journal, bisection = store.events(number), store.bisection(number)
        searches = forecast_searches(journal)
        unended = () if bisection.finished else [one for one in searches[-1:] if not one.ended]
        ended = [one.forecast() for one in searches if one not in unended and one.builds]
        question = bisection.question
        tests = ", ".join(question.tests)
        given = "".join(f" {name}={value}" for name, value in question.given.items())
        asked = f"{question.engine} {question.good[:10]} to {question.bad[:10]}, {tests}{given}"
        found.setdefault(asked, []).extend([*forecast_builds(journal), *ended])
    return {asked: forecasts for asked, forecasts in found.items() if forecasts}


def main(words: Sequence[str]) -> None:
    """Print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="*", type=Path, metavar="HOME")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(words)
    told: dict[str, list[Forecast]] = {}
    for home in asked.homes or [Home.open().root]:
        for name, forecasts in read(home).items():
            told.setdefault(name, []).extend(forecasts)
    lines = table(told)
    print("\n".join(lines))
    if asked.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END]) + rest.partition(END)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
