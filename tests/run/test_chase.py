"""Whole bisections of scripted histories with branches: what is chased, confirmed, and searched after it."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fake_lab import Commit, FakeLab
from questions import question
from woven_histories import history, woven

from cpubisect.records.purpose import Purpose
from cpubisect.run.runner import run
from cpubisect.search import events
from cpubisect.search.exact import SPARE, halvings
from cpubisect.search.verdict import Kind


def lab_of(commits: Mapping[str, Commit], **asked: Any) -> FakeLab:
    """For the question that goes from the first to the last."""
    shas = [*commits]
    return FakeLab(commits, question(good=shas[0], bad=shas[-1], good_sha=shas[0], bad_sha=shas[-1], **asked))


def built(lab: FakeLab) -> int:
    return len(lab.builds())


def inner(parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Commits that are no merges, and neither end."""
    shas = [*parents]
    return [sha for sha in shas[1:-1] if len(parents[sha]) == 1]


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_one_step_is_found_wherever_it_lies(seed: int, depth: int) -> None:
    parents = woven(seed, 12, depth)
    culprit = random.Random(seed).choice(inner(parents))
    lab = lab_of(history(parents, {culprit: {"seek": 80.0}}))
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == [culprit]
    assert verdict.culprits[0].share == pytest.approx(1.0)
    # Both ends, halving, the spare ones, and the parent.
    assert built(lab) <= 2 + halvings(len(parents) - 1) + SPARE + 1


@pytest.mark.parametrize("seed", range(6))
def test_a_named_suspect_needs_four_builds_however_deep(seed: int) -> None:
    parents = woven(seed, 12, 4)
    culprit = random.Random(seed).choice(inner(parents))
    commits = history(parents, {culprit: {"seek": 80.0}})
    commits[culprit] = replace(commits[culprit], words=frozenset({"seek"}))
    lab = lab_of(commits)
    assert [one.sha for one in run(lab).culprits] == [culprit]
    assert built(lab) <= 4


def test_the_merges_a_culprit_came_in_by_are_told() -> None:
    parents = {"c0": (), "a": ("c0",), "t": ("c0",), "b": ("a",), "i": ("a", "b"), "m": ("t", "i"), "e": ("m",)}
    verdict = run(lab_of(history(parents, {"b": {"seek": 80.0}})))
    assert verdict.culprits[0].sha == "b"
    assert verdict.culprits[0].inside == ("m", "i")


@pytest.mark.parametrize("seed", range(6))
def test_several_steps_come_out_largest_first(seed: int) -> None:
    parents = woven(seed, 14, 2)
    large, small = random.Random(seed).sample(inner(parents), 2)
    lab = lab_of(history(parents, {large: {"seek": 80.0}, small: {"next": 40.0}}))
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == [large, small]
    told = [event.sha for event in lab.told(events.CulpritFound)]
    assert told == [large, small]


@pytest.mark.parametrize("seed", range(4))
def test_the_first_is_enough_where_that_is_asked(seed: int) -> None:
    parents = woven(seed, 14, 2)
    large, small = random.Random(seed).sample(inner(parents), 2)
    commits = history(parents, {large: {"seek": 80.0}, small: {"next": 40.0}})
    lab, whole = lab_of(commits, first=True), lab_of(commits)
    verdict = run(lab)
    run(whole)
    assert [one.sha for one in verdict.culprits] == [large]
    assert any("--first" in note for note in verdict.notes)
    assert built(lab) <= built(whole)


def test_the_first_is_enough_on_a_straight_line_too() -> None:
    parents = {"c0": (), **{f"c{n}": (f"c{n - 1}",) for n in range(1, 40)}}
    lab = lab_of(history(parents, {"c30": {"seek": 80.0}, "c9": {"next": 40.0}}), first=True)
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == ["c30"]
    assert any("--first" in note for note in verdict.notes)


@pytest.mark.parametrize("seed", range(6))
def test_a_merge_whose_combination_costs_is_named_itself(seed: int) -> None:
    parents = {**woven(seed, 6, 1)}
    merges = [sha for sha, before in parents.items() if len(before) > 1]
    if not merges:
        parents |= {"x": ("c0",), "y": ([*parents][-1], "x")}
        merges = ["y"]
    lab = lab_of(history({**parents, "end": ([*parents][-1],)}, {merges[0]: {"seek": 80.0}}))
    assert [one.sha for one in run(lab).culprits] == [merges[0]]


def test_a_branch_whose_base_differs_misleads_the_chase_and_not_the_answer() -> None:
    """The branch lacks an improvement of the same function that good has: all of it seems to have the step."""
    parents = {
        "r": (),
        "s1": ("r",),
        "s2": ("s1",),
        "s3": ("s2",),
        "c0": ("r",),
        "c1": ("c0",),
        "c2": ("c1",),
        "m": ("c2", "s3"),
        "c3": ("m",),
        "c4": ("c3",),
    }
    commits = history(parents, {"c0": {"seek": -80.0}, "c2": {"seek": 80.0}})
    lab = FakeLab(commits, question(good="c0", bad="c4", good_sha="c0", bad_sha="c4"))
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == ["c2"]


