"""The JSON API of comparisons: the twin of each of their pages, and what starts, cancels and resumes one."""

from flask import Blueprint, Response, request, url_for

from cpubisect.views.comparison import gather_comparison
from cpubisect.web.answering import Answer, begun, changed, number, plain, refused, sent
from cpubisect.web.context import Context
from cpubisect.web.models import ComparisonRequest
from cpubisect.web.service.comparing import start_comparison
from cpubisect.web.service.starting import checked
from cpubisect.web.views.cell import cell_view
from cpubisect.web.views.side_by_side import comparisons_listed


def blueprint(context: Context) -> Blueprint:
    """The API of comparisons over one home directory."""
    api = Blueprint("api_comparing", __name__, url_prefix="/api/comparisons")
    comparisons = context.comparisons

    @api.get("")
    def listed() -> Response:
        return plain(comparisons_listed(comparisons, number("page", 1, least=1)))

    @api.post("")
    def begin() -> Answer:
        if refusal := refused(context.access):
            return refusal
        wanted = checked(sent(), ComparisonRequest)
        started = start_comparison(comparisons, context.sources, context.clones, wanted)
        return begun(started, url_for("api_comparing.one", comparison=started.id))

    @api.get("/<id:comparison>")
    def one(comparison: int) -> Response:
        return plain(gather_comparison(comparisons, comparison))

    @api.get("/<id:comparison>/cell")
    def cell(comparison: int) -> Response:
        return plain(cell_view(comparisons, comparison, request.args.get("row", ""), request.args.get("version", "")))

    @api.post("/<id:comparison>/cancel")
    def cancel(comparison: int) -> Answer:
        return changed(context.access, comparisons, comparison, comparisons.cancel)

    @api.post("/<id:comparison>/resume")
    def resume(comparison: int) -> Answer:
        return changed(context.access, comparisons, comparison, comparisons.enqueue)

    return api
