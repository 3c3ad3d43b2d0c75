"""A first page: the list of bisections with their answers. It is not live and starts nothing; the pages of one
bisection, its chart and the API are still to be built, and the page says so."""

from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask, render_template

if TYPE_CHECKING:
    from cpubisect.session import Session


def create_app(session: "Session") -> Flask:
    """The application over one home directory."""
    app = Flask("cpubisect.web", template_folder="templates", root_path=str(Path(__file__).parent))

    @app.get("/")
    def index() -> str:
        rows = [(row, session.state(row)) for row in session.store.bisections()]
        return render_template("index.html", rows=rows)

    return app
