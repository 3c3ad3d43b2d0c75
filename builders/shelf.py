"""Files of libraries, kept in one directory for all builds: fetched once, verified, and unpacked once."""

import contextlib
import gzip
import hashlib
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO

from cpubisect.base.errors import UserError
from cpubisect.base.locks import wait_for
from cpubisect.builders.build import Library

MOST_BYTES = 1 << 30
"""A file that is larger is none that was meant: Boost's are some 100 MB."""

CONNECT_S, READ_S = 20.0, 120.0
"""A server that says nothing for so long is given up."""

_PIECE = 1 << 20
_TOLD_EVERY = 8 << 20


class LibraryMissing(UserError):
    """A library that a build needs is not here and can't be had: the host's lack, which says nothing of a commit."""


class Shelf:
    """The directory: `NAME.tar.gz` is a library's file, `NAME-DIGEST/NAME` what was unpacked of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def file(self, name: str) -> Path:
        """Where a library's file belongs."""
        return self.directory / f"{name}.tar.gz"

    def digest(self, name: str) -> str:
        """The SHA-256 of the file that is in place; empty if there is none."""
        try:
            state = self.file(name).stat()
        except OSError:
            return ""
        return _digest(self.file(name), state.st_size, state.st_mtime_ns)

    def provide(
        self, library: Library, addresses: Sequence[str], progress: Callable[[str], None] = lambda text: None
    ) -> None:
        """Have a library of the shelf unpacked, its file being fetched if it is not there; `progress` is told in a few
        words. Raises LibraryMissing."""
        if not library.sha256:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        with wait_for(self.directory / f"{library.name}.lock"), _room_for(library.name):
            target = library.unpacked(self.directory).parent
            if target.is_dir():
                return
            if not self.file(library.name).is_file():
                self._fetch(library, addresses, progress)
            if self.digest(library.name) != library.sha256:
                raise LibraryMissing(
                    f"{self.file(library.name)} is not the file that is meant: its SHA-256 is "
                    f"{self.digest(library.name)}, not {library.sha256}",
                    "remove it, and it is fetched, or put the right one there",
                )
            progress(f"unpacking {library.name}")
            self._unpack(library, target)

    def _fetch(self, library: Library, addresses: Sequence[str], progress: Callable[[str], None]) -> None:
        """From the first address that has the very file."""
        reasons = []
        for address in addresses:
            with tempfile.TemporaryDirectory(dir=self.directory, prefix=f"{library.name}.") as place:
                part = Path(place, "part")
                why = _download(address, part, f"fetching {library.name}", progress)
                if not why and (found := _sha256(part)) != library.sha256:
                    why = f"another file than is meant, with SHA-256 {found}"
                if not why:
                    part.replace(self.file(library.name))
                    return
            reasons.append(f"{address}: {why}")
        raise LibraryMissing(
            f"{library.name} is not here and cannot be fetched ({'; '.join(reasons) or 'no address is known'})",
            f"put the file with SHA-256 {library.sha256} at {self.file(library.name)}",
        )

    def _unpack(self, library: Library, target: Path) -> None:
        """All at once: whoever sees the directory sees all of it. Nothing but plain files is taken, and only those of
        the part that is wanted."""
        wanted = PurePosixPath(library.name, library.part).parts
        file = self.file(library.name)
        with tempfile.TemporaryDirectory(dir=self.directory, prefix=f"{library.name}.") as place:
            whole = Path(place, "whole")
            try:
                with tarfile.open(file) as archive:
                    for member in archive:
                        parts = PurePosixPath(member.name).parts
                        if member.isfile() and parts[: len(wanted)] == wanted and ".." not in parts:
                            _write(archive.extractfile(member), whole.joinpath(*parts))
            except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise LibraryMissing(f"{file} cannot be unpacked ({error})", "put the right file there") from None
            if not whole.is_dir():
                raise LibraryMissing(f"{file} has nothing below {'/'.join(wanted)}", "put the right file there")
            whole.rename(target)


def _write(content: IO[bytes] | None, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        if content:
            shutil.copyfileobj(content, file)


def _download(address: str, target: Path, doing: str, progress: Callable[[str], None]) -> str:
    """Why an address could not be read into a file; empty if it was."""
    import requests

    try:
        with requests.get(address, stream=True, timeout=(CONNECT_S, READ_S)) as answer, target.open("wb") as file:
            if answer.status_code != requests.codes.ok:
                return f"the server answers {answer.status_code}"
            size, told = 0, 0
            for piece in answer.iter_content(_PIECE):
                size += len(piece)
                if size > MOST_BYTES:
                    return f"it is larger than {MOST_BYTES >> 20} MiB"
                file.write(piece)
                if size - told >= _TOLD_EVERY:
                    progress(f"{doing}: {size >> 20} MiB")
                    told = size
    except requests.RequestException as error:
        return type(error).__name__
    return ""


@contextlib.contextmanager
def _room_for(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LibraryMissing(f"{name} cannot be kept ({error.strerror or error})", "free space there") from error


@lru_cache(maxsize=64)
def _digest(path: Path, size: int, changed: int) -> str:
    """Of a file that is of that size and was changed at that time."""
    return _sha256(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
