"""PURE: what one more measurement tells, in bits, of a question with two answers.

A commit is on the cheap side of the step or on the dear side; its measured cost is normal around one of two levels.
That is a channel with a binary input and Gaussian noise: its mutual information says how much a measurement is worth.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import entr

Array = npt.NDArray[np.float64]

_LOGITS = np.linspace(0.0, 14.0, 57)
_DISTANCES = np.concatenate([np.linspace(0.0, 1.0, 11), np.linspace(1.2, 6.0, 25), [7.0, 8.0, 10.0]])


def entropy(probability: Array) -> Array:
    """Bits that the answer to a question with this probability of yes is worth, element by element; 0 at certainty."""
    p = np.clip(probability, 0.0, 1.0)
    return np.asarray((entr(p) + entr(1.0 - p)) / np.log(2))


def uncertainty(probabilities: Array) -> float:
    """Bits that are missing to know which of some exclusive cases holds; their probabilities add up to 1."""
    return float(entr(probabilities).sum() / np.log(2))


def information(probability: Array, distance: Array) -> Array:
    """Mutual information in bits between the side and one measurement, element by element.

    `probability` is how likely the dear side is; `distance` the gap between the levels over the measurement's standard
    deviation. From a table of numerically integrated values, interpolated linearly; above a distance of 10 the
    measurement tells everything. For small probabilities the information is as good as proportional to the entropy, so
    the table holds their ratio.
    """
    p = np.clip(np.minimum(probability, 1.0 - probability), 1e-9, 0.5)
    logit = np.clip(np.log((1.0 - p) / p), 0.0, _LOGITS[-1])
    table = _ratios()
    row = logit / (_LOGITS[1] - _LOGITS[0])
    low = np.minimum(row.astype(int), len(_LOGITS) - 2)
    part = row - low
    d = np.clip(np.abs(distance), 0.0, _DISTANCES[-1])
    right = np.clip(np.searchsorted(_DISTANCES, d, side="right"), 1, len(_DISTANCES) - 1)
    left = right - 1
    along = (d - _DISTANCES[left]) / (_DISTANCES[right] - _DISTANCES[left])
    upper = table[low, left] * (1 - along) + table[low, right] * along
    lower = table[low + 1, left] * (1 - along) + table[low + 1, right] * along
    return np.asarray((upper * (1 - part) + lower * part) * entropy(p))


@lru_cache(maxsize=1)
def _ratios() -> Array:
    """Information over entropy for the table's logits (rows) and distances (columns)."""
    z = np.linspace(-9.0, 19.0, 2801)
    width = z[1] - z[0]
    p = (1.0 / (1.0 + np.exp(_LOGITS)))[:, None]
    rows = []
    for distance in _DISTANCES:
        near = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        far = np.exp(-((z - distance) ** 2) / 2) / np.sqrt(2 * np.pi)
        both = p * far + (1 - p) * near
        posterior = np.clip(p * far / np.maximum(both, 1e-300), 0.0, 1.0)
        left = (both * entropy(posterior)).sum(axis=1) * width
        rows.append(1.0 - left / entropy(p[:, 0]))
    table: Array = np.clip(np.stack(rows, axis=1), 0.0, 1.0)
    return table
