"""The searches that are compared, by the names the tables give them."""

from collections.abc import Callable
from functools import partial

from searching import asv, bayesect, duties, git_bisect, ours, pinpoint
from searching.bench import Rule
from searching.host import Host
from searching.result import Result

OURS = "cpubisect"
TEN = "git bisect ×10"

RULES: dict[str, Rule] = {
    "git bisect ×1": partial(git_bisect.search, repeats=1),
    "git bisect ×3": partial(git_bisect.search, repeats=3),
    TEN: partial(git_bisect.search, repeats=10),
    "git bisect ×30": partial(git_bisect.search, repeats=30),
    "git_bayesect": bayesect.search,
    "asv find": asv.search,
    "Pinpoint": pinpoint.search,
}
"""What each peer decides."""

SEARCHES: dict[str, Callable[[Host], Result]] = {
    OURS: ours.bisect,
    **{name: partial(duties.bisect, rule=rule) for name, rule in RULES.items()},
}
"""Whole bisections, each raising Stopped after too many probes."""
