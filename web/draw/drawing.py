"""Draws the charts of the pages: each is an SVG document of its own, as wide as the page or as a narrow screen.

Importing this loads what draws, which takes half a second.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cpubisect.draw import chart, picture
from cpubisect.draw.axis import Axis
from cpubisect.draw.calltree import Frame
from cpubisect.draw.flame import flame as flame_graph
from cpubisect.report.blocks import clean
from cpubisect.search.stats import Step

Json = dict[str, Any]

BROAD, STEPS_BROAD, NARROW = 1180, 560, 360
"""Pixels; a page shows the width that fits."""


@lru_cache(maxsize=32)
def specification(known: Axis, *, narrow: bool = False) -> Json:
    """The chart along the commits; its points lead to the lines of the page's table. Not to be changed: it is kept."""
    # A culprit inside a merge is on another path: on this one, the merge stands for it.
    on_line = {point.position: point.sha for point in known.points}
    lines = {mark.sha: on_line.get(mark.position, mark.sha) for mark in known.culprits}
    width = NARROW if narrow else BROAD
    made: Json = clean(chart.commits(known, width, lambda sha: f"#c-{lines.get(sha, sha)[:12]}-main"))
    return made


def along_commits(known: Axis, page: str, stylesheet: str, *, narrow: bool) -> str:
    """The picture of that chart for the page with that address."""
    return picture.document(specification(known, narrow=narrow), stylesheet, page)


def steps(found: Mapping[str, Step], stylesheet: str, *, narrow: bool) -> str:
    """A culprit's step in every metric."""
    return picture.document(clean(chart.steps(found, NARROW if narrow else STEPS_BROAD)), stylesheet)


@lru_cache(maxsize=16)
def flame(root: Frame, counted: str, stylesheet: str, *, narrow: bool) -> str:
    """A culprit's differential flame graph, in the metric that was counted."""
    return picture.document(flame_graph(root, NARROW if narrow else BROAD, counted), stylesheet)
