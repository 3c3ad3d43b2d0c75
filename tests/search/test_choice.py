"""What one more measurement of a noisy commit is worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.search.clock.choice import information
from cpubisect.search.stats import entropy


@pytest.mark.parametrize(("distance", "bits"), [(1.0, 0.161), (2.0, 0.486), (3.0, 0.760), (5.0, 0.975)])
def test_known_values_at_even_odds(distance: float, bits: float) -> None:
    assert information(np.asarray([0.5]), np.asarray([distance]))[0] == pytest.approx(bits, abs=0.001)


@given(st.floats(0.0, 1.0), st.floats(0.0, 20.0))
def test_a_measurement_tells_no_more_than_is_unknown(probability: float, distance: float) -> None:
    p = np.asarray([probability])
    bits = information(p, np.asarray([distance]))[0]
    assert -1e-9 <= bits <= max(entropy(p)[0], 1e-7) + 1e-9


@given(st.floats(0.001, 0.999), st.floats(0.0, 9.0), st.floats(0.01, 1.0))
def test_less_noise_tells_more(probability: float, distance: float, more: float) -> None:
    p = np.asarray([probability, probability])
    near, far = information(p, np.asarray([distance, distance + more]))
    assert far >= near - 1e-9
