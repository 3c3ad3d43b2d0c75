"""The pages: rendered here, whole without JavaScript; a page that is live fetches itself again when told to."""

from collections.abc import Callable

from flask import Blueprint, Response, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import COUNTERS
from cpubisect.records import queries
from cpubisect.search.question import MetricChoice
from cpubisect.views.calls import has_frames
from cpubisect.views.suspects import ranking
from cpubisect.web.context import Context
from cpubisect.web.download import download
from cpubisect.web.draw.charts import asked_test
from cpubisect.web.live import mark_of, stream
from cpubisect.web.security import changes_by_form, form_is_ours
from cpubisect.web.service.catalog import choices
from cpubisect.web.service.starting import from_form, start
from cpubisect.web.views.build import build_row, build_view, probe_view, running_log, whole_log
from cpubisect.web.views.comparison import comparison
from cpubisect.web.views.culprit import culprit_view
from cpubisect.web.views.listing import listing
from cpubisect.web.views.overview import overview, said
from cpubisect.web.views.side_by_side import comparisons_listed

OFFERED = {"metrics": [*MetricChoice], "counters": COUNTERS}
"""What a form offers beside what the host has."""

SUSPECTS_SHOWN = 100
EVENTS_SHOWN = 500
"""Lines at the end of a journal; all of it is one click away."""


def blueprint(context: Context) -> Blueprint:
    """All pages over one home directory."""
    pages = Blueprint("pages", __name__)
    registry = context.registry
    ours = changes_by_form(context.access)

    @pages.get("/")
    def index() -> str:
        return render_template("index.html", view=listing(registry, request.args.get("page", 1, type=int)))

    @pages.get("/bisections/<id:bisection>")
    def show(bisection: int) -> str:
        test = asked_test(registry, bisection)
        # Read before what it marks: a chart may be newer than its mark, never older.
        mark = mark_of(registry, bisection)
        return render_template("bisection.html", view=overview(registry, bisection, test), asked=test, mark=mark)

    @pages.get("/bisections/<id:bisection>/culprits/<sha>")
    def culprit(bisection: int, sha: str) -> str:
        view = culprit_view(registry, bisection, sha, request.args.get("test"))
        mark = mark_of(registry, bisection)
        flame = has_frames(registry.store, bisection, view.culprit, view.test)
        return render_template("culprit.html", view=view, mark=mark, flame=flame)

    @pages.get("/bisections/<id:bisection>/suspects")
    def suspects(bisection: int) -> str:
        view = ranking(registry, bisection, request.args.get("inside", ""), limit=SUSPECTS_SHOWN)
        return render_template("suspects.html", view=view)

    @pages.get("/bisections/<id:bisection>/log")
    def journal(bisection: int) -> str:
        registry.store.bisection(bisection)
        whole = "all" in request.args
        events = registry.store.events(bisection) if whole else registry.store.last_events(bisection, EVENTS_SHOWN)
        return render_template("journal.html", bisection=bisection, said=said(events), whole=whole)

    @pages.get("/bisections/<id:bisection>/builds/<id:build>")
    def build(bisection: int, build: int) -> str:
        return render_template("build.html", view=build_view(registry, bisection, build))

    @pages.get("/bisections/<id:bisection>/builds/<id:build>/log")
    def build_log(bisection: int, build: int) -> Response:
        return Response(whole_log(build_row(registry, bisection, build)), mimetype="text/plain")

    @pages.get("/bisections/<id:bisection>/building")
    def building(bisection: int) -> Response:
        return Response(running_log(registry, bisection), mimetype="text/plain")

    @pages.get("/bisections/<id:bisection>/probes/<id:probe>")
    def probe(bisection: int, probe: int) -> str:
        return render_template("probe.html", view=probe_view(registry, bisection, probe))

    @pages.get("/bisections/<id:bisection>/report.<form>")
    def report(bisection: int, form: str) -> Response:
        return download(registry, bisection, form)

    @pages.get("/bisections/<id:bisection>/stream")
    def bisection_stream(bisection: int) -> Response:
        registry.store.bisection(bisection)
        return stream(lambda: mark_of(registry, bisection), context.closing)

    @pages.get("/stream")
    def index_stream() -> Response:

        def mark() -> tuple[int, str]:
            states = [(id_, registry.state(id_, state)) for id_, state in queries.states(registry.store)]
            return queries.newest_event(registry.store), f"{states} {registry.is_working()}"

        return stream(mark, context.closing)

    @pages.get("/compare")
    def compare() -> str:
        # The form has an empty field for one more.
        wanted = list(dict.fromkeys(name for name in request.args.getlist("build") if name))
        recorded = comparisons_listed(context.comparisons).comparisons
        return render_template("compare.html", view=comparison(registry, wanted), recorded=recorded)

    @pages.get("/start")
    def start_form() -> str:
        # A link from elsewhere may fill the form in; it starts nothing.
        filled = {**request.args.to_dict(), "tests": request.args.getlist("tests")}
        return render_template(
            "start.html", choices=choices(registry.home, context.sources), form=filled, **OFFERED, problem=None
        )

    @pages.post("/start")
    @ours
    def start_now() -> AnyResponse | tuple[str, int]:
        form, tests = request.form.to_dict(), request.form.getlist("tests")
        try:
            started = start(registry, context.sources, context.clones, from_form(form, tests))
        except UserError as problem:
            known = choices(registry.home, context.sources)
            filled = {**form, "tests": tests}
            return render_template("start.html", choices=known, form=filled, **OFFERED, problem=problem), 422
        return redirect(url_for("pages.show", bisection=started.id), 303)

    @pages.post("/bisections/<id:bisection>/cancel")
    @ours
    def cancel(bisection: int) -> AnyResponse:
        return _done(bisection, lambda: registry.cancel(bisection))

    @pages.post("/bisections/<id:bisection>/resume")
    @ours
    def resume(bisection: int) -> AnyResponse:
        return _done(bisection, lambda: registry.enqueue(bisection))

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
