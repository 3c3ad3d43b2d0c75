"""What a comparison asks, and in which order it is measured."""

from collections import Counter as Tally

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.errors import UserError
from cpubisect.search.comparing.question import (
    COUNTED_ROUNDS,
    Asked,
    Row,
    Side,
    in_groups,
    numbers_of_clients,
)
from cpubisect.search.comparing.turns import turns

MYSQL = {
    "point-query": "point queries",
    "scan": "range queries without aggregation",
    "read-only": "range queries with aggregation",
    "insert": "writes",
    "l.i0": "insert benchmark",
}
ROCKSDB = {"readrandom": "point queries", "seekrandom": "range queries", "fillseq": "writes"}


def asked(sides: int = 3, rows: int = 2, rounds: int = 4) -> Asked:
    return Asked(
        engine="minikv",
        repository="/nowhere",
        sides=tuple(Side(f"v{n}", f"{n}" * 40) for n in range(1, sides + 1)),
        rows=tuple(Row(f"t{n}", "writes", 1, {"clients": "1"}) for n in range(rows)),
        matrix="/nowhere",
        rounds=rounds,
    )


@given(sides=st.integers(2, 6), rows=st.integers(1, 5), rounds=st.integers(2, 9))
def test_every_version_is_probed_as_often_and_right_beside_the_others(sides: int, rows: int, rounds: int) -> None:
    question = asked(sides, rows, rounds)
    planned = list(turns(question))
    assert set(Tally((turn.row.test, turn.side.name) for turn in planned).values()) == {rounds}
    for first in range(0, len(planned), sides):
        beside = planned[first : first + sides]
        assert len({(turn.round, turn.row.test) for turn in beside}) == 1
        assert {turn.side for turn in beside} == set(question.sides)
    assert [turn.round for turn in planned] == sorted(turn.round for turn in planned)


def test_every_second_round_is_in_reverse_and_the_first_ones_count() -> None:
    planned = list(turns(asked(sides=2, rows=1)))
    assert [turn.side.name for turn in planned] == ["v1", "v2", "v2", "v1", "v1", "v2", "v2", "v1"]
    assert {turn.round for turn in planned if turn.counts} == set(range(1, COUNTED_ROUNDS + 1))


@pytest.mark.parametrize(
    ("groups", "words", "tests"),
    [
        (MYSQL, ["all"], ["point-query", "scan", "read-only", "insert", "l.i0"]),
        (MYSQL, ["insert-benchmark"], ["l.i0"]),
        (MYSQL, ["writes", "point"], ["point-query", "insert"]),
        (MYSQL, ["range"], ["scan"]),
        (MYSQL, ["aggregation"], ["read-only"]),
        (MYSQL, ["range queries with aggregation"], ["read-only"]),
        (ROCKSDB, ["range"], ["seekrandom"]),
        (ROCKSDB, [], []),
    ],
)
def test_groups_of_tests(groups: dict[str, str], words: list[str], tests: list[str]) -> None:
    assert in_groups(words, groups) == tests


@pytest.mark.parametrize("word", ["aggregation", "everything", ""])
def test_a_group_without_tests_names_those_there_are(word: str) -> None:
    with pytest.raises(UserError, match="there is no group") as caught:
        in_groups(["point", word], ROCKSDB)
    assert caught.value.hint == "--tests takes point, range, writes, all"


def test_numbers_of_clients() -> None:
    assert numbers_of_clients("4,1,4") == (4, 1)
    assert numbers_of_clients("1, 04") == (1, 4)
    for wrong in ("", "0", "1,,4", "many", "-1", "1.5", "\u0661", "1_0", "+1", "1 0"):
        with pytest.raises(ValueError, match=r"."):
            numbers_of_clients(wrong)


def test_a_question_comes_back() -> None:
    question = asked()
    assert Asked.from_json(question.to_json()) == question
    assert (question.tests, question.clients, question.label(question.rows[0])) == (("t0", "t1"), (1,), "t0")
    assert question.rows[0].label(several=True) == "t0 clients=1"
