"""Files for trackers that are reached by hand only: written into a folder, never over somebody else's."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cpubisect.documents import Document
from cpubisect.errors import UserError
from cpubisect.tracker import Post

MYSQL_BUG = "https://bugs.mysql.com/bug.php?id={number}"


@dataclass(frozen=True)
class Folder:
    """A tracker that nothing is posted to: the files are written into `path`, and `advice` says where they belong."""

    path: Path
    advice: str = ""

    @property
    def target(self) -> str:
        """The folder's own place."""
        return str(self.path)

    def compose(self, documents: Sequence[Document], marker: str) -> Post:
        """Only files."""
        return Post(where=str(self.path), written=tuple(documents), folder=self.path, advice=self.advice)

    def find(self, marker: str) -> list[str]:
        """Nothing: there are no comments."""
        return []

    def send(self, post: Post) -> str:
        """Nothing is sent, and there is no address."""
        return ""


def mysql_bug(number: int, folder: Path) -> Folder:
    """The files for a bug of bugs.mysql.com, which has no API."""
    page = MYSQL_BUG.format(number=number)
    return Folder(
        folder, f"at {page} paste {folder / 'report.txt'} as a comment, and upload the other files on its tab Files"
    )


def write(folder: Path, documents: Sequence[Document], *, ours: bool) -> None:
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
