"""Charts inline on pages, reports to download, and the colours of both in the dark."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from flask import Response
from markupsafe import Markup

from cpubisect import flame_picture, report
from cpubisect.axis import axis
from cpubisect.chart_look import dark_rules
from cpubisect.errors import Missing
from cpubisect.flame_of import flame_of
from cpubisect.report import Form
from cpubisect.session import Session
from cpubisect.web import drawing
from cpubisect.web.drawing import BROAD, drawn

Json = dict[str, Any]


def along_commits(session: Session, bisection: int, test: str) -> Markup:
    """The chart of one test in both widths; its points lead to the lines of the table."""
    return _both(drawn(drawing.commits, axis(session, bisection, test)))


def along_commits_spec(session: Session, bisection: int, test: str | None) -> Json:
    """The same as a Vega-Lite specification."""
    return drawing.spec(axis(session, bisection, test), BROAD)


def steps(found: Mapping[str, Mapping[str, float | None]]) -> Markup:
    """A culprit's step in every metric, in both widths."""
    return _both(drawn(drawing.steps, found))


def flame(session: Session, bisection: int, culprit: Json, test: str) -> Markup:
    """The differential flame graph of a culprit; empty if its probes kept no call graph."""
    frame = flame_of(session.store, bisection, culprit, test)
    return Markup(flame_picture.flame_svg(frame, BROAD)) if frame else Markup("")


def _both(pictures: list[str]) -> Markup:
    # What is not text of ours was escaped when the picture was drawn.
    return Markup("").join(
        Markup(f'<div class="{name}">{svg}</div>') for name, svg in zip(("broad", "narrow"), pictures, strict=True)
    )


def download(session: Session, bisection: int, name: str) -> Response:
    """A report as a file; raises Missing for a form that there is not."""
    try:
        form = Form(name)
    except ValueError:
        raise Missing(f"there is no report in the form {name[:40]!r}", f"there are {', '.join(Form)}") from None
    answer = Response(report.render(session, bisection, form), content_type=form.media_type)
    file_name = report.file_name(session, bisection, form)
    answer.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
    # A report in one file brings its own styles, and runs nothing, wherever it is opened.
    answer.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return answer


@lru_cache(maxsize=1)
def dark_style() -> str:
    """A stylesheet that gives charts and flame graphs their colours in the dark."""
    return f"@media (prefers-color-scheme: dark) {{\n{dark_rules()}\n{flame_picture.dark_rules()}\n}}\n"


def warm_up() -> None:
    """Draw something: the first picture loads the renderer."""
    steps({"qps": {"percent": 0.0, "low": -1.0, "high": 1.0}})
