"""Good on a branch of its own: what of the difference is on which side, and both sides searched, over scripted
histories."""

from collections.abc import Mapping
from typing import Any

import pytest
from fake_lab import Commit, FakeLab, straight
from questions import question

from cpubisect.run.runner import run
from cpubisect.search import events
from cpubisect.search.line import MAIN, OF_GOOD
from cpubisect.search.question import Find
from cpubisect.search.verdict import Kind, Side, Verdict

NOISY: Mapping[str, Any] = {"sigma": 0.01, "counts_instructions": False}
BAD = (1000.0, 1000.0, 1000.0, 1000.0, 1060.0, 1060.0, 1060.0, 1060.0)
GOOD = (1000.0, 1000.0, 960.0, 960.0)


def lab_of(bad: tuple[Any, ...] = BAD, good: tuple[Any, ...] = GOOD, host: Any = None, **asked: Any) -> FakeLab:
    """c0, c1, … to bad, and f0, f1, … to good, which leave at c1."""
    commits = {**straight(*bad), **straight(*good, name="f", after="c1")}
    ends = {"good": f"f{len(good) - 1}", "bad": f"c{len(bad) - 1}"}
    shas = {f"{end}_sha": sha for end, sha in ends.items()}
    return FakeLab(commits, question(**ends, **shas, **{"both_sides": True, **asked}), **(host or {}))


def found(verdict: Verdict) -> list[tuple[str, str, float]]:
    return [(one.sha, one.side.value, round(one.share or 0.0, 3)) for one in verdict.culprits]


def test_both_sides_are_searched_and_ranked_by_their_parts() -> None:
    lab = lab_of()
    verdict = run(lab)
    assert verdict.kind is Kind.CULPRIT
    assert found(verdict) == [("c4", "bad", 0.6), ("f2", "good", 0.4)]
    assert [round(step.percent, 6) for _, step in verdict.found] == [6.0, -4.0]
    sides = verdict.sides
    assert sides
    assert sides.searched
    assert sides.fork == "c1"
    assert (sides.good.percent, sides.bad.percent) == pytest.approx((-4.0, 6.0))
    assert verdict.remainder == pytest.approx(0.0, abs=1e-9)
    for said in ("c4 Subject", "on f3's own branch: f2", "60 % of the difference is on c7's side and 40 % on f3's"):
        assert said in verdict.summary, verdict.summary
    (told,) = lab.told(events.GoodSide)
    assert told.sentence.startswith("now the other side, from the fork point c1 to good: 4 candidates")
    assert len(lab.told(events.Range)) == 1
    assert lab.lines[MAIN].built(0) == lab.lines[OF_GOOD[MAIN]].built(0) == "c1"


def test_without_being_asked_good_s_side_is_measured_and_not_searched() -> None:
    lab = lab_of(both_sides=False)
    verdict = run(lab)
    assert found(verdict) == [("c4", "bad", 0.6)]
    assert verdict.sides
    assert not verdict.sides.searched
    assert verdict.sides.good_share == pytest.approx(0.4)
    assert "40 % on f3's" in verdict.summary
    assert "what f3's own branch makes of the difference is searched with --both-sides" in verdict.notes
    assert not {"f0", "f1", "f2"} & set(lab.built_here())


def test_all_of_it_at_the_fork_point_is_searched_on_good_s_side() -> None:
    verdict = run(lab_of(bad=(1000.0,) * 6))
    assert verdict.kind is Kind.CULPRIT
    assert found(verdict) == [("f2", "good", 1.0)]
    assert verdict.sides
    assert (verdict.sides.good_share, verdict.sides.bad_share) == pytest.approx((1.0, 0.0))
    assert verdict.notes == ()
    alone = run(lab_of(bad=(1000.0,) * 6, both_sides=False))
    assert alone.kind is Kind.FORK_POINT
    assert "100 % on f3's" in alone.summary


@pytest.mark.parametrize("good", [(1000.0, 1000.0), (1000.0, 1010.0)], ids=["as it was", "made dearer"])
def test_a_side_that_makes_nothing_of_the_difference_is_not_searched(good: tuple[float, ...]) -> None:
    lab = lab_of(good=good)
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == ["c4"]
    assert verdict.sides
    assert verdict.sides.good_share <= 0
    assert not verdict.sides.searched
    assert not lab.told(events.GoodSide)


def test_too_little_on_good_s_side_is_said_without_a_build() -> None:
    lab = lab_of(good=(1000.0, 1000.0, 999.0, 999.0))
    verdict = run(lab)
    assert [one.sha for one in verdict.culprits] == ["c4"]
    assert "on f3's own branch: no improvement from c1 to f3" in verdict.summary
    assert not {"f0", "f1", "f2"} & set(lab.built_here())


def test_of_an_improvement_what_made_good_dearer_is_searched() -> None:
    bad, good = (1000.0, 1000.0, 1000.0, 850.0, 850.0), (1000.0, 1100.0, 1100.0)
    verdict = run(lab_of(bad=bad, good=good, find=Find.IMPROVEMENT))
    assert found(verdict) == [("c3", "bad", 0.6), ("f1", "good", 0.4)]


def test_ends_that_differ_the_other_way_say_where_and_are_not_searched() -> None:
    lab = lab_of(bad=(1000.0, 1000.0, 900.0), good=(1000.0, 950.0))
    verdict = run(lab)
    assert verdict.kind is Kind.IMPROVEMENT
    assert "200 % of the difference is on c2's side and -100 % on f1's" in verdict.summary
    assert not lab.told(events.GoodSide)


