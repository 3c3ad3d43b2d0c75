"""The pages of comparisons: one is asked for, shown live, and each of its cells leads to what it was made of."""

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from cpubisect.base.errors import Missing, UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import COUNTERS
from cpubisect.history.mirrors import is_url, mirror_path
from cpubisect.report.blocks import clean
from cpubisect.report.comparing.content import TITLES, details, opening
from cpubisect.report.comparing.form import TableForm, file_name, written
from cpubisect.search.comparing.question import ALL, GROUP_WORDS, ROUNDS
from cpubisect.views.comparison import gather_comparison
from cpubisect.web.context import Context
from cpubisect.web.live import stream
from cpubisect.web.security import changes_by_form
from cpubisect.web.service.catalog import choices
from cpubisect.web.service.comparing import comparison_from_form, start_comparison
from cpubisect.web.views.cell import Onward, cell_view
from cpubisect.web.views.side_by_side import comparisons_listed, said


def blueprint(context: Context) -> Blueprint:
    """All pages of comparisons over one home directory."""
    pages = Blueprint("comparing", __name__)
    ours = changes_by_form(context.access)
    comparisons = context.comparisons

    def filled(form: Mapping[str, object], problem: UserError | None = None) -> str:
        known = choices(context.registry.home, context.sources)
        offered = {"groups": (*GROUP_WORDS, ALL), "rounds": ROUNDS, "counters": COUNTERS}
        return render_template("measure.html", choices=known, **offered, form=form, problem=problem)

    @pages.get("/comparisons")
    def listed() -> str:
        return render_template(
            "comparisons.html", view=comparisons_listed(comparisons, request.args.get("page", 1, type=int))
        )

    @pages.get("/comparisons/new")
    def form() -> str:
        return filled({"tests": [], "groups": []})

    @pages.post("/comparisons/new")
    @ours
    def start() -> AnyResponse | tuple[str, int]:
        form, tests, groups = request.form.to_dict(), request.form.getlist("tests"), request.form.getlist("groups")
        try:
            wanted = comparison_from_form(form, tests, groups)
            started = start_comparison(comparisons, context.sources, context.clones, wanted)
        except UserError as problem:
            return filled({**form, "tests": tests, "groups": groups}, problem), 422
        return redirect(url_for("comparing.show", comparison=started.id), 303)

    @pages.get("/comparisons/<id:comparison>")
    def show(comparison: int) -> str:
        view = gather_comparison(comparisons, comparison)
        told = clean(view)
        return render_template(
            "comparison.html",
            view=view,
            columns=[urlencode({"version": version.name}) for version in view.versions],
            opening=opening(told),
            details=details(told),
            titles=TITLES,
            lines=said(comparisons, comparison),
            forms=[*TableForm],
        )

    @pages.get("/comparisons/<id:comparison>/cell")
    def cell(comparison: int) -> str:
        view = cell_view(comparisons, comparison, request.args.get("row", ""), request.args.get("version", ""))
        onward = _filling(view.onward, _source(context, view.repository)) if view.onward else None
        return render_template("cell.html", view=view, onward=onward)

    @pages.get("/comparisons/<id:comparison>/table.<form>")
    def table(comparison: int, form: str) -> Response:
        try:
            wanted = TableForm(form)
        except ValueError:
            raise Missing(f"there is no form {form[:40]!r}", f"there are {', '.join(TableForm)}") from None
        told = gather_comparison(comparisons, comparison)
        answer = Response(written(told, wanted), content_type=wanted.media_type)
        answer.headers["Content-Disposition"] = f'attachment; filename="{file_name(told, wanted)}"'
        answer.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        return answer

    @pages.get("/comparisons/<id:comparison>/stream")
    def comparison_stream(comparison: int) -> Response:
        comparisons.row(comparison)

        def mark() -> tuple[int, str]:
            row = comparisons.row(comparison)
            return comparisons.newest_event(comparison), comparisons.state(row.id, row.state)

        return stream(mark, context.closing)

    @pages.post("/comparisons/<id:comparison>/cancel")
    @ours
    def cancel(comparison: int) -> AnyResponse:
        return _done(comparison, comparisons.cancel)

    @pages.post("/comparisons/<id:comparison>/resume")
    @ours
    def resume(comparison: int) -> AnyResponse:
        return _done(comparison, comparisons.enqueue)

    return pages


def _done(comparison: int, change: Callable[[int], None]) -> AnyResponse:
    """Make a change and show the comparison; what cannot be done is said there."""
    try:
        change(comparison)
    except UserError as problem:
        flash(str(problem))
    return redirect(url_for("comparing.show", comparison=comparison), 303)


def _source(context: Context, repository: str) -> str:
    """What the form of a bisection calls a repository; empty for one that it does not offer."""
    home = context.registry.home
    for name, source in context.sources.items():
        place = mirror_path(home, source.where) if is_url(source.where) else Path(source.where)
        if str(place) == repository:
            return name
    return ""


def _filling(asked: Onward, source: str) -> dict[str, str | None]:
    """What fills in the form of a bisection; None is what the form has by itself."""
    return {
        "repository": source,
        "good": asked.good,
        "bad": asked.bad,
        "tests": asked.test,
        "find": asked.find,
        "settings": "\n".join(f"{name}={value}" for name, value in asked.settings.items()),
        "flags": None if asked.flags is Flags.PINNED else asked.flags,
        "toolchain": asked.toolchain,
        "counter": asked.counter,
    }
