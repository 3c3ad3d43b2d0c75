"""The web application over one home directory: pages, API, and what guards both."""

from pathlib import Path

from flask import Flask, Response, render_template, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import IntegerConverter, Map

from cpubisect.base.errors import Missing, UserError
from cpubisect.records.care.health import problems
from cpubisect.records.store import LARGEST_ID
from cpubisect.web import api, api_comparing, comparing, formats, pages, security
from cpubisect.web.context import Context
from cpubisect.web.draw import charts
from cpubisect.web.models import Problem

MOST_BYTES = 256 * 1024
"""No form or request is larger."""


class Id(IntegerConverter):
    """A number of the store in an address; larger ones than it can hold lead nowhere."""

    def __init__(self, url_map: Map) -> None:
        super().__init__(url_map, min=1, max=LARGEST_ID)


def create_app(context: Context) -> Flask:
    """The application; what it may do is in `context.access`."""
    root = context.registry.home.root
    # Flask would look for both itself, which fails for a package without __init__.py.
    app = Flask("cpubisect.web", root_path=str(Path(__file__).parent), instance_path=str(root))
    app.config.update(
        MAX_CONTENT_LENGTH=MOST_BYTES,
        SECRET_KEY=security.secret_key(root / "web-key"),
        SESSION_COOKIE_NAME="cpubisect",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
    )
    app.url_map.converters["id"] = Id
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters.update(formats.FILTERS)
    security.guard(app, context.access)
    app.register_blueprint(pages.blueprint(context))
    app.register_blueprint(comparing.blueprint(context))
    app.register_blueprint(charts.blueprint(context))
    app.register_blueprint(api.blueprint(context))
    app.register_blueprint(api_comparing.blueprint(context))
    app.context_processor(
        lambda: {
            "csrf": security.csrf,
            "may_change": context.access.form_allowed,
            "can_sign_in": not context.access.loopback,
        }
    )

    @app.errorhandler(UserError)
    def user_error(error: UserError) -> tuple[Response | str, int]:
        return _problem(error.problem, error.hint, 404 if isinstance(error, Missing) else 422)

    @app.errorhandler(Exception)
    def other_error(error: Exception) -> tuple[Response | str, int]:
        # Rows that hold other data than we wrote may fail anywhere.
        if not (found := problems(context.registry.home.store)):
            raise error
        return _problem(f"the store is damaged ({found[0]})", "`bisect store repair` saves what can be read", 503)

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> tuple[Response | str, int, dict[str, str]]:
        answer, code = _problem(error.description or error.name, "", error.code or 500)
        allowed = error.valid_methods if isinstance(error, MethodNotAllowed) else None
        return answer, code, {"Allow": ", ".join(allowed)} if allowed else {}

    return app


def _problem(problem: str, hint: str, code: int) -> tuple[Response | str, int]:
    """What went wrong, as the asker reads it: JSON from the API, a page otherwise."""
    if request.path.startswith("/api/"):
        return Response(Problem(problem=problem, next_step=hint).model_dump_json(), mimetype="application/json"), code
    return render_template("problem.html", problem=problem, hint=hint, code=code), code
