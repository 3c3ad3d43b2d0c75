import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.search.claims import Touch, said, touch
from cpubisect.search.costs import Cost
from cpubisect.search.suspects import (
    ELSEWHERE,
    EXECUTED,
    FLOOR,
    definers,
    growths,
    identifiers,
    strongest,
    suspicions,
)
from cpubisect.search.variables import Setting

BEFORE = Cost(100.0, {"malloc": 20.0, "kv::Iterator::Seek(kv::Slice const&)": 80.0})
AFTER = Cost(
    113.0,
    {
        "malloc": 24.0,
        "kv::Iterator::Seek(kv::Slice const&, int)": 81.0,
        "std::deque<kv::Iterator::BlockHandleInfo>::_M_destroy_data_aux(int)": 8.0,
    },
)


def touches(*words: str, files: str = "") -> Touch:
    return Touch(frozenset(words), frozenset(files.split()))


def weights(touched: list[Touch], before: Cost, after: Cost, direction: int = 1, **defined: str) -> list[float]:
    known = {name: frozenset(files.split()) for name, files in defined.items()}
    return [found.weight for found in suspicions(touched, before, after, direction, known)]


def test_the_type_in_a_template_argument_tells() -> None:
    grown = growths(BEFORE, AFTER, 1)
    largest = max(grown, key=lambda growth: growth.share)
    assert largest.words == {"Iterator", "BlockHandleInfo"}
    assert largest.fresh == {"BlockHandleInfo"}
    assert sum(growth.share for growth in grown) == pytest.approx(1.0)


def test_a_function_that_grew_only_by_what_netting_left_is_no_error() -> None:
    before = Cost(1.0, {"A": 297701.0, "B": 48640.0, "C": 65284.0})
    after = Cost(1.0, {"A": 71750.0, "B": 331471.0})
    assert {growth.name for growth in growths(before, after, -1)} == {"B"}


def test_the_allocator_tells_nothing() -> None:
    assert not any("malloc" in growth.words for growth in growths(BEFORE, AFTER, 1))


def test_what_the_allocator_did_tells_through_its_caller() -> None:
    before = Cost(100.0, {"Open": 50.0, "Seek": 30.0, "malloc": 20.0}, {"Open": 60.0, "Seek": 40.0})
    after = Cost(130.0, {"Open": 51.0, "Seek": 30.0, "malloc": 49.0}, {"Open": 61.0, "Seek": 69.0})
    shares: dict[str, float] = {}
    for growth in growths(before, after, 1):
        shares[growth.name] = shares.get(growth.name, 0.0) + growth.share
    assert shares == pytest.approx({"Open": 0.5 + 0.5 / 30, "Seek": 0.5 * 29 / 30})
    assert [growth.name for growth in growths(before, Cost(130.0, after.functions), 1)] == ["Open"]


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("void std::vector<unsigned long>::_M_push(Handle const&)", {"Handle"}),
        ("std::deque<kv::BlockHandleInfo>::~deque()", {"BlockHandleInfo"}),
        ("kv::Table::Open(std::__cxx11::basic_string<char> const&)", {"Table", "Open"}),
    ],
)
def test_keywords_and_library_names_tell_nothing(symbol: str, expected: set[str]) -> None:
    assert identifiers(symbol) == expected


def test_only_changed_lines_and_headings_of_a_diff_count() -> None:
    diff = ["@@ -1 +1 @@ Status Table<T>::Seek(int n) {", "+  BlockHandleInfo info;", " Prefetch", "-old::Way here"]
    found = touch(diff, ["a.cc"])
    assert {"Seek", "Table", "Table::Seek", "BlockHandleInfo", "old"} <= found.words
    assert not {"Prefetch", "old::Way"} & found.words
    assert found.files == {"a.cc"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("kv::Table::Seek", {"table.cc"}), ("kv::Table::empty", {"table.h"}), ("kv::Hash", {"hash.cc"}), ("kv::Gone", ())],
)
def test_definers(name: str, expected: set[str]) -> None:
    defined = {"Table::Seek": {"table.cc"}, "Table": {"table.h"}, "Hash": {"hash.cc"}}
    assert definers(name, {key: frozenset(files) for key, files in defined.items()}) == set(expected)


def test_a_rare_word_outweighs_a_common_one() -> None:
    before, after = Cost(1.0, {"Common(Rare)": 1.0}), Cost(2.0, {"Common(Rare)": 2.0})
    found = suspicions([*[touches("Common")] * 4, touches("Common", "Rare"), touches()], before, after, 1, {})
    of = [suspicion.weight for suspicion in found]
    assert max(of) == of[4] > 0.5
    assert set(found[4].because) == {"type Rare", "executed"}
    assert set(found[0].because) == {"function Common", "executed"}
    assert min(of) == of[5]
    assert found[5].because == {}


def test_who_introduced_a_name_is_suspected_most_and_who_removed_it_of_an_improvement() -> None:
    before, after = Cost(1.0, {"Other": 1.0}), Cost(2.0, {"Other": 1.0, "Added": 1.0})
    touched = [touches(), touches("Added"), touches("Added"), touches()]
    first, second = weights(touched, before, after)[1:3]
    assert first > 1.8 * second
    second, first = weights(touched, after, before, -1)[1:3]
    assert first > 1.8 * second


