"""Searches by screening builds: what they find counts only if ordinary builds show it."""

import csv
import io
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fake_lab import Commit, FakeLab, merged, straight
from questions import question
from small_bisections import ask, begun, cost, history, tree, verdict_of
from web_home import application
from woven_histories import history as scripted
from woven_histories import woven

from cpubisect.builders.recipes.matrix import locate_matrix
from cpubisect.cli import main
from cpubisect.records.purpose import Purpose
from cpubisect.records.registry import Registry
from cpubisect.report.bundle import _members
from cpubisect.run.lab import HostLab
from cpubisect.run.runner import run
from cpubisect.search import events
from cpubisect.search.question import MetricChoice
from cpubisect.search.verdict import Kind, Verdict
from cpubisect.service import launch, panel
from cpubisect.views.calls import frames_of, has_frames

Costs = tuple[Commit | float, ...]

FLAT = (1000.0,) * 8


def lab_of(screening: Costs, ordinary: Costs, **asked: Any) -> FakeLab:
    """A line c0, c1, … whose screening builds cost other than its ordinary ones."""
    last = f"c{len(ordinary) - 1}"
    ends = {"good": "c0", "good_sha": "c0", "bad": last, "bad_sha": last, "metric": MetricChoice.INSTRUCTIONS, **asked}
    lab = FakeLab(straight(*screening), question(**ends, screen=True))
    lab.ordinary = FakeLab(straight(*ordinary), question(**ends))
    return lab


def stepped(at: int, before: float, after: float, size: int = 8) -> Costs:
    return (before,) * at + (after,) * (size - at)


def test_what_screening_builds_find_is_told_as_ordinary_builds_show_it() -> None:
    before, after = {"lookup()": 600.0, "rest()": 400.0}, {"lookup()": 690.0, "rest()": 400.0}
    lab = lab_of(
        stepped(5, 1200.0, 1296.0),
        (*(Commit(before) for _ in range(5)), *(Commit(after) for _ in range(3))),
    )
    verdict = run(lab)
    assert verdict.kind is Kind.CULPRIT
    ((culprit, step),) = verdict.found
    assert culprit.sha == "c5"
    assert step.percent == pytest.approx(9.0)
    assert [(one.function, one.before, one.after) for one in culprit.functions] == [("lookup", 600.0, 690.0)]
    assert culprit.note == "in the search, by screening builds, it was +8.00 %"
    # The part of the whole is one of costs that screening builds have.
    assert culprit.share == pytest.approx(0.09 * 1200 / 96)
    assert verdict.ends["instructions/query"].percent == pytest.approx(8.0)
    assert any("searched by screening builds" in note for note in verdict.notes)
    assert lab.ordinary
    assert set(lab.ordinary.built_here()) == {"c4", "c5"}
    assert not lab.told(events.ScreenedInVain)


@pytest.mark.parametrize(
    ("screening", "ordinary", "why", "kind"),
    [
        (stepped(5, 1200.0, 1296.0), FLAT, "the step at c5 does not show in ordinary ones", Kind.NO_REGRESSION),
        (stepped(5, 1200.0, 1296.0), stepped(2, 1000.0, 1080.0), "the step at c5 does not show", Kind.CULPRIT),
        (FLAT, stepped(2, 1000.0, 1080.0), "their ends do not differ as was asked", Kind.CULPRIT),
        (FLAT, FLAT, "their ends do not differ as was asked", Kind.NO_REGRESSION),
        (stepped(3, 1000.0, 900.0), stepped(2, 1000.0, 1080.0), "their ends do not differ as was asked", Kind.CULPRIT),
        (
            (*FLAT[:-1], Commit(1080.0, fails="chunk.cc:1: error: ambiguous")),
            stepped(2, 1000.0, 1080.0),
            "c7 cannot be measured in one: chunk.cc:1: error: ambiguous",
            Kind.CULPRIT,
        ),
    ],
)
def test_where_screening_builds_mislead_ordinary_ones_are_searched(
    screening: Costs, ordinary: Costs, why: str, kind: Kind
) -> None:
    lab = lab_of(screening, ordinary)
    verdict = run(lab)
    assert verdict.kind is kind
    assert [culprit.sha for culprit in verdict.culprits] == (["c2"] if kind is Kind.CULPRIT else [])
    (told,) = lab.told(events.ScreenedInVain)
    assert isinstance(told, events.ScreenedInVain)
    assert why in told.why
    assert any(told.why in note and "searched by ordinary builds" in note for note in verdict.notes)
    alone = run(FakeLab(straight(*ordinary), question(**vars(lab.question) | {"screen": False})))
    assert verdict.summary == alone.summary


