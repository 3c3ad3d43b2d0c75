"""Several tests in one bisection: one build for all of them, and an answer for each."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_bisections import BENCH, ask, begun, briefly, history, percent, said, tree

from cpubisect.base.errors import UserError
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.cli import main
from cpubisect.search.events import Answered, Event
from cpubisect.service.launch import run
from cpubisect.workloads.catalog import find_test, settings

BOTH = ("readrandom", "overwrite")
PROGRAM = {"small_bench.c": BENCH.replace("i < 500", "i < ENCODE")}
MEASURED = ("probe-finished", "equal-code")


def costs(lookup: int, encode: int, more: str = "") -> dict[str, str]:
    return {"cost.h": f"#define LOOKUP {lookup}\n#define ENCODE {encode}\n{more}"}


@pytest.fixture
def clone(tmp_path: Path) -> dict[int, str]:
    """Reading becomes costlier with commit 4, writing with commit 7."""
    stories = [costs(1000, 500, f"int marker = {n};") for n in (2, 3)]
    stories += [costs(1200, 500, f"int marker = {n};") for n in (4, 5, 6)]
    stories += [costs(1200, 700, f"int marker = {n};") for n in (7, 8, 9)]
    return history({**tree(1000), **PROGRAM, **costs(1000, 500)}, *stories).write(tmp_path / "kv")


def between_builds(events: list[dict[str, Any]]) -> Iterator[set[str]]:
    """Per build, the tests that it was measured by before the next one was begun."""
    tests: set[str] | None = None
    for event in events:
        if event["kind"] == "build-started":
            if tests is not None:
                yield tests
            tests = set()
        elif event["kind"] in MEASURED and tests is not None:
            tests.add(event["test"])
    if tests is not None:
        yield tests


def test_each_test_gets_its_culprit_from_shared_builds(home: Path, tmp_path: Path, clone: dict[int, str]) -> None:
    data = ask(tmp_path / "kv", clone[1], "main", home=home, tests=BOTH)
    assert data["tests"] == list(BOTH)
    verdict = data["verdict"]
    assert verdict["kind"] == "culprit"
    found = {test: [c["sha"] for c in own["culprits"]] for test, own in verdict["tests"].items()}
    assert found == {"readrandom": [clone[4]], "overwrite": [clone[7]]}
    assert percent(verdict["tests"]["readrandom"]["culprits"][0]) == pytest.approx(20.0, rel=0.05)
    shas = [commit["sha"] for commit in data["commits"]]
    assert len(shas) == len(set(shas)) == data["totals"]["builds_made"]
    assert all(commit["values"][test]["instructions/query"] for commit in data["commits"] for test in BOTH)
    assert all(tests == set(BOTH) for tests in between_builds(said(data["id"])))

    def shown(*words: str) -> str:
        return CliRunner().invoke(main, list(words), catch_exceptions=False).stdout

    for form in ("text", "markdown"):
        text = shown("report", "--format", form)
        assert f"readrandom: Culprit {clone[4][:12]}" in text
        assert f"overwrite: Culprit {clone[7][:12]}" in text
        assert "--test readrandom --test overwrite" in " ".join(text.replace("\\\n", "").split())
    assert f"  overwrite: culprit: {clone[7][:12]}" in shown("status")
    assert f"overwrite: culprit: {clone[7][:12]}" in shown("log", "1")
    (listed,) = json.loads(shown("list", "--json"))
    assert listed["tests"] == list(BOTH)
    assert "readrandom, overwrite" in shown("list")
    assert clone[4][:12] in listed["verdict"]["summary"]


def test_an_answer_that_was_there_before_an_interruption_stays(
    home: Path, tmp_path: Path, clone: dict[int, str]
) -> None:
    def stop(event: Event) -> None:
        if isinstance(event, Answered):
            raise KeyboardInterrupt

    registry, bisection = begun(tmp_path / "kv", clone[1], tests=BOTH, watch=stop)
    with pytest.raises(KeyboardInterrupt), briefly():
        run(registry, bisection, stop)
    row = registry.store.bisection(bisection)
    assert row.state == "interrupted"
    assert row.verdict is not None
    assert list(row.verdict.tests) == ["readrandom"]
    shown = CliRunner().invoke(main, ["status"]).stdout
    assert "readrandom: culprit" in shown
    assert "  overwrite: " in shown
    with briefly():
        result = CliRunner().invoke(main, ["resume", "--json", "--quiet"], catch_exceptions=False)
    verdict = json.loads(result.stdout)["verdict"]
    assert verdict["tests"]["readrandom"] == row.verdict.tests["readrandom"].to_json()
    assert [c["sha"] for c in verdict["tests"]["overwrite"]["culprits"]] == [clone[7]]
    shas = [build.sha for build, _ in registry.store.builds(bisection)]
    assert len(shas) == len(set(shas))


def test_a_setting_goes_to_the_tests_that_know_it() -> None:
    engine = Matrix.load().engine("mysql")
    tests = [find_test(engine, name) for name in ("point-query", "range-covered-pk")]
    own = next(name for name in tests[1].parameters if name not in tests[0].parameters)
    chosen = settings(engine, tests, {own: "7", "rows": "10"})
    assert chosen["range-covered-pk"][own] == "7"
    assert own not in chosen["point-query"]
    assert {parameters["rows"] for parameters in chosen.values()} == {"10"}
    with pytest.raises(UserError, match="point-query and range-covered-pk has no parameter 'nonsense'"):
        settings(engine, tests, {"nonsense": "1"})
