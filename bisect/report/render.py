"""A bisection in every form in which it leaves this program."""

import io

from cpubisect.records.registry import Registry
from cpubisect.report.form import ENDINGS, Form, written
from cpubisect.report.words import name_of
from cpubisect.views.gather import gather


def render(registry: Registry, bisection: int, form: Form) -> bytes:
    """The report in one form, finished or not; raises UserError for an unknown id."""
    if form is not Form.BUNDLE:
        return written(registry, gather(registry, bisection), form)
    # What draws takes a second to import; whoever asks for text does not wait for it.
    from cpubisect.report.bundle import write

    file = io.BytesIO()
    write(registry, bisection, file)
    return file.getvalue()


def file_name(registry: Registry, bisection: int, form: Form) -> str:
    """What a report's file is called where its name is left to us; raises UserError for an unknown id."""
    row = registry.store.bisection(bisection)
    return f"{name_of(row.id, row.verdict)}.{ENDINGS.get(form, form.value)}"
