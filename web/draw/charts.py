"""The address of each chart: its answer is the picture, which a browser asks for again only when something happened."""

import secrets
from collections.abc import Callable

from flask import Blueprint, Response, request, url_for

from cpubisect.base.errors import Missing
from cpubisect.draw.look import FONT_RULE, dark_rules
from cpubisect.records.registry import Registry
from cpubisect.views.along import axis
from cpubisect.views.calls import frames_of
from cpubisect.web.context import Context
from cpubisect.web.live import mark_of
from cpubisect.web.security import PICTURE_HEADERS
from cpubisect.web.views.culprit import culprit_view


def blueprint(context: Context) -> Blueprint:
    """All charts over one home directory.

    A page puts the mark of what it shows into a chart's address, so that the address changes with the picture; whatever
    the mark, the answer is the newest picture. The renderer is loaded by the first picture: no page waits for it.
    """
    charts = Blueprint("charts", __name__)
    registry = context.registry
    # A server that is started again may draw otherwise.
    server = secrets.token_hex(4)

    def answer(bisection: int, draw: Callable[[], str]) -> Response:
        registry.store.bisection(bisection)
        event, state = mark_of(registry, bisection)
        tag = f"{server}-{event}-{state}"
        known = request.if_none_match.contains(tag)
        picture = Response("" if known else draw(), 304 if known else 200, PICTURE_HEADERS, "image/svg+xml")
        picture.set_etag(tag)
        picture.headers["Cache-Control"] = "no-cache"
        return picture

    @charts.get("/bisections/<id:bisection>/chart.svg")
    def along_commits(bisection: int) -> Response:
        def draw() -> str:
            from cpubisect.web.draw import drawing

            test = asked_test(registry, bisection)
            page = url_for("pages.show", bisection=bisection, test=test)
            return drawing.along_commits(axis(registry, bisection, test), page, _style(), narrow=_narrow())

        return answer(bisection, draw)

    @charts.get("/bisections/<id:bisection>/culprits/<sha>/steps.svg")
    def steps(bisection: int, sha: str) -> Response:
        def draw() -> str:
            from cpubisect.web.draw import drawing

            view = culprit_view(registry, bisection, sha, request.args.get("test"))
            return drawing.steps(view.culprit.steps, _style(), narrow=_narrow())

        return answer(bisection, draw)

    @charts.get("/bisections/<id:bisection>/culprits/<sha>/flame.svg")
    def flame(bisection: int, sha: str) -> Response:
        def draw() -> str:
            from cpubisect.web.draw import drawing

            view = culprit_view(registry, bisection, sha, request.args.get("test"))
            frame = frames_of(registry.store, bisection, view.culprit, view.test)
            if frame is None:
                raise Missing(f"the probes of {sha[:12]} kept no call graph", "only callgrind, of the counters, does")
            return drawing.flame(frame, view.counted, _style(), narrow=_narrow())

        return answer(bisection, draw)

    @charts.get("/charts.css")
    def style() -> Response:
        dark = f"@media (prefers-color-scheme: dark) {{\n{dark_rules()}\n}}\n"
        rules = f":root {{ color-scheme: light dark; }}\n{FONT_RULE}\n{dark}"
        return Response(rules, mimetype="text/css", headers={"Cache-Control": "max-age=3600"})

    return charts


def asked_test(registry: Registry, bisection: int) -> str | None:
    """The test that the address names, if the bisection has it; raises UserError for an unknown id."""
    named = request.args.get("test")
    return named if named in registry.store.bisection(bisection).question.tests else None


def _narrow() -> bool:
    return request.args.get("width") == "narrow"


def _style() -> str:
    return url_for("charts.style")
