"""What is told to a tracker, and what every tracker can do."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cpubisect.documents import Document
from cpubisect.store import BisectionRow


@dataclass(frozen=True)
class Post:
    """All that attaching does, before it is done.

    `text` is posted to `where` exactly as it is, "" if nothing is; `uploads` go to the tracker with it, `written` into
    `folder` on this host, and `advice` says what is left to do by hand, "" if nothing.
    """

    where: str
    text: str = ""
    uploads: tuple[Document, ...] = ()
    written: tuple[Document, ...] = ()
    folder: Path | None = None
    advice: str = ""


class Tracker(Protocol):
    """One ticket of one tracker; all methods raise UserError with the next step."""

    @property
    def target(self) -> str:
        """What the ticket is known by, the same however it was written by the user."""

    def compose(self, documents: Sequence[Document], marker: str) -> Post:
        """What would be posted, with the marker in its text; nothing is sent or written."""

    def find(self, marker: str) -> list[str]:
        """The addresses of the ticket's comments that hold the marker; empty where nothing is ever posted."""

    def send(self, post: Post) -> str:
        """Post the text and the uploads, and return the comment's address; raises Doubtful if it may or may not be
        there. Uploads that are there already are not made again."""


def marker_of(row: BisectionRow, target: str) -> str:
    """What a text about this bisection's verdict in that ticket can be recognised by, for whoever has this store.

    It names a bisection by its question, host, time and answer, so that it is the same in a copy of the store.
    """
    known = [row.id, row.created, row.engine, row.question, row.host, row.verdict, target]
    return "cpubisect:" + hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:32]


def named(documents: Sequence[Document], name: str) -> str:
    """The content of one of the documents as text."""
    return next(document.content.decode() for document in documents if document.name == name)
