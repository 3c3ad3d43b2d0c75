"""The `git_bayesect` package's own decisions, fed with pass or fail by a cut in the middle between the ends.

Where its `run` would check out and build at every observation, a build is kept here and paid once per commit.
"""

from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from git_bayesect import Bisector

from searching.bench import Bench
from searching.host import Answer

CONFIDENCE = 0.99
ENDS = 10
"""Probes of each end, before the search, to place the cut; they are recorded as observations too."""


@np.errstate(divide="ignore", invalid="ignore")
def search(host: Bench) -> Answer | None:
    """Observe where it says until it is sure of one commit; its best guess when it is asked for that. None if it takes
    the good end itself for bad.

    A failed build is recorded the way the package offers (its own `run` would take it for a failing test), and the
    nearest commit that builds is observed in its place.
    """
    last = host.size - 1
    host.build(0)
    host.build(last)
    good, bad = host.probe_times(0, ENDS), host.probe_times(last, ENDS)
    cut = (fmean(good) + fmean(bad)) / 2
    # Its index 0 is the newest commit; `distribution` is of the first one that fails.
    bisector: Any = Bisector(np.ones(host.size))
    for number, values in ((0, good), (last, bad)):
        for value in values:
            bisector.record(last - number, value > cut)
    while bisector.distribution.max() < CONFIDENCE and not host.spent:
        wanted = last - int(bisector.select())
        number = wanted
        while not host.build(number):
            bisector.record(last - number, None)
            candidates = (n for n in range(host.size) if n not in host.failures)
            number = min(candidates, key=partial(_distance, wanted))
        bisector.record(last - number, host.probe(number) > cut)
    found = last - int(np.argmax(bisector.distribution))
    return Answer(found - 1, found, float(bisector.distribution.max())) if found else None


def _distance(wanted: int, number: int) -> int:
    return abs(number - wanted)
