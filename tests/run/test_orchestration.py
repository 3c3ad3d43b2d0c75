"""Ends, search and confirmation over scripted histories: every kind of verdict, without a compiler or a clock."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from fake_lab import Commit, Commits, FakeLab, merged, straight

import cpubisect.run.runner
from cpubisect.base.errors import UserError
from cpubisect.base.metrics import CACHE_MISSES, CPU, CYCLES, INSTRUCTIONS, LL_MISSES, MISPREDICTIONS
from cpubisect.records.purpose import Purpose
from cpubisect.run.measuring import Unobservable
from cpubisect.run.runner import run
from cpubisect.search import events
from cpubisect.search.clock import noisy as changepoint
from cpubisect.search.clock.situation import NoStep
from cpubisect.search.question import Find, MetricChoice, Question
from cpubisect.search.verdict import Kind

NOISY: Mapping[str, Any] = {"sigma": 0.02, "counts_instructions": False}
LOST = "x.h: No such file"


def question(good: str, bad: str, **fields: Any) -> Question:
    return Question(
        **{
            **{"engine": "kv", "repository": "/kv", "good": good, "bad": bad, "good_sha": good, "bad_sha": bad},
            **{"tests": ("scan",), "matrix": "/m", "parameters": {"scan": {}}, **fields},
        }
    )


@dataclass(frozen=True)
class Row:
    """A history, what is asked of it, and what is expected: the kind, the culprits in their order, the commits of the
    groups, and what the summary and the notes say."""

    name: str
    commits: Commits
    kind: Kind
    culprits: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    says: tuple[str, ...] = ()
    good: str = "c0"
    bad: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)

    def lab(self) -> FakeLab:
        """A fresh lab for the question."""
        return FakeLab(self.commits, question(self.good, self.bad or [*self.commits][-1], **self.asked), **self.host)


def levels(*parts: tuple[int, float]) -> list[float]:
    """So many commits of each cost."""
    return [cost for count, cost in parts for _ in range(count)]


def forked(trunk: list[float], fast: float) -> dict[str, Commit]:
    """A line from c0, and a branch f0 from c1."""
    return {**straight(*trunk), **straight(fast, name="f", after="c1")}


def deep() -> dict[str, Commit]:
    """A merge inside a merge."""
    commits = {"c0": Commit(), "a0": Commit(parents=("c0",)), "b0": Commit(parents=("a0",))}
    commits |= {"b1": Commit(1300.0, ("b0",)), "a1": Commit(1300.0, ("a0", "b1")), "t0": Commit(parents=("c0",))}
    return {**commits, "m0": Commit(1300.0, ("t0", "a1")), "e0": Commit(1300.0, ("m0",))}


def hidden(step: Commit) -> dict[str, Commit]:
    """A step in a commit that seems to be in the class of those beside it."""
    note = Commit(1000.0, paths=("docs/a",))
    after = Commit(step.cost, paths=("docs/b",))
    return straight(1000.0, note, step, after, Commit(step.cost), Commit(step.cost))


def unused() -> dict[str, Commit]:
    """Commits that touch only what no end was made from, around a culprit."""
    made = {"compiled": ("source.c",)}
    extra = [Commit(1000.0, paths=("extra.h",), **made) for _ in range(4)]
    after = [Commit(1200.0, paths=("extra.h",), **made) for _ in range(3)]
    return straight(Commit(1000.0, **made), *extra, Commit(1200.0, **made), *after)


def missing(*levels_of_misses: tuple[int, float]) -> list[Commit]:
    """Commits that execute the same instructions, so many of each number of cache misses."""
    return [Commit(others={LL_MISSES: misses, MISPREDICTIONS: 2.0}) for misses in levels(*levels_of_misses)]


MISSES: Mapping[str, Any] = {"metric": MetricChoice.LL_MISSES}
SEVERAL = straight(*levels((5, 1000.0), (7, 1150.0), (8, 1200.0)))
BROKEN = straight(*levels((4, 1000.0)), *[Commit(1150.0, fails=LOST)] * 4, *levels((4, 1150.0)))
CRASHING = straight(*levels((4, 1000.0)), Commit(1150.0, crashes="aborted"), *levels((4, 1150.0)))
CANCELLING = straight(Commit({"f": 500.0, "g": 500.0}), 1000.0, Commit({"f": 400.0, "g": 601.0}))
OLD, NEW = {"flush": "1", "size": "9"}, {"flush": "0", "size": "10"}
DEFAULT = straight(*[Commit(variables=OLD)] * 3, *[Commit(variables=NEW)] * 3)
IMPROVED = straight(*levels((6, 1000.0), (6, 900.0)))
FLAT = straight(*levels((6, 1000.0)))

ROWS = [
    Row("a culprit", straight(*levels((13, 1000.0), (7, 1100.0))), Kind.CULPRIT, ("c13",), says=("+10.00 %",)),
    Row(
        "a culprit whose cache misses grew",
        straight(*missing((13, 4.0), (7, 5.0))),
        *(Kind.CULPRIT, ("c13",)),
        says=("+25.00 % ll-misses/query against its parent",),
        asked=MISSES,
    ),
    Row("cache misses that instructions do not see", straight(*missing((3, 4.0), (3, 5.0))), Kind.NO_REGRESSION),
    Row(
        "branches that are predicted as before",
        straight(*missing((3, 4.0), (3, 5.0))),
        Kind.NO_REGRESSION,
        says=("one of 46.00 % in branch-mispredictions/query would have been seen",),
        asked={"metric": MetricChoice.MISPREDICTIONS},
    ),
    Row(
        "next to no cache misses, which double",
        straight(*missing((3, 0.02), (3, 0.04))),
        Kind.NO_REGRESSION,
        says=("in ll-misses/query would have been seen",),
        asked=MISSES,
    ),
    Row(
        "fewer cache misses",
        straight(*missing((3, 5.0), (3, 4.0))),
        Kind.IMPROVEMENT,
        says=("(-20.00 % ll-misses/query): no regression",),
        asked=MISSES,
    ),
    Row(
        "cache misses that are there at the fork point",
        {**straight(*missing((6, 5.0))), **straight(*missing((2, 4.0)), name="f", after="c1")},
        Kind.FORK_POINT,
        good="f1",
        bad="c5",
        asked=MISSES,
    ),
    Row("the commit after good", straight(1000.0, *levels((7, 1100.0))), Kind.CULPRIT, ("c1",)),
    Row("bad itself", straight(*levels((8, 1000.0)), 1100.0), Kind.CULPRIT, ("c8",)),
    Row("one candidate", straight(1000.0, 1100.0), Kind.CULPRIT, ("c1",)),
    Row("several culprits", SEVERAL, Kind.CULPRIT, ("c5", "c12"), says=("1 more with smaller shares",)),
    Row(
        "a step the other way",
        straight(*levels((4, 1000.0), (4, 1300.0), (4, 1150.0))),
        *(Kind.CULPRIT, ("c4",)),
        says=("there is a step the other way: -15.00 %",),
    ),
    Row("unbuildable commits", BROKEN, Kind.ONE_OF, (), (("c4", "c5", "c6", "c7", "c8"),), (LOST, "were not tried")),
    Row("a commit that crashes", CRASHING, Kind.ONE_OF, (), (("c4", "c5"),), ("probe: aborted",)),
    Row(
        "a parent that does not build",
        straight(1000.0, Commit(1000.0, paths=("docs/a",), fails=LOST), 1200.0, 1200.0),
        *(Kind.ONE_OF, (), (("c1", "c2"),)),
        says=("or its parent c1 cannot be measured",),
    ),
    Row(
        "equal code",
        straight(Commit(code="same"), 1100.0, Commit(code="same")),
        Kind.NO_REGRESSION,
        says=("the code of c0 and c2 is equal",),
    ),
    Row("too small", FLAT, Kind.NO_REGRESSION, says=("0.50 % in instructions/query", "would have been seen")),
    Row(
        "steps that cancel",
        CANCELLING,
        Kind.NO_REGRESSION,
        says=("at most 0.10 % per function if cost only moved between functions, else 10.10 %",),
        asked={"metric": MetricChoice.INSTRUCTIONS, "min_step": 0.5},
    ),
    Row("an improvement", IMPROVED, Kind.IMPROVEMENT, says=("cheaper than c0", "--find improvement")),
    Row("an improvement that is wanted", IMPROVED, Kind.CULPRIT, ("c6",), asked={"find": Find.IMPROVEMENT}),
    Row(
        "a regression that is not wanted",
        straight(1000.0, 1100.0),
        Kind.NO_REGRESSION,
        says=("costlier than c0", "no improvement"),
        asked={"find": Find.IMPROVEMENT},
    ),
    Row(
        "a fork point",
        forked(levels((6, 1100.0)), 1000.0),
        Kind.FORK_POINT,
        says=("at the fork point c1", "ask the same from c1 to f0 with --find improvement"),
        good="f0",
        bad="c5",
    ),
    Row(
        "a culprit after the fork",
        forked(levels((4, 1000.0), (4, 1100.0)), 1000.0),
        *(Kind.CULPRIT, ("c4",)),
        good="f0",
        bad="c7",
    ),
    Row(
        "a changed default",
        DEFAULT,
        *(Kind.CHANGED_DEFAULT, ("c3",)),
        says=("flush (1 → 0)", "--set mysqld.flush=1 takes it out", "c3 Subject of c3 (+20.00 %"),
        host={"prices": {("flush", "0"): 200.0}},
    ),
    Row(
        "a changed default beside one that is refused",
        straight(*[Commit(variables=OLD)] * 3, *[Commit(variables=NEW, refuses=frozenset({("size", "9")}))] * 3),
        *(Kind.CHANGED_DEFAULT, ("c3",)),
        says=("flush (1 → 0)",),
        host={"prices": {("flush", "0"): 200.0}},
    ),
    Row(
        "a default and code",
        straight(Commit(variables=OLD), Commit(variables=OLD), Commit(1200.0, variables=NEW)),
        *(Kind.CULPRIT, ("c2",)),
        host={"prices": {("flush", "0"): 10.0}},
    ),
    Row(
        "an end that does not build",
        straight(Commit(fails=LOST), 1000.0),
        Kind.UNBUILDABLE,
        says=(f"c0 (c0) cannot be measured: {LOST}",),
    ),
    Row(
        "a fork point that crashes",
        {**forked(levels((4, 1000.0)), 1000.0), "c1": Commit(parents=("c0",), crashes="aborted")},
        Kind.UNBUILDABLE,
        says=("the fork point (c1) cannot be measured: probe: aborted",),
        good="f0",
        bad="c3",
    ),
    Row("a merge gone inside", merged([1000.0, 1200.0, 1200.0], 1000.0, 1200.0), Kind.CULPRIT, ("s1",)),
    Row("a merge in a merge", deep(), Kind.CULPRIT, ("b1",)),
    Row("a merge of two fast lines", merged([1000.0, 1000.0], 1000.0, 1200.0), Kind.CULPRIT, ("m0",)),
    Row("a class that hid the culprit", hidden(Commit(1250.0, paths=("docs/x",))), Kind.CULPRIT, ("c2",)),
    Row(
        "nothing but one class",
        straight(*hidden(Commit(1250.0, paths=("docs/x",))).values())
        | {"c4": Commit(1250.0, ("c3",), paths=("docs/c",))},
        Kind.CULPRIT,
        ("c2",),
        bad="c4",
    ),
    Row("files that nothing was made from", unused(), Kind.CULPRIT, ("c5",)),
    Row("CPU time: a culprit", straight(*levels((13, 1000.0), (7, 1200.0))), Kind.CULPRIT, ("c13",), host=NOISY),
    Row(
        "CPU time: a culprit that unbuildable commits hide",
        straight(*levels((8, 1000.0)), *[Commit(1200.0, fails=LOST)] * 3, *levels((8, 1200.0))),
        *(Kind.ONE_OF, (), (("c8", "c9", "c10", "c11"),)),
        says=(LOST,),
        host=NOISY,
    ),
    Row(
        "a build that fails once",
        straight(*levels((8, 1000.0)), Commit(1100.0, fails=LOST, mends=True), *levels((7, 1100.0))),
        *(Kind.CULPRIT, ("c8",)),
        says=("c8 failed to build once, and was built when that was tried again",),
    ),
    Row(
        "CPU time: a build that fails once",
        straight(*levels((8, 1000.0)), Commit(1200.0, fails=LOST, mends=True), *levels((7, 1200.0))),
        *(Kind.CULPRIT, ("c8",)),
        says=("c8 failed to build once",),
        host=NOISY,
    ),
    Row(
        "an end that fails to build once",
        straight(Commit(1000.0, fails=LOST, mends=True), 1000.0, 1100.0),
        *(Kind.CULPRIT, ("c2",)),
    ),
    Row("CPU time: nothing", FLAT, Kind.NO_REGRESSION, says=("% in cpu us/query would have been seen",), host=NOISY),
    Row("CPU time: an improvement", IMPROVED, Kind.IMPROVEMENT, says=("cheaper than c0",), host=NOISY),
    Row(
        "CPU time: a fork point",
        forked(levels((6, 1200.0)), 1000.0),
        *(Kind.FORK_POINT,),
        good="f0",
        bad="c5",
        host=NOISY,
    ),
    Row(
        "CPU time: less than asked for",
        straight(*levels((6, 1000.0), (6, 1200.0))),
        Kind.NO_REGRESSION,
        says=("one of 50.00 % in cpu us/query would have been seen",),
        asked={"min_step": 50.0},
        host=NOISY,
    ),
    Row(
        "CPU time: a merge gone inside",
        merged([1000.0, 1500.0, 1500.0], 1000.0, 1500.0),
        *(Kind.CULPRIT, ("s1",)),
        host=NOISY,
    ),
    Row(
        "CPU time: the largest of several",
        straight(*levels((5, 1000.0), (7, 1400.0), (8, 1700.0))),
        *(Kind.CULPRIT, ("c5",)),
        says=("`--min-step` asks for every step of that size",),
        host=NOISY,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_history_gets_its_verdict(row: Row) -> None:
    lab = row.lab()
    verdict = run(lab)
    assert verdict.kind is row.kind, verdict.summary
    assert tuple(culprit.sha for culprit in verdict.culprits) == row.culprits
    assert tuple(group.commits for group in verdict.groups) == row.groups
    told = " | ".join((verdict.summary, *(group.why for group in verdict.groups), *verdict.notes))
    assert [words for words in row.says if words not in told] == [], told


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_asking_a_second_time_says_the_same(row: Row) -> None:
    lab = row.lab()
    first, spent = run(lab), lab.clock_s
    again = run(lab)
    assert (again.kind, *(one.sha for one in again.culprits)) == (first.kind, *(one.sha for one in first.culprits))
    if lab.counts_instructions:
        assert again == first
        # A probe that crashed is tried again, and so is one with other settings.
        assert lab.clock_s == spent or "crash" in row.name or "default" in row.name


def test_a_changed_default_is_told_with_its_commit_and_what_that_costs_with_the_old_value() -> None:
    lab = FakeLab(DEFAULT, question("c0", "c5"), prices={("flush", "0"): 200.0, ("size", "10"): 10.0})
    (default,) = run(lab).defaults
    assert (default.variable, default.commit, default.pinned) == ("flush", "c3", pytest.approx(1.0))
    (told,) = lab.told(events.DefaultsRestored)
    assert "it is flush that makes the difference" in told.sentence


@pytest.mark.parametrize(
    ("commits", "says"),
    [
        (straight(*levels((6, 1000.0))), "differ by +20.00 % instructions/query, 20.00 % more than with pinned ones"),
        (straight(*levels((3, 1000.0), (3, 1100.0))), "to look for that, ask the same with --defaults server"),
        (straight(*levels((3, 1000.0), (3, 900.0))), "with the servers' own defaults the ends differ by +"),
    ],
    ids=["nothing", "less", "the other way"],
)
def test_what_the_servers_own_defaults_would_have_shown_is_told(commits: Commits, says: str) -> None:
    """The last one's server costs more with its own."""
    asked = question("c0", "c5", parameters={"scan": {"defaults": "pinned"}})
    costly = {**commits, "c5": replace(commits["c5"], variables={"kind": "new"})}
    verdict = run(FakeLab(costly, asked, own={"kind": ("new", 200.0)}))
    assert says in " | ".join(verdict.notes)


