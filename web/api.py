"""The JSON API: the twin of every page, and what starts, cancels and resumes a bisection."""

from flask import Blueprint, Response, jsonify, request, url_for

from cpubisect.views.along import axis
from cpubisect.views.gather import gather
from cpubisect.views.suspects import ranking
from cpubisect.web import openapi
from cpubisect.web.answering import Answer, begun, changed, number, plain, refused, sent
from cpubisect.web.context import Context
from cpubisect.web.models import Candidate, Candidates, Journal, Request
from cpubisect.web.service.catalog import choices
from cpubisect.web.service.starting import checked, start
from cpubisect.web.views.build import build_view, probe_view
from cpubisect.web.views.comparison import comparison
from cpubisect.web.views.culprit import culprit_view
from cpubisect.web.views.listing import listing
from cpubisect.web.views.overview import overview, said

MOST_CANDIDATES = 1000
SUSPECTS = 100
"""Suspects in an answer that does not ask for more."""


def blueprint(context: Context) -> Blueprint:
    """The API over one home directory."""
    api = Blueprint("api", __name__, url_prefix="/api")
    registry = context.registry

    @api.get("/openapi.json")
    def document() -> Response:
        return jsonify(openapi.document())

    @api.get("/bisections")
    def bisections() -> Response:
        return plain(listing(registry, number("page", 1, least=1)))

    @api.post("/bisections")
    def begin() -> Answer:
        if refusal := refused(context.access):
            return refusal
        started = start(registry, context.sources, context.clones, checked(sent(), Request))
        return begun(started, url_for("api.bisection", bisection=started.id))

    @api.get("/bisections/<id:bisection>")
    def bisection(bisection: int) -> Response:
        return plain(overview(registry, bisection, request.args.get("test")))

    @api.post("/bisections/<id:bisection>/cancel")
    def cancel(bisection: int) -> Answer:
        return changed(context.access, registry, bisection, registry.cancel)

    @api.post("/bisections/<id:bisection>/resume")
    def resume(bisection: int) -> Answer:
        return changed(context.access, registry, bisection, registry.enqueue)

    @api.get("/bisections/<id:bisection>/candidates")
    def candidates(bisection: int) -> Response:
        registry.store.bisection(bisection)
        offset = number("offset", 0)
        rows = registry.store.candidates(bisection)
        limit = min(MOST_CANDIDATES, number("limit", MOST_CANDIDATES, least=1))
        shown = [
            Candidate(path=path, position=n, sha=sha, same_binary_as=same, subject=subject)
            for path, n, sha, same, subject in rows[offset : offset + limit]
        ]
        return plain(Candidates(id=bisection, total=len(rows), offset=offset, candidates=shown))

    @api.get("/bisections/<id:bisection>/chart")
    def chart(bisection: int) -> Response:
        from cpubisect.web.draw import drawing

        return jsonify(drawing.specification(axis(registry, bisection, request.args.get("test"))))

    @api.get("/bisections/<id:bisection>/events")
    def events(bisection: int) -> Response:
        registry.store.bisection(bisection)
        found = registry.store.events(bisection, after=number("after", 0))
        return plain(Journal(id=bisection, said=said(found)))

    @api.get("/bisections/<id:bisection>/suspects")
    def suspects(bisection: int) -> Response:
        limit = min(MOST_CANDIDATES, number("limit", SUSPECTS, least=1))
        return plain(ranking(registry, bisection, request.args.get("inside", ""), limit=limit))

    @api.get("/bisections/<id:bisection>/report")
    def whole(bisection: int) -> Response:
        return plain(gather(registry, bisection))

    @api.get("/bisections/<id:bisection>/culprits/<sha>")
    def culprit(bisection: int, sha: str) -> Response:
        return plain(culprit_view(registry, bisection, sha, request.args.get("test")))

    @api.get("/bisections/<id:bisection>/builds/<id:build>")
    def build(bisection: int, build: int) -> Response:
        return plain(build_view(registry, bisection, build))

    @api.get("/bisections/<id:bisection>/probes/<id:probe>")
    def probe(bisection: int, probe: int) -> Response:
        return plain(probe_view(registry, bisection, probe))

    @api.get("/compare")
    def compare() -> Response:
        return plain(comparison(registry, request.args.getlist("build")))

    @api.get("/choices")
    def what_can_be_started() -> Response:
        return plain(choices(registry.home, context.sources))

    return api
