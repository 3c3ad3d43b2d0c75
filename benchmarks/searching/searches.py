"""The searches that are compared, by the names the tables give them."""

from functools import partial

from searching import asv, bayesect, git_bisect, ours, pinpoint
from searching.host import Search

OURS = "cpubisect"
TEN = "git bisect ×10"

SEARCHES: dict[str, Search] = {
    OURS: ours.search,
    "git bisect ×1": partial(git_bisect.search, repeats=1),
    "git bisect ×3": partial(git_bisect.search, repeats=3),
    TEN: partial(git_bisect.search, repeats=10),
    "git bisect ×30": partial(git_bisect.search, repeats=30),
    "git_bayesect": bayesect.search,
    "asv find": asv.search,
    "Pinpoint": pinpoint.search,
}