def test_nothing_is_told_of_defaults_where_none_are_pinned() -> None:
    for parameters in ({}, {"scan": {}}, {"scan": {"defaults": "server"}}):
        verdict = run(FakeLab(FLAT, question("c0", "c5", parameters=parameters)))
        assert not any("own defaults" in note for note in verdict.notes)


LAYOUT: dict[str, Any] = {"sigma": 0.01, "layout": 0.02, "counts_instructions": False}


@pytest.mark.parametrize("seed", range(12))
def test_where_code_lies_is_no_culprit(seed: int) -> None:
    """The ends differ by their layouts alone, as often as not; what is stated then says so."""
    verdict = run(FakeLab(straight(*levels((30, 1000.0))), question("c0", "c29"), seed=seed, **LAYOUT))
    assert not verdict.culprits
    assert not verdict.groups
    if verdict.kind is Kind.LAYOUT:
        assert "where code lies makes the difference" in verdict.summary
        assert abs(verdict.ends[CPU].percent) < verdict.smallest_visible[CPU]
        assert "of the difference is the layout of these two binaries" in verdict.notes[0]
    else:
        assert verdict.kind is Kind.NO_REGRESSION


def test_some_histories_of_layout_alone_get_that_verdict() -> None:
    commits = straight(*levels((30, 1000.0)))
    kinds = {run(FakeLab(commits, question("c0", "c29"), seed=seed, **LAYOUT)).kind for seed in range(6)}
    assert Kind.LAYOUT in kinds