def test_an_unbuildable_suspect_is_no_end_of_it() -> None:
    parents = woven(3, 12, 2)
    culprit = inner(parents)[len(parents) // 2]
    commits = history(parents, {culprit: {"seek": 80.0}})
    commits[culprit] = replace(commits[culprit], fails="x.h: No such file", words=frozenset({"seek"}))
    verdict = run(lab_of(commits))
    assert verdict.kind is Kind.ONE_OF
    assert culprit in verdict.groups[0].commits


def test_a_changed_default_leads_to_the_commit_whose_message_and_diff_name_it() -> None:
    parents = woven(5, 14, 3)
    culprit = inner(parents)[-3]
    commits = history(parents, {})
    held: dict[str, set[str]] = {}
    for sha, before in parents.items():
        held[sha] = {sha}.union(*(held[parent] for parent in before))
        value = "1" if culprit in held[sha] else "0"
        commits[sha] = replace(commits[sha], variables={"flush": value}, words=frozenset({f"of_{sha}"}))
    commits[culprit] = replace(commits[culprit], words=frozenset({"flush"}))
    shas = [*parents]
    asked = question(good=shas[0], bad=shas[-1], good_sha=shas[0], bad_sha=shas[-1])
    lab = FakeLab(commits, asked, prices={("flush", "1"): 100.0}, priced="seek")
    verdict = run(lab)
    assert verdict.kind is Kind.CHANGED_DEFAULT
    assert [one.sha for one in verdict.culprits] == [culprit]
    assert built(lab) <= 4
    reasons = lab.suspects["graph"][culprit].because
    assert max(reasons, key=reasons.__getitem__) == "variable flush: flush"
    told = lab.told(events.ShareShown)
    assert told
    assert {event.variables["flush"]: event.share for event in told} == {"0": 0.0, "1": 1.0}
    searched = {sha for sha, _ in lab.series(Purpose.SEARCH)}
    assert searched <= {shas[0], shas[-1], culprit, verdict.culprits[0].parent}, "its variables tell without a probe"


def found_by(commits: Mapping[str, Commit], good: str, bad: str, **asked: Any) -> dict[str, float]:
    """The culprits with their steps in percent of their parents; what was told on the way is in the verdict too."""
    lab = FakeLab(commits, question(good=good, bad=bad, good_sha=good, bad_sha=bad, **asked))
    verdict = run(lab)
    named = {one.sha: one.steps[verdict.metric].percent for one in verdict.culprits}
    assert {event.sha for event in lab.told(events.CulpritFound)} <= named.keys()
    return named


def test_a_commit_that_has_a_rise_of_its_own_but_not_the_step_is_no_culprit() -> None:
    parents = {
        **{"r": (), "s1": ("r",), "s2": ("s1",), "s3": ("s2",), "c0": ("r",), "c1": ("c0",), "c2": ("c1",)},
        **{"m": ("c2", "s3"), "c3": ("m",), "c4": ("c3",)},
    }
    changes = {"c0": {"seek": -80.0}, "c2": {"seek": 80.0}, "s1": {"next": 40.0}, "s2": {"next": -40.0}}
    assert [*found_by(history(parents, changes), "c0", "c4")] == ["c2"]


def test_several_steps_in_a_class_that_is_opened_are_all_found() -> None:
    commits = {
        f"c{n}": Commit(
            {"seek": 400.0 + 80 * (n >= 4), "next": 300.0 + 40 * (n >= 6), "parse": 300.0},
            (f"c{n - 1}",) if n else (),
            paths=("docs/x",) if 3 <= n <= 7 else ("source.c",),
        )
        for n in range(10)
    }
    assert {*found_by(commits, "c0", "c9")} == {"c4", "c6"}


def test_small_steps_that_make_a_merges_step_together_stay_found() -> None:
    parents = {"c0": (), "c1": ("c0",), "b1": ("c1",), **{f"b{n}": (f"b{n - 1}",) for n in range(2, 9)}}
    parents |= {"c2": ("c1",), "m": ("c2", "b8"), "c3": ("m",)}
    changes = {"b2": {"seek": 9.0}, "b5": {"next": 9.5}, "b6": {"parse": -4.0}}
    assert {*found_by(history(parents, changes), "c0", "c3", min_step=1.0)} == {"b2", "b5"}


def test_a_later_culprits_step_is_a_percentage_of_its_own_parent() -> None:
    parents = {"c0": (), "a": ("c0",), "b": ("c0",), "c1": ("a", "b"), **{f"c{n}": (f"c{n - 1}",) for n in range(2, 9)}}
    steps = found_by(history(parents, {"c2": {"seek": 500.0}, "c6": {"parse": 100.0}}), "c0", "c8")
    assert steps == {"c2": pytest.approx(50.0), "c6": pytest.approx(100 / 15)}


def test_what_good_contains_too_is_no_culprit() -> None:
    parents = {"f": (), "g": ("f",), "g2": ("g",), "c1": ("f",), "c2": ("c1",), "m": ("c2", "g2")}
    parents |= {"c3": ("m",), "c4": ("c3",)}
    commits = history(parents, {"g": {"next": 120.0}, "c3": {"seek": 200.0}})
    lab = FakeLab(commits, question(good="g2", bad="c4", good_sha="g2", bad_sha="c4", first=True))
    assert [one.sha for one in run(lab).culprits] == ["c3"]
