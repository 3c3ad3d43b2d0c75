"""A report as one HTML file: nothing is loaded, no script runs, and everything that was said is in it."""

from collections.abc import Callable
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cpubisect.draw.look import FONT_RULE, dark_rules
from cpubisect.records.registry import Registry
from cpubisect.report.blocks import Code, Section, clean
from cpubisect.report.charts import Drawn, along_commits, flame, steps
from cpubisect.report.content import about, by_step, culprits, opening, rest
from cpubisect.report.recipes import rests_on
from cpubisect.report.words import joined
from cpubisect.search.verdict import Culprit, prefix
from cpubisect.views.along import axis
from cpubisect.views.bisection import Bisection
from cpubisect.views.calls import frames_of

MOST_FUNCTIONS = 40


@dataclass(frozen=True)
class Figure:
    """A picture with what it shows; the narrow one stands in the wide one's place on a narrow screen."""

    caption: str
    wide: Markup
    narrow: Markup

    @classmethod
    def of(cls, caption: str, drawn: Drawn) -> "Figure":
        """What is not text of ours was escaped when it was drawn."""
        return cls(caption, Markup(drawn.wide), Markup(drawn.narrow))


def _steps(_registry: Registry, _bisection: int, culprit: Culprit, _test: str) -> Figure | None:
    """The culprit's step in every metric."""
    return Figure.of("The step against the parent in every metric, with 99 % intervals.", steps(culprit.steps))


def _flame(registry: Registry, bisection: int, culprit: Culprit, test: str) -> Figure | None:
    """What the culprit changed along the calls from the root."""
    frame = frames_of(registry.store, bisection, culprit, test)
    if frame is None:
        return None
    counted = registry.store.bisection(bisection).question.metric.counted
    return Figure.of("Differential flame graph of the culprit against its parent.", flame(frame, counted))


CULPRIT_FIGURES: tuple[Callable[[Registry, int, Culprit, str], Figure | None], ...] = (_steps, _flame)
"""What is drawn of each culprit, in this order; None where there is nothing to draw."""


def as_html(registry: Registry, told: Bisection) -> str:
    """The page."""
    found = [
        (
            about(culprit, told.metric.counted, prefix(test, told.tests), MOST_FUNCTIONS),
            _figures(registry, told.id, culprit, test),
        )
        for test, culprit in culprits(told)
    ]
    return (
        documents()
        .get_template("report.html")
        .render(
            told=clean(told),
            tests=joined(told.tests),
            opening=opening(told),
            short=by_step(told),
            commits=[_commits(registry, told, test) for test in told.tests],
            culprits=found,
            sections=_with_diffs(registry, told, rest(told)),
            font=Markup(FONT_RULE),
            dark=Markup(dark_rules()),
        )
    )


def documents() -> Environment:
    """The templates of all documents, each of which is one file."""
    environment = Environment(
        loader=PackageLoader("cpubisect.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["kind"] = lambda block: type(block).__name__
    return environment


def _figures(registry: Registry, bisection: int, culprit: Culprit, test: str) -> list[Figure]:
    drawn = (draw(registry, bisection, culprit, test) for draw in CULPRIT_FIGURES)
    return [figure for figure in drawn if figure is not None]


def _commits(registry: Registry, told: Bisection, test: str) -> Figure:
    said = (
        "Cost of the measured commits with 99 % intervals. Along the bottom, commits that share one binary; grey, what "
        "cannot be built; orange, where the step may be."
    )
    return Figure.of(f"{test}: {said}", along_commits(axis(registry, told.id, test), told.origin))


def _with_diffs(registry: Registry, told: Bisection, sections: list[Section]) -> list[Section]:
    """The sections, those about builds with what was changed in the source to build them."""
    wanted = rests_on(told)
    diffs = tuple(
        Code(clean(build.diff), "diff", f"What was changed to build {build.sha[:12]}")
        for build, _ in registry.store.builds(told.id)
        if build.sha in wanted and build.diff
    )
    places = [number for number, section in enumerate(sections) if section.title.startswith("How ")]
    if diffs and places:
        sections[places[-1]] = Section(sections[places[-1]].title, (*sections[places[-1]].blocks, *diffs))
    return sections