@pytest.mark.parametrize("seed", range(8))
def test_a_step_among_layouts_is_found_in_binaries_that_are_linked_anew(seed: int) -> None:
    commits = straight(*levels((17, 1000.0), (13, 1080.0)))
    lab = FakeLab(commits, question("c0", "c29"), seed=seed, **LAYOUT)
    verdict = run(lab)
    assert [culprit.sha for culprit in verdict.culprits] in (["c17"], [])
    if verdict.culprits:
        step = verdict.culprits[0].steps[CPU]
        assert step.low < 8.0 < step.high
        assert any(row.purpose.link for sha, row in lab.clocked() if sha == "c17")


@pytest.mark.parametrize("seed", [16, 26, 27, 28, 48])
def test_a_step_that_layout_hides_at_the_ends_is_found_in_binaries_that_are_linked_anew(seed: int) -> None:
    commits = straight(*levels((17, 1000.0), (13, 1030.0)))
    lab = FakeLab(commits, question("c0", "c29"), seed=seed, **LAYOUT)
    verdict = run(lab)
    assert [culprit.sha for culprit in verdict.culprits] == ["c17"]
    assert all(row.purpose.link for sha, row in lab.clocked() if sha not in ("c0", "c29"))


def test_where_nothing_can_be_linked_anew_an_answer_of_none_says_what_it_is_of() -> None:
    lab = FakeLab(FLAT, question("c0", "c5"), redraws="lld is not installed", **NOISY)
    verdict = run(lab)
    assert verdict.kind is Kind.NO_REGRESSION
    assert verdict.notes == (
        "CPU time is of two binaries as they were linked: where code lies may hide more (lld is not installed)",
    )


