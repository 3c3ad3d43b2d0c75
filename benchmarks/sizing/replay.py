"""What writing into a store takes: what bisections of real homes wrote is written once more, into a new one."""

import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cpubisect.base.objects import ObjectFile
from cpubisect.records.packing import unpack_calls
from cpubisect.records.rows import BuildRow, ProbeRow, SuspectRow
from cpubisect.records.store import Store
from cpubisect.search.events import BuildFinished, BuildReused, BuildStarted, Entry, Next, ProbeFinished, ProbeStarted
from cpubisect.search.question import Question
from sizing.units import Writes

NOBODYS = Question("mysql", "/clone", "5.7.16", "5.7.33", "1" * 40, "2" * 40, ("point-query",), "/matrix")
"""Whose answer nobody waits for."""

LINE = 2000
"""So many candidates have the lines that are written."""

PLACED = 1
"""On a cluster one event more says where each build and each probe has begun (`events.Placed`)."""

OF_BUILDS = (BuildStarted, BuildFinished, BuildReused, Next)
OF_PROBES = (ProbeStarted, ProbeFinished)


@dataclass(frozen=True)
class Told:
    """What one bisection wrote: its builds, with what their objects were made from, probes with call edges, and
    journal."""

    builds: Sequence[tuple[BuildRow, Mapping[str, ObjectFile]]]
    probes: Sequence[tuple[ProbeRow, Mapping[tuple[str, str], float]]]
    journal: Sequence[Entry]


@dataclass(frozen=True)
class _Recipe:
    engine: str
    commit: str
    own_key: str
    rest: Mapping[str, Any]

    def key(self) -> str:
        return self.own_key


class _Build:
    """A build as it was when it ended."""

    def __init__(self, row: BuildRow, objects: Mapping[str, ObjectFile]) -> None:
        self._row = row
        self.objects = objects
        self.recipe = _Recipe(str(row.recipe["engine"]), row.sha, row.recipe_key, row.recipe)
        self.log = Path(row.log)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


class _Probe:
    """A probe as it was when it ended."""

    def __init__(self, row: ProbeRow, calls: Mapping[tuple[str, str], float]) -> None:
        self._row = row
        self.calls = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


def copied(home: Path, place: Path) -> Store:
    """The store of a home directory as it is now, in a file of its own; the home is only read."""
    target = place / f"{abs(hash(str(home)))}.sqlite"
    source = sqlite3.connect(f"file:{home / 'store.sqlite'}?mode=ro", uri=True)
    copy = sqlite3.connect(target)
    try:
        source.backup(copy)
    finally:
        source.close()
        copy.close()
    return Store(target)


def told(store: Store) -> list[Told]:
    """What the finished bisections of a store wrote."""
    found = []
    for (number,) in store.read("SELECT id FROM bisections WHERE state = 'finished' ORDER BY id"):
        edges = {
            row["id"]: unpack_calls(row["calls"])
            for row in store.read("SELECT id, calls FROM probes WHERE bisection = ? AND calls IS NOT NULL", number)
        }
        builds = [(row, store.objects(row.id)) for row, _ in store.builds(number)]
        probes = [(row, edges.get(row.id, {})) for row in store.probes(number)]
        found.append(Told(builds, probes, store.events(number)))
    return found


def events_of(several: Iterable[Told]) -> tuple[float, float, float]:
    """How many events there are for each build, for each probe, and for a bisection beside these, by the mean; with
    those that a cluster adds."""
    all_ = list(several)
    of_build = sum(isinstance(one.event, OF_BUILDS) for own in all_ for one in own.journal)
    of_probe = sum(isinstance(one.event, OF_PROBES) for own in all_ for one in own.journal)
    whole = sum(len(own.journal) for own in all_)
    builds, probes = (sum(len(part) for part in parts) for parts in _parts(all_))
    return of_build / builds + PLACED, of_probe / probes + PLACED, (whole - of_build - of_probe) / len(all_)


def _parts(several: Sequence[Told]) -> tuple[list[Sequence[object]], list[Sequence[object]]]:
    return [own.builds for own in several], [own.probes for own in several]


def replayed(several: Sequence[Told], place: Path, times: int) -> tuple[Writes, Writes, Writes, Writes]:
    """Seconds and bytes of an event's, a build's and a probe's transaction, and of one candidate of a line that is
    written with its suspects; by so many bisections that wrote each `several` times the same."""
    store = Store(place / "replayed.sqlite")
    numbers = [store.create_bisection(NOBODYS, {}) for _ in range(times)]

    def timed(write: Any, count: int) -> Writes:
        before, began = _size(store), time.perf_counter()
        write()
        seconds = time.perf_counter() - began
        return Writes(seconds / count, (_size(store) - before) / count)

    def events() -> None:
        for number in numbers:
            for own in several:
                for one in own.journal:
                    store.add_event(number, one.event)

    def builds() -> None:
        for number in numbers:
            for own in several:
                for row, objects in own.builds:
                    store.add_build(number, _Build(row, objects), row.artifact, 0.0)

    def probes() -> None:
        (build,) = store.read("SELECT min(id) FROM builds")[0]
        for number in numbers:
            for own in several:
                for row, calls in own.probes:
                    result = _Probe(row, calls)
                    given = {"rows": "1000000", "clients": "1"}
                    store.add_probe(
                        *(number, build, row.purpose, row.test, given, 0.0, result), seconds=row.seconds, counter="perf"
                    )

    def lines() -> None:
        shas = [f"{n:040x}" for n in range(LINE)]
        because = {"function row_search_mvcc": 0.4, "executed": 0.1}
        for number in numbers:
            store.set_candidates(number, "", [(sha, sha, f"WL#{sha[-5:]}: a subject as long as most") for sha in shas])
            store.set_suspects(number, "", [SuspectRow(n, sha, 1 / LINE, because) for n, sha in enumerate(shas)])

    count = {name: times * sum(len(getattr(own, name)) for own in several) for name in ("journal", "builds", "probes")}
    told_ = timed(events, count["journal"])
    built = timed(builds, count["builds"])
    probed = timed(probes, count["probes"])
    written = timed(lines, times * LINE)
    store.close()
    return told_, built, probed, written


def _size(store: Store) -> int:
    with store.connection() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store.path.stat().st_size


def rate(several: Sequence[Told], place: Path, writers: int, seconds: float) -> float:
    """How many events a second so many writers at once get into one store, each with a connection of its own as if it
    were a process."""
    path = place / f"writers-{writers}.sqlite"
    first = Store(path)
    numbers = [first.create_bisection(NOBODYS, {}) for _ in range(writers)]
    first.close()
    journal = [one.event for own in several for one in own.journal]
    counts = [0] * writers
    until = time.monotonic() + seconds

    def write(which: int) -> None:
        own = Store(path)
        while time.monotonic() < until:
            own.add_event(numbers[which], journal[counts[which] % len(journal)])
            counts[which] += 1
        own.close()

    threads = [threading.Thread(target=write, args=(which,)) for which in range(writers)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - began)