def test_a_file_that_defines_what_grew_is_weaker_than_its_name() -> None:
    before, after = Cost(1.0, {"Grown": 1.0, "Same": 9.0}), Cost(2.0, {"Grown": 2.0, "Same": 9.0})
    touched = [touches("Grown"), touches(files="grown.cc"), touches("Same"), touches(files="same.cc"), touches()]
    name, file, executed, beside, other = weights(touched, before, after, Grown="grown.cc", Same="same.cc")
    assert name > file > beside > other > 0
    assert executed / other == pytest.approx(EXECUTED / ELSEWHERE)


def test_a_method_is_touched_with_its_class_only() -> None:
    cost = Cost(1.0, {"kv::Table::Seek(int)": 1.0, "kv::Hash(int)": 1.0})
    touched = [touches("Seek", "Table"), touches("Seek", "Table", "Table::Seek"), touches("Hash")]
    reasons = [set(found.because) for found in suspicions(touched, cost, cost, 1, {})]
    assert reasons == [set(), {"executed"}, {"executed"}]


def test_without_any_evidence_all_are_equal() -> None:
    assert weights([touches(), touches()], BEFORE, AFTER) == [0.5, 0.5]
    assert weights([touches("Odd"), touches()], BEFORE, BEFORE) == [0.5, 0.5]
    assert suspicions([], BEFORE, AFTER, 1, {}) == []


NAMES = st.sampled_from([*string.ascii_uppercase[:8], "Table::Seek", "std::vector<Block>::push()", "malloc"])
WORDS = st.sampled_from([*string.ascii_uppercase[:8], "Wide", "Table", "Block", "Table::Seek"])
FILES = st.sampled_from(["a.cc", "b.cc", "c.h"])
TOUCHES = st.lists(st.builds(Touch, st.frozensets(WORDS), st.frozensets(FILES)), min_size=1, max_size=15)
PROFILES = st.dictionaries(NAMES, st.floats(0.01, 1e6))
COSTS = st.builds(Cost, st.just(1.0), PROFILES, PROFILES)
DEFINED = st.dictionaries(WORDS, st.frozensets(FILES, min_size=1))
DIRECTIONS = st.sampled_from([-1, 1])


@settings(max_examples=60)
@given(TOUCHES, COSTS, COSTS, DIRECTIONS, DEFINED)
def test_weights_are_a_distribution_with_a_floor(
    touched: list[Touch], before: Cost, after: Cost, direction: int, defined: dict[str, frozenset[str]]
) -> None:
    found = suspicions(touched, before, after, direction, defined)
    assert sum(one.weight for one in found) == pytest.approx(1.0)
    assert min(one.weight for one in found) >= FLOOR / EXECUTED / len(touched) * 0.999
    for one in found:
        assert all(part > 0 for part in one.because.values())
        assert sum(one.because.values()) <= one.weight * 1.001


@settings(max_examples=60)
@given(TOUCHES, COSTS, COSTS, DIRECTIONS, DEFINED, st.data())
def test_more_evidence_never_makes_a_candidate_less_suspect(
    touched: list[Touch],
    before: Cost,
    after: Cost,
    direction: int,
    defined: dict[str, frozenset[str]],
    data: st.DataObject,
) -> None:
    number = data.draw(st.integers(0, len(touched) - 1))
    own = touched[number]
    more = Touch(own.words | {data.draw(WORDS)}, own.files | data.draw(st.frozensets(FILES, max_size=1)))
    then = suspicions([*touched[:number], more, *touched[number + 1 :]], before, after, direction, defined)
    now = suspicions(touched, before, after, direction, defined)
    assert then[number].weight >= now[number].weight * 0.999999


FLUSH = Setting("log_flush", 0.8, frozenset({"log_flush", "Sys_log_flush", "static"}), frozenset({"sys.cc"}))


def test_who_touches_a_variables_definition_is_suspected_of_its_value() -> None:
    touched = [
        Touch(frozenset({"static", "x"}), frozenset({"a.cc"})),
        Touch(frozenset({"static", "Sys_log_flush"}), frozenset({"sys.cc"})),
        Touch(frozenset({"static"}), frozenset({"sys.cc"})),
        Touch(frozenset(), frozenset({"b.cc"}), said("Log and flush by default")),
        Touch(frozenset(), frozenset({"b.cc"}), said("log_flush: fix")),
        Touch(frozenset(), frozenset({"b.cc"}), said("by default nothing")),
    ]
    found = suspicions(touched, BEFORE, AFTER, 1, {}, [FLUSH])
    order = sorted(range(len(found)), key=lambda number: -found[number].weight)
    assert order[0] == 1
    assert [number for number in order if number in (3, 4, 5)] == [3, 4, 5]
    assert found[2].weight > found[0].weight
    assert strongest(found[1].because)[0] == "variable log_flush: Sys_log_flush"
    assert strongest(found[3].because)[0] == "message: log_flush default"
    assert sum(one.weight for one in found) == pytest.approx(1.0)


def test_a_message_that_names_what_grew_is_weaker_than_a_diff_that_does() -> None:
    before, after = Cost(1.0, {"Table::Seek(int)": 1.0}), Cost(2.0, {"Table::Seek(int)": 2.0})
    touched = [touches("Table::Seek"), Touch(frozenset(), frozenset(), said("Make Seek of Table faster")), touches()]
    named, told, neither = suspicions(touched, before, after, 1, {})
    assert named.weight > told.weight > neither.weight


def test_the_words_of_a_message() -> None:
    assert said("WL#6135: PERFORMANCE_SCHEMA on") == {"wl", "performance_schema", "performance", "schema", "on"}