def test_where_nothing_can_be_linked_anew_the_report_says_so() -> None:
    commits = straight(*levels((13, 1000.0), (7, 1200.0)))
    lab = FakeLab(commits, question("c0", "c19"), redraws="lld is not installed", **NOISY)
    (culprit,) = run(lab).culprits
    assert culprit.note == "the layout of its code could not be drawn anew: lld is not installed"
    assert not any(row.purpose.link for _, row in lab.clocked())


@pytest.mark.parametrize("seed", range(30))
def test_a_count_that_is_wrong_now_and_then_names_nobody_else(seed: int) -> None:
    commits = straight(*levels((40, 1000.0), (24, 1100.0)))
    lab = FakeLab(commits, question("c0", "c63"), seed=seed, slips=0.02)
    verdict = run(lab)
    assert [culprit.sha for culprit in verdict.culprits] == ["c40"], verdict.summary
    assert verdict.culprits[0].steps[INSTRUCTIONS].percent == pytest.approx(10.0)
    assert not verdict.groups


@pytest.mark.parametrize("host", [{}, NOISY], ids=["exact", "noisy"])
def test_a_step_is_told_in_every_event_that_the_hardware_counted(host: Mapping[str, Any]) -> None:
    before = Commit(1000.0, others={CYCLES: 500.0})
    after = Commit(1200.0, others={CYCLES: 750.0, CACHE_MISSES: 3.0})
    verdict = run(FakeLab(straight(before, before, after), question("c0", "c2"), **host))
    for steps in (verdict.ends, verdict.culprits[0].steps):
        assert steps[CYCLES].percent == pytest.approx(50.0)
        assert CACHE_MISSES not in steps


