"""The files that a bisection has for a bug report, as bytes with their names."""

import json
from dataclasses import dataclass

from cpubisect import report
from cpubisect.session import Session

TEXT = "report.txt"
MARKDOWN = "report.md"
JSON = "report.json"


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
    data = report.gather(session, bisection)
    contents = (
        (TEXT, "text/plain; charset=utf-8", report.as_text(data)),
        (MARKDOWN, "text/markdown; charset=utf-8", report.as_markdown(data)),
        (JSON, "application/json", json.dumps(data, indent=2) + "\n"),
    )
    return [Document(name, kind, text.encode("utf-8", "backslashreplace")) for name, kind, text in contents]
