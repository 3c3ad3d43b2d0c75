"""A simulated day of a lab: `python benchmarks/day.py [--hosts 100] [--bisections 1000] [--seed 1] [--write]`.

Bisections are asked over a day and share builders and probe hosts; each decides by the product's own rule
(`benchmarks/sizing/lab.py`). Several ways to divide the hosts are tried, then, with the best of them, several ways in
which bisections reckon with each other. What a build, a probe, a message or a write takes was measured by
`benchmarks/units.py`. Prints Markdown, with what the day asks of each part of the lab; `--write` puts it into
docs/big-lab.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, quantiles

from sizing.asked import asked
from sizing.lab import DAY_S, Answered, Day, Hosts, Lab, Sharing, alone, evenly, everything, left_over
from sizing.limits import NETWORK_BYTES_S, Part, needs, parts
from sizing.units import STATED, Units

PAGE = Path(__file__).resolve().parent.parent / "docs" / "big-lab.md"
BEGIN, END = "<!-- By `python benchmarks/day.py --write`: -->", "<!-- Up to here: day. -->"

PROBE_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
"""So many of all hosts probe."""

MEMORY = 32 * 2**30
"""Of the head, in bytes."""


@dataclass(frozen=True)
class Way:
    """How bisections share builders, in words."""

    words: str
    sharing: Sharing


OURS = Way("what others have not ordered, one at least", left_over)
WAYS = (
    Way("one", alone),
    Way("its share, one at least", evenly),
    OURS,
    Way("all, whoever else is there", everything),
)
"""The product's is `cluster.executor.Hosts.builders`."""

LOADS = (0.5, 1, 1.5, 2, 3)
"""So many times the bisections are asked of the same hosts."""


@dataclass(frozen=True)
class Trial:
    """A simulated day on some hosts, and the CPU seconds that it took to decide and to simulate."""

    hosts: Hosts
    way: Way
    day: Day
    cpu_s: float


def simulated(hosts: Hosts, way: Way, bisections: int, units: Units, seed: int) -> Trial:
    """One day."""
    before = time.process_time()
    day = Lab(hosts, way.sharing, seed).day(asked(bisections, units, seed))
    return Trial(hosts, way, day, time.process_time() - before)


def divided(hosts: int) -> list[Hosts]:
    """The ways to divide hosts among builders and probes, at least one of each."""
    probing = {min(max(1, round(hosts * share)), hosts - 1) for share in PROBE_SHARES}
    return [Hosts(hosts - own, own) for own in sorted(probing)]


def best(trials: Sequence[Trial]) -> Trial:
    """The one with the least hours to nine answers of ten."""
    return min(trials, key=lambda one: tenth(one.day.answered))


def tenth(answered: Sequence[Answered]) -> float:
    """The hours within which nine of ten are answered."""
    hours = [one.hours for one in answered]
    return quantiles(hours, n=10)[-1] if len(hours) > 1 else hours[0]


HEADS = (
    "bisections",
    "builders, probe hosts",
    "a bisection reckons with",
    "hours to the answer, median",
    "nine of ten",
    "a build waits",
    "a probe waits",
    "builders busy",
    "probe hosts busy",
    "builds (ended early)",
    "probes",
    "at once",
)


def table(trials: Sequence[Trial]) -> Iterator[str]:
    """A line for each, as Markdown."""
    yield f"| {' | '.join(HEADS)} |"
    yield "|--:|---|---" + "|--:" * (len(HEADS) - 3) + "|"
    for trial in trials:
        day, all_ = trial.day, trial.day.answered
        begun, probes = sum(one.begun for one in all_), sum(one.probes for one in all_)
        first = ", all on the first" if trial.hosts.first else ""
        cells = (
            f"{len(all_):,}",
            f"{trial.hosts.builders}, {trial.hosts.probe_hosts}{first}",
            trial.way.words,
            f"{median(one.hours for one in all_):.2f}",
            f"{tenth(all_):.2f}",
            f"{sum(one.builds_waited_s for one in all_) / max(1, begun) / 60:.1f} min",
            f"{sum(one.probes_waited_s for one in all_) / max(1, probes):.0f} s",
            f"{day.builders_busy:.0%}",
            f"{day.probe_hosts_busy:.0%}",
            f"{begun:,} ({sum(one.ended for one in all_):,})",
            f"{probes:,}",
            f"{day.most_active}",
        )
        yield f"| {' | '.join(cells)} |"