def test_a_culprit_in_what_is_simulated_is_told_in_all_that_was_counted() -> None:
    lab = FakeLab(straight(*missing((3, 4.0), (3, 5.0))), question("c0", "c5", **MISSES))
    verdict = run(lab)
    (culprit,) = verdict.culprits
    assert verdict.metric == LL_MISSES
    assert culprit.steps.keys() == {INSTRUCTIONS, LL_MISSES, MISPREDICTIONS, CPU}
    assert [culprit.steps[metric].percent for metric in (LL_MISSES, INSTRUCTIONS)] == pytest.approx([25.0, 0.0])
    assert culprit.share == pytest.approx(1.0)
    assert any("where code lies has a part in ll-misses/query" in note for note in verdict.notes)
    (chosen,) = lab.told(events.RegimeChosen)
    assert chosen.to_json()["metric"] == LL_MISSES


@pytest.mark.parametrize("host", [{}, NOISY], ids=["exact", "noisy"])
def test_a_run_that_was_interrupted_goes_on_to_the_same_culprit(host: Mapping[str, Any]) -> None:
    commits = straight(*levels((23, 1000.0), (9, 1200.0)))
    whole = FakeLab(commits, question("c0", "c31"), **host)
    run(whole)

    class Interrupted(FakeLab):
        left = 0

        def tell(self, event: events.Event) -> None:
            super().tell(event)
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    for stop in range(1, len(whole.journal), 3):
        lab = Interrupted(commits, question("c0", "c31"), **host)
        lab.left = stop
        with pytest.raises(KeyboardInterrupt):
            run(lab)
        assert [culprit.sha for culprit in run(lab).culprits] == ["c23"]
        assert lab.clock_s == whole.clock_s or host


