"""Cases of the soak of clusters by seed, what is asked of them, and one in which something is really killed."""

import time
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import cluster_soak
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soaking.crowd import driving, table
from soaking.crowd.driving import Field
from soaking.crowd.judgement import CrowdRecord, made_twice, may_be_lost, numbered
from soaking.crowd.plan import MOST_AWAY_S, PARTS, SHAPES, Part, Shape, chosen, crowd_cases, kills, shape_of
from soaking.crowd.story import write
from soaking.judgement import Answer, Kept


@given(st.integers())
def test_all_shapes_come_before_any_comes_again_and_kills_follow_from_the_seed(seed: int) -> None:
    found = list(islice(crowd_cases(seed), 2 * len(SHAPES)))
    assert [case.number for case in found] == list(range(1, len(found) + 1))
    assert {shape_of(case) for case in found[: len(SHAPES)]} == set(SHAPES)
    for case in found:
        planned = list(kills(case))
        assert planned == list(kills(case))
        assert len(planned) == case.kills
        assert all(kill.after_s >= 0 and 0 <= kill.away_s <= MOST_AWAY_S for kill in planned)


def test_what_is_killed_is_of_the_wanted_part_if_that_runs() -> None:
    assert {chosen(Part.BUILDER, list(PARTS), Random(number)) for number in range(20)} == {"b1", "b2"}
    assert chosen(Part.HEAD, ["p1"], Random(0)) == "p1"
    assert chosen(Part.HEAD, [], Random(0)) == ""


def test_commits_have_other_names_for_another_mark_and_the_same_trees(tmp_path: Path) -> None:
    shape = Shape("small", (1, 2, 3))
    one, again, other = (write(shape, mark, tmp_path / name) for mark, name in (("a", "1"), ("a", "2"), ("b", "3")))
    assert one == again
    assert len(one) == 3
    assert not set(one) & set(other)
    assert (tmp_path / "3" / "cost.h").read_text() == (tmp_path / "1" / "cost.h").read_text()


@pytest.mark.parametrize(
    ("made", "twice"),
    [([{}, {}], 0), ([{"a": 1}, {"b": 1}], 0), ([{"a": 1}, {"a": 1, "b": 1}], 1), ([{"a": 2}, {"a": 1}], 2)],
)
def test_builds_are_made_twice_by_one_builder_or_by_two(made: list[dict[str, int]], twice: int) -> None:
    assert made_twice(made) == twice


def test_what_may_be_lost_is_what_was_on_its_way() -> None:
    assert may_be_lost({}) == 0
    assert may_be_lost({"builder": 3, "probe host": 5}) == 3
    assert may_be_lost({"head": 1, "asker": 1}) == 4


def test_histories_of_one_shape_are_compared_by_numbers() -> None:
    shas = ("a" * 40, "b" * 40)
    key = f"recipe {shas[1]} search {shas[1][:12]} against {shas[0][:12]}"
    kept = Kept(Answer("culprit", (shas[1],)), {"recipe": 1}, {shas[1]: 1}, {shas[1]: 1}, {}, {key: 2})
    found = numbered(kept, shas)
    assert found.answer == Answer("culprit", ("c1",))
    assert found.built == found.told == {"c1": 1}
    assert found.probes == {"recipe c1 search c1 against c0": 2}


def record(**more: object) -> CrowdRecord:
    about = {"number": 1, "seed": 1, "test": "late step", "way": "command", "fault": "none", "faults": 0}
    killed = {"asker": 1, "builder": 2}
    return CrowdRecord.from_json({**about, "seconds": 61.0, "kills": killed, "same": True, "builds": 7, **more})


@pytest.mark.parametrize(
    "amiss",
    [
        {"made_twice": 3, "may_be_lost": 2},
        {"builds_repeated": 1},
        {"orphans": ["x"]},
        {"wrong": ["x"]},
        {"same": False},
    ],
)
def test_one_thing_amiss_makes_a_case_bad(amiss: dict[str, object]) -> None:
    assert record(made_twice=2, may_be_lost=2).good
    assert not record(**amiss).good


def test_the_table_has_sums_and_what_is_wrong() -> None:
    lines = table.lines([record(), record(number=2, made_twice=3, may_be_lost=2, leftovers=["b1: work/s1"])])
    assert [line.count("|") for line in lines[:5]] == [lines[0].count("|")] * 5
    assert lines[2].startswith("| 1 | late step | 1 |  | 2 |  | 61 |")
    assert lines[4].startswith("| all | 6 kills | 2 | 0 | 4 | 0 | 122 |")
    assert "2 of 2" in lines[4]
    assert lines[5:] == [
        "",
        "- Case 2: left over: b1: work/s1",
        "- Case 2: 3 builds were made twice, where 2 can have been lost",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["--kills", "0"],
        ["--kills", "many"],
        ["--minutes", "-1"],
        ["--seed", "a"],
        ["--first", "0"],
        ["--place", "."],
        ["x"],
    ],
)
def test_bad_input_is_refused_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cluster_soak.arguments(words)
    assert ended.value.code == 2
    assert " error: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.long
@pytest.mark.xdist_group("cluster")
def test_a_cluster_that_loses_processes_comes_to_the_same_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    shape = Shape("tiny", (1000, 1001, 3000))
    monkeypatch.setattr(driving, "shape_of", lambda case: shape)
    case = replace(next(crowd_cases(1)), test=shape.name, kills=2)
    field = Field(tmp_path / "place")
    try:
        found = field.run(case, time.monotonic() + 600)
    finally:
        field.crowd.close()
    assert found.good, found
    assert found.answer == Answer("culprit", ("c2",))
    assert sum(Counter(found.kills).values()) == found.killed <= 2
    assert field.crowd.wrong == []
