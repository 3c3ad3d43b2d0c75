"""How long every page, its JSON twin and its charts take over a store as large as years of use make it.

    python benchmarks/pages.py [--bisections 1000] [--candidates 10000] [--comparisons 101] [--repeats 15]

The store is made on the spot: many finished bisections and comparisons, and a large one of each under way, with
profiles, call graphs and journals of real sizes. Prints the median of each address in milliseconds, and one JSON line
at the end. Addresses are asked in turn, round by round, so that load on the host meets all alike.

Charts have addresses of their own, for which no page waits: they are told apart, with how long the first of each took,
the very first of which loads the renderer, and how long a browser waits that has the newest picture.
"""

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from cpubisect.base.home import Home
from cpubisect.base.metrics import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS
from cpubisect.builders.build import Recipe, Toolchain
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.database import insert_all
from cpubisect.records.packing import pack, pack_calls
from cpubisect.records.purpose import Purpose
from cpubisect.records.registry import Registry
from cpubisect.records.schema import OF_BISECTIONS, OF_COMPARISONS, Tables
from cpubisect.records.store import Store
from cpubisect.search.comparing.question import Asked, Row, Side
from cpubisect.search.comparing.turns import Turn, turns
from cpubisect.search.events import read
from cpubisect.search.question import Question
from cpubisect.web.app import create_app
from cpubisect.web.context import Context
from cpubisect.web.security import Access
from cpubisect.web.service.clones import Clones

LIMIT_MS = 150.0
"""What every page is to stay below; a chart may take longer."""

Json = dict[str, Any]

BUILDS, LARGE_BUILDS = 9, 60
PROBES, LARGE_PROBES = 3, 6
"""Per bisection, and of each build."""

FUNCTIONS = 900
"""Functions of a profile: a MySQL point query has some 700."""

CALLEES = 3
"""Functions that one calls."""

FILES, SERVER_FILES = 330, 4400
"""Files that a build was compiled from: bisections are of RocksDB, comparisons of MySQL."""

VERSIONS, LARGE_VERSIONS = 4, 12
TESTS, LARGE_TESTS = 6, 40
"""Of a comparison."""

SERIES = 4
"""Versions of one series, whose servers have the same variables."""

VARIABLES, OPTIONS = 500, 75
"""Of a server: what it tells, and what it is started with."""

GROUPS = ("point queries", "range queries without aggregation", "range queries with aggregation", "writes")

SETTINGS = {"rows": "100000", "queries": "1600", "warm-queries": "800", "range-size": "100", "tables": "1",
            "clients": "1", "seconds": "5", "samples": "5", "repeats": "2", "distribution": "uniform",
            "db-ps-mode": "auto", "pin": "auto", "defaults": "pinned"}  # fmt: skip
"""Of each test of a comparison."""

HOST = {"cpu": "a processor", "cores": 8, "system": "a system", "kernel": "6.1"}


