"""The JSON API: the twin of every page, and what starts, cancels and resumes."""

from collections.abc import Callable

from flask import Blueprint, Response, jsonify, request, url_for
from pydantic import BaseModel

from cpubisect import report, suspect_list
from cpubisect.errors import UserError
from cpubisect.web import openapi, pictures
from cpubisect.web.build_view import build_view, probe_view
from cpubisect.web.catalog import choices
from cpubisect.web.comparison import comparison
from cpubisect.web.context import Context
from cpubisect.web.culprit import culprit_view
from cpubisect.web.listing import listing
from cpubisect.web.models import Candidate, Candidates, Journal, Problem, Started, Suspects
from cpubisect.web.overview import overview, said
from cpubisect.web.starting import checked, start

MOST_CANDIDATES = 1000
SUSPECTS = 100
"""Suspects in an answer that does not ask for more."""

Answer = Response | tuple[Response, int]


def blueprint(context: Context) -> Blueprint:
    """The API over one home directory."""
    api = Blueprint("api", __name__, url_prefix="/api")
    session = context.session

    @api.get("/openapi.json")
    def document() -> Response:
        return jsonify(openapi.document())

    @api.get("/bisections")
    def bisections() -> Response:
        return _plain(listing(session, _number("page", 1, least=1)))

    @api.post("/bisections")
    def begin() -> Answer:
        if refusal := _refused(context):
            return refusal
        started = start(session, context.sources, context.clones, checked(request.get_json()))
        answer = _plain(started)
        answer.headers["Location"] = url_for("api.bisection", bisection=started.id)
        return answer, 201

    @api.get("/bisections/<id:bisection>")
    def bisection(bisection: int) -> Response:
        return _plain(overview(session, bisection, request.args.get("test")))

    @api.post("/bisections/<id:bisection>/cancel")
    def cancel(bisection: int) -> Answer:
        return _change(context, bisection, session.cancel)

    @api.post("/bisections/<id:bisection>/resume")
    def resume(bisection: int) -> Answer:
        return _change(context, bisection, session.enqueue)

    @api.get("/bisections/<id:bisection>/candidates")
    def candidates(bisection: int) -> Response:
        session.store.bisection(bisection)
        offset = _number("offset", 0)
        rows = session.store.candidates(bisection)
        limit = min(MOST_CANDIDATES, _number("limit", MOST_CANDIDATES, least=1))
        shown = [
            Candidate(path=path, position=n, sha=sha, same_binary_as=same, subject=subject)
            for path, n, sha, same, subject in rows[offset : offset + limit]
        ]
        return _plain(Candidates(id=bisection, total=len(rows), offset=offset, candidates=shown))

    @api.get("/bisections/<id:bisection>/chart")
    def chart(bisection: int) -> Response:
        return jsonify(pictures.along_commits_spec(session, bisection, request.args.get("test")))

    @api.get("/bisections/<id:bisection>/events")
    def events(bisection: int) -> Response:
        session.store.bisection(bisection)
        found = session.store.events(bisection, after=_number("after", 0))
        return _plain(Journal(id=bisection, said=said(found)))

    @api.get("/bisections/<id:bisection>/suspects")
    def suspects(bisection: int) -> Response:
        limit = min(MOST_CANDIDATES, _number("limit", SUSPECTS, least=1))
        data = suspect_list.gather(session, bisection, request.args.get("inside", ""), limit=limit)
        return _plain(Suspects.model_validate(data))

    @api.get("/bisections/<id:bisection>/report")
    def whole(bisection: int) -> Response:
        return jsonify(report.gather(session, bisection))

    @api.get("/bisections/<id:bisection>/culprits/<sha>")
    def culprit(bisection: int, sha: str) -> Response:
        return _plain(culprit_view(session, bisection, sha, request.args.get("test")))

    @api.get("/bisections/<id:bisection>/builds/<id:build>")
    def build(bisection: int, build: int) -> Response:
        return _plain(build_view(session, bisection, build))

    @api.get("/bisections/<id:bisection>/probes/<id:probe>")
    def probe(bisection: int, probe: int) -> Response:
        return _plain(probe_view(session, bisection, probe))

    @api.get("/compare")
    def compare() -> Response:
        return _plain(comparison(session, request.args.getlist("build")))

    @api.get("/choices")
    def what_can_be_started() -> Response:
        return _plain(choices(session.home, context.sources))

    return api


def _plain(model: BaseModel) -> Response:
    return Response(model.model_dump_json(), mimetype="application/json")


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
    session = context.session
    session.store.bisection(bisection)
    try:
        change(bisection)
    except UserError as error:
        return _plain(Problem(problem=error.problem, next_step=error.hint)), 409
    row = session.store.bisection(bisection)
    return _plain(Started(id=bisection, state=session.state(row.id, row.state)))
