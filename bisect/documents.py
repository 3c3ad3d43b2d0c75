"""The files that a bisection has for a bug report, as bytes with their names."""

from dataclasses import dataclass

from cpubisect import report
from cpubisect.report import Form
from cpubisect.session import Session

TEXT = "report.txt"
MARKDOWN = "report.md"
FORMS = {
    TEXT: Form.TEXT,
    MARKDOWN: Form.MARKDOWN,
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


def documents(session: Session, bisection: int) -> list[Document]:
    """All files of a bisection's report; TEXT and MARKDOWN are always among them.

    Raises UserError for an unknown id.
    """
    return [Document(name, form.media_type, report.render(session, bisection, form)) for name, form in FORMS.items()]