class Maker:
    """Writes a store in bulk; the same every time."""

    def __init__(self, home: Home) -> None:
        self._random = random.Random(1)
        self._home = home
        names = [f"ns::Class{n % 97}::function_{n}(unsigned long, char const*)" for n in range(FUNCTIONS)]
        own = {name: self._random.random() * 1000 for name in names}
        inclusive = list(own.values())
        for n in range(FUNCTIONS - 1, 0, -1):
            inclusive[(n - 1) // CALLEES] += inclusive[n]
        # Each version costs a percent more than the one before, in all functions.
        self._profiles = [
            pack({name: cost * (1 + n / 100) for name, cost in own.items()}) for n in range(LARGE_VERSIONS)
        ]
        self._calls = pack_calls({(names[(n - 1) // CALLEES], names[n]): inclusive[n] for n in range(1, FUNCTIONS)})
        self._clock = 1_700_000_000.0
        self._ids: Counter[str] = Counter()

    def make(self, bisections: int, candidates: int, comparisons: int) -> None:
        """Fill the store; the last bisection and the last comparison are the large ones."""
        store = Store(self._home.store)
        with store.writing() as connection:
            for number in range(1, bisections + 1):
                large = number == bisections
                for table, rows in self._bisection(number, candidates if large else 240, large=large):
                    insert_all(connection, table, rows)
            for number in range(1, comparisons + 1):
                for table, rows in self._comparison(number, large=number == comparisons):
                    insert_all(connection, table, rows)
        store.close()

    def _id(self, table: str) -> int:
        self._ids[table] += 1
        return self._ids[table]

    def _sha(self) -> str:
        return f"{self._random.getrandbits(160):040x}"

    def _heading(self, number: int, engine: str, *, large: bool) -> Json:
        """What a bisection and a comparison both have."""
        self._clock += 10_000
        return {
            "id": number,
            "created": self._clock,
            "finished": None if large else self._clock + 5000,
            "state": "queued" if large else "finished",
            "engine": engine,
            "host": HOST,
            "owner": None,
            "counter": "callgrind",
        }

    def _bisection(self, number: int, candidates: int, *, large: bool) -> Iterator[tuple[str, list[Json]]]:
        path = [self._sha() for _ in range(candidates + 1)]
        question = Question(
            engine="rocksdb",
            repository=str(self._home.repositories / "clone"),
            good=f"v{number}.0",
            bad=f"v{number}.9",
            good_sha=path[0],
            bad_sha=path[-1],
            tests=("seekrandom",),
            matrix="compiler-matrix.yaml",
            parameters={"seekrandom": {"rows": "20000"}},
        )
        culprit = candidates // 2
        row = {
            **self._heading(number, "rocksdb", large=large),
            "question": question.to_json(),
            "verdict": self._verdict(path[culprit], path[culprit - 1]),
        }
        yield "bisections", [row]
        yield "candidates", [self._candidate(number, n, path) for n in range(candidates + 1)]
        yield "suspects", [
            {"bisection": number, "path": "main", "position": n, "sha": path[n], "weight": 1 / candidates,
             "because": {"function Iterator::Seek": 0.5, "executed": 0.5}}
            for n in range(1, candidates + 1)
        ]  # fmt: skip
        wanted = LARGE_BUILDS if large else BUILDS
        inner = self._random.sample(range(1, candidates), wanted - 4)
        built = sorted({0, candidates, culprit - 1, culprit, *inner})
        yield from self._measured(number, [path[n] for n in built], [n >= culprit for n in built], large=large)
        yield "events", list(self._events(number, path, built, large=large))

    def _candidate(self, number: int, n: int, path: list[str]) -> Json:
        return {"bisection": number, "path": "main", "position": n, "sha": path[n],
                "same_binary_as": path[n - n % 3], "subject": f"Change number {n} of the table reader"}  # fmt: skip

    def _verdict(self, sha: str, parent: str) -> Json:
        step = {"percent": 9.2, "low": 9.1, "high": 9.3, "visible": 0.1}
        culprit = {
            "sha": sha,
            "parent": parent,
            "subject": "Look ahead in the block cache",
            "author": "An Author",
            "date": "2024-01-01",
            "steps": dict.fromkeys((INSTRUCTIONS, CPU, CONTEXT_SWITCHES, QPS), step),
            "functions": [
                {"function": f"ns::Class{n}::function_{n}(unsigned long)", "before": n * 10.0, "after": n * 11.0}
                for n in range(1, 41)
            ],
            "inside": [],
            "share": 0.94,
            "note": "",
            "probability": None,
            "message": "Look ahead in the block cache\n\nSummary: …\n",
            "files": [{"path": f"table/file_{n}.cc", "added": n, "removed": 1} for n in range(12)],
        }
        ends = dict.fromkeys((INSTRUCTIONS, CPU), step)
        verdict = {"kind": "culprit", "summary": f"{sha[:12]} Look ahead in the block cache (+9.20 %)",
                   "metric": INSTRUCTIONS, "ends": ends, "culprits": [culprit], "groups": [], "defaults": [],
                   "smallest_visible": {INSTRUCTIONS: 0.9}, "remainder": 0.5, "notes": []}  # fmt: skip
        return {"kind": verdict["kind"], "summary": verdict["summary"], "tests": {"seekrandom": verdict}}

    def _measured(
        self, number: int, shas: list[str], costly: list[bool], *, large: bool
    ) -> Iterator[tuple[str, list[Json]]]:
        builds, uses, probes, samples = [], [], [], []
        for sha, slow in zip(shas, costly, strict=True):
            build = self._build("rocksdb", sha, FILES)
            builds.append(build)
            uses.append(self._use(OF_BISECTIONS, number, build))
            for _ in range(LARGE_PROBES if large else PROBES):
                own = {"test": "seekrandom", "parameters": {"rows": "20000"}, "variables": {},
                       "commands": ["db_bench --benchmarks=seekrandom"]}  # fmt: skip
                probe = self._probe(OF_BISECTIONS, number, build, self._profiles[0], **own)
                probes.append(probe)
                samples += self._samples(probe, _costs(72_000 if slow else 66_000), counts=1, clocks=3)
        yield from (("builds", builds), ("uses", uses), ("probes", probes), ("samples", samples))

    def _build(self, engine: str, sha: str, files: int) -> Json:
        compiler = Toolchain("gcc-12", "gcc-12", "g++-12", "gcc-ar-12", "gcc-ranlib-12", "g++-12 (Debian) 12.2.0")
        recipe = asdict(Recipe(engine, sha, "8.7.0", compiler, "make", cxxflags=("-O2",)))
        return {"id": self._id("builds"), "recipe_key": sha, "engine": engine, "sha": sha, "started": self._clock,
                "recipe": recipe, "outcome": "built", "artifact": sha, "first_error": "", "repairs": [], "diff": "",
                "cpu_seconds": 900.0, "wall_seconds": 500.0, "cache_hits": 100, "cache_misses": 240,
                "compiled": [f"table/block_based/file_{n}.cc" for n in range(files)],
                "log": str(self._home.logs / "none.log"), "code": sha}  # fmt: skip

    def _use(self, of: Tables, owner: int, build: Json) -> Json:
        return {of.owner: owner, "build": build["id"], "made": 1}

    def _probe(self, of: Tables, owner: int, build: Json, profile: bytes | None, **own: Any) -> Json:
        """One with a profile counts instructions, one without only CPU time."""
        self._clock += 1
        return {"id": self._id(of.probes), of.owner: owner, "build": build["id"],
                "purpose": Purpose.SEARCH if profile else Purpose.CLOCK, "counter": "callgrind", "started": self._clock,
                "seconds": 12.0, "error": None, "profile": profile or pack({}), "attributed": profile or pack({}),
                "calls": self._calls if profile else None, **own}  # fmt: skip

    def _samples(self, probe: Json, costs: Mapping[str, float], *, counts: int, clocks: int) -> list[Json]:
        return [
            {"probe": probe["id"], "metric": metric, "number": n, "value": cost * self._random.gauss(1, 0.0005)}
            for metric, cost in costs.items()
            for n in range(counts if metric == INSTRUCTIONS else clocks)
        ]

    def _events(self, number: int, path: list[str], built: list[int], *, large: bool) -> Iterator[Json]:
        event = partial(self._event, OF_BISECTIONS, number)
        size = len(path) - 1
        yield event("range", candidates=size, classes=size * 2 // 3, fork=None, expected_builds=12)
        yield event("regime", regime="exact", metric=INSTRUCTIONS, percent=9.2, min_step=0.92)
        for n in built:
            sha = path[n]
            yield event("next", sha=sha, number=n, of=size, why="largest change of one function 3.00 %", inside=[],
                        low=path[0], high=path[-1])  # fmt: skip
            yield from self._building(OF_BISECTIONS, number, sha)
            for _ in range(20 if large else 2):
                yield event("probe-started", sha=sha, purpose="search")
                yield event("probe-finished", sha=sha, purpose="search", seconds=12.0, error=None,
                            values={INSTRUCTIONS: [66_000.0], CPU: [11.0]})  # fmt: skip

    def _event(self, of: Tables, owner: int, kind: str, /, **data: Any) -> Json:
        self._clock += 1
        return {of.owner: owner, "at": self._clock, "kind": kind, "data": data}

    def _building(self, of: Tables, owner: int, sha: str) -> Iterator[Json]:
        yield self._event(of, owner, "build-started", sha=sha, toolchain="gcc-12")
        yield self._event(of, owner, "build-finished", sha=sha, outcome="built", wall_seconds=500.0, first_error="",
                          cache_hits=100, cache_misses=240, repairs=0)  # fmt: skip

    def _comparison(self, number: int, *, large: bool) -> Iterator[tuple[str, list[Json]]]:
        """The large one lacks the last row of its last round."""
        versions, tests = (LARGE_VERSIONS, LARGE_TESTS) if large else (VERSIONS, TESTS)
        asked = Asked(
            engine="mysql",
            repository=str(self._home.repositories / "clone"),
            sides=tuple(Side(f"8.{n // SERIES}.{n % SERIES}", self._sha()) for n in range(versions)),
            rows=tuple(Row(f"query-{n}", GROUPS[n * len(GROUPS) // tests], 1, SETTINGS) for n in range(tests)),
            matrix="compiler-matrix.yaml",
        )
        row = {
            **self._heading(number, asked.engine, large=large),
            "asked": asked.to_json(),
        }
        yield "comparisons", [row]
        builds = [self._build(asked.engine, side.sha, SERVER_FILES) for side in asked.sides]
        yield "builds", builds
        yield OF_COMPARISONS.uses, [self._use(OF_COMPARISONS, number, build) for build in builds]
        made = list(turns(asked))[: -versions if large else None]
        probes, samples = [], []
        for turn in made:
            version = asked.sides.index(turn.side)
            probe = self._taken(number, turn, builds[version], version)
            probes.append(probe)
            costs = _costs(66_000 * (1 + version / 100))
            samples += self._samples(probe, costs, counts=2 if turn.counts else 0, clocks=5)
        yield from ((OF_COMPARISONS.probes, probes), (OF_COMPARISONS.samples, samples))
        yield OF_COMPARISONS.events, list(self._told(number, asked, made))

    def _taken(self, number: int, turn: Turn, build: Json, version: int) -> Json:
        """The probe of a turn. One variable in twenty has a value of its own in each series."""
        server = " ".join(("mysqld", *(f"--loose-innodb_variable_number_{n}=1000" for n in range(OPTIONS))))
        series = version // SERIES
        own = {
            "test": turn.row.test,
            "parameters": turn.row.parameters,
            "variables": {f"innodb_variable_number_{n}": str(n if n % 20 else series) for n in range(VARIABLES)},
            "commands": [server, "sysbench oltp_read_only --time=5 run"] * 2,
        }
        profile = self._profiles[version] if turn.counts else None
        return self._probe(OF_COMPARISONS, number, build, profile, **own)

    def _told(self, number: int, asked: Asked, made: Sequence[Turn]) -> Iterator[Json]:
        event = partial(self._event, OF_COMPARISONS, number)
        shas = [side.sha for side in asked.sides]
        of_round = len(shas) * len(asked.rows)
        yield event("comparing", names=[side.name for side in asked.sides], shas=shas, rows=len(asked.rows),
                    rounds=asked.rounds, probes=of_round * asked.rounds)  # fmt: skip
        for sha in shas:
            yield from self._building(OF_COMPARISONS, number, sha)
        for place, turn in enumerate(made, 1):
            own = {"test": turn.row.test, "sha": turn.side.sha, "purpose": "search" if turn.counts else "clock"}
            yield event("probe-started", **own)
            values = {INSTRUCTIONS: [66_000.0] * 2, CPU: [11.0] * 5, CONTEXT_SWITCHES: [0.005] * 5, QPS: [6060.0] * 5}
            yield event("probe-finished", **own, seconds=12.0, error=None, values=values)
            if place % of_round == 0:
                yield event("round-done", number=turn.round, of=asked.rounds, left=600.0 * (asked.rounds - turn.round))


def _costs(instructions: float) -> dict[str, float]:
    return {INSTRUCTIONS: instructions, CPU: instructions / 6000, CONTEXT_SWITCHES: 0.005, QPS: 4e8 / instructions}


@dataclass(frozen=True)
class Times:
    """Milliseconds by address: of the `first` picture of each chart, and medians of `pages` and twins, of `charts` that
    show what they showed before, and of those that the asker `knew`."""

    first: Mapping[str, float]
    pages: Mapping[str, float]
    charts: Mapping[str, float]
    knew: Mapping[str, float]


def culprit_of(store: Store, large: int) -> str:
    """What the large bisection found."""
    verdict = store.bisection(large).verdict
    tests = verdict.tests.values() if verdict else ()
    return next(culprit.sha for found in tests for culprit in found.culprits)


def charts(store: Store, large: int) -> list[str]:
    """Every chart of the large bisection, as its pages ask for them."""
    one = f"/bisections/{large}"
    culprit = f"{one}/culprits/{culprit_of(store, large)}"
    widths = [f"{one}/chart.svg?width={width}" for width in ("broad", "narrow")]
    return [*widths, f"{culprit}/steps.svg", f"{culprit}/flame.svg"]


def addresses(store: Store, large: int) -> list[str]:
    """Every page and twin of bisections, those of one for the large one."""
    row = store.bisection(large)
    culprit = culprit_of(store, large)
    builds = [build.id for build, _ in store.builds(large)]
    probe = store.probes(large, builds[0])[0].id
    one = f"/bisections/{large}"
    below = ["", f"/culprits/{culprit}", "/suspects", f"/builds/{builds[0]}", f"/probes/{probe}"]
    compare = f"/compare?build={row.question.good_sha}&build={culprit}"
    both = [compare, *(one + path for path in below)]
    twins = ["/api/bisections", "/api/choices", f"/api{one}/events", f"/api{one}/candidates", f"/api{one}/chart"]
    return ["/", "/?page=5", "/start", f"{one}/log", *both, *(f"/api{path}" for path in both), *twins]


def comparing_addresses(comparisons: Comparisons, large: int) -> list[str]:
    """Every page and twin of comparisons, those of one for the large one."""
    asked = comparisons.row(large).asked
    one = f"/comparisons/{large}"
    both = ["/comparisons", one, f"{one}/cell?row={asked.label(asked.rows[0])}&version={asked.sides[-1].name}"]
    return [*both, "/comparisons/new", *(f"/api{path}" for path in both)]


def measure(home: Home, bisections: int, candidates: int, comparisons: int, repeats: int) -> Times:
    """How long each address takes; raises RuntimeError for one that does not answer."""
    context = Context(Registry(home, Store(home.store)), Access("127.0.0.1"), {}, Clones(home))
    Maker(home).make(bisections, candidates, comparisons)
    client = create_app(context).test_client()
    store, large = context.registry.store, bisections

    def ask(address: str, expected: int = 200, **headers: str) -> tuple[float, str]:
        """Milliseconds, and the answer's tag."""
        began = time.perf_counter()
        answer = client.get(address, headers=headers)
        took = (time.perf_counter() - began) * 1000
        if answer.status_code != expected:
            raise RuntimeError(f"{address} answers {answer.status_code}")
        return took, answer.headers.get("ETag", "")

    drawn = charts(store, large)
    first = {address: ask(address)[0] for address in drawn}
    shown = [*addresses(store, large), *comparing_addresses(context.comparisons, comparisons)]
    pages: dict[str, list[float]] = {address: [] for address in shown}
    fresh: dict[str, list[float]] = {address: [] for address in drawn}
    knew: dict[str, list[float]] = {address: [] for address in drawn}
    for number in range(repeats + 1):
        # As in what is under way: something has happened since the page was last asked for.
        happened = read("probe-started", {"sha": "0" * 40, "purpose": "search"})
        store.add_event(large, happened)
        context.comparisons.store.add_event(comparisons, happened)
        for address, times in pages.items():
            took, _ = ask(address)
            # The first round reads templates.
            times += [took] if number else []
        for address in drawn:
            took, tag = ask(address)
            fresh[address].append(took)
            knew[address].append(ask(address, 304, **{"If-None-Match": tag})[0])
    return Times(first, *(_medians(times) for times in (pages, fresh, knew)))


def _medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {address: median(found) for address, found in times.items()}


def main() -> None:
    """Print the table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bisections", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--comparisons", type=int, default=101)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = Home(Path(place))
        for folder in (home.repositories, home.logs, home.work):
            folder.mkdir(parents=True, exist_ok=True)
        found = measure(home, arguments.bisections, arguments.candidates, arguments.comparisons, arguments.repeats)
    tables = {
        "pages": found.pages,
        "charts, the first of each": found.first,
        "charts that show what they showed": found.charts,
        "charts that the asker has": found.knew,
    }
    for title, times in tables.items():
        print(f"{title}:")
        for address, milliseconds in times.items():
            shown = address if len(address) < 80 else address[:77] + "…"
            print(f"{milliseconds:8.1f} ms  {shown}")
    slowest, slowest_chart = (max(times.values()) for times in (found.pages, found.charts))
    summary = {
        "bisections": arguments.bisections,
        "candidates": arguments.candidates,
        "comparisons": arguments.comparisons,
        "addresses": len(found.pages),
        "slowest_ms": round(slowest, 1),
        "limit_ms": LIMIT_MS,
        "within": slowest < LIMIT_MS,
        "charts": len(found.charts),
        "slowest_chart_ms": round(slowest_chart, 1),
        "first_chart_ms": round(max(found.first.values()), 1),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
