"""Whole bisections over small histories of a one-file db_bench whose cost is a macro: every kind of verdict."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_bisections import BENCH, ask, cost, history, percent, said, tree, verdict_of
from web_home import application

from cpubisect.base.metrics import COUNTERS, SIMULATED
from cpubisect.cli import main
from cpubisect.records.registry import Registry
from cpubisect.report import render as report
from cpubisect.report.form import Form
from cpubisect.report.reproduction import cases
from cpubisect.report.words import reproduce
from cpubisect.run.bench import here
from cpubisect.views.bisection import Bisection


@pytest.mark.long
def test_several_culprits_come_out_ranked_and_explain_the_whole(home: Path, tmp_path: Path) -> None:
    loops = [1000, 1000, 1050, 1050, 1050, 1200, 1200, 1200, 1200]
    story = history(tree(1000), *(cost(n, f"/* {i} */") for i, n in enumerate(loops[1:])))
    shas = story.write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    verdict = verdict_of(data)
    assert verdict["kind"] == "culprit"
    assert [c["sha"] for c in verdict["culprits"]] == [shas[6], shas[3]]
    assert percent(verdict["culprits"][0]) == pytest.approx(150 / 1050 * 100, rel=0.05)
    assert percent(verdict["culprits"][1]) == pytest.approx(5.0, rel=0.05)
    assert sum(c["share"] for c in verdict["culprits"]) == pytest.approx(1.0, abs=0.01)
    assert data["totals"]["candidates"] == 8


@pytest.mark.long
def test_the_larger_part_of_the_difference_comes_first(home: Path, tmp_path: Path) -> None:
    loops = [1000, 1500, 1500, 2100, 2100]
    shas = history(tree(1000), *(cost(n, f"/* {i} */") for i, n in enumerate(loops))).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    culprits = verdict_of(data)["culprits"]
    assert [c["sha"] for c in culprits] == [shas[5], shas[3]]
    assert percent(culprits[0]) < percent(culprits[1])
    assert "1 more with smaller shares" in verdict_of(data)["summary"]


def test_no_difference_says_what_would_have_been_seen(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1000, "int marker = 1;"), cost(1000, "int marker = 2;")).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", "--metric", "instructions", home=home)
    assert verdict_of(data)["kind"] == "no-regression"
    assert 0 < verdict_of(data)["smallest_visible"]["instructions/query"] <= 1.0
    assert data["totals"]["builds"] == 2


@pytest.mark.long
def test_an_improvement_is_told_and_found_when_asked_for(home: Path, tmp_path: Path) -> None:
    loops = (1000, 1000, 900, 900)
    story = history(tree(1000), *(cost(n, f"/* {i} */") for i, n in enumerate(loops)))
    shas = story.write(tmp_path / "kv")
    told = verdict_of(ask(tmp_path / "kv", shas[1], "main", home=home))
    assert told["kind"] == "improvement"
    assert any("--find improvement" in note for note in told["notes"])
    found = verdict_of(ask(tmp_path / "kv", shas[1], "main", "--find", "improvement", home=home))
    assert found["kind"] == "culprit"
    assert [c["sha"] for c in found["culprits"]] == [shas[4]]
    assert percent(found["culprits"][0]) == pytest.approx(-10.0, rel=0.05)


def test_asking_again_makes_no_build_twice(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), *(cost(n, f"/* {n} */") for n in (1001, 1200, 1201, 1202))).write(tmp_path / "kv")
    first, again = (ask(tmp_path / "kv", shas[1], "main", home=home) for _ in range(2))
    assert [culprit["sha"] for culprit in verdict_of(again)["culprits"]] == [shas[3]]
    assert first["totals"]["builds_made"] > 0
    assert again["totals"]["builds_made"] == 0
    assert again["totals"]["builds"] <= first["totals"]["builds"]


def test_an_unbuildable_range_leaves_one_of_these(home: Path, tmp_path: Path) -> None:
    broken = "#error the format is being changed\n"
    commits = [cost(1000, "/* 1 */"), cost(1000, broken), cost(1150, broken), cost(1150, broken + "/* 2 */")]
    shas = history(tree(1000), *commits, cost(1150), cost(1150, "/* 3 */")).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    verdict = verdict_of(data)
    assert verdict["kind"] == "one-of"
    (group,) = verdict["groups"]
    assert group["commits"] == [shas[3], shas[4], shas[5], shas[6]]
    assert "the format is being changed" in group["why"]
    assert data["totals"]["builds_failed"] >= 2


def test_an_end_that_cannot_be_built_is_told_with_its_error(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1000, "#error not today\n"), cost(1100)).write(tmp_path / "kv")
    verdict = verdict_of(ask(tmp_path / "kv", shas[2], "main", home=home))
    assert verdict["kind"] == "unbuildable"
    assert "not today" in verdict["summary"]


def test_a_difference_on_the_good_branch_is_told_as_that(home: Path, tmp_path: Path) -> None:
    story = history(tree(1100), cost(1100, "/* fork */"))
    story.commit(cost(1100, "/* main */"))
    story.commit(cost(1000), branch="fast", parents=[2])
    story.write(tmp_path / "kv")
    verdict = verdict_of(ask(tmp_path / "kv", "fast", "main", home=home))
    assert verdict["kind"] == "fork-point"
    assert any("--find improvement" in note for note in verdict["notes"])


@pytest.mark.long
def test_merges_are_entered_as_deep_as_they_go(home: Path, tmp_path: Path) -> None:
    story = history(tree(1000))
    story.commit({"a.txt": "1"}, branch="feature", parents=[1])
    story.commit({"b.txt": "1"}, branch="deep", parents=[2])
    story.commit(cost(1300), branch="deep")
    story.commit({"c.txt": "1"}, branch="deep")
    story.commit({**cost(1300), "b.txt": "1", "c.txt": "1"}, branch="feature", parents=[2, 5])
    story.commit({"d.txt": "1"}, branch="main", parents=[1])
    story.commit({**cost(1300), "a.txt": "1", "b.txt": "1", "c.txt": "1"}, branch="main", parents=[7, 6])
    story.commit({"e.txt": "1"})
    shas = story.write(tmp_path / "kv")
    verdict = verdict_of(ask(tmp_path / "kv", shas[1], "main", home=home))
    (culprit,) = verdict["culprits"]
    assert culprit["sha"] == shas[4]
    assert culprit["parent"] == shas[3]
    assert culprit["inside"] == [shas[8], shas[6]]


def test_a_class_that_hid_the_culprit_is_opened(home: Path, tmp_path: Path) -> None:
    # The build includes a file below docs/, so the rule "docs cannot change the binary" is wrong here.
    story = history({**tree(1000), "cost.h": '#include "docs/cost.md"\n#ifndef LOOKUP\n#define LOOKUP 1000\n#endif\n'})
    story.commit({"a.txt": "1"})
    story.commit({"docs/cost.md": "#define LOOKUP 1250\n"})
    story.commit({"b.txt": "1"})
    story.commit({"c.txt": "1"})
    shas = story.write(tmp_path / "kv")
    (culprit,) = verdict_of(ask(tmp_path / "kv", shas[1], "main", home=home))["culprits"]
    assert culprit["sha"] == shas[3]


def test_cpu_time_alone_finds_a_large_step(home: Path, tmp_path: Path, steady: None) -> None:
    loops = (1000, 1000, 3000, 3000)
    story = history(tree(1000), *(cost(n, f"/* {i} */") for i, n in enumerate(loops)))
    shas = story.write(tmp_path / "kv")
    quick = ["--set", "clock_ops=1000,60000"]
    data = ask(tmp_path / "kv", shas[1], "main", "--metric", "cpu", *quick, home=home)
    assert data["regime"] == {"readrandom": "noisy"}
    (culprit,) = verdict_of(data)["culprits"]
    assert culprit["sha"] == shas[4]
    assert culprit["steps"]["cpu us/query"]["low"] > 50
    assert 0.97 <= culprit["probability"] <= 1.0
    told = CliRunner().invoke(main, ["log", str(data["id"])]).stdout
    assert "this search is likely to take about" in told
    assert "P = 0." in told or "P = 1." in told
    gaps = [event["gaps"] for event in said(data["id"]) if event["kind"] == "posterior"][-1]
    assert all({low, high} <= set(shas.values()) for low, high, _ in gaps)
    assert max(probability for *_, probability in gaps) > 0.9


@pytest.mark.long
def test_cpu_time_alone_enters_a_merge(home: Path, tmp_path: Path, steady: None) -> None:
    story = history(tree(1000))
    story.commit(cost(1000, "/* side */"), branch="side", parents=[1])
    story.commit(cost(4000, "/* side */"), branch="side")
    story.commit({"a.txt": "1"}, branch="main", parents=[1])
    story.commit({**cost(4000, "/* side */"), "a.txt": "1"}, branch="main", parents=[4, 3])
    shas = story.write(tmp_path / "kv")
    quick = ["--metric", "cpu", "--set", "clock_ops=1000,60000"]
    (culprit,) = verdict_of(ask(tmp_path / "kv", shas[1], "main", *quick, home=home))["culprits"]
    assert culprit["sha"] == shas[3]
    assert culprit["inside"] == [shas[5]]
    assert 0.7 < culprit["share"] < 1.3


def test_a_parent_that_cannot_be_built_is_one_of_its_own_candidates(home: Path, tmp_path: Path) -> None:
    # By its path the third commit shares the binary of the second, but it does not build.
    header = '#include "docs/cost.md"\n'
    story = history({**tree(1000), "cost.h": f"{header}#define LOOKUP 1000\n"})
    story.commit({"small_bench.c": BENCH + "/* 2 */"})
    story.commit({"docs/cost.md": "#error not today\n"})
    story.commit({"docs/cost.md": "", "cost.h": f"{header}#define LOOKUP 1250\n"})
    story.commit({"small_bench.c": BENCH + "/* 5 */"})
    shas = story.write(tmp_path / "kv")
    (group,) = verdict_of(ask(tmp_path / "kv", shas[1], "main", home=home))["groups"]
    assert group["commits"] == [shas[3], shas[4]]
    assert group["after"] == shas[2]


def test_a_commit_that_crashes_when_probed_cannot_be_told_from_its_neighbour(home: Path, tmp_path: Path) -> None:
    crash = "#define CRASH\n"
    shas = history(tree(1000), cost(1000, "/* 1 */"), cost(1200, crash), cost(1200)).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    assert verdict_of(data)["kind"] == "one-of"
    (group,) = verdict_of(data)["groups"]
    assert group["commits"] == [shas[3], shas[4]]
    assert "probe:" in group["why"]


def test_without_a_counter_instructions_cannot_be_asked_for(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for program in ("git", "ccache", "gcc-12", "g++-12", "make", "sh", "ar", "ranlib", "gcc-ar", "uname"):
        if found := shutil.which(program):
            (tools / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    words = ["start", shas[1], "main", "--test", "readrandom", "--repo", str(tmp_path / "kv"), "--quiet"]
    result = CliRunner().invoke(main, [*words, "--metric", "instructions"])
    assert result.exit_code == 2
    assert "cannot count instructions" in result.stderr
    result = CliRunner().invoke(main, [*words, "--screen"])
    assert result.exit_code == 2
    assert "use --metric cpu, without --screen" in " ".join(result.stderr.split())


def test_functions_are_told_where_callgrind_counts_beside_a_hardware_counter(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here, "examine", lambda: dict.fromkeys(COUNTERS, ""))
    shas = history(tree(1000), cost(1200)).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    assert data["counter"] == "callgrind"
    assert verdict_of(data)["culprits"][0]["functions"]


@pytest.mark.parametrize(
    ("metric", "costs", "in_words"),
    [
        pytest.param(
            *("ll-misses", ("STRIDE 1", "STRIDE 8"), "simulated misses of the last-level cache per query"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("branch-mispredictions", ("SORTED 1", "SORTED 0"), "simulated branch mispredictions per query"),
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_culprit_that_instructions_do_not_see(
    home: Path, tmp_path: Path, metric: str, costs: tuple[str, str], in_words: str
) -> None:
    before, after = (cost(1024, f"#define {one}\n") for one in costs)
    changes = [{**(before if n < 4 else after), "note": str(n)} for n in range(7)]
    shas = history({**tree(1024), **before}, *changes).write(tmp_path / "kv")
    unseen = verdict_of(ask(tmp_path / "kv", shas[1], "main", "--metric", "instructions", home=home))
    assert unseen["kind"] == "no-regression"
    assert unseen["ends"]["instructions/query"]["percent"] == pytest.approx(0.0, abs=0.01)
    data = ask(tmp_path / "kv", shas[1], "main", "--metric", metric, home=home)
    verdict = verdict_of(data)
    assert (verdict["kind"], verdict["metric"]) == ("culprit", f"{metric}/query")
    (culprit,) = verdict["culprits"]
    assert culprit["sha"] == shas[6]
    assert culprit["steps"][f"{metric}/query"]["percent"] > 500
    assert culprit["steps"]["instructions/query"]["percent"] == pytest.approx(0.0, abs=0.01)
    grown = culprit["functions"][0]
    assert grown["function"] == "lookup"
    assert grown["after"] > 6 * grown["before"]
    assert data["simulations"] == ["cache-sim" if metric == "ll-misses" else "branch-sim"]
    number = int(data["id"])
    written = " ".join(report.render(Registry.open(), number, Form.TEXT).decode().split())
    assert f"more {in_words} since commit" in written
    assert f"function ({metric}/query, self)" in written
    assert "-sim" not in written.partition("To reproduce")[2]
    assert f"{metric}/query: " in report.render(Registry.open(), number, Form.HTML).decode()
    client = application(home).test_client()
    for page in ("", f"/culprits/{culprit['sha']}", f"/culprits/{culprit['sha']}/flame.svg", "/chart.svg"):
        assert f"{metric}/query" in client.get(f"/bisections/{number}{page}").text
    (case,) = cases(Bisection.from_json(data))
    assert case.options[case.options.index("--metric") + 1] == metric


def test_what_was_simulated_is_recorded_with_every_count_and_told(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1200)).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", "--counter", "callgrind", "--branch-sim", "--cache-sim", home=home)
    assert data["simulations"] == ["cache-sim", "branch-sim"]
    for commit in data["commits"]:
        assert commit["values"]["readrandom"].keys() >= SIMULATED.keys()
    asked_again = " ".join(reproduce(Bisection.from_json(data)))
    assert "--counter callgrind --cache-sim --branch-sim" in asked_again
    written = report.render(Registry.open(), int(data["id"]), Form.TEXT).decode()
    assert "counter callgrind with cache-sim and branch-sim" in " ".join(written.split())


def test_a_failed_build_is_tried_again_by_another_bisection(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1000, "#error not today\n"), cost(1100)).write(tmp_path / "kv")
    for _ in range(2):
        data = ask(tmp_path / "kv", shas[2], "main", home=home)
        assert verdict_of(data)["kind"] == "unbuildable"
        assert data["totals"]["builds_made"] == data["totals"]["builds_failed"] == 2, "a failed end is tried twice"