@pytest.mark.parametrize("seed", range(40))
def test_where_both_kinds_cost_the_same_the_answer_is_that_of_ordinary_builds(seed: int) -> None:
    chance = random.Random(seed)
    parents = woven(seed, 12, 1 + seed % 4)
    shas = [*parents]
    inner = [sha for sha in shas[1:-1] if len(parents[sha]) == 1]
    found = chance.sample(inner, 3)
    changes = dict(zip(found, ({"seek": 500.0}, {"parse": 90.0}, {"next": 60.0}), strict=True))
    commits = scripted(parents, changes)
    ends = {"good": shas[0], "good_sha": shas[0], "bad": shas[-1], "bad_sha": shas[-1]}
    asked = question(**ends, metric=MetricChoice.INSTRUCTIONS)
    lab = FakeLab(commits, replace(asked, screen=True))
    lab.ordinary = FakeLab(commits, asked)
    verdict, expected = run(lab), run(FakeLab(commits, asked))
    assert not lab.told(events.ScreenedInVain)
    assert [one.sha for one in verdict.culprits] == [one.sha for one in expected.culprits]
    for one, other in zip(verdict.culprits, expected.culprits, strict=True):
        assert one.steps["instructions/query"].percent == pytest.approx(other.steps["instructions/query"].percent)
        assert one.share == pytest.approx(other.share)


def test_a_sliver_of_the_step_that_was_found_confirms_nothing() -> None:
    ordinary = (1000.0, 1000.0, 1080.0, 1080.0, 1080.0, 1086.0, 1086.0, 1086.0)
    lab = lab_of(stepped(5, 1200.0, 1320.0), ordinary)
    verdict = run(lab)
    assert verdict.culprits[0].sha == "c2"
    assert lab.told(events.ScreenedInVain)


def test_what_screening_builds_leave_together_is_told_apart_by_ordinary_ones() -> None:
    costs = (1000.0, 1000.0, 1030.0, 1030.0, 1030.0, 1160.0, 1160.0, 1160.0)
    broken = Commit(costs[5], fails="chunk.cc:1: error: ambiguous")
    lab = lab_of((*costs[:5], broken, *costs[6:]), costs)
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == ["c5", "c2"]
    assert not verdict.groups
    (told,) = lab.told(events.ScreenedInVain)
    assert "they cannot tell all commits apart" in told.sentence


def test_an_ordinary_build_that_failed_is_tried_once_more() -> None:
    costs = stepped(5, 1000.0, 1080.0)
    lab = lab_of(costs, (*costs[:5], Commit(1080.0, fails="killed", mends=True), *costs[6:]))
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == ["c5"]
    assert not lab.told(events.ScreenedInVain)
    assert any("c5 failed to build once" in note for note in verdict.notes)


def test_screening_builds_are_never_read_on_cpu_time() -> None:
    lab = lab_of(stepped(5, 1200.0, 1296.0), FLAT)
    run(lab)
    assert not lab.clocked()


