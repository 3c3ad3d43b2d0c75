import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.search import Cost
from cpubisect.suspects import FLOOR, Growth, growths, identifiers, suspicions, words_touched

BEFORE = Cost(100.0, {"malloc": 20.0, "kv::Iterator::Seek(kv::Slice const&)": 80.0})
AFTER = Cost(
    113.0,
    {
        "malloc": 24.0,
        "kv::Iterator::Seek(kv::Slice const&, int)": 81.0,
        "std::deque<kv::Iterator::BlockHandleInfo>::_M_destroy_data_aux(int)": 8.0,
    },
)


def test_the_type_in_a_template_argument_tells() -> None:
    grown = growths(BEFORE, AFTER, 1)
    assert "BlockHandleInfo" in max(grown, key=lambda growth: growth.share).words
    assert sum(growth.share for growth in grown) == pytest.approx(1.0)


def test_the_allocator_tells_nothing() -> None:
    assert not any("malloc" in growth.words for growth in growths(BEFORE, AFTER, 1))


def test_keywords_and_reserved_names_tell_nothing() -> None:
    assert identifiers("void std::vector<unsigned long>::_M_push(Handle const&)") == {"Handle"}


def test_only_changed_lines_and_headings_of_a_diff_count() -> None:
    diff = ["@@ -1 +1 @@ void Seek()", "+  BlockHandleInfo info;", " Prefetch", "-old"]
    assert words_touched(diff, frozenset({"Seek", "BlockHandleInfo", "Prefetch"})) == {"Seek", "BlockHandleInfo"}


def grown(**shares: float) -> list[Growth]:
    return [Growth(share, frozenset({word})) for word, share in shares.items()]


def test_a_rare_word_outweighs_a_common_one() -> None:
    both = [Growth(1.0, frozenset({"Rare", "Common"}))]
    found = suspicions([{"Common"}, {"Common"}, {"Common"}, {"Common"}, {"Common", "Rare"}, set()], both)
    weights = [suspicion.weight for suspicion in found]
    assert max(weights) == weights[4] > 0.5
    assert set(found[4].because) == {"Rare"}
    assert min(weights) == weights[5] == pytest.approx(FLOOR / 6)


def test_no_evidence_leaves_all_equal() -> None:
    assert [s.weight for s in suspicions([set(), set()], grown(X=1.0))] == [0.5, 0.5]
    assert growths(BEFORE, BEFORE, 1) == []


@given(
    st.lists(st.sets(st.sampled_from("ABCDE")), min_size=1, max_size=20),
    st.dictionaries(st.sampled_from("ABCDE"), st.floats(0.01, 1.0)),
)
def test_weights_are_a_distribution_with_a_floor(touched: list[set[str]], shares: dict[str, float]) -> None:
    weights = [suspicion.weight for suspicion in suspicions(touched, grown(**shares))]
    assert sum(weights) == pytest.approx(1.0)
    assert min(weights) >= FLOOR / len(touched) * 0.999
