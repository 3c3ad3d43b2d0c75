"""How numbers, times and commits are written on pages."""

import math
import time
from collections.abc import Callable

from cpubisect.base import metrics
from cpubisect.search.events import span


def sha12(sha: str) -> str:
    """The first 12 digits of a commit."""
    return sha[:12]


def when(epoch: float | None) -> str:
    """A local date and time; empty for None."""
    return "" if epoch is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch))


def clock(epoch: float) -> str:
    """A local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(epoch))


def iso(epoch: float) -> str:
    """A time for machines, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))


def count(value: float | None) -> str:
    """A whole number with thousands separated; a dash for None."""
    return "–" if value is None else f"{value:,.0f}"


def number(value: float | None, digits: int = 2) -> str:
    """A number with so many decimals; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def telling(value: float | None) -> str:
    """A number with two decimals, below 0.1 with as many as its first three digits need; a dash for None."""
    if value is None or not 0 < abs(value) < 0.1:
        return number(value)
    return number(value, 2 - math.floor(math.log10(abs(value))))


def signed(value: float | None, digits: int = 2) -> str:
    """A number with its sign; a dash for None, and for one that is infinite."""
    return "–" if value is None or not math.isfinite(value) else f"{value:+,.{digits}f}".replace("-", "−")


def percent(ratio: float) -> str:
    """A ratio as a percentage."""
    return f"{ratio * 100:.1f} %"


def duration(seconds: float | None) -> str:
    """A duration for a person; a dash for None."""
    return "–" if seconds is None else span(seconds)


def verdict_of_step(value: float | None, direction: int = 1) -> str:
    """The class of a step in percent: `worse`, `better`, or nothing below half a percent."""
    if value is None or abs(value) < 0.5:
        return ""
    return "worse" if value * direction > 0 else "better"


def shade(relative: float | None, *, more_is_better: bool) -> str:
    """The class of a value relative to the base: beyond 0.95 and 1.05 it counts, as in published comparisons."""
    if relative is None:
        return "none"
    if 0.95 < relative < 1.05:
        return "same"
    return "better" if (relative >= 1.05) == more_is_better else "worse"


FILTERS: dict[str, Callable[..., str | int]] = {
    "sha12": sha12,
    "when": when,
    "clock": clock,
    "iso": iso,
    "count": count,
    "digits": metrics.digits,
    "number": number,
    "telling": telling,
    "signed": signed,
    "percent": percent,
    "duration": duration,
    "step_class": verdict_of_step,
    "shade": shade,
}