def test_the_shares_of_several_culprits_explain_the_whole() -> None:
    verdict = run(FakeLab(SEVERAL, question("c0", "c19")))
    assert [culprit.share for culprit in verdict.culprits] == pytest.approx([0.75, 0.25])
    assert verdict.ends[INSTRUCTIONS].percent == pytest.approx(20.0)
    assert verdict.remainder == pytest.approx(0.0)


def test_a_merges_culprit_says_where_it_came_in() -> None:
    (culprit,) = run(FakeLab(deep(), question("c0", "e0"))).culprits
    assert (culprit.parent, culprit.inside) == ("b0", ("m0", "a1"))
    (itself,) = run(FakeLab(merged([1000.0, 1000.0], 1000.0, 1200.0), question("c0", "e0"))).culprits
    assert "only the combination does" in itself.note


def test_a_difference_that_fades_is_told_with_what_would_have_been_seen() -> None:
    class Fading(FakeLab):
        """Once the search has begun, bad costs what good does, and everything is noisier."""

        def cpu_of(self, sha: str, cost: float) -> float:
            if not self.told(events.RegimeChosen):
                return super().cpu_of(sha, cost)
            return super().cpu_of(sha, 1000.0) + self._random.gauss(0.0, 0.05)

    commits = straight(*levels((4, 1000.0), (4, 1008.0)))
    lab = Fading(commits, question("c0", "c7", min_step=0.3), sigma=0.001, counts_instructions=False)
    verdict = run(lab)
    assert verdict.kind is Kind.NO_REGRESSION
    assert "the ends differed by +" in verdict.summary
    assert "over more readings, which is not sure" in verdict.summary
    assert verdict.smallest_visible[CPU] >= 0.3


