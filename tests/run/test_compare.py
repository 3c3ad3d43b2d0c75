"""Versions side by side, from names to tables: built, probed in turns, left out where they fail, and never twice."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from small_bisections import BENCH, QUICK, cost, history, tree

from cpubisect.base.errors import UserError
from cpubisect.cli import main
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.store import Store
from cpubisect.search.events import BuildFinished, Event, LeftOut, ProbeFinished, RoundDone
from cpubisect.service.compare import Compare, begin, check, run

FAILS_OVERWRITE = BENCH.replace(
    "int main(int argc, char **argv) {",
    'int main(int argc, char **argv) {\n  for (int i = 1; i < argc; i++) if (strstr(argv[i], "overwrite,")'
    ' || strstr(argv[i], "=overwrite")) die("no such benchmark", "overwrite");',
)
GIVEN = dict(pair.split("=", 1) for pair in QUICK[1::2])


def quiet(event: Event) -> None:
    pass


def compare(*words: str) -> Result:
    return CliRunner().invoke(main, ["compare", *words])


def told(*words: str) -> dict[str, Any]:
    result = compare(*words, "--format", "json", "--quiet")
    assert result.exit_code == 0, result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def cells(data: dict[str, Any], metric: str, label: str) -> list[dict[str, Any]]:
    (table,) = (one for one in data["tables"] if one["metric"] == metric)
    (line,) = (line for group in table["groups"] for line in group["lines"] if line["label"] == label)
    return list(line["cells"])


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, list[str]]:
    """A history of which number 2 costs half as much as 1, 3 twice as much, 4 cannot be built; there is no 0."""
    story = history(tree(20000), cost(10000), cost(40000), cost(1, "#error not today\n"))
    return tmp_path / "kv", ["", *story.write(tmp_path / "kv").values()]


def test_versions_are_relative_to_the_first_and_a_failed_build_is_told(
    home: Path, clone: tuple[Path, list[str]], steady: None, tmp_path: Path
) -> None:
    path, shas = clone
    words = (*shas[1:], "--test", "readrandom", "--repo", str(path), *QUICK, "--rounds", "2")
    data = told(*words)
    assert (data["state"], data["probes"], data["planned"], data["base"]) == ("finished", 6, 6, shas[1])
    base, better, worse, missing = cells(data, "instructions/query", "readrandom")
    assert (base["relative"], base["tone"]) == (1.0, "")
    assert (better["relative"] > 1.5, better["tone"]) == (True, "better")
    assert (worse["relative"] < 0.6, worse["tone"]) == (True, "worse")
    assert missing["value"] is None
    assert "not today" in data["versions"][3]["problem"]
    assert "0.5" in compare("--show", "1").stdout
    text = compare("--show", "1").stdout
    assert f"{shas[4]} could not be built" in text
    assert "1.00 is worse" in text
    rows = list(csv.DictReader(io.StringIO(compare("--show", "1", "--format", "csv").stdout)))
    coloured = {(row["version"], row["colour"]) for row in rows if row["metric"] == "instructions/query"}
    assert coloured == {(shas[1], ""), (shas[2], "blue"), (shas[3], "yellow"), (shas[4], "")}
    markdown = compare("--show", "1", "--format", "markdown").stdout
    assert ("🟨" in markdown, "🟦" in markdown) == (True, True)
    html = compare("--show", "1", "--format", "html").stdout
    assert ('class="right worse"' in html, 'class="right better"' in html, "<script" in html) == (True, True, False)
    done = compare("--show", "1", "--format", "png", "--output", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "cpubisect-comparison-1.png").read_bytes().startswith(b"\x89PNG")
    assert compare("--show", "1", "--format", "svg").stdout.startswith("<svg")
    assert "finished" in compare("--list").stdout
    assert told("--resume", "1") == data
    assert Store(home / "store.sqlite").artifacts_in_use() == set()


def test_nothing_is_compared_where_only_one_version_can_be_built(
    home: Path, clone: tuple[Path, list[str]], steady: None
) -> None:
    path, shas = clone
    result = compare(shas[4], shas[1], "--test", "readrandom", "--repo", str(path), *QUICK, "--rounds", "2", "--quiet")
    assert result.exit_code == 1
    assert result.stderr == f"bisect: nothing could be compared: only {shas[1]} was built, of 2\n"
    assert "could not be built" in result.stdout
    assert compare("--show", "1").exit_code == 0


def test_a_row_for_each_number_of_clients_and_what_a_version_cannot_run(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1001), {"small_bench.c": FAILS_OVERWRITE}).write(tmp_path / "kv")
    words = (shas[2], shas[3], shas[1], "--test", "overwrite", "--repo", str(tmp_path / "kv"), "--clients", "1,2")
    data = told(*words, *QUICK, "--rounds", "2")
    labels = {one["row"] for one in data["cannot_run"]}
    assert {"overwrite clients=1", "overwrite clients=2"} <= labels
    assert {one["version"] for one in data["cannot_run"] if one["row"].startswith("overwrite")} == {shas[3]}
    assert [row["clients"] for row in data["rows"] if row["test"] == "overwrite"] == [1, 2]
    failed = [event for event in events(home, LeftOut) if event.row == "overwrite clients=2"]
    assert [event.name for event in failed] == [shas[3]]
    assert "Tests that a version cannot run" in compare("--show", "1").stdout


def events(home: Path, kind: type[LeftOut]) -> list[LeftOut]:
    return Comparisons.open().store.told(1, kind)


def wanted(path: Path, shas: list[str], **fields: Any) -> Compare:
    plain: dict[str, Any] = {"versions": tuple(shas), "tests": ("readrandom",), "repo": str(path), "given": GIVEN}
    return Compare(**{**plain, "rounds": 2, **fields})


def test_an_interrupted_comparison_repeats_nothing(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    comparisons = Comparisons.open()
    number = begin(comparisons, check(comparisons, wanted(path, shas[1:4]), quiet))
    seen: list[Event] = []

    def interrupts(event: Event) -> None:
        seen.append(event)
        if len([one for one in seen if isinstance(one, ProbeFinished)]) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(comparisons, number, interrupts)
    assert comparisons.row(number).state == "interrupted"
    kept = [probe.id for probe in comparisons.probes(number)]
    assert len(kept) == 4
    assert list(comparisons.home.work.iterdir()) == []
    assert "4 of 6 probes" in compare("--show", "1").stdout
    used = {build.artifact for build, _ in comparisons.store.builds(number)}
    assert used == comparisons.store.artifacts_in_use()
    seen.clear()
    assert run(comparisons, number, seen.append)
    assert [probe.id for probe in comparisons.probes(number)][:4] == kept
    assert len(comparisons.probes(number)) == 6
    assert not [event for event in seen if isinstance(event, BuildFinished)]
    assert [event.number for event in seen if isinstance(event, RoundDone)] == [2]
    with pytest.raises(UserError, match="is finished"):
        run(comparisons, number, quiet)


def test_one_that_is_cancelled_ends(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    comparisons = Comparisons.open()
    number = begin(comparisons, check(comparisons, wanted(path, shas[1:3]), quiet))

    def cancels(event: Event) -> None:
        if isinstance(event, BuildFinished):
            comparisons.change_state(number, ("running",), "cancelled")
            raise KeyboardInterrupt

    assert not run(comparisons, number, cancels)
    assert comparisons.state(number, comparisons.row(number).state) == "cancelled"
    comparisons.enqueue(number)
    assert comparisons.queued() == [number]


def test_a_base_that_cannot_be_built_gives_way_to_the_next(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    comparisons = Comparisons.open()
    number = begin(comparisons, check(comparisons, wanted(path, [shas[4], shas[1], shas[2]]), quiet))
    assert run(comparisons, number, quiet)
    text = compare("--show", str(number)).stdout
    assert f"{shas[4]} cannot be the base" in " ".join(text.split())


def test_less_than_two_builds_are_not_probed(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    comparisons = Comparisons.open()
    number = begin(comparisons, check(comparisons, wanted(path, [shas[1], shas[4]]), quiet))
    assert run(comparisons, number, quiet)
    assert comparisons.probes(number) == []
    assert "could not be built" in compare("--show", str(number)).stdout


def test_two_that_name_one_commit(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    with pytest.raises(UserError, match="are the same commit"):
        check(Comparisons.open(), wanted(path, [shas[1], shas[1][:10]]), quiet)


def test_clients_are_given_once(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    asked = wanted(path, shas[1:3], clients=(1, 2))
    with pytest.raises(UserError, match="clients are given twice"):
        check(Comparisons.open(), replace(asked, given={"clients": "3"}), quiet)


def test_versions_can_be_compiled_as_their_releases_are(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    words = (shas[1], shas[2], "--test", "readrandom", "--repo", str(path), *QUICK, "--rounds", "2")
    assert told(*words, "--flags", "release")["flags"] == "release"
    builds = [build for build, _ in Comparisons.open().store.builds(1)]
    assert {build.recipe["flags"] for build in builds} == {"release"}
    assert "of each release build" in compare("--show", "1").stdout