def by_series(trial: Trial) -> Iterator[str]:
    """Of one day a line for each series and length of history, as Markdown."""
    heads = ("bisections of", "candidates", "asked", "hours, median", "nine of ten", "builds each", "probes each")
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "--:|" * (len(heads) - 1)
    for name in STATED:
        sizes = sorted({one.size for one in trial.day.answered if one.series == name})
        for size in sizes:
            own = [one for one in trial.day.answered if (one.series, one.size) == (name, size)]
            yield (
                f"| {name} | {size:,} | {len(own)} | {median(one.hours for one in own):.2f} | {tenth(own):.2f} "
                f"| {fmean(one.begun for one in own):.1f} | {fmean(one.probes for one in own):.1f} |"
            )


def limits(found: Sequence[Part], bisections: int) -> Iterator[str]:
    """What the day asks of each part, as Markdown."""
    yield "| part | used | bisections a day that use all of it | |"
    yield "|---|--:|--:|---|"
    for one in found:
        yield f"| {one.name} | {one.share:.1%} | {one.most(bisections):,.0f} | {one.words} |"


def main(words: Sequence[str], say: Callable[[str], None] = print) -> None:
    """Simulate, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=100, help="in all (default 100)")
    parser.add_argument("--bisections", type=int, default=1000, help="asked in the day (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is drawn (default 1)")
    parser.add_argument("--write", action="store_true", help="put the tables into the documentation")
    given = parser.parse_args(words)
    for least, name in ((2, "hosts"), (1, "bisections"), (0, "seed")):
        if getattr(given, name) < least:
            parser.error(f"--{name} is {least} at least")
    if given.write and not (PAGE.is_file() and BEGIN in PAGE.read_text()):
        parser.error(f"{PAGE} lacks the line that the tables come after: {BEGIN}")
    try:
        units = Units.read()
    except (OSError, ValueError) as error:
        parser.error(f"the measured figures cannot be read ({error}): run `python benchmarks/units.py --write` first")
    tried = [simulated(hosts, OURS, given.bisections, units, given.seed) for hosts in divided(given.hosts)]
    chosen = best(tried)

    def also(way: Way, bisections: int) -> Trial:
        if (way, bisections) == (chosen.way, given.bisections):
            return chosen
        return simulated(chosen.hosts, way, bisections, units, given.seed)

    ways = [also(way, given.bisections) for way in WAYS]
    loads = [also(OURS, max(1, round(given.bisections * load))) for load in LOADS]
    day = needs(chosen.day.answered, units)
    found = parts(day, units, chosen.hosts.builders, chosen.hosts.probe_hosts, chosen.day.most_active, MEMORY)
    lines = [
        f"{given.bisections:,} bisections on {given.hosts} hosts, seed {given.seed}. How the hosts are divided:",
        "",
        *table(tried),
        "",
        "With the best of these, how many builders a bisection reckons with:",
        "",
        *table(ways),
        "",
        "Fewer and more bisections on the same hosts:",
        "",
        *table(loads),
        "",
        f"The day with {chosen.hosts.builders} builders and {chosen.hosts.probe_hosts} probe hosts:",
        "",
        *by_series(chosen),
        "",
        "What that day asks of each part of the lab, the one that is nearest to its end first:",
        "",
        *limits(found, given.bisections),
        "",
        f"`{json.dumps(_numbers(chosen, given.bisections, day.moved_bytes))}`",
    ]
    for line in lines:
        say(line)
    if given.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END]) + rest.partition(END)[2])


def _numbers(trial: Trial, bisections: int, moved_bytes: float) -> dict[str, float]:
    """Of one day, for who reads it by program."""
    return {
        "bisections": bisections,
        "builders": trial.hosts.builders,
        "probe_hosts": trial.hosts.probe_hosts,
        "median_hours": round(median(one.hours for one in trial.day.answered), 3),
        "ninth_decile_hours": round(tenth(trial.day.answered), 3),
        "builders_busy": round(trial.day.builders_busy, 3),
        "probe_hosts_busy": round(trial.day.probe_hosts_busy, 3),
        "network_share": round(moved_bytes / (NETWORK_BYTES_S * DAY_S), 3),
        "deciding_cpu_s_each": round(trial.cpu_s / bisections, 3),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
