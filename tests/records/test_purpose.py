"""Why a probe was made, as a type and as the store keeps it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.records.purpose import Purpose

SHAS = st.text("0123456789abcdef", min_size=1, max_size=40)
PURPOSES = st.one_of(
    st.sampled_from([Purpose.SEARCH, Purpose.CLOCK]),
    st.builds(Purpose.clock, SHAS),
    st.builds(Purpose.clock, SHAS, SHAS),
    st.builds(Purpose.trial, st.dictionaries(st.text(), st.text())),
)


@given(PURPOSES)
def test_a_purpose_survives_the_store(purpose: Purpose) -> None:
    assert Purpose.of(str(purpose)) == purpose


@given(st.text() | st.text().map("clock {}".format) | st.text().map("with {}".format))
def test_whatever_the_store_holds_gives_itself_back(stored: str) -> None:
    assert str(Purpose.of(stored)) == stored


@pytest.mark.parametrize(
    ("stored", "purpose", "counts", "only_clock"),
    [
        ("search", Purpose.SEARCH, True, False),
        ("clock", Purpose.CLOCK, True, True),
        ("clock 0123456789ab", Purpose.clock("0123456789abcdef"), True, True),
        ("clock 0123456789ab against fedc", Purpose.clock("0123456789abcdef", "fedc"), True, True),
        ("with a=1,b=x,y=z", Purpose.trial({"b": "x,y=z", "a": "1"}), False, False),
        ("with ", Purpose.trial({}), False, False),
    ],
)
def test_what_older_stores_hold_is_read(stored: str, purpose: Purpose, counts: bool, only_clock: bool) -> None:
    assert Purpose.of(stored) == purpose
    assert str(purpose) == stored
    assert (purpose.counts, purpose.only_clock) == (counts, only_clock)


def test_what_is_unknown_counts_for_nothing() -> None:
    assert not Purpose.of("of tomorrow").counts
