"""The charts of one bisection, as pictures and as elements of a page."""

import re
from typing import Any

from cpubisect import chart, picture
from cpubisect.axis import axis
from cpubisect.commit_axis import Axis
from cpubisect.question import Question
from cpubisect.report_blocks import clean
from cpubisect.session import Session

Json = dict[str, Any]

_GITHUB = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+?(?:\.git)?/?")
WIDTH, NARROW_WIDTH = 1000, 360


def picture_of(session: Session, bisection: int, *, png: bool = False, test: str | None = None) -> bytes:
    """The chart of one test, or of all, one below the other, as PNG or SVG; raises UserError for an unknown id."""
    question = Question.from_json(session.store.bisection(bisection).question)
    tests = (test,) if test else question.tests
    spec = clean(chart.stacked([chart.commits(axis(session, bisection, one), WIDTH) for one in tests]))
    return picture.png(spec) if png else picture.svg(spec).encode(errors="replace")


def along_commits(known: Axis, origin: str, width: int) -> str:
    """The chart of one test as an `<svg>` element, its points linked to the commits where those can be read."""
    prefix = commit_prefix(origin)
    spec = chart.commits(known, width, lambda sha: prefix + sha if prefix else "")
    return picture.svg(clean(spec))


def commit_prefix(origin: str) -> str:
    """What to put before a sha to read the commit on the web; empty for a repository that is not on GitHub."""
    found = _GITHUB.fullmatch(origin)
    return found[0].rstrip("/").removesuffix(".git") + "/commit/" if found else ""
