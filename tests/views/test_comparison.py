"""What is gathered of a comparison, from a store that nothing was measured for."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cpubisect.base.home import Home
from cpubisect.base.metrics import CPU, QPS, Counter
from cpubisect.builders.build import BuildResult, Outcome, Recipe, Repair, Toolchain
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.purpose import Purpose
from cpubisect.report.comparing.content import details
from cpubisect.search.comparing.question import Asked, Row, Side
from cpubisect.search.ends import ChangedVariable
from cpubisect.search.events import Notice, Placed
from cpubisect.views.comparison import gather_comparison, gather_row
from cpubisect.web.views.side_by_side import EVENTS_SHOWN, LOOKED_AT, said
from cpubisect.workloads.probe import Samples

GCC = Toolchain("gcc-12", "gcc-12", "g++-12", "ar", "ranlib", "12.2.0")
FIRST, SECOND, THIRD = (Side(f"v{n}", str(n) * 40) for n in (1, 2, 3))
ASKED = Asked(
    engine="minikv",
    repository="/nowhere",
    sides=(FIRST, SECOND, THIRD),
    rows=tuple(Row(test, "writes", clients, {"clients": str(clients)}) for test in ("a", "b") for clients in (1, 2)),
    matrix="/nowhere",
)


class Made:
    """A comparison as its worker would leave it; `builds` are the ids of its builds by commit."""

    def __init__(self, home: Path) -> None:
        self.comparisons = Comparisons.of(Home(home))
        self.number = self.comparisons.add(ASKED, {})
        self.builds: dict[str, int] = {}

    def build(self, side: Side, outcome: Outcome = Outcome.BUILT, repairs: int = 0) -> None:
        """Record a build of a version."""
        recipe = Recipe(engine="minikv", commit=side.sha, version="1.0", toolchain=GCC, system="make")
        repair = Repair("include", "a.cc", "#include <limits>", "std::numeric_limits")
        result = BuildResult(recipe, outcome, None, Path("log"), 1.0, 1.0, repairs=(repair,) * repairs)
        built = self.comparisons.store.add_build(self.number, result, "d1gest", 1.0)
        self.builds[side.sha] = built.id

    def probe(
        self,
        side: Side,
        row: Row,
        values: Mapping[str, tuple[float, ...]],
        purpose: Purpose = Purpose.CLOCK,
        error: str | None = None,
        **variables: str,
    ) -> None:
        """Record a probe of a version in a row."""
        found = Samples(values, Counter.NONE, row.parameters, 1.0, {}, variables, ())
        self.comparisons.store.add_probe(
            self.number,
            self.builds[side.sha],
            purpose,
            row.test,
            row.parameters,
            1.0,
            None if error else found,
            seconds=1.0,
            counter="none",
            error=error,
        )


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_a_row_is_gathered_alone_as_with_all_others(made: Made) -> None:
    made.build(FIRST, Outcome.FAILED)
    for side in (SECOND, THIRD):
        made.build(side)
    for number, row in enumerate(ASKED.rows):
        for factor, side in enumerate((SECOND, THIRD), 1):
            for noise in (0.0, 0.01, 0.02):
                value = (number + 1) * factor + noise
                made.probe(side, row, {CPU: (value, value + 1), QPS: (1 / value,) * 2})
    made.probe(THIRD, ASKED.rows[0], {}, error="no such benchmark")
    whole = gather_comparison(made.comparisons, made.number)
    assert whole.base == SECOND.name
    for row in ASKED.rows:
        alone = gather_row(made.comparisons, made.number, ASKED, row)
        assert (alone.versions, alone.base) == (whole.versions, 1)
        assert [[probe.error for probe in own] for own in alone.probes] == [
            [],
            [None] * 3,
            [None] * 3 + ["no such benchmark"] * (row == ASKED.rows[0]),
        ]
        assert {probe.clients for own in alone.probes for probe in own} == {row.clients}
        for of_all, of_one in zip(whole.tables, alone.tables, strict=True):
            (line,) = (line for group in of_all.groups for line in group.lines if line.label == ASKED.label(row))
            assert [line] == [line for group in of_one.groups for line in group.lines]
    (remark,) = whole.remarks
    assert (remark.version, remark.row) == (THIRD.name, "a clients=1")
    assert whole.cannot_run == ()


def test_without_a_version_that_was_built_a_row_has_no_tables(made: Made) -> None:
    made.build(FIRST, Outcome.FAILED)
    alone = gather_row(made.comparisons, made.number, ASKED, ASKED.rows[0])
    assert (alone.base, alone.tables, alone.probes) == (None, (), ((), (), ()))


def test_settings_are_of_the_first_test_that_tells_a_difference(made: Made) -> None:
    for side in ASKED.sides:
        made.build(side)
    first, other = ASKED.rows[0], ASKED.rows[2]
    for row, values in ((first, "same"), (other, "base's")):
        made.probe(FIRST, row, {}, size=values, port="1")
    made.probe(SECOND, first, {}, Purpose.trial({"size": "7"}), size="7")
    made.probe(SECOND, first, {}, error="it was too late")
    made.probe(SECOND, first, {}, size="same", port="2")
    made.probe(SECOND, first, {}, size="later")
    made.probe(SECOND, other, {}, size="another", port="2")
    made.probe(THIRD, other, {}, size="base's", new="ON")
    found = gather_comparison(made.comparisons, made.number).settings
    assert [(one.version, one.variables) for one in found] == [
        (SECOND.name, (ChangedVariable("size", "base's", "another"),)),
        (THIRD.name, (ChangedVariable("new", None, "ON"),)),
    ]


def test_one_repair_is_one_repair(made: Made) -> None:
    for repairs, side in enumerate(ASKED.sides):
        made.build(side, repairs=repairs)
    told = gather_comparison(made.comparisons, made.number)
    (versions,) = (section for section in details(told) if section.title == "Versions")
    assert [row[-1] for row in versions.blocks[0].rows] == ["", "1 repair", "2 repairs"]


def test_the_last_lines_are_found_behind_events_that_say_nothing(made: Made) -> None:
    store = made.comparisons.store
    assert said(made.comparisons, made.number) == []
    for number in range(EVENTS_SHOWN + 3):
        store.add_event(made.number, Notice(text=f"line {number}"))
        lines = [text for _, text in said(made.comparisons, made.number)]
        assert lines == [f"line {one}" for one in range(number + 1)][-EVENTS_SHOWN:]
    for _ in range(LOOKED_AT + 5):
        store.add_event(made.number, Placed(what="a probe", host="one", quiet=True))
    assert [text for _, text in said(made.comparisons, made.number)] == lines