def test_commits_of_good_s_side_that_cannot_be_told_apart_are_marked() -> None:
    broken = Commit(960.0, fails="x.h: No such file")
    verdict = run(lab_of(good=(1000.0, 1000.0, broken, broken, 960.0)))
    assert [(group.side, group.commits) for group in verdict.groups] == [(Side.GOOD, ("f2", "f3", "f4"))]
    assert verdict.kind is Kind.CULPRIT
    only = run(lab_of(bad=(1000.0,) * 4, good=(1000.0, broken, 960.0)))
    assert only.kind is Kind.ONE_OF


def test_what_bad_has_too_is_told() -> None:
    lab = lab_of()
    commits = {**lab.commits, "c6": Commit(1018.0, ("c5", "f2")), "c7": Commit(1018.0, ("c6",))}
    verdict = run(FakeLab(commits, lab.question))
    notes = {one.sha: one.note for one in verdict.culprits}
    assert "c7 contains it too, by a merge" in notes["f2"]
    assert not notes["c4"]


def test_a_good_branch_that_merged_the_trunk_parted_where_it_did_so_last() -> None:
    commits = straight(1000.0, 1000.0, 1050.0, 1050.0, 1050.0, 1113.0, 1113.0)
    commits |= straight(1000.0, Commit(1050.0, ("f0", "c3")), 1008.0, 1008.0, name="f", after="c1")
    lab = FakeLab(commits, question(good="f3", bad="c6", good_sha="f3", bad_sha="c6", both_sides=True))
    verdict = run(lab)
    assert verdict.sides
    assert verdict.sides.fork == "c3"
    assert found(verdict) == [("c5", "bad", 0.6), ("f2", "good", 0.4)]


def test_several_steps_of_both_sides_come_out_by_their_parts() -> None:
    bad = (1000.0, 1000.0, 1020.0, 1020.0, 1020.0, 1120.0, 1120.0)
    good = (1000.0, 960.0, 960.0, 930.0)
    verdict = run(lab_of(bad=bad, good=good, min_step=1.0))
    assert [(one.sha, one.side.value) for one in verdict.culprits] == [
        ("c5", "bad"),
        ("f1", "good"),
        ("f3", "good"),
        ("c2", "bad"),
    ]
    assert sum(one.share or 0.0 for one in verdict.culprits) == pytest.approx(1.0)
    first = run(lab_of(bad=bad, good=good, first=True))
    assert [one.sha for one in first.culprits] == ["c5", "f1"], "the largest of each side"


def test_on_cpu_time_too() -> None:
    bad = (*[1000.0] * 8, *[1200.0] * 8)
    good = (*[1000.0] * 6, *[850.0] * 6)
    verdict = run(lab_of(bad=bad, good=good, host=NOISY))
    assert [(one.sha, one.side.value) for one in verdict.culprits] == [("c8", "bad"), ("f6", "good")]
    assert verdict.sides
    assert verdict.sides.good.percent == pytest.approx(-15.0, abs=2.0)
    assert verdict.sides.good.low < -15.0 < verdict.sides.good.high
    assert verdict.culprits[0].share == pytest.approx(200 / 350, abs=0.06)
    assert verdict.culprits[1].share == pytest.approx(150 / 350, abs=0.06)


@pytest.mark.parametrize("host", [{}, NOISY], ids=["exact", "noisy"])
def test_asking_a_second_time_says_the_same_and_builds_nothing(host: Mapping[str, Any]) -> None:
    lab = lab_of(bad=(*[1000.0] * 4, *[1200.0] * 4), good=(*[1000.0] * 4, *[850.0] * 4), host=host)
    first, built = run(lab), len(lab.told(events.BuildFinished))
    again = run(lab)
    assert [one.sha for one in again.culprits] == [one.sha for one in first.culprits]
    assert again.summary == first.summary
    assert len(lab.told(events.BuildFinished)) == built


def test_a_culprit_that_is_a_release_is_told_as_one() -> None:
    commits = straight(*(Commit(cost, tag=f"v1.0.{n}") for n, cost in enumerate((1000.0, 1000.0, 1100.0, 1130.0))))
    lab = FakeLab(commits, question(good="c0", bad="c3", good_sha="c0", bad_sha="c3"))
    verdict = run(lab)
    assert [(one.sha, one.release, one.parent_release) for one in verdict.culprits] == [
        ("c2", "v1.0.2", "v1.0.1"),
        ("c3", "v1.0.3", "v1.0.2"),
    ]
    assert verdict.summary.startswith("release v1.0.2 (c2) (+10.00 % instructions/query against v1.0.1), and 1 more")
    said = [event.sentence for event in lab.journal if isinstance(event, events.Next | events.CulpritFound)]
    assert any(line.startswith("next: c1 = v1.0.1 (1 of 3") for line in said)
    assert any(line.startswith("culprit: c2 = v1.0.2 Subject of c2 (+10.00 %") for line in said)


def test_a_release_on_the_way_is_measured_first() -> None:
    commits = straight(*(Commit(1000.0 if n < 30 else 1100.0, tag="v1" if n == 18 else "") for n in range(40)))
    lab = FakeLab(commits, question(good="c0", bad="c39", good_sha="c0", bad_sha="c39"))
    run(lab)
    asked = [event.sha for event in lab.journal if isinstance(event, events.Next)]
    assert asked[0] == "c18"
