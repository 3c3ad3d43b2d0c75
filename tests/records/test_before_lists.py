"""A home as it was before a question always had a list of tests: all of it is told as it was, and is gone on with."""

import difflib
import io
import json
import re
from pathlib import Path

import pytest
from before_lists import FOLDER, restored, write_clone
from click.testing import CliRunner, Result
from small_bisections import briefly
from web_home import application

from cpubisect.base.errors import Missing
from cpubisect.builders.recipes.toolchain import installed_toolchains
from cpubisect.cli import main
from cpubisect.records.registry import Registry
from cpubisect.report import bundle
from cpubisect.report.form import Form
from cpubisect.report.render import render
from cpubisect.search.verdict import Kind
from cpubisect.views.suspects import ranking

WHOSE_FLAGS = "+   flags       one set for all commits (pinned)"
IN_NONE = "+   sandbox     none: builds had all rights of who ran them"
IN_SHORT = (
    "+ ",
    "+ In short",
    "+   test        culprit           step  share  functions that changed most",
    "+   readrandom  2d8e504b18d6  +19.98 %  100 %  lookup",
    "+   overwrite   2801fa787161  +39.92 %  100 %  encode",
)
BOTH = ("readrandom", "overwrite")


@pytest.fixture
def registry(home: Path) -> Registry:
    """That home, its clone being elsewhere."""
    return restored()


def bisect(*words: str) -> Result:
    with briefly():
        return CliRunner().invoke(main, list(words), catch_exceptions=False)


def changed(file: str, now: str) -> list[str]:
    """The lines that were printed then and are not now, and those that are new."""
    calm = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "THEN", now)
    lines = [line.rstrip() for line in calm.splitlines()]
    then = (FOLDER / file).read_text().splitlines()
    return [line for line in difflib.ndiff(then, lines) if line[0] in "+-"]


def test_every_row_has_its_tests_and_its_answers(registry: Registry) -> None:
    rows = [registry.store.bisection(number) for number in (1, 2, 3, 4)]
    assert [row.question.tests for row in rows] == [("readrandom",), BOTH, BOTH, ("overwrite",)]
    assert all(row.question.parameters[test]["rows"] == "100" for row in rows for test in row.question.tests)
    assert [row.verdict and tuple(row.verdict.tests) for row in rows] == [("readrandom",), BOTH, ("readrandom",), None]
    first, second = rows[0].verdict, rows[1].verdict
    assert first is not None
    assert second is not None
    assert first.kind is first.tests["readrandom"].kind is Kind.CULPRIT
    assert first.summary == first.tests["readrandom"].summary
    assert second.summary.startswith("readrandom: culprit: ")
    (culprit,) = second.tests["overwrite"].culprits
    assert culprit.files[0].path == "cost.h"
    assert culprit.steps["instructions/query"].percent == pytest.approx(39.92, abs=0.01)


def test_it_is_turned_once(registry: Registry) -> None:
    before = [registry.store.bisection(number) for number in (1, 2, 3, 4)]
    registry.store.close()
    again = Registry.open()
    assert [again.store.bisection(number) for number in (1, 2, 3, 4)] == before


def test_what_was_printed_is_printed_still(registry: Registry) -> None:
    assert changed("list.txt", bisect("list").stdout) == []
    assert changed("status-1.txt", bisect("status", "1").stdout) == []
    assert changed("report-1.txt", bisect("report", "1").stdout) == [WHOSE_FLAGS, IN_NONE]


def test_builds_that_were_reused_took_nothing_and_each_test_has_its_regime(registry: Registry) -> None:
    for number, probing in ((2, 36), (3, 21)):
        assert changed(f"status-{number}.txt", bisect("status", str(number)).stdout) == [
            f"-   3 s of builds, {probing} s of probes",
            f"+   0 s of builds, {probing} s of probes",
        ]
    assert changed("report-2.txt", bisect("report", "2").stdout) == [
        *IN_SHORT,
        WHOSE_FLAGS,
        "+   regime      readrandom: exact",
        "+   regime      overwrite: exact",
        "-   builds      4, 0 made here, 0 failed: 3 s wall, 0 s CPU",
        "+   builds      4, 0 made here, 0 failed: 0 s wall, 0 s CPU",
        IN_NONE,
    ]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_form_of_the_report_and_the_journal_can_be_had(registry: Registry, number: int) -> None:
    for form in Form:
        assert render(registry, number, form)
    data = json.loads(render(registry, number, Form.JSON))
    assert data["tests"] == list(data["parameters"])
    assert "test" not in data
    assert all(commit["values"].keys() == set(data["tests"]) for commit in data["commits"])
    assert bisect("log", str(number)).stdout.count("\n") > 3
    with pytest.raises(Missing, match=f"bisection {number} "):
        ranking(registry, number)


def test_its_bundle_can_be_had(registry: Registry) -> None:
    file = io.BytesIO()
    bundle.write(registry, 2, file)
    assert file.getvalue()


def test_every_page_and_its_twin_answers(registry: Registry) -> None:
    client = application(registry.home.root).test_client()
    pages = ["/", "/compare?build=main", "/api/bisections"]
    for number in (1, 2, 3, 4):
        one = f"/bisections/{number}"
        below = ["", "/builds/1"]
        below += [f"/probes/{probe.id}" for probe in registry.store.probes(number)[:1]]
        below += [f"?test={test}" for test in registry.store.bisection(number).question.tests]
        if verdict := registry.store.bisection(number).verdict:
            below += [f"/culprits/{culprit.sha}" for own in verdict.tests.values() for culprit in own.culprits]
        pages += [f"{one}/log", *(one + path for path in below), *(f"/api{one}{path}" for path in below)]
    for page in pages:
        assert client.get(page).status_code == 200, page
    assert ">readrandom, overwrite<" in client.get("/").text


def same_compiler(registry: Registry) -> bool:
    """Whether a build of today would be the one that is kept."""
    ((build, _),) = registry.store.builds(1, build=1)
    return build.recipe["toolchain"]["release"] in {known.release for known in installed_toolchains()}


def test_an_interrupted_one_is_resumed_with_the_answer_and_the_builds_it_had(home: Path, tmp_path: Path) -> None:
    write_clone(tmp_path / "kv")
    registry = restored(tmp_path / "kv")
    was = registry.store.bisection(3).verdict
    assert was is not None
    data = json.loads(bisect("resume", "3", "--json", "--quiet").stdout)
    assert data["verdict"]["tests"]["readrandom"] == was.tests["readrandom"].to_json()
    (culprit,) = data["verdict"]["tests"]["overwrite"]["culprits"]
    assert culprit["subject"] == "commit 4"
    assert data["totals"]["builds"] == 4
    if same_compiler(registry):
        assert data["totals"]["builds_made"] == 0


@pytest.mark.long
def test_a_new_one_uses_the_builds_that_were_kept(home: Path, tmp_path: Path) -> None:
    write_clone(tmp_path / "kv")
    registry = restored(tmp_path / "kv")
    data = json.loads(bisect("resume", "4", "--json", "--quiet").stdout)
    words = ["start", data["good"]["sha"], "main", "--repo", str(tmp_path / "kv"), "--test", "readrandom"]
    words += [word for name, value in data["given"].items() for word in ("--set", f"{name}={value}")]
    found = json.loads(bisect(*words, "--json", "--quiet").stdout)
    assert found["id"] == 5
    (culprit,) = found["verdict"]["tests"]["readrandom"]["culprits"]
    assert culprit["subject"] == "commit 3"
    if same_compiler(registry):
        assert found["totals"]["builds_made"] == 0
        assert found["totals"]["build_seconds"] == 0.0
