"""Whose probes count for a commit, from probes written by hand."""

import pytest

from cpubisect.base.metrics import CPU, INSTRUCTIONS
from cpubisect.records.purpose import Purpose
from cpubisect.records.queries import SampleRow
from cpubisect.search.stats import level
from cpubisect.views.measured import Measured, measured, stand_in


def probe(sha: str, purpose: str = "search", error: str | None = None, **values: tuple[float, ...]) -> SampleRow:
    named = {"count": INSTRUCTIONS, "cpu": CPU}
    found = {named[metric]: samples for metric, samples in values.items()}
    return SampleRow(0, 0, sha, "scan", Purpose.of(purpose), 1.0, 0.0, error, found)


def of(*probes: SampleRow, **stand_ins: str) -> Measured:
    return measured(probes, stand_ins)


def test_a_probe_says_one_value_the_mean_of_its_counts_or_its_smallest_cpu_time() -> None:
    known = of(probe("a", count=(10.0, 20.0), cpu=(5.0, 4.0)), probe("a", count=(30.0,)))
    assert known.values("a", INSTRUCTIONS) == [15.0, 30.0]
    assert known.values("a", CPU) == [4.0]
    assert known.level("a", INSTRUCTIONS) == level([15.0, 30.0])
    assert known.level("b", INSTRUCTIONS) is None


def test_what_was_measured_with_other_settings_does_not_count() -> None:
    known = of(probe("a", "with sync_binlog=0", count=(1.0,)), probe("b", count=(2.0,)))
    assert known.by_commit(INSTRUCTIONS) == {"b": [2.0]}
    assert known.probes("a") == ()


def test_what_the_search_read_counts_before_what_confirmed_it() -> None:
    rounds = "clock bbb against aaa"
    known = of(probe("a", cpu=(9.0,)), probe("a", "clock", cpu=(5.0,)), probe("a", rounds, cpu=(6.0,)))
    assert known.values("a", CPU) == [5.0]
    assert of(probe("a", cpu=(9.0,)), probe("a", rounds, cpu=(6.0,))).values("a", CPU) == [9.0, 6.0]


def test_equal_code_and_the_end_of_a_class_stand_in() -> None:
    known = of(probe("a", count=(7.0,)), twin="a", first="last", last="a", alone="none")
    assert [known.values(sha, INSTRUCTIONS) for sha in ("a", "twin", "first", "alone")] == [[7.0], [7.0], [7.0], []]
    assert known.by_commit(INSTRUCTIONS) == {sha: [7.0] for sha in ("a", "twin", "first", "last")}
    assert [row.sha for row in known.probes("twin")] == ["a"]


def test_what_a_commit_has_of_its_own_counts_metric_by_metric() -> None:
    known = of(probe("a", count=(7.0,), cpu=(1.0,)), probe("twin", "clock x against y", cpu=(2.0,)), twin="a")
    assert known.values("twin", INSTRUCTIONS) == [7.0]
    assert known.values("twin", CPU) == [2.0]


def test_a_probe_that_failed_is_known_and_says_nothing() -> None:
    known = of(probe("a", error="it crashed"))
    assert [row.error for row in known.probes("a")] == ["it crashed"]
    assert known.values("a", INSTRUCTIONS) == []


@pytest.mark.parametrize(
    ("stand_ins", "found"), [({}, "a"), ({"a": "b"}, "b"), ({"a": "c", "c": "b"}, "b"), ({"a": "c", "c": "a"}, "a")]
)
def test_stand_ins_are_followed_and_never_round_in_circles(stand_ins: dict[str, str], found: str) -> None:
    assert stand_in("a", stand_ins, lambda sha: sha == "b") == found
