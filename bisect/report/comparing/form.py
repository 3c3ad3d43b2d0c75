"""The forms in which a comparison leaves this program."""

import csv
import io
import json
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpubisect.views.comparison import SideBySide


class TableForm(StrEnum):
    """What a comparison can be; `csv` has a line for each version, test and metric, `png` and `svg` are a heat map."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"
    JSON = "json"
    SVG = "svg"
    PNG = "png"

    @property
    def binary(self) -> bool:
        """Whether a terminal cannot show it."""
        return self is TableForm.PNG

    @property
    def media_type(self) -> str:
        """What its bytes are, for a browser."""
        return MEDIA_TYPES[self]


MEDIA_TYPES = {
    TableForm.TEXT: "text/plain; charset=utf-8",
    TableForm.MARKDOWN: "text/markdown; charset=utf-8",
    TableForm.HTML: "text/html; charset=utf-8",
    TableForm.CSV: "text/csv; charset=utf-8",
    TableForm.JSON: "application/json",
    TableForm.SVG: "image/svg+xml",
    TableForm.PNG: "image/png",
}

ENDINGS = {TableForm.TEXT: "txt", TableForm.MARKDOWN: "md"}

CSV_COLUMNS = (
    "metric",
    "group",
    "test",
    "version",
    "commit",
    "value",
    "relative",
    "low",
    "high",
    "samples",
    "colour",
)

COLOURS = {"worse": "yellow", "better": "blue", "": ""}


def written(told: "SideBySide", form: TableForm, *, coloured: bool = False) -> bytes:
    """A comparison in one form; `coloured` text is for a terminal."""
    # The forms are known to every command; what makes them is loaded by those that print one.
    from cpubisect.report.comparing.content import content_of
    from cpubisect.report.markdown import as_markdown
    from cpubisect.report.text import as_text

    match form:
        case TableForm.SVG | TableForm.PNG:
            from cpubisect.report.comparing.picture import picture_of

            return picture_of(told, png=form is TableForm.PNG)
        case TableForm.HTML:
            from cpubisect.report.comparing.page import as_html

            return as_html(told).encode(errors="replace")
        case TableForm.JSON:
            return (json.dumps(told.to_json(), indent=2) + "\n").encode()
        case TableForm.CSV:
            return as_csv(told).encode(errors="replace")
        case TableForm.MARKDOWN:
            return as_markdown(content_of(told)).encode(errors="replace")
        case TableForm.TEXT:
            return as_text(content_of(told), coloured=coloured).encode(errors="replace")


def file_name(told: "SideBySide", form: TableForm) -> str:
    """What a comparison's file is called where its name is left to us."""
    return f"cpubisect-comparison-{told.id}.{ENDINGS.get(form, form.value)}"


def as_csv(told: "SideBySide") -> str:
    """A line for each version, test and metric, with full precision; empty is what is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in told.tables:
        for group in table.groups:
            for line in group.lines:
                for version, cell in zip(told.versions, line.cells, strict=True):
                    figures = (cell.value, cell.relative, cell.low, cell.high)
                    shown = ("" if figure is None else repr(figure) for figure in figures)
                    place = (table.metric, group.name, line.label, version.name, version.sha)
                    writer.writerow((*place, *shown, cell.samples, COLOURS[cell.tone.value]))
    return text.getvalue()
