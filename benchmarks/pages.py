"""How long every page, its JSON twin and its charts take over a store as large as years of use make it.

    python benchmarks/pages.py [--bisections 1000] [--candidates 10000] [--repeats 15]

The store is made on the spot: many finished bisections, and a large one under way, with profiles, call graphs and
journals of real sizes. Prints the median of each address in milliseconds, and one JSON line at the end. Addresses are
asked in turn, round by round, so that load on the host meets all alike.

Charts have addresses of their own, for which no page waits: they are told apart, with how long the first of each took,
the very first of which loads the renderer, and how long a browser waits that has the newest picture.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cpubisect.base.home import Home
from cpubisect.base.metrics import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS
from cpubisect.builders.build import Recipe, Toolchain
from cpubisect.records.database import insert_all
from cpubisect.records.packing import pack, pack_calls
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
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

FILES = 330
"""Files that a build was compiled from."""


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
        self._profile = pack(own)
        self._calls = pack_calls({(names[(n - 1) // CALLEES], names[n]): inclusive[n] for n in range(1, FUNCTIONS)})
        self._clock = 1_700_000_000.0
        self._ids = dict.fromkeys(("build", "probe"), 0)

    def make(self, bisections: int, candidates: int) -> int:
        """Fill the store; the id of the large bisection, which is the last one."""
        store = Store(self._home.store)
        with store.writing() as connection:
            for number in range(1, bisections + 1):
                large = number == bisections
                for table, rows in self._bisection(number, candidates if large else 240, large=large):
                    insert_all(connection, table, rows)
        store.close()
        return bisections

    def _sha(self) -> str:
        return f"{self._random.getrandbits(160):040x}"

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
        host = {"cpu": "a processor", "cores": 8, "system": "a system", "kernel": "6.1"}
        self._clock += 10_000
        row: Json = {
            "id": number,
            "created": self._clock,
            "finished": None if large else self._clock + 5000,
            "state": "queued" if large else "finished",
            "engine": "rocksdb",
            "question": question.to_json(),
            "host": host,
            "owner": None,
            "counter": "callgrind",
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
        compiler = Toolchain("gcc-12", "gcc-12", "g++-12", "gcc-ar-12", "gcc-ranlib-12", "g++-12 (Debian) 12.2.0")
        recipe = asdict(Recipe("rocksdb", "", "8.7.0", compiler, "make", cxxflags=("-O2",)))
        for sha, slow in zip(shas, costly, strict=True):
            self._ids["build"] += 1
            build = self._ids["build"]
            builds.append(
                {"id": build, "recipe_key": sha, "engine": "rocksdb", "sha": sha, "started": self._clock,
                 "recipe": {**recipe, "commit": sha}, "outcome": "built", "artifact": sha, "first_error": "",
                 "repairs": [], "diff": "", "cpu_seconds": 900.0, "wall_seconds": 500.0,
                 "cache_hits": 100, "cache_misses": 240,
                 "compiled": [f"table/block_based/file_{n}.cc" for n in range(FILES)],
                 "log": str(self._home.logs / "none.log"), "code": sha}
            )  # fmt: skip
            uses.append({"bisection": number, "build": build, "made": 1})
            for round_ in range(LARGE_PROBES if large else PROBES):
                self._ids["probe"] += 1
                probe = self._ids["probe"]
                probes.append(
                    {"id": probe, "bisection": number, "build": build, "purpose": "search", "test": "seekrandom",
                     "parameters": {"rows": "20000"}, "counter": "callgrind", "started": self._clock + round_,
                     "seconds": 12.0, "error": None, "profile": self._profile, "variables": {},
                     "commands": ["db_bench --benchmarks=seekrandom"], "attributed": self._profile,
                     "calls": self._calls}
                )  # fmt: skip
                level = 72_000 if slow else 66_000
                values = {INSTRUCTIONS: level, CPU: level / 6000, CONTEXT_SWITCHES: 0.005, QPS: 4e8 / level}
                samples += [
                    {"probe": probe, "metric": metric, "number": n, "value": value * self._random.gauss(1, 0.0005)}
                    for metric, value in values.items()
                    for n in range(1 if metric == INSTRUCTIONS else 3)
                ]
        yield from (("builds", builds), ("uses", uses), ("probes", probes), ("samples", samples))

    def _events(self, number: int, path: list[str], built: list[int], *, large: bool) -> Iterator[Json]:
        def event(kind: str, **data: Any) -> Json:
            self._clock += 1
            return {"bisection": number, "at": self._clock, "kind": kind, "data": data}

        size = len(path) - 1
        yield event("range", candidates=size, classes=size * 2 // 3, fork=None, expected_builds=12)
        yield event("regime", regime="exact", metric=INSTRUCTIONS, percent=9.2, min_step=0.92)
        for n in built:
            sha = path[n]
            yield event("next", sha=sha, number=n, of=size, why="largest change of one function 3.00 %", inside=[],
                        low=path[0], high=path[-1])  # fmt: skip
            yield event("build-started", sha=sha, toolchain="gcc-12")
            yield event("build-finished", sha=sha, outcome="built", wall_seconds=500.0, first_error="", cache_hits=100,
                        cache_misses=240, repairs=0)  # fmt: skip
            for _ in range(20 if large else 2):
                yield event("probe-started", sha=sha, purpose="search")
                yield event("probe-finished", sha=sha, purpose="search", seconds=12.0, error=None,
                            values={INSTRUCTIONS: [66_000.0], CPU: [11.0]})  # fmt: skip


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
    """Every page and twin, those of one bisection for the large one."""
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


def measure(home: Home, bisections: int, candidates: int, repeats: int) -> Times:
    """How long each address takes; raises RuntimeError for one that does not answer."""
    registry = Registry(home, Store(home.store))
    large = Maker(home).make(bisections, candidates)
    client = create_app(Context(registry, Access("127.0.0.1"), {}, Clones(home))).test_client()

    def ask(address: str, expected: int = 200, **headers: str) -> tuple[float, str]:
        """Milliseconds, and the answer's tag."""
        began = time.perf_counter()
        answer = client.get(address, headers=headers)
        took = (time.perf_counter() - began) * 1000
        if answer.status_code != expected:
            raise RuntimeError(f"{address} answers {answer.status_code}")
        return took, answer.headers.get("ETag", "")

    drawn = charts(registry.store, large)
    first = {address: ask(address)[0] for address in drawn}
    pages: dict[str, list[float]] = {address: [] for address in addresses(registry.store, large)}
    fresh: dict[str, list[float]] = {address: [] for address in drawn}
    knew: dict[str, list[float]] = {address: [] for address in drawn}
    for number in range(repeats + 1):
        # As in a bisection that is under way: something has happened since the page was last asked for.
        registry.store.add_event(large, read("probe-started", {"sha": "0" * 40, "purpose": "search"}))
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
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = Home(Path(place))
        for folder in (home.repositories, home.logs, home.work):
            folder.mkdir(parents=True, exist_ok=True)
        found = measure(home, arguments.bisections, arguments.candidates, arguments.repeats)
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
