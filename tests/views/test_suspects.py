"""`bisect suspects`: the order, its reasons, and what was measured, from a store written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from questions import question

from cpubisect.base.metrics import Counter
from cpubisect.builders.build import BuildResult, Outcome, Recipe, Toolchain
from cpubisect.cli import main
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import SuspectRow
from cpubisect.records.store import Store
from cpubisect.search.events import read
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Answer, Culprit, Group, Kind, Verdict
from cpubisect.workloads.probe import Samples

TOOLCHAIN = Toolchain("gcc-12", "gcc-12", "g++-12", "ar", "ranlib", "12.2.0")
SHAS = [f"{number}{number:039x}" for number in range(6)]
MERGE = SHAS[4]


def suspects(*words: str) -> Result:
    return CliRunner().invoke(main, ["suspects", *words])


def refused(*words: str) -> str:
    result = suspects(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def store(home: Path) -> Store:
    home.mkdir()
    return Store(home / "store.sqlite")


def begin(store: Store, regime: str = "", **values: Any) -> int:
    bisection = store.create_bisection(question(), {})
    store.set_candidates(bisection, "main", [(sha, sha, f"[subject] {sha[0]}") for sha in SHAS])
    store.update_bisection(bisection, **{"counter": "callgrind", **values})
    if regime:
        store.add_event(bisection, read("regime", {"regime": regime}))
    return bisection


def build(store: Store, bisection: int, sha: str, cost: float | None = None, error: str = "") -> None:
    recipe = Recipe(engine="rocksdb", commit=sha, version="8.5.0", toolchain=TOOLCHAIN, system="make")
    outcome = Outcome.FAILED if error else Outcome.BUILT
    result = BuildResult(recipe, outcome, None, Path("log"), 1.0, 1.0, first_error=error)
    row = store.add_build(bisection, result, None if error else "d1gest", 1.0)
    if cost is not None:
        counted = Samples({"instructions/query": (cost,)}, Counter.CALLGRIND, {}, 1.0)
        other = Samples({"instructions/query": (cost * 9,)}, Counter.CALLGRIND, {}, 1.0)
        for purpose, samples in ((Purpose.SEARCH, counted), (Purpose.trial({"a": "1"}), other)):
            store.add_probe(bisection, row.id, purpose, "scan", {}, 1.0, samples, seconds=1.0, counter="callgrind")
    elif not error:
        about = (bisection, row.id, Purpose.SEARCH, "scan", {})
        store.add_probe(*about, 1.0, None, seconds=1.0, counter="callgrind", error="it crashed")


def answered(kind: Kind) -> Answer:
    return Answer.of({"scan": Verdict(kind, "")}, ("scan",))


def ranked(store: Store) -> int:
    steps = {"instructions/query": Step(12.82, 12.8, 12.9, 0.1)}
    culprit, group = Culprit(SHAS[3], SHAS[2], "", "", "", steps), Group(MERGE, SHAS[5], (SHAS[5],), 1.5, "")
    verdict = Verdict(Kind.CULPRIT, "", metric="instructions/query", culprits=(culprit,), groups=(group,))
    bisection = begin(store, regime="exact", verdict=Answer.of({"scan": verdict}, ("scan",)))
    build(store, bisection, SHAS[3], 72495.4)
    build(store, bisection, SHAS[2], error="no <cstdint>")
    build(store, bisection, SHAS[1])
    weights = {1: 0.1, 2: 0.1, 3: 0.5, 4: 0.2, 5: 0.1}
    reasons = {"file table.cc": 0.1, "type BlockHandle": 0.3, "executed": 0.05}
    rows = [SuspectRow(n, SHAS[n], weight, reasons if n == 3 else {}) for n, weight in weights.items()]
    store.set_suspects(bisection, "main", rows)
    store.set_candidates(bisection, MERGE, [(SHAS[0], SHAS[0], ""), ("f" * 40, "f" * 40, "Inside")])
    store.set_suspects(bisection, MERGE, [SuspectRow(1, "f" * 40, 1.0, {"executed": 1.0})])
    store.add_event(bisection, read("step-found", {"low": SHAS[3], "high": MERGE, "percent": 3.0}))
    return bisection


def test_the_table_is_in_order_with_reasons_and_findings(store: Store) -> None:
    bisection = ranked(store)
    lines = suspects(str(bisection)).stdout.splitlines()
    assert lines[1].split()[:4] == ["1", "50.00%", SHAS[3][:12], "72,495"]
    assert "culprit, +12.82 %" in lines[1]
    assert "[subject] 3" in lines[1]
    assert "type BlockHandle, file table.cc, executed" in lines[1]
    assert "step of +3.00 % at or before it" in lines[2]
    assert "unobservable: probe: it crashed" in lines[3]
    assert "unobservable: no <cstdint>" in lines[4]
    assert "one of 1 for +1.50 %" in lines[5]
    assert len(lines) == 6


def test_the_latest_bisection_and_a_limit(store: Store) -> None:
    begin(store)
    ranked(store)
    lines = suspects("--limit", "2").stdout.splitlines()
    assert len(lines) == 4
    assert lines[-1] == "3 more; --limit 5 shows all"


def test_json_has_all_of_it(store: Store) -> None:
    data = json.loads(suspects(str(ranked(store)), "--json", "--limit", "1").stdout)
    assert (data["candidates"], data["inside"]) == (5, None)
    (first,) = data["suspects"]
    assert first["sha"] == SHAS[3]
    assert first["cost"] == 72495.4
    assert list(first["because"]) == ["type BlockHandle", "file table.cc", "executed"]


def test_what_was_measured_for_a_commit_counts_for_it(store: Store) -> None:
    bisection = begin(store, regime="exact")
    store.set_candidates(bisection, "main", [(sha, SHAS[min(n, 4)], "") for n, sha in enumerate(SHAS)])
    build(store, bisection, SHAS[1], 100.0)
    build(store, bisection, SHAS[5], 140.0)
    store.add_event(bisection, read("equal-code", {"sha": SHAS[3], "twin": SHAS[1]}))
    store.add_event(bisection, read("step-found", {"low": SHAS[3], "high": SHAS[5], "percent": 40.0}))
    store.set_suspects(bisection, "main", [SuspectRow(n, SHAS[n], 0.25, {}) for n in (1, 2, 3, 4)])
    found = {one["sha"]: one for one in json.loads(suspects(str(bisection), "--json").stdout)["suspects"]}
    assert [found[SHAS[n]]["cost"] for n in (1, 2, 3, 4)] == [100.0, None, 100.0, 140.0]
    assert found[SHAS[4]]["found"] == "step of +40.00 % at or before it"


def test_each_path_is_ranked_by_the_test_that_was_searched_there(store: Store) -> None:
    bisection = ranked(store)
    for test, inside in (("scan", []), ("scan", [MERGE]), ("get", [])):
        store.add_event(bisection, read("suspects", {"top": [], "test": test, "inside": inside}))
    assert json.loads(suspects(str(bisection), "--json").stdout)["test"] == "get"
    assert json.loads(suspects(str(bisection), "--inside", MERGE, "--json").stdout)["test"] == "scan"


def test_inside_a_merge(store: Store) -> None:
    bisection = ranked(store)
    data = json.loads(suspects(str(bisection), "--inside", MERGE[:7], "--json").stdout)
    assert data["inside"] == MERGE
    assert [found["subject"] for found in data["suspects"]] == ["Inside"]
    line = refused(str(bisection), "--inside", "abc")
    assert MERGE[:12] in line


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"regime": "noisy"}, "CPU time"),
        ({"counter": "none"}, "CPU time"),
        ({"counter": "perf", "regime": "exact"}, "perf"),
        ({"verdict": answered(Kind.NO_REGRESSION)}, "ended before it needed suspects (no-regression)"),
        ({"verdict": answered(Kind.CULPRIT), "regime": "exact"}, "5 candidates"),
        ({}, "not got that far"),
    ],
)
def test_why_nothing_is_ranked(store: Store, values: dict[str, Any], says: str) -> None:
    assert says in refused(str(begin(store, **values)))


def test_a_bisection_from_before_the_record_is_told_so(store: Store) -> None:
    bisection = begin(store, regime="exact")
    store.add_event(bisection, read("suspects", {"top": []}))
    assert "bisect log" in refused(str(bisection))


def test_without_any_bisection(store: Store) -> None:
    assert "no bisections yet" in refused()
