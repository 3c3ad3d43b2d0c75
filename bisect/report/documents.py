"""What a bisection has for a bug report: files, as bytes with their names, and a text as long as it may be."""

from collections.abc import Callable
from dataclasses import dataclass

from cpubisect.records.registry import Registry
from cpubisect.report import render as report
from cpubisect.report.blocks import Content
from cpubisect.report.content import content_of
from cpubisect.report.form import Form
from cpubisect.report.markdown import as_markdown
from cpubisect.report.shortened import shortened
from cpubisect.report.text import as_text
from cpubisect.views.gather import gather

FORMS = {
    "report.txt": Form.TEXT,
    "report.md": Form.MARKDOWN,
    "report.html": Form.HTML,
    "report.json": Form.JSON,
    "chart.png": Form.PNG,
    "bundle.tar.gz": Form.BUNDLE,
}
"""The files by name, in the order in which a reader would open them."""


@dataclass(frozen=True)
class Document:
    """A file of a report: its plain `name` without folders, its media type, its bytes."""

    name: str
    content_type: str
    content: bytes


def documents(registry: Registry, bisection: int) -> list[Document]:
    """All files of a bisection's report; raises UserError for an unknown id."""
    return [Document(name, form.media_type, report.render(registry, bisection, form)) for name, form in FORMS.items()]


@dataclass(frozen=True)
class Report:
    """All its files, whole, and its content, of which a tracker gets as much as it takes.

    `comment` makes of the rendered report what is posted, with all that the tracker needs around it and inside of it.
    What it makes has at most the `size` of `shortened` that `limit` says, if that is `LEAST` more than it adds.
    """

    documents: tuple[Document, ...]
    content: Content

    def text(self, limit: int, comment: Callable[[str], str] = str) -> str:
        """A comment with the report as plain text; what is left out is told in it."""
        return shortened(self.content, limit, lambda content: comment(as_text(content)))

    def markdown(self, limit: int, comment: Callable[[str], str] = str) -> str:
        """A comment with the report as GitHub's Markdown; what is left out is told in it."""
        return shortened(self.content, limit, lambda content: comment(as_markdown(content)))


def report_of(registry: Registry, bisection: int) -> Report:
    """The report of a bisection; raises UserError for an unknown id."""
    return Report(tuple(documents(registry, bisection)), content_of(gather(registry, bisection)))
