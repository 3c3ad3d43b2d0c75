"""Why a probe was made, as a type and as the store keeps it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.records.purpose import Purpose

SHAS = st.text("0123456789abcdef", min_size=1, max_size=40)
LINKS = st.integers(0, 10**9 - 1)
MEASURING = st.one_of(
    st.sampled_from([Purpose.SEARCH, Purpose.CLOCK]),
    st.builds(Purpose.clock, SHAS),
    st.builds(Purpose.clock, SHAS, SHAS),
)
SETTINGS = st.dictionaries(st.text(), st.text())
TRIALS = st.builds(Purpose.trial, SETTINGS) | st.builds(Purpose.ask, SETTINGS)
PURPOSES = MEASURING | st.builds(Purpose.linked, MEASURING, LINKS) | TRIALS


@given(PURPOSES)
def test_a_purpose_survives_the_store(purpose: Purpose) -> None:
    assert Purpose.of(str(purpose)) == purpose


WORDS = st.sampled_from(["search", "clock", "with", "ask", "against", "link", "0", "03", "3", "9" * 10, "abc", "a=1"])


@given(
    st.text()
    | st.lists(WORDS).map(" ".join)
    | st.text().map("clock {}".format)
    | st.text().map("with {}".format)
    | st.text().map("ask {}".format)
)
def test_whatever_the_store_holds_gives_itself_back(stored: str) -> None:
    assert str(Purpose.of(stored)) == stored


@pytest.mark.parametrize(
    ("stored", "purpose", "counts", "only_clock"),
    [
        ("search", Purpose.SEARCH, True, False),
        ("clock", Purpose.CLOCK, True, True),
        ("clock 0123456789ab", Purpose.clock("0123456789abcdef"), True, True),
        ("clock 0123456789ab against fedc", Purpose.clock("0123456789abcdef", "fedc"), True, True),
        ("clock link 2", Purpose.CLOCK.linked(2), False, True),
        ("clock 0123456789ab link 12", Purpose.clock("0123456789ab").linked(12), False, True),
        ("clock abc against fedc link 3", Purpose.clock("abc", "fedc").linked(3), False, True),
        ("search abc against fedc", Purpose.count("abc", "fedc"), True, False),
        ("search link 1", Purpose.SEARCH.linked(1), False, False),
        ("with a=1 link 3", Purpose.trial({"a": "1 link 3"}), False, False),
        ("with a=1,b=x,y=z", Purpose.trial({"b": "x,y=z", "a": "1"}), False, False),
        ("with ", Purpose.trial({}), False, False),
        ("ask", Purpose.ask({}), False, False),
        ("ask a=1,b= x", Purpose.ask({"a": "1", "b": " x"}), False, False),
    ],
)
def test_what_older_stores_hold_is_read(stored: str, purpose: Purpose, counts: bool, only_clock: bool) -> None:
    assert Purpose.of(stored) == purpose
    assert str(purpose) == stored
    assert (purpose.counts, purpose.only_clock) == (counts, only_clock)


@given(MEASURING, LINKS.filter(bool))
def test_a_redraw_asks_for_the_same_of_another_link_and_counts_for_no_commit(purpose: Purpose, link: int) -> None:
    drawn = purpose.linked(link)
    assert str(drawn) == f"{purpose} link {link}"
    assert (drawn.link, drawn.counts, drawn.only_clock) == (link, False, purpose.only_clock)
    assert drawn.linked(0) == purpose
    assert purpose.counts


def test_counts_that_confirm_ask_for_nothing_else() -> None:
    asked = {purpose: purpose.only_counts for purpose in (Purpose.SEARCH, Purpose.CLOCK, Purpose.clock("abc", "fedc"))}
    assert not any(asked.values())
    assert Purpose.count("abc", "fedc").only_counts


@given(TRIALS | st.builds(Purpose.of, st.just("of tomorrow")), LINKS)
def test_what_is_no_measurement_has_no_redraws(purpose: Purpose, link: int) -> None:
    with pytest.raises(ValueError, match="no link"):
        purpose.linked(link)


@pytest.mark.parametrize("link", [-1, 10**9])
def test_a_link_has_a_number_that_the_store_can_read(link: int) -> None:
    with pytest.raises(ValueError, match="no link"):
        Purpose.CLOCK.linked(link)


def test_what_is_unknown_counts_for_nothing() -> None:
    assert not Purpose.of("of tomorrow").counts