def test_a_chase_that_ordinary_builds_refuse_ends_the_search_by_screening_ones() -> None:
    parents = woven(3, 12, 2)
    shas = [*parents]
    inner = [sha for sha in shas[1:-1] if len(parents[sha]) == 1]
    ends = {"good": shas[0], "good_sha": shas[0], "bad": shas[-1], "bad_sha": shas[-1]}
    asked = question(**ends, metric=MetricChoice.INSTRUCTIONS)
    commits = scripted(parents, {inner[len(inner) // 2]: {"seek": 500.0}})
    confirmed, refused = (FakeLab(commits, replace(asked, screen=True)) for _ in range(2))
    confirmed.ordinary, refused.ordinary = FakeLab(commits, asked), FakeLab(scripted(parents, {}), asked)
    assert [one.sha for one in run(confirmed).culprits] == [inner[len(inner) // 2]]
    assert run(refused).kind is Kind.NO_REGRESSION
    assert refused.told(events.ScreenedInVain)
    assert refused.built_here() == confirmed.built_here()


def test_a_merge_says_what_it_was_in_the_search_too() -> None:
    commits = merged([1000.0, 1000.0], 1000.0, 1200.0)
    ends = {"good": "c0", "good_sha": "c0", "bad": "e0", "bad_sha": "e0", "metric": MetricChoice.INSTRUCTIONS}
    lab = FakeLab(commits, question(**ends, screen=True))
    lab.ordinary = FakeLab(commits, question(**ends))
    (culprit,) = run(lab).culprits
    assert "only the combination does" in culprit.note
    assert culprit.note.endswith("; in the search, by screening builds, it was +20.00 %")


@pytest.mark.long
def test_a_bisection_by_screening_builds_keeps_both_kinds_apart(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), *(cost(loops) for loops in (1001, 1002, 1102, 1103, 1104, 1105))).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", "--screen", home=home)
    verdict = verdict_of(data)
    (culprit,) = verdict["culprits"]
    assert (data["screen"], data["metric"], culprit["sha"]) == (True, "instructions", shas[4])
    kinds = [(commit["sha"], commit["recipe"]["variant"]) for commit in data["commits"]]
    assert [sha for sha, kind in kinds if not kind] == [shas[3], shas[4]]
    assert {sha for sha, kind in kinds if kind == "screening"} >= {shas[1], shas[3], shas[4], shas[7]}
    assert all(commit["values"]["readrandom"]["instructions/query"] for commit in data["commits"])
    text = CliRunner().invoke(main, ["report"], catch_exceptions=False).stdout
    assert "screening build" in text
    assert "ordinary build" in text
    assert "--screen" in text
    client = application(home).test_client()
    lines = {line["sha"]: line for line in client.get("/api/bisections/1").json["commits"]}
    assert lines[shas[4]]["toolchain"].endswith(" screening")
    assert b"screening" in client.get("/bisections/1").data
    again = json.loads(CliRunner().invoke(main, ["report", "--format", "json"], catch_exceptions=False).stdout)
    assert verdict_of(again) == verdict
    registry = Registry.open()
    (known,) = Verdict.from_json(verdict).culprits
    frame = frames_of(registry.store, 1, known, "readrandom")
    assert has_frames(registry.store, 1, known, "readrandom")
    assert frame is not None
    assert frame.change / frame.before * 100 == pytest.approx(known.steps["instructions/query"].percent)
    # Both kinds cost the same here: that the search's are not read is only seen where nothing else is asked for.
    assert registry.store.calls(1, shas[4], Purpose.SEARCH, "readrandom") is None
    members = dict(_members(registry, 1))
    assert f"profiles/{shas[4]}-readrandom.json" in members
    rows = csv.DictReader(io.StringIO(members["samples.csv"].decode()))
    found = {(row["commit"], row["kind"]) for row in rows if row["metric"] == "instructions/query"}
    assert found >= {(shas[1], "screening"), (shas[4], "screening"), (shas[4], "")}
    assert (shas[1], "") not in found


@pytest.mark.long
def test_ordinary_builds_that_were_there_before_tell_what_culprits_cost(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), *(cost(loops) for loops in (1001, 1002, 1102, 1103, 1104, 1105))).write(tmp_path / "kv")
    ask(tmp_path / "kv", shas[3], shas[4], home=home)
    data = ask(tmp_path / "kv", shas[1], "main", "--screen", home=home)
    told = {commit["sha"]: commit["recipe"]["variant"] for commit in data["commits"]}
    assert (told[shas[3]], told[shas[4]], told[shas[1]]) == ("", "", "screening")
    registry = Registry.open()
    names = [name for name, _ in _members(registry, 2)]
    assert len(names) == len({*names})
    assert {f"recipes/{shas[4]}.json", f"recipes/{shas[4]}-screening.json"} <= {*names}


def test_what_an_interruption_finds_being_built_is_ended_whatever_its_kind(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    registry, bisection = begun(tmp_path / "kv", shas[1])
    found = launch.lab_of(registry, bisection, lambda event: None)
    lab = replace(found, question=replace(found.question, screen=True))

    def interrupted(own: HostLab) -> None:
        for one in (own, own.proof):
            assert one.bench.begin(shas[1], 1.0)
            assert one.bench.begun[shas[1]].recipe.variant == ("screening" if one is own else "")
        raise KeyboardInterrupt

    monkeypatch.setattr(panel, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        panel.answer(lab, None, lambda answer: None)
    assert not lab.bench.begun
    assert not lab.proof.bench.begun
    assert len(lab.store.told(bisection, events.BuildWithdrawn)) == 2


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--metric", "cpu"], "screening builds are only compared by instructions: leave out --screen, or --metric"),
        (["--flags", "release"], "screening builds have flags of their own: leave out --screen, or --flags"),
        (["--both-sides"], "screening builds are searched on the way to bad only: leave out --screen, or --both-sides"),
        (["--matrix", "own.yaml"], "there are no screening builds of minikv: leave out --screen"),
    ],
)
def test_what_screening_builds_cannot_answer_is_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], says: str
) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    (tmp_path / "own.yaml").write_text(locate_matrix().read_text().replace("    screening: rocksdb_screening\n", ""))
    monkeypatch.chdir(tmp_path)
    words = ["start", shas[1], "main", "--repo", "kv", "--test", "readrandom", "--screen", *more]
    found = CliRunner().invoke(main, words)
    assert (found.exit_code, says in " ".join(found.stderr.split())) == (2, True), found.stderr
