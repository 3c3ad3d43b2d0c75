"""A comparison as one HTML file: nothing is loaded, no script runs."""

from markupsafe import Markup

from cpubisect.draw.look import FONT_RULE, dark_rules
from cpubisect.report.blocks import clean
from cpubisect.report.comparing.content import content_of
from cpubisect.report.page import documents
from cpubisect.views.comparison import SideBySide


def as_html(told: SideBySide) -> str:
    """The page."""
    content = content_of(told)
    return (
        documents()
        .get_template("comparison.html")
        .render(
            told=clean(told),
            opening=content.opening,
            sections=content.sections,
            font=Markup(FONT_RULE),
            dark=Markup(dark_rules()),
        )
    )
