"""The pages of comparisons: one is asked for, shown live, and each of its cells leads to what it was made of."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from cpubisect.base.errors import Missing, UserError
from cpubisect.history.mirrors import is_url, mirror_path
from cpubisect.report.comparing.content import TITLES
from cpubisect.report.comparing.form import TableForm, file_name, written
from cpubisect.search.comparing.question import ALL, GROUP_WORDS, ROUNDS, numbers_of_clients
from cpubisect.search.events import Event
from cpubisect.views.comparison import gather_comparison
from cpubisect.web.context import Context
from cpubisect.web.live import stream
from cpubisect.web.security import changes_by_form
from cpubisect.web.service.catalog import choices
from cpubisect.web.service.starting import check_without_paths, settings_of
from cpubisect.web.views.side_by_side import cell_view, said

MOST_ROUNDS = 100


def blueprint(context: Context) -> Blueprint:
    """All pages of comparisons over one home directory."""
    pages = Blueprint("comparing", __name__)
    ours = changes_by_form(context.access)
    comparisons = context.comparisons

    def filled(form: Mapping[str, object], problem: UserError | None = None) -> str:
        known = choices(context.registry.home, context.sources)
        groups = (*GROUP_WORDS, ALL)
        return render_template("measure.html", choices=known, groups=groups, rounds=ROUNDS, form=form, problem=problem)

    @pages.get("/comparisons/new")
    def form() -> str:
        return filled({"tests": [], "groups": []})

    @pages.post("/comparisons/new")
    @ours
    def start() -> AnyResponse | tuple[str, int]:
        asked = {**request.form.to_dict(), "tests": request.form.getlist("tests")}
        asked["groups"] = request.form.getlist("groups")
        try:
            number = _start(context, asked)
        except UserError as problem:
            return filled(asked, problem), 422
        return redirect(url_for("comparing.show", comparison=number), 303)

    @pages.get("/comparisons/<id:comparison>")
    def show(comparison: int) -> str:
        view = gather_comparison(comparisons, comparison)
        lines = said(comparisons, comparison)
        return render_template("comparison.html", view=view, titles=TITLES, lines=lines, forms=[*TableForm])

    @pages.get("/comparisons/<id:comparison>/cell")
    def cell(comparison: int) -> str:
        view = cell_view(comparisons, comparison, request.args.get("row", ""), request.args.get("version", ""))
        source = _source(context, view.told.repository)
        settings = {**view.told.given, **({"clients": str(view.row.clients)} if view.row.clients > 1 else {})}
        lines = "\n".join(f"{name}={value}" for name, value in settings.items())
        return render_template("cell.html", view=view, source=source, settings=lines)

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


def _start(context: Context, form: Mapping[str, object]) -> int:
    """Check everything and queue the comparison; raises UserError with the next step."""
    # What builds and measures is loaded when something is started: showing needs none of it.
    from cpubisect.service.compare import Compare, begin, check
    from cpubisect.service.executors import executor_at

    text = {name: str(value) for name, value in form.items()}
    if text.get("repository") not in context.sources:
        raise UserError("there is no such repository here", f"choose {', '.join(context.sources)}")
    source = context.sources[text["repository"]]
    given = settings_of(text.get("settings", ""))
    check_without_paths(given)
    try:
        clients = numbers_of_clients(text.get("clients") or "1")
        rounds = int(text.get("rounds") or ROUNDS)
    except ValueError:
        raise UserError("clients and rounds are numbers", "write clients like 1,4") from None
    if not 2 <= rounds <= MOST_ROUNDS:
        raise UserError(f"{rounds} rounds cannot be made", f"give 2 to {MOST_ROUNDS}")
    context.clones.need(source)
    tests, groups = form["tests"], form["groups"]
    assert isinstance(tests, list)
    assert isinstance(groups, list)
    wanted = Compare(
        versions=tuple(text.get("versions", "").split()),
        tests=tuple(tests),
        groups=tuple(groups),
        clients=clients if "clients" not in given else (),
        repo=source.where,
        engine=source.engine or None,
        given=given,
        rounds=rounds,
        toolchain=text.get("toolchain") or None,
        jobs=os.cpu_count() or 1,
    )
    with executor_at(context.comparisons.home) as executor:
        asked = check(context.comparisons, wanted, _silent, executor)
        return begin(context.comparisons, asked, queued=True, executor=executor)


def _source(context: Context, repository: str) -> str:
    """What the form of a bisection calls a repository; empty for one that it does not offer."""
    home = context.registry.home
    for name, source in context.sources.items():
        place = mirror_path(home, source.where) if is_url(source.where) else Path(source.where)
        if str(place) == repository:
            return name
    return ""


def _silent(event: Event) -> None:
    """Nobody watches the checks of a form: what goes wrong is raised."""