@pytest.mark.parametrize(
    ("good", "answer", "kind", "says"),
    [
        (
            "c0",
            NoStep(0.8, 700.0),
            Kind.NO_REGRESSION,
            "and by +0.80 % over more readings, which is not sure: 700.00 %",
        ),
        ("f0", NoStep(0.8, 700.0), Kind.NO_REGRESSION, "and from the fork point c1 on by +0.80 % over more readings"),
        ("f0", NoStep(0.8, 0.5, small=True), Kind.FORK_POINT, "at the fork point c1"),
        ("c0", NoStep(0.72, 0.51, small=True), Kind.NO_REGRESSION, "which is less than the smallest step looked for, "),
    ],
)
def test_a_difference_that_is_not_reproduced(
    good: str, answer: NoStep, kind: Kind, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changepoint, "next_action", lambda situation: answer)
    verdict = run(FakeLab(forked(levels((3, 1000.0), (3, 1500.0)), 800.0), question(good, "c5"), **NOISY))
    assert verdict.kind is kind
    assert says in verdict.summary
    assert verdict.smallest_visible[CPU] >= answer.visible


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "ss"), ("d", "ds"), ("sd", "ds"), ("ssd", ""), ("sd", "d"), ("d", "d")],
    ids=["good's class", "deep in good's class", "middle", "very end", "bad's class", "nothing but one class"],
)
def test_a_culprit_that_a_wrong_glob_hides_is_found(before: str, after: str) -> None:
    """Around it commits of sources (s) and of documents (d); itself it seems to be one of documents."""
    paths = {"s": ("source.c",), "d": ("docs/a.md",)}
    costs = [*[(1000.0, kind) for kind in before], (1250.0, "d"), *[(1250.0, kind) for kind in after]]
    commits = straight(1000.0, *(Commit(cost, paths=paths[kind]) for cost, kind in costs))
    (culprit,) = run(FakeLab(commits, question("c0", f"c{len(costs)}"))).culprits
    assert culprit.sha == f"c{len(before) + 1}"
    assert culprit.steps[INSTRUCTIONS].percent == pytest.approx(25.0)


def test_a_hidden_culprit_is_found_beside_an_open_one() -> None:
    notes = [Commit(1050.0, paths=("docs/a",)), Commit(1250.0, paths=("docs/b",))]
    verdict = run(FakeLab(straight(1000.0, 1000.0, 1050.0, *notes), question("c0", "c4")))
    assert [culprit.sha for culprit in verdict.culprits] == ["c4", "c2"]


AFTER_LARGER = straight(*levels((2, 1000.0), (2, 5000.0), (2, 5600.0)))
BESIDE_LARGER = straight(1000.0, Commit(5000.0, paths=("docs/x",)), 5600.0, Commit(5600.0, paths=("docs/y",)))
MERGE_AFTER_LARGER = {
    **straight(1000.0, 5000.0),
    **straight(*levels((2, 5000.0), (4, 5600.0)), name="s", after="c1"),
    **straight(5000.0, name="t", after="c1"),
    **straight(Commit(5600.0, parents=("t0", "s5")), name="m"),
    **straight(5600.0, name="e", after="m0"),
}


@pytest.mark.parametrize(
    ("commits", "culprits"),
    [(AFTER_LARGER, ["c2", "c4"]), (BESIDE_LARGER, ["c1", "c2"]), (MERGE_AFTER_LARGER, ["c1", "s2"])],
    ids=["after it", "beside it, hidden by a wrong glob", "in a merge after it"],
)
def test_a_step_is_measured_by_the_same_yardstick_as_a_much_larger_one(commits: Commits, culprits: list[str]) -> None:
    verdict = run(FakeLab(commits, question("c0", [*commits][-1])))
    assert [culprit.sha for culprit in verdict.culprits] == culprits
    assert [culprit.share for culprit in verdict.culprits] == pytest.approx([4000 / 4600, 600 / 4600], abs=0.01)
    assert not verdict.groups


def test_what_a_search_on_cpu_time_leaves_out_is_told_and_searched_when_asked_for() -> None:
    commits = straight(*levels((5, 1000.0), (7, 4000.0), (8, 6000.0)))
    verdict = run(FakeLab(commits, question("c0", "c19"), **NOISY))
    assert [culprit.sha for culprit in verdict.culprits] == ["c5"]
    (note,) = [note for note in verdict.notes if "--min-step" in note]
    assert f"{verdict.remainder:+.2f} % of the difference" in note
    everything = run(FakeLab(commits, question("c0", "c19", min_step=50.0), **NOISY))
    assert [culprit.sha for culprit in everything.culprits] == ["c5", "c12"]
    assert everything.smallest_visible[CPU] == 50.0
    assert not any("--min-step" in note for note in everything.notes)


