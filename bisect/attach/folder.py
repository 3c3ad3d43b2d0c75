"""Files for trackers that are reached by hand only: written into a folder, never over somebody else's."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpubisect.attach.ticket import Post
from cpubisect.base.errors import UserError

if TYPE_CHECKING:
    from cpubisect.report.documents import Document, Report

TO = click.Option(
    ["--to"],
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help="Where to write files [default: bisection-ID]; alone: post nothing.",
)
"""Where files go for any tracker that takes none; alone it is a target too."""


@dataclass(frozen=True)
class Folder:
    """A ticket that nothing is posted to: the files are written into `path`, and `advice` says where they belong."""

    path: Path
    advice: str = ""

    @property
    def target(self) -> str:
        """The folder's own place."""
        return str(self.path)

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.path)

    def compose(self, report: "Report", marker: str) -> Post:
        """Only files."""
        return Post(where=self.where, written=report.documents, folder=self.path, advice=self.advice)

    def find(self, marker: str) -> list[str]:
        """Nothing: there are no comments."""
        return []

    def send(self, post: Post) -> str:
        """Nothing is sent, and there is no address."""
        return ""


def write(folder: Path, documents: "Sequence[Document]", *, ours: bool) -> None:
    """Write the files, each whole or not at all; what is there already with the same bytes is left alone.

    Raises UserError if a file of that name with other content is there, unless the folder is `ours`, or if it cannot
    be written; in the first case nothing was written.
    """
    try:
        missing = [document for document in documents if not _is_there(folder / document.name, document.content)]
        for document in missing:
            if not ours and os.path.lexists(folder / document.name):
                raise UserError(
                    f"{folder / document.name} is there already and is not this report", "give another folder with --to"
                )
        folder.mkdir(parents=True, exist_ok=True)
        for document in missing:
            partial = folder / f".{document.name}.{os.getpid()}"
            partial.write_bytes(document.content)
            partial.replace(folder / document.name)
    except OSError as error:
        raise UserError(
            f"cannot write to {folder} ({error.strerror})", "free space there, or give another folder with --to"
        ) from error


def _is_there(path: Path, content: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content
