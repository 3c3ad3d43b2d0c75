"""Strangers' words do nothing on a terminal."""

from hypothesis import example, given
from hypothesis import strategies as st

from cpubisect.attach.visible import visible


@given(st.text(st.characters()))
@example("\x1b[31m\r\n\u202e\ud800\x85\u2028")
def test_what_is_visible_is_printable_and_can_be_encoded(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not set(shown) & {chr(n) for n in [*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2028]}
    assert visible(shown) == shown


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs"))))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