def test_an_end_that_is_lost_meanwhile_interrupts_and_loses_nothing() -> None:
    class Losing(FakeLab):
        """Bad crashes when it was probed once."""

        lost = True

        def cpu_of(self, sha: str, cost: float) -> float:
            if self.lost and sha == "c7" and any(probed == sha for probed, _ in self.series(Purpose.SEARCH)):
                raise Unobservable("probe: gone")
            return super().cpu_of(sha, cost)

    lab = Losing(straight(*levels((4, 1000.0), (4, 1200.0))), question("c0", "c7"), **NOISY)
    with pytest.raises(UserError, match="cannot be measured now: probe: gone"):
        run(lab)
    lab.lost = False
    assert [culprit.sha for culprit in run(lab).culprits] == ["c4"]


def test_the_journal_tells_the_search() -> None:
    lab = FakeLab(straight(*levels((13, 1000.0), (7, 1100.0))), question("c0", "c19"))
    run(lab)
    kinds = [event.kind for event in lab.journal if event.kind != "build-finished"]
    assert kinds[:3] == ["range", "regime", "price"]
    assert kinds[-2:] == ["step-found", "culprit-found"]
    (found,) = lab.told(events.StepFound)
    assert found == events.StepFound(low="c12", high="c13", percent=pytest.approx(10.0))
    assert all(isinstance(event, events.Next) and event.low and event.high for event in lab.told(events.Next))
    assert not any(event.test for event in lab.journal)


def test_the_journal_tells_that_the_host_changed() -> None:
    class Changing(FakeLab):
        def cpu_of(self, sha: str, cost: float) -> float:
            return super().cpu_of(sha, cost) * (1.3 if len(self.clocked()) > 6 else 1.0)

    lab = Changing(straight(*levels((30, 1000.0), (34, 1060.0))), question("c0", "c63"), **NOISY)
    assert [culprit.sha for culprit in run(lab).culprits] == ["c30"]
    (changed,) = lab.told(events.HostChanged)
    assert changed.percent == pytest.approx(30.0, rel=0.2)


def test_what_grew_names_its_suspects() -> None:
    profiles = [{"Table::Seek": 500.0, "Other": 500.0}] * 9 + [{"Table::Seek": 700.0, "Other": 500.0}] * 6
    commits = straight(*map(Commit, profiles))
    commits["c9"] = Commit(profiles[9], ("c8",), words=frozenset({"Table::Seek", "Seek", "Table"}))
    lab = FakeLab(commits, question("c0", "c14"))
    verdict = run(lab)
    assert [culprit.sha for culprit in verdict.culprits] == ["c9"]
    assert verdict.culprits[0].functions[0].function == "Table::Seek"
    assert max(lab.suspects["main"].items(), key=lambda pair: pair[1].weight)[0] == "c9"
    assert len(lab.builds()) == 4, "the ends, the suspect and its parent"


def test_a_class_is_opened_and_lines_are_remembered() -> None:
    lab = FakeLab(hidden(Commit(1250.0, paths=("docs/x",))), question("c0", "c5"))
    run(lab)
    assert len(lab.told(events.ClassOpened)) == 1
    assert lab.lines["main"].classes[0] == ("c0", "c1", "c2", "c3")
    lab = FakeLab(merged([1000.0, 1200.0, 1200.0], 1000.0, 1200.0), question("c0", "e0"))
    run(lab)
    assert lab.lines["m0"].commits() == ("c0", "s0", "s1", "s2")


@pytest.mark.parametrize("path", sorted(Path(cpubisect.run.runner.__file__).parent.glob("*.py")), ids=lambda p: p.stem)
def test_only_the_hosts_lab_knows_the_clock(path: Path) -> None:
    names = {
        alias.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert path.stem == "lab" or not names & {"time", "datetime", "random", "subprocess"}
