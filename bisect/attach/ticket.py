"""What is told to a ticket, and what every ticket can do, whichever tracker it is in."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cpubisect.report.documents import Document, Report


class Doubtful(Exception):
    """A request that changes something may or may not have been carried out; says what was seen of it."""


@dataclass(frozen=True)
class Post:
    """All that attaching does, before it is done.

    `text` is posted to `where` exactly as it is, "" if nothing is; `uploads` go to the tracker with it, `written` into
    `folder` on this host, and `advice` says what is left to do by hand, "" if nothing.
    """

    where: str
    text: str = ""
    uploads: "tuple[Document, ...]" = ()
    written: "tuple[Document, ...]" = ()
    folder: Path | None = None
    advice: str = ""


class Ticket(Protocol):
    """One ticket in a tracker, or a folder in its place; all methods raise UserError with the next step."""

    @property
    def target(self) -> str:
        """What the ticket is known by, the same however it was written by the user."""

    @property
    def where(self) -> str:
        """What a person is told of where the report goes. The journal keeps it, so that every version of this program
        calls a ticket the same, but for capital letters."""

    def compose(self, report: "Report", marker: str) -> Post:
        """What would be posted, as much of the report as the ticket takes, with the marker in its text; nothing is
        sent or written."""

    def find(self, marker: str) -> list[str]:
        """The addresses of the ticket's comments that hold the marker; empty where nothing is ever posted."""

    def send(self, post: Post) -> str:
        """Post the text and the uploads, and return the comment's address; raises Doubtful if it may or may not be
        there. Uploads that are there already are not made again."""
