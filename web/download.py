"""Reports to download."""

from flask import Response

from cpubisect.base.errors import Missing
from cpubisect.records.registry import Registry
from cpubisect.report import render as report
from cpubisect.report.form import Form


def download(registry: Registry, bisection: int, name: str) -> Response:
    """A report as a file; raises Missing for a form that there is not."""
    try:
        form = Form(name)
    except ValueError:
        raise Missing(f"there is no report in the form {name[:40]!r}", f"there are {', '.join(Form)}") from None
    answer = Response(report.render(registry, bisection, form), content_type=form.media_type)
    file_name = report.file_name(registry, bisection, form)
    answer.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
    # A report in one file brings its own styles, and runs nothing, wherever it is opened.
    answer.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return answer
