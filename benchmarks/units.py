"""What the parts of a lab take, measured: `python benchmarks/units.py [--write] [--clone ENGINE=PATH …] [HOME …]`.

From home directories, by default $CPUBISECT_HOME, which are only read: CPU seconds of whole builds, seconds of probes,
bytes of kept builds, and what their finished bisections wrote into the store, which is written once more into a new one
and timed. A clone tells what a tree is as it is sent. Beside that Dask's scheduler is timed, as `bisect cluster head`
starts it. Prints Markdown; `--write` puts it into docs/big-lab.md, and keeps the figures for `benchmarks/day.py`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from cpubisect.base.home import Home
from cpubisect.records.store import Store
from sizing import measuring, replay
from sizing.units import CORES, MEASURED, STATED, Program, Units, Writes, series

PAGE = Path(__file__).resolve().parent.parent / "docs" / "big-lab.md"
BEGIN, END = "<!-- By `python benchmarks/units.py --write`: -->", "<!-- Up to here: units. -->"

WRITERS, WRITING_S = (1, 8, 40), 4.0
REPLAYED = 10
"""So often what the bisections of the homes wrote is written again."""

TASKS, PARCELS, PARCEL_BYTES = 2000, 6, 30_000_000


def measured(homes: Sequence[Path], clones: Sequence[tuple[str, Path]]) -> Units:
    """All figures."""
    with TemporaryDirectory() as temporary:
        place = Path(temporary)
        stores = {home: replay.copied(home, place) for home in homes}
        programs: dict[str, Program] = {}
        told = []
        for home, store in stores.items():
            for name, own in measuring.programs(store, home, place).items():
                programs[name] = programs.get(name, Program()).or_else(own)
            told += replay.told(store)
        for engine, clone in clones:
            for name, commit in _commits([*stores.values()], engine):
                programs[name] = programs[name].or_else(measuring.tree(clone, engine, commit, place))
        if not told:
            raise SystemExit("no home has a bisection that is finished: name one that has")
        event, build, probe, candidate = replay.replayed(told, place, REPLAYED)
        of_build, of_probe, of_bisection = replay.events_of(told)
        writers = {count: replay.rate(told, place, count, WRITING_S) for count in WRITERS}
    task_s, sent_s = measuring.scheduler(TASKS, PARCELS, PARCEL_BYTES)
    return Units(
        programs={name: own for name, own in sorted(programs.items()) if name in STATED},
        event=event,
        build=build,
        probe=probe,
        candidate=candidate,
        writers=writers,
        of_build=of_build,
        of_probe=of_probe,
        of_bisection=of_bisection,
        task_s=task_s,
        sent_s=sent_s,
        process_bytes=measuring.process_bytes(),
    )


def _commits(stores: Sequence[Store], engine: str) -> Iterator[tuple[str, str]]:
    """The newest commit of each series of an engine that was built."""
    newest: dict[str, str] = {}
    for store in stores:
        rows = store.read(
            "SELECT json_extract(recipe, '$.version') AS version, sha FROM builds "
            "WHERE engine = ? AND outcome = 'built' ORDER BY id",
            engine,
        )
        newest |= {series(engine, row["version"]): row["sha"] for row in rows}
    yield from newest.items()


def table(units: Units) -> Iterator[str]:
    """As Markdown."""
    yield (
        f"| | whole build | on {CORES} cores | probe of the search | of the clock | kept build | as it is sent "
        "| packed, unpacked in | tree | packed in |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for name in STATED:
        own = units.program(name)
        yield (
            f"| {name} | {own.build_cpu_s:,.0f} CPU s | {own.build_s:,.0f} s "
            f"| {own.search_s:.1f} s | {own.clock_s:.1f} s "
            f"| {own.artifact_bytes / 1e6:.0f} MB | {own.sent_bytes / 1e6:.1f} MB "
            f"| {own.pack_s:.1f}, {own.unpack_s:.1f} CPU s "
            f"| {own.tree_bytes / 1e6:.0f} MB | {own.tree_s:.1f} CPU s |"
        )
    yield ""
    yield "| written into the store | time | bytes | how often |"
    yield "|---|--:|--:|---|"
    often = f"{units.of_build:.1f} a build, {units.of_probe:.1f} a probe, {units.of_bisection:.0f} a bisection beside"
    yield _written("an event of the journal", units.event, often)
    yield _written("a build", units.build, "each, with what its objects are made from")
    yield _written("a probe", units.probe, "each, with its profile and call edges")
    yield _written("a candidate, and as a suspect", units.candidate, f"{replay.LINE:,} in two transactions")
    yield ""
    rates = ", ".join(f"{rate:,.0f} by {count}" for count, rate in (units.writers or {}).items())
    yield f"- Events a second into one store by so many writers at once: {rates}."
    yield (
        f"- Dask's scheduler: {units.task_s * 1000:.2f} CPU ms a task, and {units.sent_s * 1e9:.2f} CPU s for each GB "
        "that goes within its messages."
    )
    yield f"- A process that has loaded what a bisection on a cluster loads: {units.process_bytes / 1e6:.0f} MB."


def _written(what: str, one: Writes, often: str) -> str:
    return f"| {what} | {one.seconds * 1000:.2f} ms | {one.bytes:,.0f} | {often} |"


def _clone(word: str) -> tuple[str, Path]:
    engine, equals, place = word.partition("=")
    if not (engine and equals and Path(place).is_dir()):
        raise argparse.ArgumentTypeError(f"{word!r} is not ENGINE=DIRECTORY")
    return engine, Path(place)


def main(words: Sequence[str]) -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="*", type=Path, metavar="HOME")
    parser.add_argument("--clone", type=_clone, action="append", default=[], metavar="ENGINE=PATH")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(words)
    homes = asked.homes or [Home.open().root]
    if lacking := [home for home in homes if not (home / "store.sqlite").is_file()]:
        parser.error(f"{lacking[0]} has no store.sqlite: name home directories of cpubisect")
    units = measured(homes, asked.clone)
    print(*table(units), sep="\n")
    if asked.write:
        MEASURED.write_text(json.dumps(units.to_json(), indent=1) + "\n")
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN, "", *table(units), "", END]) + rest.partition(END)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
