"""`git bisect` as its users run it on a noisy metric: every commit probed a fixed number of times, and a cut.

Which commit comes next is git's own choice on a linear history (its `bisect.c`), skips included: the middle, or after
a skip a pseudo-random one away from it. `tests/benchmarks` compares it with the real one.
"""

import math
from collections.abc import Collection, Sequence
from statistics import fmean

from searching.bench import Bench
from searching.host import Answer


def search(host: Bench, repeats: int) -> Answer | None:
    """Both ends and every commit `repeats` times; bad if the mean is above the middle between the ends' means."""
    low, high = 0, host.size - 1
    host.build(low)
    host.build(high)
    cut = (fmean(host.probe_times(low, repeats)) + fmean(host.probe_times(high, repeats))) / 2
    skipped: set[int] = set()
    while (number := next_commit(low, high, skipped)) is not None:
        if not host.build(number):
            skipped.add(number)
        elif fmean(host.probe_times(number, repeats)) > cut:
            high = number
        else:
            low = number
    return Answer(low, high)


def next_commit(low: int, high: int, skipped: Collection[int], names: Sequence[str] = ()) -> int | None:
    """The number git would check out between a good `low` and a bad `high`; None when it has its answer.

    Once something was skipped git orders all candidates by distance and, where equal, by sha: `names`, if given.
    """
    count = high - low
    inside = {number for number in skipped if low < number < high}
    if count == 1:
        return None
    if not skipped:
        return low + _middle(count)
    ordered = sorted(
        range(low + 1, high + 1),
        key=lambda number: (-min(number - low, high - number), names[number] if names else number),
    )
    left = [number for number in ordered if number not in inside]
    number = left[0] if ordered[0] not in inside else _away(left, high)
    return None if number == high else number


def _middle(count: int) -> int:
    """How many candidates, oldest first, up to the first one that git takes for halfway.

    It looks from the second on, is content within half a commit (or a thousandth of the range), and only then weighs
    the first.
    """
    near = max(2, count // 1024)
    at = max(2, math.ceil((count - near + 1) / 2))
    return at if abs(2 * at - count) < near else 1


def _away(left: Sequence[int], bad: int) -> int:
    """Git's choice among the candidates `left` when the best one was skipped; raises IndexError if none is left."""
    random = ((len(left) * 1103515245 + 12345) % 2**32 // 65536) % 32768
    place = int((len(left) * random // 32768) * _root(random) / _root(32768))
    if left[place] != bad:
        return left[place]
    return left[place - 1] if place else left[0]


def _root(value: int) -> float:
    """Git's integer square root: Newton's method with float steps, ended within half of one."""
    x = float(value)
    if not value:
        return 0
    while True:
        y = (x + value / x) / 2
        d = abs(y - x)
        x = y
        if d < 0.5:
            return int(x)
