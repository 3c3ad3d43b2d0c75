"""How numbers are written on pages."""

import pytest

from cpubisect.web.formats import telling


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0.00"),
        (1234.5, "1,234.50"),
        (0.1, "0.10"),
        (0.0999, "0.0999"),
        (0.005, "0.00500"),
        (0.0005, "0.000500"),
        (-0.00012345, "-0.000123"),
    ],
)
def test_what_is_small_has_three_digits(value: float | None, shown: str) -> None:
    assert telling(value) == shown
