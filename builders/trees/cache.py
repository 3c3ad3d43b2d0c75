"""The compiler cache of a build in a sandbox: it reads what earlier builds of the same repository left, and writes into
a directory of its own, from which we keep what is new.

Whoever writes an entry decides what every later build with the same input links. So builds of one repository never see
the entries of another, and none can change one that is there: it has no write access to them, and of what it made we
copy only what has no entry yet. A manifest, which says which headers lead to which result, gets more lines with each
build of a source whose headers changed; as none is replaced, there are several `SHELVES`, and one that was added to
goes to the next. ccache looks at all of them. Once all have an entry by a name, the next one is not kept: what it would
have found at once is then found after preprocessing.

ccache calls all that remote storage, which can be read-only, and has no local one then. See its manual, "remote_only".
"""

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from cpubisect.base.errors import UserError
from cpubisect.base.process import run
from cpubisect.builders.trees.relay import SOCKET

SHELVES = 8
"""So many entries by one name are kept; each is one more look of ccache at the disk, some microseconds."""

LIMIT_BYTES = 20 << 30
"""What is kept of one repository's builds: that of an ordinary compiler cache."""

LARGEST_BYTES = 256 << 20
"""No object of a build is as large; a larger file is not kept."""

OLDEST = (4, 7)
"""The release of ccache that can do without local storage."""

KEPT, SHARED = Path("/compiler-cache"), Path("/shared-compiler-cache")
"""Where a build finds what is kept, and what hosts share."""

_ENTRY = re.compile(r"[0-9a-z]{2}/[0-9a-z]{8,80}")
_RELEASE = re.compile(r"ccache version (\d+)\.(\d+)")


def problem() -> str:
    """Why ccache cannot be used in a sandbox here, in one line with what to do; empty if it can."""
    said = run(["ccache", "--version"], timeout_s=60.0).first_line
    release = _RELEASE.match(said)
    if release and (int(release[1]), int(release[2])) >= OLDEST:
        return ""
    return f"ccache {'.'.join(map(str, OLDEST))} or later is needed, and this is {said!r}"


@dataclass(frozen=True)
class ApartCache:
    """The cache of one build: `kept` is the directory of its repository, `own` what it makes; `shared` is the
    repository's directory in a folder that hosts share, `relayed` the directory of the socket that leads to what they
    share otherwise (`relay.py`); None if there is none."""

    kept: Path
    own: Path
    shared: Path | None = None
    relayed: Path | None = None
    _seen: set[tuple[str, int, int]] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, ccache_dir: Path, origin: str, own: Path, shared: Path | None = None) -> "ApartCache":
        """For a build of the clone whose identity is `origin`, with a folder that hosts share if there is one; makes
        the directories. Who has the same history in another clone may have other commits there too. Raises UserError
        if it cannot."""
        kept = ccache_dir.with_name(f"{ccache_dir.name}-apart") / origin
        cache = cls(kept, own, shared / origin if shared else None)
        try:
            for directory in (own, *cache.shelves, *cache.shared_shelves):
                directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot write to {error.filename} ({error.strerror})", "correct CCACHE_DIR, or free space there"
            ) from error
        return cache

    @property
    def shelves(self) -> list[Path]:
        """The directories of `kept`, in the order in which they are looked at."""
        return [self.kept / str(number) for number in range(SHELVES)]

    @property
    def shared_shelves(self) -> list[Path]:
        """The directories of `shared`; none if there is none."""
        return [self.shared / str(number) for number in range(SHELVES)] if self.shared else []

    @property
    def named(self) -> tuple[tuple[Path, Path], ...]:
        """What a build is shown, and where."""
        others = ((place, SHARED) for place in (self.shared, self.relayed) if place)
        return (self.kept, KEPT), *others

    @property
    def identity(self) -> str:
        """What the repository is known by."""
        return self.kept.name

    def environment(self) -> dict[str, str]:
        """What makes ccache use it in a sandbox, where `kept` is at KEPT."""
        places = [f"file:{KEPT}/{shelf.name}|read-only" for shelf in self.shelves]
        places += [f"file:{SHARED}/{shelf.name}|read-only" for shelf in self.shared_shelves]
        places += [f"redis+unix:{SHARED}/{SOCKET}"] if self.relayed else []
        places.append(f"file:{quote(str(self.own / 'made'))}")
        return {
            "CCACHE_DIR": str(self.own),
            "CCACHE_REMOTE_ONLY": "1",
            "CCACHE_REMOTE_STORAGE": " ".join(places),
        }

    def keep(self) -> int:
        """Copy what the build made and nobody had; how many entries that were. A host without room for them goes
        without."""
        count = 0
        with contextlib.suppress(OSError):
            for name, content in self._made():
                shelf = _shelf_for(self.shelves, name, content)
                if shelf is not None:
                    _place(shelf / name, content)
                    count += 1
                # What others share may be gone for a while.
                with contextlib.suppress(OSError):
                    if shelf := _shelf_for(self.shared_shelves, name, content):
                        _place(shelf / name, content)
        return count

    def trim(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Remove the oldest entries until at most so much is left."""
        found = []
        for entry in (entry for shelf in self.shelves for entry in shelf.glob("*/*")):
            with contextlib.suppress(OSError):
                status = entry.stat()
                found.append((status.st_mtime, status.st_size, entry))
        excess = sum(size for _, size, _ in found) - limit_bytes
        for _, size, entry in sorted(found):
            if excess <= 0:
                break
            entry.unlink(missing_ok=True)
            excess -= size

    def _made(self) -> Iterator[tuple[str, bytes]]:
        """The entries of this build that were not looked at before, by their names, as they are now: it may still run,
        and put links where directories were."""
        root = self.own / "made"
        for folder, _, files, descriptor in os.fwalk(root):
            for file in files:
                name = f"{Path(folder).name}/{file}"
                known = Path(folder).parent == root and _ENTRY.fullmatch(name)
                if known and (content := self._content(name, file, descriptor)):
                    yield name, content

    def _content(self, name: str, file: str, folder: int) -> bytes:
        """What is in a new plain file; nothing if it is anything else."""
        try:
            # A pipe that nobody writes to would be waited for.
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except OSError:
            return b""
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            seen = (name, status.st_mtime_ns, status.st_size)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_BYTES or seen in self._seen:
                return b""
            self._seen.add(seen)
            return opened.read(LARGEST_BYTES)


def _shelf_for(shelves: Sequence[Path], name: str, content: bytes) -> Path | None:
    """Where an entry belongs; None if it is kept already, or there is no room by its name."""
    for shelf in shelves:
        try:
            if (shelf / name).read_bytes() == content:
                return None
        except FileNotFoundError:
            return shelf
    return None


def _place(path: Path, content: bytes) -> None:
    """Make a file in one step, unless there is one; raises OSError."""
    path.parent.mkdir(exist_ok=True)
    descriptor, staged = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        with contextlib.suppress(FileExistsError):
            os.link(staged, path)
    finally:
        Path(staged).unlink()
