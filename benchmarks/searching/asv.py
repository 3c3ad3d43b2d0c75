"""The rule of airspeed velocity's `asv find`, in our own words: the half with the larger rise, by one comparison.

A half that got cheaper counts as one that did not change, and where both did, the first one is taken. It has neither
threshold nor test, and always ends with a commit. A commit without a result is replaced by the next one after it; when
those run out, asv gives up with an error.
"""

from statistics import median

from searching.bench import Bench
from searching.host import Answer

REPEATS = 5


def search(host: Bench) -> Answer | None:
    """Median of REPEATS probes per commit; None where it gives up on failed builds."""
    results: dict[int, float] = {}

    def result(number: int) -> float | None:
        if number not in results:
            if not host.build(number):
                return None
            results[number] = median(host.probe_times(number, REPEATS))
        return results[number]

    low, high = 0, host.size - 1
    before, after = result(low), result(high)
    while high - low > 1:
        number = (low + high) // 2
        while (middle := result(number)) is None:
            number += 1
            if number == high:
                return None
        assert before is not None
        assert after is not None
        if max(0.0, after - middle) > max(0.0, middle - before):
            low, before = number, middle
        else:
            high, after = number, middle
    return Answer(low, high)
