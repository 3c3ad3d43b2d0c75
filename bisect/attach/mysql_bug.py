"""Files for a bug of bugs.mysql.com, which has no API: they are written into a folder, with what to do with them."""

import click

from cpubisect.attach.folder import Folder
from cpubisect.attach.tracker import Asked, Tracker

PAGE = "https://bugs.mysql.com/bug.php?id={number}"


def ticket(asked: Asked) -> Folder:
    """The folder for the files of a bug."""
    page, folder = PAGE.format(number=asked.options["mysql_bug"]), asked.folder
    return Folder(
        folder, f"at {page} paste {folder / 'report.txt'} as a comment, and upload the other files on its tab Files"
    )


TRACKER = Tracker(
    options=(
        click.Option(
            ["--mysql-bug"],
            type=click.IntRange(1),
            metavar="N",
            help="Write the files for bug N of bugs.mysql.com.",
        ),
    ),
    examples=("--mysql-bug 99999 --to ~/bug-99999",),
    ticket=ticket,
)
