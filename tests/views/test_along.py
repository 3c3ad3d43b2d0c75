"""What is known along the commits of a bisection, read from real and from handmade records."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from questions import question
from small_bisections import ask, cost, history, said, tree

from cpubisect.base.home import Home
from cpubisect.base.metrics import CPU, INSTRUCTIONS, Counter
from cpubisect.builders.build import BuildResult, Outcome, Recipe, Toolchain
from cpubisect.draw.axis import Interval, Range
from cpubisect.records.purpose import Purpose
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.search.events import EqualCode, ScreenedInVain, StepFound, Unobservable, read
from cpubisect.search.stats import Step, level
from cpubisect.search.verdict import Answer, Culprit, Group, Kind, Verdict
from cpubisect.views.along import axis
from cpubisect.workloads.probe import Samples

pytestmark = pytest.mark.xdist_group("axis")

TOOLCHAIN = Toolchain("gcc-12", "gcc", "g++", "ar", "ranlib", "gcc 12")


class Record:
    """A bisection written into the store by hand, with `size` commits after good; every third shares a binary."""

    def __init__(self, size: int) -> None:
        home = Home.open()
        self.registry = Registry(home, Store(home.store))
        self.store = self.registry.store
        self.shas = [f"{number:040x}" for number in range(size + 1)]
        asked = question(good_sha=self.shas[0], bad_sha=self.shas[-1])
        self.id = self.store.create_bisection(asked, {})
        rows = [(sha, self.shas[n - 1] if n % 3 == 2 else sha, f"commit {n}") for n, sha in enumerate(self.shas)]
        self.store.set_candidates(self.id, "main", rows)

    def build(self, number: int, error: str = "", variant: str = "") -> int:
        """Record a build, or one that failed."""
        recipe = Recipe("rocksdb", self.shas[number], "1.0.0", TOOLCHAIN, "make", variant=variant)
        outcome = Outcome.FAILED if error else Outcome.BUILT
        result = BuildResult(recipe, outcome, None, Path("/nowhere"), 1.0, 1.0, first_error=error)
        return self.store.add_build(self.id, result, None, 0.0).id

    def probe(
        self,
        number: int,
        values: Mapping[str, Sequence[float]],
        purpose: Purpose = Purpose.SEARCH,
        variant: str = "",
    ) -> None:
        """Record a build and a probe of it."""
        samples = Samples({m: tuple(v) for m, v in values.items()}, Counter.CALLGRIND, {}, 1.0, {"f": 1.0}, {"v": "1"})
        build = self.build(number, variant=variant)
        self.store.add_probe(self.id, build, purpose, "scan", {}, 0.0, samples, seconds=1.0, counter="callgrind")


@pytest.fixture
def record(home: Path) -> Iterator[Record]:
    made = Record(30)
    yield made
    made.store.close()


def test_a_finished_bisection_has_its_culprit_and_points(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), {"a.txt": "1"}, {"docs/a.md": "1"}, cost(1250), {"b.txt": "1"}).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], "main", home=home)
    store = Store(home / "store.sqlite")
    found = axis(Registry(Home.open(), store), data["id"])
    (culprit,) = found.culprits
    assert (culprit.position, culprit.sha) == (3, shas[4])
    assert (found.size, found.metric, found.state, found.doing, found.fork) == (4, INSTRUCTIONS, "finished", "", False)
    places = {point.position: point.sha for point in found.points}
    assert places[0] == shas[1]
    assert places[3] == shas[4]
    assert found.intervals == ()
    measured = {point.sha: point.mean for point in found.points}
    assert found.good_cost == measured[shas[1]]
    assert found.bad_cost is not None
    assert found.bad_cost > found.good_cost * 1.2
    order = [shas[number] for number in sorted(shas)]
    nexts = [event for event in said(data["id"]) if event["kind"] == "next"]
    assert nexts
    assert all(order.index(told["low"]) < order.index(told["sha"]) < order.index(told["high"]) for told in nexts)
    store.close()


def test_nothing_is_known_at_first(record: Record) -> None:
    found = axis(record.registry, record.id)
    assert (found.points, found.intervals, found.culprits, found.good_cost) == ((), (), (), None)
    assert (found.size, found.metric) == (30, INSTRUCTIONS)
    assert found.classes[0] == Range(1, 2)


def test_exact_points_are_means_of_probes_with_their_interval(record: Record) -> None:
    record.probe(0, {INSTRUCTIONS: (100.0, 102.0), CPU: (5.0, 4.0)})
    record.probe(0, {INSTRUCTIONS: (103.0,)})
    record.probe(6, {INSTRUCTIONS: (110.0,)})
    record.probe(6, {CPU: (7.0,)}, Purpose.clock("123", "456"))
    first, second = axis(record.registry, record.id).points
    expected = level([101.0, 103.0])
    assert (first.mean, first.low, first.high, first.samples) == (102.0, expected.low, expected.high, 2)
    assert (second.position, second.mean, second.low, second.samples) == (6, 110.0, None, 1)
    assert second.subject == "commit 6"


def test_cpu_points_take_the_smallest_run_of_each_reading_of_the_search(record: Record) -> None:
    record.store.add_event(record.id, read("regime", {"metric": CPU}))
    record.probe(0, {INSTRUCTIONS: (100.0,), CPU: (9.0, 8.5)})
    record.probe(0, {CPU: (5.0, 4.0)}, Purpose.CLOCK)
    record.probe(6, {CPU: (7.0, 6.0)}, Purpose.clock("abc", "def"))
    first, second = axis(record.registry, record.id).points
    assert (first.mean, second.mean) == (4.0, 6.0)


def test_what_cannot_be_measured_takes_its_class_and_what_lies_between_along(record: Record) -> None:
    record.build(4, "error: no")
    record.build(10, "error: no")
    record.build(16, "error: other")
    record.probe(14, {INSTRUCTIONS: (1.0,)})
    record.store.add_event(record.id, read("unobservable", {"sha": record.shas[20], "why": "probe: crash"}))
    found = axis(record.registry, record.id).unbuildable
    assert found == (Range(4, 11, "error: no"), Range(16, 17, "error: other"), Range(20, 20, "probe: crash"))


def test_what_was_measured_in_the_end_is_not_unbuildable(record: Record) -> None:
    record.store.add_event(record.id, read("unobservable", {"sha": record.shas[4], "why": "error: no"}))
    record.build(4, "error: no")
    record.probe(4, {INSTRUCTIONS: (1.0,)})
    assert axis(record.registry, record.id).unbuildable == ()


def test_the_interval_that_is_searched(record: Record) -> None:
    shas = record.shas
    record.store.add_event(record.id, read("next", {"sha": shas[12], "low": shas[3], "high": shas[21], "inside": []}))
    assert axis(record.registry, record.id).intervals == (Interval(3, 21),)
    gaps = [[shas[3], shas[12], 0.2], [shas[12], shas[21], 0.7]]
    data = {"low": shas[12], "high": shas[21], "probability": 0.7, "gaps": gaps}
    record.store.add_event(record.id, read("posterior", data))
    found = axis(record.registry, record.id).intervals
    assert found == (Interval(3, 12, 0.2), Interval(12, 21, 0.7))
    assert found[1].per_commit == pytest.approx(0.7 / 9)


@pytest.mark.parametrize("noticed_for", [{}, {"test": "scan"}, {"test": "another"}])
def test_equal_code_shares_its_points_whichever_test_it_was_noticed_for(
    record: Record, noticed_for: Mapping[str, str]
) -> None:
    record.probe(3, {INSTRUCTIONS: (7.0,)})
    record.store.add_event(
        record.id, read("equal-code", {"sha": record.shas[9], "twin": record.shas[3], **noticed_for})
    )
    assert [(point.position, point.mean) for point in axis(record.registry, record.id).points] == [(3, 7.0), (9, 7.0)]


def test_what_only_screening_builds_had_so_is_gone_once_ordinary_ones_were_asked(record: Record) -> None:
    shas, kind = record.shas, "screening"
    for number, counted in ((0, 100.0), (21, 120.0)):
        record.probe(number, {INSTRUCTIONS: (counted,)}, variant=kind)
    record.build(4, "chunk.cc: error: ambiguous", variant=kind)
    record.store.add_event(record.id, EqualCode(sha=shas[9], twin=shas[0], variant=kind))
    record.store.add_event(record.id, Unobservable(sha=shas[16], why="probe: crash", variant=kind))
    record.store.add_event(record.id, StepFound(low=shas[9], high=shas[21], percent=20.0, variant=kind))
    found = axis(record.registry, record.id)
    assert [(point.position, point.mean) for point in found.points] == [(0, 100.0), (9, 100.0), (21, 120.0)]
    assert [gap.first for gap in found.unbuildable] == [4, 16]
    assert found.intervals == (Interval(9, 21),)

    record.store.add_event(record.id, ScreenedInVain(why="the step does not show", variant=kind))
    record.probe(0, {INSTRUCTIONS: (90.0,)})
    found = axis(record.registry, record.id)
    assert [(point.position, point.mean) for point in found.points] == [(0, 90.0)]
    assert (found.unbuildable, found.intervals) == ((), ())

    record.store.add_event(record.id, EqualCode(sha=shas[12], twin=shas[0]))
    record.store.add_event(record.id, Unobservable(sha=shas[18], why="probe: crash"))
    # After an interruption all is told of screening builds again, and of ordinary ones only what was not known.
    record.store.add_event(record.id, Unobservable(sha=shas[16], why="probe: crash", variant=kind))
    record.store.add_event(record.id, ScreenedInVain(why="the step does not show", variant=kind))
    found = axis(record.registry, record.id)
    assert [(point.position, point.mean) for point in found.points] == [(0, 90.0), (12, 90.0)]
    assert [gap.first for gap in found.unbuildable] == [18]


def test_a_step_that_cannot_be_told_apart_is_an_interval(record: Record) -> None:
    group = Group(after=record.shas[3], until=record.shas[9], commits=(), percent=3.0, why="")
    verdict = Verdict(Kind.ONE_OF, "", metric=CPU, groups=(group,))
    record.store.update_bisection(record.id, state="finished", verdict=Answer.of({"scan": verdict}, ("scan",)))
    found = axis(record.registry, record.id)
    assert found.intervals == (Interval(3, 9),)
    assert found.metric == CPU


def test_a_culprit_inside_a_merge_stands_where_the_merge_is(record: Record) -> None:
    culprit = Culprit(
        "f" * 40, "", "deep", "", "", steps={CPU: Step(4.0, 3.0, 5.0, 1.0)}, inside=(record.shas[8], "e" * 40)
    )
    verdict = Verdict(Kind.CULPRIT, "", metric=CPU, culprits=(culprit,))
    record.store.update_bisection(record.id, verdict=Answer.of({"scan": verdict}, ("scan",)))
    (mark,) = axis(record.registry, record.id).culprits
    assert (mark.position, mark.sha, mark.percent) == (8, "f" * 40, 4.0)


@pytest.mark.parametrize(
    ("begins", "ends", "said"),
    [
        ("build-started", "build-finished", "building {} with gcc-12"),
        ("redrawing", "redrawn", "linking {} in 8 other orders"),
        ("probe-started", "probe-finished", "probing {}"),
    ],
)
def test_what_is_being_done_is_told_while_it_runs(record: Record, begins: str, ends: str, said: str) -> None:
    sha = record.shas[12]
    record.store.add_event(record.id, read("probe-finished", {"sha": record.shas[0], "values": {}}))
    record.store.add_event(record.id, read(begins, {"sha": sha, "toolchain": "gcc-12", "links": 8}))
    assert axis(record.registry, record.id).doing == ""
    with record.registry.alone(record.id):
        found = axis(record.registry, record.id)
        record.store.add_event(record.id, read(ends, {"sha": sha, "links": 8, "outcome": "built"}))
        assert axis(record.registry, record.id).doing == ""
    assert (found.doing, found.doing_at) == (said.format(sha[:12]), 12)


def test_a_long_bisection_takes_few_statements_and_no_profile(home: Path) -> None:
    record = Record(10_000)
    for number in range(0, 10_000, 250):
        record.probe(number, {INSTRUCTIONS: (100.0 + number,), CPU: (1.0,)})
        record.store.add_event(record.id, read("next", {"sha": record.shas[number]}))
    statements: list[str] = []
    with record.store.connection() as connection:
        connection.set_trace_callback(statements.append)
    found = axis(record.registry, record.id)
    assert len(found.points) == 40
    assert len(found.classes) == 3333
    assert 0 < len(statements) <= 12
    assert not any("profile" in statement or "compiled" in statement for statement in statements)
    record.store.close()
