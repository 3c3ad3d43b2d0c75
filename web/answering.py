"""How the API answers: data as JSON, and what refuses a request that may not be."""

from collections.abc import Callable

from flask import Response, jsonify, request
from pydantic import BaseModel
from werkzeug.exceptions import BadRequest

from cpubisect.base.errors import UserError
from cpubisect.base.plain import Plain
from cpubisect.records.lifecycle import Lifecycle
from cpubisect.web.models import Problem, Started
from cpubisect.web.security import Access

Answer = Response | tuple[Response, int]


def plain(answer: BaseModel | Plain) -> Response:
    """The answer as JSON."""
    if isinstance(answer, Plain):
        return jsonify(answer.to_json())
    return Response(answer.model_dump_json(), mimetype="application/json")


def begun(started: Started, address: str) -> Answer:
    """What was queued, with the address that shows it."""
    answer = plain(started)
    answer.headers["Location"] = address
    return answer, 201


def sent() -> object:
    """What a request has for a body; answers 400 for what is no JSON, or nested deeper than anybody means."""
    try:
        return request.get_json()
    except RecursionError:
        raise BadRequest("the document is nested too deeply") from None


def number(name: str, default: int, least: int = 0) -> int:
    """A whole number of the query; raises UserError for anything else."""
    text = request.args.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise UserError(f"{name}: {text[:40]!r} is not a whole number from {least} on", "see /api/openapi.json")
    return int(text)


def refused(access: Access) -> Answer | None:
    """The answer to a request that may not change anything; None for one that has the token."""
    if access.bearer():
        return None
    if access.token:
        problem = Problem(problem="a change needs the token", next_step="send Authorization: Bearer TOKEN")
    else:
        problem = Problem(
            problem="a change needs a token, and this server has none", next_step="start it with CPUBISECT_TOKEN set"
        )
    answer = plain(problem)
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer, 401


def changed(access: Access, known: Lifecycle, id_: int, change: Callable[[int], None]) -> Answer:
    """Make a change to one of all that are `known`, and answer with its state."""
    if refusal := refused(access):
        return refusal
    known.row(id_)
    try:
        change(id_)
    except UserError as error:
        return plain(Problem(problem=error.problem, next_step=error.hint)), 409
    row = known.row(id_)
    return plain(Started(id=id_, state=known.state(row.id, row.state)))
