"""The charts of one bisection, as pictures and as elements of a page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cpubisect.draw import chart, picture
from cpubisect.draw.axis import Axis
from cpubisect.draw.calltree import Frame
from cpubisect.draw.flame import flame as flame_graph
from cpubisect.records.registry import Registry
from cpubisect.report.blocks import clean
from cpubisect.search.stats import Step
from cpubisect.views.along import axis

_GITHUB = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+?(?:\.git)?/?")
WIDTH, NARROW_WIDTH = 1000, 360
STEPS_WIDTH, STEPS_NARROW_WIDTH = 620, 340
"""Pixels."""


@dataclass(frozen=True)
class Drawn:
    """One chart as two `<svg>` elements, for wide and for narrow screens."""

    wide: str
    narrow: str


def picture_of(registry: Registry, bisection: int, *, png: bool = False, test: str | None = None) -> bytes:
    """The chart of one test, or of all, one below the other, as PNG or SVG; raises UserError for an unknown id."""
    tests = (test,) if test else registry.store.bisection(bisection).question.tests
    spec = clean(chart.stacked([chart.commits(axis(registry, bisection, one), WIDTH) for one in tests]))
    return picture.png(spec) if png else picture.svg(spec).encode(errors="replace")


def along_commits(known: Axis, origin: str) -> Drawn:
    """The chart of one test, its points linked to the commits where those can be read."""
    prefix = commit_prefix(origin)
    specs = (chart.commits(known, width, lambda sha: prefix + sha if prefix else "") for width in (WIDTH, NARROW_WIDTH))
    return Drawn(*(picture.svg(clean(spec)) for spec in specs))


def steps(found: Mapping[str, Step]) -> Drawn:
    """A culprit's step in every metric."""
    return Drawn(*(picture.svg(clean(chart.steps(found, width))) for width in (STEPS_WIDTH, STEPS_NARROW_WIDTH)))


def flame(root: Frame, counted: str) -> Drawn:
    """A culprit's frames, in the metric that was counted, as a differential flame graph."""
    return Drawn(*(picture.svg(flame_graph(root, width, counted)) for width in (WIDTH, NARROW_WIDTH)))


def commit_prefix(origin: str) -> str:
    """What to put before a sha to read the commit on the web; empty for a repository that is not on GitHub."""
    found = _GITHUB.fullmatch(origin)
    return found[0].rstrip("/").removesuffix(".git") + "/commit/" if found else ""
