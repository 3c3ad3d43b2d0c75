"""What an error says of what somebody typed."""

import os

import pytest

from cpubisect.base.errors import MOST_TOLD, UserError, shortened


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (b"v5.6", "v5.6"),
        (b"a\xffb", "a\\xffb"),
        ("Größe".encode(), "Größe"),
        ("Größe".encode("latin-1"), "Gr\\xf6\\xdfe"),
    ],
)
def test_bytes_that_are_no_text_are_spelt_out(typed: bytes, told: str) -> None:
    error = UserError(f"{os.fsdecode(typed)} names no commit", os.fsdecode(typed))
    assert str(error) == f"{told} names no commit: {told}"


def test_what_is_long_lacks_its_middle() -> None:
    assert len(shortened("word " * 10_000)) == MOST_TOLD
