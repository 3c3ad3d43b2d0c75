"""The comparison of a cluster with one host: what it takes from journals, and what it finds amiss."""

from dataclasses import replace
from typing import Any

import cluster_verdict
import pytest
from cluster_verdict import Told, amiss, shared_s, table
from hypothesis import given
from hypothesis import strategies as st

SHA = "a" * 40
ALONE = Told("culprit", (SHA,), 100.0, {"": [SHA]}, {"": [SHA]}, 0.0)
TOGETHER = Told("culprit", (SHA,), 50.0, {"b1": [SHA], "b2": ["b" * 40]}, {"p1": [SHA, SHA]}, 12.0)
SPANS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 9)).map(lambda one: (one[0], one[0] + one[1])), max_size=8
)


def event(kind: str, at: float, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "at": at, "data": {"sha": SHA, **data}}


def test_what_hosts_did_is_in_the_journal() -> None:
    report = {"verdict": {"tests": {"scan": {"kind": "culprit", "culprits": [{"sha": SHA}]}}}}
    journal = [
        event("build-finished", 110.0, wall_seconds=60.0, host="b1"),
        event("probe-finished", 115.0, seconds=10.0, host="p1"),
        event("price", 116.0),
    ]
    assert Told.of(report, journal, 9.0) == Told("culprit", (SHA,), 9.0, {"b1": [SHA]}, {"p1": [SHA]}, 5.0)


@given(SPANS, SPANS)
def test_time_shared_is_counted_second_by_second(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> None:
    def within(spans: list[tuple[int, int]], second: int) -> bool:
        return any(begun <= second < ended for begun, ended in spans)

    seconds = sum(within(some, second) and within(others, second) for second in range(60))
    assert shared_s(some, others) == seconds


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (TOGETHER, ""),
        (replace(TOGETHER, kind="none", culprits=()), "the cluster's verdict is none"),
        (replace(TOGETHER, built={"b1": [SHA], "b2": [SHA]}), "was built 2 times"),
        (replace(TOGETHER, built={"p1": [SHA]}), "p1 built"),
        (replace(TOGETHER, probed={"": [SHA]}), "the asker probed"),
    ],
)
def test_what_is_amiss(told: Told, words: str) -> None:
    found = amiss(ALONE, told, ("b1", "b2"), ("p1",))
    assert len(found) == bool(words)
    assert words in "".join(found)


def test_the_table_has_a_row_for_each_host() -> None:
    rows = table(ALONE, TOGETHER)[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| this host alone", "| cluster", "| b1", "| b2", "| p1"]
    assert rows[1].endswith("| 50 | 12 | 2 | 2 |")


def test_a_place_that_is_there_is_refused(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cluster_verdict.main(["kv", "a", "b", "--test", "scan", "--place", str(tmp_path)])
    assert ended.value.code == 2
    assert "is there already" in capsys.readouterr().err
