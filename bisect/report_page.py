"""A report as one HTML file: nothing is loaded, no script runs, and everything that was said is in it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cpubisect import chart, chart_look, flame_picture, picture
from cpubisect.axis import axis
from cpubisect.flame_of import flame_of
from cpubisect.flame_picture import flame_svg
from cpubisect.report_blocks import Code, Section, clean
from cpubisect.report_builds import rests_on
from cpubisect.report_charts import NARROW_WIDTH, WIDTH, along_commits
from cpubisect.report_sections import about, culprits, opening, rest
from cpubisect.report_words import called
from cpubisect.session import Session

Json = dict[str, Any]

MOST_FUNCTIONS = 40
_STEPS_WIDTH, _STEPS_NARROW = 620, 340


@dataclass(frozen=True)
class Figure:
    """A picture with what it shows; `narrow`, if not empty, stands in its place on a narrow screen."""

    caption: str
    svg: Markup
    narrow: Markup


def _steps(_session: Session, _bisection: int, culprit: Json, _test: str) -> Figure | None:
    """The culprit's step in every metric."""
    wide, narrow = (Markup(picture.svg(chart.steps(culprit["steps"], at))) for at in (_STEPS_WIDTH, _STEPS_NARROW))
    return Figure("The step against the parent in every metric, with 99 % intervals.", wide, narrow)


def _flame(session: Session, bisection: int, culprit: Json, test: str) -> Figure | None:
    """What the culprit changed along the calls from the root."""
    frame = flame_of(session.store, bisection, culprit, test)
    if frame is None:
        return None
    wide, narrow = (Markup(flame_svg(frame, width)) for width in (WIDTH, NARROW_WIDTH))
    return Figure("Differential flame graph of the culprit against its parent.", wide, narrow)


CULPRIT_FIGURES: tuple[Callable[[Session, int, Json, str], Figure | None], ...] = (_steps, _flame)
"""What is drawn of each culprit, in this order; None where there is nothing to draw."""


def as_html(session: Session, bisection: int, data: Json) -> str:
    """The page; `data` is what `report.gather` says of the bisection."""
    environment = Environment(
        loader=PackageLoader("cpubisect"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found = [
        (
            about(culprit, name, MOST_FUNCTIONS),
            _figures(session, bisection, culprit, name.removesuffix(": ") or data["test"]),
        )
        for name, culprit in culprits(clean(data))
    ]
    return environment.get_template("report.html").render(
        data=clean(data),
        opening=opening(data),
        commits=[_commits(session, bisection, test, data) for test in data.get("tests", [data["test"]])],
        culprits=found,
        sections=_with_diffs(session, bisection, data, rest(data)),
        dark=Markup(f"{chart_look.dark_rules()}\n{flame_picture.dark_rules()}"),
        called=called,
        kind=lambda block: type(block).__name__,
    )


def _figures(session: Session, bisection: int, culprit: Json, test: str) -> list[Figure]:
    drawn = (draw(session, bisection, culprit, test) for draw in CULPRIT_FIGURES)
    return [figure for figure in drawn if figure is not None]


def _commits(session: Session, bisection: int, test: str, data: Json) -> Figure:
    known = axis(session, bisection, test)
    wide, narrow = (Markup(along_commits(known, data["origin"], width)) for width in (WIDTH, NARROW_WIDTH))
    said = (
        "Cost of the measured commits with 99 % intervals. Along the bottom, commits that share one binary; grey, what "
        "cannot be built; orange, where the step may be."
    )
    return Figure(f"{test}: {said}", wide, narrow)


def _with_diffs(session: Session, bisection: int, data: Json, sections: list[Section]) -> list[Section]:
    """The sections, those about builds with what was changed in the source to build them."""
    wanted = rests_on(data)
    diffs = tuple(
        Code(clean(build.diff), "diff", f"What was changed to build {build.sha[:12]}")
        for build, _ in session.store.builds(bisection)
        if build.sha in wanted and build.diff
    )
    places = [number for number, section in enumerate(sections) if section.title.startswith("How ")]
    if diffs and places:
        sections[places[-1]] = Section(sections[places[-1]].title, (*sections[places[-1]].blocks, *diffs))
    return sections
