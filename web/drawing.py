"""Draws charts in a process of its own: the renderer holds the lock of Python, and no page should wait for a chart."""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from typing import Any, ParamSpec

from cpubisect import chart, picture
from cpubisect.commit_axis import Axis
from cpubisect.report_blocks import clean

P = ParamSpec("P")
Json = dict[str, Any]

BROAD, NARROW = 1180, 360
STEPS_BROAD = 560
"""Pixels; a stylesheet shows the width that fits."""

_lock = threading.Lock()
_pool: ProcessPoolExecutor | None = None


def drawn(draw: Callable[P, list[str]], *args: P.args, **kwargs: P.kwargs) -> list[str]:
    """What `draw`, a function of this module, returns; it is asked again if the process died meanwhile."""
    try:
        return _started().submit(draw, *args, **kwargs).result()
    except BrokenProcessPool:
        _forget()
        return _started().submit(draw, *args, **kwargs).result()


@lru_cache(maxsize=32)
def spec(known: Axis, width: int) -> Json:
    """The chart along the commits; its points lead to the lines of the table. Not to be changed: it is kept."""
    made: Json = clean(chart.commits(known, width, lambda sha: f"#c-{sha[:12]}-main"))
    return made


def commits(known: Axis) -> list[str]:
    """The picture of that chart, broad and narrow."""
    return [picture.svg(spec(known, width)) for width in (BROAD, NARROW)]


def steps(found: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    """A culprit's step in every metric, broad and narrow."""
    return [picture.svg(clean(chart.steps(found, width))) for width in (STEPS_BROAD, NARROW)]


def _started() -> ProcessPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            # Ctrl-C reaches the whole group; this process ends with the one that asks it.
            _pool = ProcessPoolExecutor(
                1,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=signal.signal,
                initargs=(signal.SIGINT, signal.SIG_IGN),
            )
        return _pool


def close() -> None:
    """End the process, after what it draws now."""
    with _lock:
        if _pool is not None:
            _pool.shutdown(cancel_futures=True)


def _forget() -> None:
    global _pool
    with _lock:
        if _pool is not None:
            _pool.shutdown(wait=False)
        _pool = None
