"""What is sent between hosts: bytes that are known by their digest, within a message, or at an address that all hosts
reach (a shared folder, S3, SFTP: whatever fsspec knows)."""

import gzip
import hashlib
import io
import tarfile
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cpubisect.base.errors import UserError
from cpubisect.records.artifacts import content_digest


class Damaged(Exception):
    """What arrived is not what was sent; the message says of what."""


@dataclass(frozen=True)
class Parcel:
    """Bytes with their SHA-256 (hex): themselves, or None if they are at the common address."""

    sha256: str
    content: bytes | None


@dataclass(frozen=True)
class Carrier:
    """Sends and fetches parcels: by way of `url`, or with an empty one within messages."""

    url: str = ""

    def check(self) -> None:
        """Raises UserError if nothing can be kept at the address, or nothing is known of its kind."""
        if not self.url:
            return
        name = f"trial-{uuid.uuid4().hex}"
        try:
            system, place = _opened(self.url)
            system.makedirs(place, exist_ok=True)
            system.pipe_file(f"{place}/{name}", b"trial")
            system.rm_file(f"{place}/{name}")
        except Exception as error:
            # What can go wrong depends on whatever stands behind the address.
            raise UserError(
                f"nothing can be kept at {self.url} ({type(error).__name__}: {error})",
                "name a shared folder as file:///PATH, or another address that fsspec knows",
            ) from error

    def send(self, content: bytes) -> Parcel:
        """Make a parcel of some bytes; raises OSError if the address cannot be written."""
        digest = hashlib.sha256(content).hexdigest()
        if not self.url:
            return Parcel(digest, content)
        system, place = _opened(self.url)
        target = f"{place}/{digest[:2]}/{digest}"
        if not system.exists(target) or system.size(target) != len(content):
            system.makedirs(f"{place}/{digest[:2]}", exist_ok=True)
            # Nobody may see half of it under its name.
            part = f"{place}/{digest[:2]}/.{digest}-{uuid.uuid4().hex[:8]}"
            system.pipe_file(part, content)
            system.mv(part, target)
        return Parcel(digest, None)

    def fetch(self, parcel: Parcel) -> bytes:
        """The bytes of a parcel; raises Damaged if they are others, and then they are gone from the address."""
        content = parcel.content
        if content is None:
            system, place = _opened(self.url)
            target = f"{place}/{parcel.sha256[:2]}/{parcel.sha256}"
            try:
                content = system.cat_file(target)
            except OSError as error:
                raise Damaged(f"{parcel.sha256[:12]} is not at {self.url} ({error})") from error
            if hashlib.sha256(content).hexdigest() != parcel.sha256:
                system.rm_file(target)
        if hashlib.sha256(content).hexdigest() != parcel.sha256:
            raise Damaged(f"{parcel.sha256[:12]} is not what was sent")
        return content


def _opened(url: str) -> tuple[Any, str]:
    """The file system of an address, and the place in it."""
    from fsspec.core import url_to_fs

    system, place = url_to_fs(url)
    return system, str(place).rstrip("/")


def packed(directory: Path) -> bytes:
    """A kept build as bytes, the same for the same files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(directory.rglob("*")):
            archive.add(path, str(path.relative_to(directory)), recursive=False, filter=_plain)
    return gzip.compress(made.getvalue(), 1, mtime=0)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def unpacked(content: bytes, target: Path, digest: str) -> None:
    """Make the directory of a kept build, whose digest is to be that; raises Damaged if it is not."""
    target.mkdir(parents=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(target, filter="data")
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Damaged(f"the build {digest[:12]} cannot be unpacked ({error})") from error
    if content_digest(target) != digest:
        raise Damaged(f"the build {digest[:12]} is another one than was sent")
