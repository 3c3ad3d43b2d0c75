"""Files that a command in a sandbox left, read and written by us, who may see everything.

It could leave a link to a file of the host, a pipe that nobody writes to, or a file without an end. So nothing is read
or written that does not lie, links resolved, in the directory that the command was given. No process of a sandbox lives
when it is looked at, so what was checked stays as it is.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

MOST_BYTES = 1 << 30
"""A file that is larger is not read: profiles and dependency files have some megabytes at most."""

MOST_COPIED_BYTES = 2 << 30
"""A file that is larger is not taken over: the largest server, with all that a debugger asks for, has half of it."""

MOST_PARTS = 100
"""So many directories in one another are copied: no database has more than a few."""


class Outside(OSError):
    """A file that is not where, or not what, it must be."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EPERM, why, str(path))


def inside(path: Path, root: Path) -> Path:
    """The path with its links resolved; raises Outside if that is not below `root`."""
    try:
        found = path.resolve()
    except RuntimeError as loop:
        raise Outside(path, "leads nowhere") from loop
    if not found.is_relative_to(root.resolve()):
        raise Outside(path, f"leads out of {root.name}")
    return found


def is_file(path: Path, root: Path) -> bool:
    """Whether there is a plain file below `root`."""
    try:
        return inside(path, root).is_file()
    except OSError:
        return False


def read_bytes(path: Path, root: Path) -> bytes:
    """The content of a file below `root`; raises OSError, Outside if there is something else in its place."""
    found = inside(path, root)
    size = found.stat().st_size
    if not found.is_file() or size > MOST_BYTES:
        raise Outside(path, f"is not a plain file of at most {MOST_BYTES >> 20} MiB")
    return found.read_bytes()


def read_text(path: Path, root: Path, errors: str = "replace") -> str:
    """The same as text, with line ends as they are."""
    return read_bytes(path, root).decode(errors=errors)


def write_text(path: Path, root: Path, text: str) -> None:
    """Write a file below `root`, in place of one that is there; raises OSError, Outside as `read_bytes` does."""
    found = inside(path, root)
    if found.exists() and not found.is_file():
        raise Outside(path, "is not a plain file")
    found.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")


def copy(path: Path, root: Path, target: Path) -> None:
    """Copy a file below `root` to a place of ours, with its mode, less what gives rights; raises OSError, Outside."""
    found = inside(path, root)
    status = found.stat()
    if not found.is_file() or status.st_size > MOST_COPIED_BYTES:
        raise Outside(path, f"is not a plain file of at most {MOST_COPIED_BYTES >> 20} MiB")
    shutil.copyfile(found, target)
    target.chmod(status.st_mode & 0o777)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def copy_tree(
    source: Path,
    target: Path,
    copy_file: Callable[[Path, Path], object] = shutil.copy2,
    *,
    without: tuple[str, ...] = (),
) -> None:
    """Copy a directory to a place where a command may have left something, which goes. Links stay what they are, and
    names that match one `without` stay behind; raises OSError, and Outside where there is anything but directories and
    plain files, or directories are in one another without end.
    """
    if len(target.parts) > MOST_PARTS:
        raise Outside(source, "is too deep")
    if not stat.S_ISDIR(source.lstat().st_mode):
        raise Outside(source, "is not a directory")
    remove(target)
    target.mkdir()
    for entry in sorted(source.iterdir()):
        if any(entry.match(pattern) for pattern in without):
            continue
        mode, place = entry.lstat().st_mode, target / entry.name
        if stat.S_ISDIR(mode):
            copy_tree(entry, place, copy_file, without=without)
        elif stat.S_ISLNK(mode):
            place.symlink_to(entry.readlink())
        elif stat.S_ISREG(mode):
            copy_file(entry, place)
        else:
            raise Outside(entry, "is not a plain file")


def remove(path: Path) -> None:
    """Remove whatever is there, a directory with all that is in it; of a link only itself. Raises OSError."""
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return
