"""The pages: rendered here, whole without JavaScript; a page that is live fetches itself again when told to."""

from collections.abc import Callable

from flask import Blueprint, Response, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from cpubisect import queries, suspect_list
from cpubisect.errors import UserError
from cpubisect.web import pictures
from cpubisect.web.build_view import build_row, build_view, probe_view, running_log, whole_log
from cpubisect.web.catalog import choices
from cpubisect.web.comparison import comparison
from cpubisect.web.context import Context
from cpubisect.web.culprit import culprit_view
from cpubisect.web.listing import listing
from cpubisect.web.live import stream
from cpubisect.web.overview import overview, said
from cpubisect.web.security import changes_by_form, form_is_ours
from cpubisect.web.starting import from_form, start
from cpubisect.worker import is_working

SUSPECTS_SHOWN = 100
EVENTS_SHOWN = 500
"""Lines at the end of a journal; all of it is one click away."""


def blueprint(context: Context) -> Blueprint:
    """All pages over one home directory."""
    pages = Blueprint("pages", __name__)
    session = context.session
    ours = changes_by_form(context.access)

    @pages.get("/")
    def index() -> str:
        return render_template("index.html", view=listing(session, request.args.get("page", 1, type=int)))

    @pages.get("/bisections/<id:bisection>")
    def show(bisection: int) -> str:
        view = overview(session, bisection, request.args.get("test"))
        mark = (queries.newest_event(session.store, bisection), view.state)
        chart = context.gallery.show(
            (bisection, view.test),
            mark,
            lambda: pictures.along_commits(session, bisection, view.test),
            final=view.state not in ("queued", "running"),
        )
        return render_template("bisection.html", view=view, chart=chart)

    @pages.get("/bisections/<id:bisection>/culprits/<sha>")
    def culprit(bisection: int, sha: str) -> str:
        view = culprit_view(session, bisection, sha, request.args.get("test"))
        return render_template(
            "culprit.html",
            view=view,
            steps=pictures.steps(view.culprit["steps"]),
            flame=context.gallery.show(
                ("flame", bisection, sha, view.test),
                view.state,
                lambda: pictures.flame(session, bisection, view.culprit, view.test),
            ),
        )

    @pages.get("/bisections/<id:bisection>/suspects")
    def suspects(bisection: int) -> str:
        data = suspect_list.gather(session, bisection, request.args.get("inside", ""), limit=SUSPECTS_SHOWN)
        return render_template("suspects.html", view=data)

    @pages.get("/bisections/<id:bisection>/log")
    def journal(bisection: int) -> str:
        session.store.bisection(bisection)
        whole = "all" in request.args
        events = session.store.events(bisection) if whole else queries.tail(session.store, bisection, EVENTS_SHOWN)
        return render_template("journal.html", bisection=bisection, said=said(events), whole=whole)

    @pages.get("/bisections/<id:bisection>/builds/<id:build>")
    def build(bisection: int, build: int) -> str:
        return render_template("build.html", view=build_view(session, bisection, build))

    @pages.get("/bisections/<id:bisection>/builds/<id:build>/log")
    def build_log(bisection: int, build: int) -> Response:
        return Response(whole_log(build_row(session, bisection, build)), mimetype="text/plain")

    @pages.get("/bisections/<id:bisection>/building")
    def building(bisection: int) -> Response:
        return Response(running_log(session, bisection), mimetype="text/plain")

    @pages.get("/bisections/<id:bisection>/probes/<id:probe>")
    def probe(bisection: int, probe: int) -> str:
        return render_template("probe.html", view=probe_view(session, bisection, probe))

    @pages.get("/bisections/<id:bisection>/report.<form>")
    def report(bisection: int, form: str) -> Response:
        return pictures.download(session, bisection, form)

    @pages.get("/bisections/<id:bisection>/stream")
    def bisection_stream(bisection: int) -> Response:
        session.store.bisection(bisection)

        def mark() -> tuple[int, str]:
            state = session.state(bisection, queries.state(session.store, bisection))
            return queries.newest_event(session.store, bisection), f"{state} {context.gallery.version}"

        return stream(mark, context.closing)

    @pages.get("/stream")
    def index_stream() -> Response:

        def mark() -> tuple[int, str]:
            states = [(id_, session.state(id_, state)) for id_, state in queries.states(session.store)]
            return queries.newest_event(session.store), f"{states} {is_working(session.home)}"

        return stream(mark, context.closing)

    @pages.get("/charts.css")
    def charts_style() -> Response:
        return Response(pictures.dark_style(), mimetype="text/css", headers={"Cache-Control": "max-age=3600"})

    @pages.get("/compare")
    def compare() -> str:
        wanted = [name for name in request.args.getlist("build") if name]
        return render_template("compare.html", view=comparison(session, wanted))

    @pages.get("/start")
    def start_form() -> str:
        return render_template("start.html", choices=choices(session.home, context.sources), form={}, problem=None)

    @pages.post("/start")
    @ours
    def start_now() -> AnyResponse | tuple[str, int]:
        form, tests = request.form.to_dict(), request.form.getlist("tests")
        try:
            started = start(session, context.sources, context.clones, from_form(form, tests))
        except UserError as problem:
            known = choices(session.home, context.sources)
            filled = {**form, "tests": tests}
            return render_template("start.html", choices=known, form=filled, problem=problem), 422
        return redirect(url_for("pages.show", bisection=started.id), 303)

    @pages.post("/bisections/<id:bisection>/cancel")
    @ours
    def cancel(bisection: int) -> AnyResponse:
        return _done(bisection, lambda: session.cancel(bisection))

    @pages.post("/bisections/<id:bisection>/resume")
    @ours
    def resume(bisection: int) -> AnyResponse:
        return _done(bisection, lambda: session.enqueue(bisection))

    @pages.get("/sign-in")
    def sign_in_form() -> str:
        return render_template("sign_in.html", problem="")

    @pages.post("/sign-in")
    def sign_in() -> AnyResponse | tuple[str, int]:
        if not form_is_ours():
            abort(403, "this form was not given out by this page, or it is too old: load the page again")
        if not context.access.sign_in(request.form.get("token", "")):
            return render_template("sign_in.html", problem="that is not the token"), 403
        return redirect(url_for("pages.index"), 303)

    return pages


def _done(bisection: int, change: Callable[[], None]) -> AnyResponse:
    """Make a change and show the bisection; what cannot be done is said there."""
    try:
        change()
    except UserError as problem:
        flash(str(problem))
    return redirect(url_for("pages.show", bisection=bisection), 303)
