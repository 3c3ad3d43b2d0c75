"""The JSON API: the twin of every page, and what starts, cancels and resumes."""

from collections.abc import Callable

from flask import Blueprint, Response, jsonify, request, url_for
from pydantic import BaseModel
from werkzeug.exceptions import BadRequest

from cpubisect.base.errors import UserError
from cpubisect.base.plain import Plain
from cpubisect.views.along import axis
from cpubisect.views.comparison import gather_comparison
from cpubisect.views.gather import gather
from cpubisect.views.suspects import ranking
from cpubisect.web import openapi
from cpubisect.web.context import Context
from cpubisect.web.models import Candidate, Candidates, Journal, Problem, Started
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

Answer = Response | tuple[Response, int]


def blueprint(context: Context) -> Blueprint:
    """The API over one home directory."""
    api = Blueprint("api", __name__, url_prefix="/api")
    registry = context.registry

    @api.get("/openapi.json")
    def document() -> Response:
        return jsonify(openapi.document())

    @api.get("/bisections")
    def bisections() -> Response:
        return _plain(listing(registry, _number("page", 1, least=1)))

    @api.post("/bisections")
    def begin() -> Answer:
        if refusal := _refused(context):
            return refusal
        started = start(registry, context.sources, context.clones, checked(_sent()))
        answer = _plain(started)
        answer.headers["Location"] = url_for("api.bisection", bisection=started.id)
        return answer, 201

    @api.get("/bisections/<id:bisection>")
    def bisection(bisection: int) -> Response:
        return _plain(overview(registry, bisection, request.args.get("test")))

    @api.post("/bisections/<id:bisection>/cancel")
    def cancel(bisection: int) -> Answer:
        return _change(context, bisection, registry.cancel)

    @api.post("/bisections/<id:bisection>/resume")
    def resume(bisection: int) -> Answer:
        return _change(context, bisection, registry.enqueue)

    @api.get("/bisections/<id:bisection>/candidates")
    def candidates(bisection: int) -> Response:
        registry.store.bisection(bisection)
        offset = _number("offset", 0)
        rows = registry.store.candidates(bisection)
        limit = min(MOST_CANDIDATES, _number("limit", MOST_CANDIDATES, least=1))
        shown = [
            Candidate(path=path, position=n, sha=sha, same_binary_as=same, subject=subject)
            for path, n, sha, same, subject in rows[offset : offset + limit]
        ]
        return _plain(Candidates(id=bisection, total=len(rows), offset=offset, candidates=shown))

    @api.get("/bisections/<id:bisection>/chart")
    def chart(bisection: int) -> Response:
        from cpubisect.web.draw import drawing

        return jsonify(drawing.specification(axis(registry, bisection, request.args.get("test"))))

    @api.get("/bisections/<id:bisection>/events")
    def events(bisection: int) -> Response:
        registry.store.bisection(bisection)
        found = registry.store.events(bisection, after=_number("after", 0))
        return _plain(Journal(id=bisection, said=said(found)))

    @api.get("/bisections/<id:bisection>/suspects")
    def suspects(bisection: int) -> Response:
        limit = min(MOST_CANDIDATES, _number("limit", SUSPECTS, least=1))
        return _plain(ranking(registry, bisection, request.args.get("inside", ""), limit=limit))

    @api.get("/bisections/<id:bisection>/report")
    def whole(bisection: int) -> Response:
        return _plain(gather(registry, bisection))

    @api.get("/bisections/<id:bisection>/culprits/<sha>")
    def culprit(bisection: int, sha: str) -> Response:
        return _plain(culprit_view(registry, bisection, sha, request.args.get("test")))

    @api.get("/bisections/<id:bisection>/builds/<id:build>")
    def build(bisection: int, build: int) -> Response:
        return _plain(build_view(registry, bisection, build))

    @api.get("/bisections/<id:bisection>/probes/<id:probe>")
    def probe(bisection: int, probe: int) -> Response:
        return _plain(probe_view(registry, bisection, probe))

    @api.get("/compare")
    def compare() -> Response:
        return _plain(comparison(registry, request.args.getlist("build")))

    @api.get("/comparisons/<id:comparison>")
    def one_comparison(comparison: int) -> Response:
        return _plain(gather_comparison(context.comparisons, comparison))

    @api.get("/choices")
    def what_can_be_started() -> Response:
        return _plain(choices(registry.home, context.sources))

    return api


def _plain(answer: BaseModel | Plain) -> Response:
    if isinstance(answer, Plain):
        return jsonify(answer.to_json())
    return Response(answer.model_dump_json(), mimetype="application/json")


def _sent() -> object:
    """What a request has for a body; answers 400 for what is no JSON, or nested deeper than anybody means."""
    try:
        return request.get_json()
    except RecursionError:
        raise BadRequest("the document is nested too deeply") from None


def _number(name: str, default: int, least: int = 0) -> int:
    """A whole number of the query; raises UserError for anything else."""
    text = request.args.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise UserError(f"{name}: {text[:40]!r} is not a whole number from {least} on", "see /api/openapi.json")
    return int(text)


def _refused(context: Context) -> Answer | None:
    """The answer to a request that may not change anything; None for one that has the token."""
    if context.access.bearer():
        return None
    if context.access.token:
        problem = Problem(problem="a change needs the token", next_step="send Authorization: Bearer TOKEN")
    else:
        problem = Problem(
            problem="a change needs a token, and this server has none", next_step="start it with CPUBISECT_TOKEN set"
        )
    answer = _plain(problem)
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer, 401


def _change(context: Context, bisection: int, change: Callable[[int], None]) -> Answer:
    if refusal := _refused(context):
        return refusal
    registry = context.registry
    registry.store.bisection(bisection)
    try:
        change(bisection)
    except UserError as error:
        return _plain(Problem(problem=error.problem, next_step=error.hint)), 409
    row = registry.store.bisection(bisection)
    return _plain(Started(id=bisection, state=registry.state(row.id, row.state)))
