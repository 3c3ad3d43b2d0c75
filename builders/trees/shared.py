"""A compiler cache that several hosts share, by its address: a folder, or a Redis.

Without a sandbox ccache uses it by itself. In a sandbox there is no network, and whoever writes an entry decides what
every later build with the same input links. So a folder is only shown to a build, and we copy into it what is new; and
a Redis is reached by a socket behind which `relay.py` lets pass what reads, and what adds an entry that nobody has.
Either way each repository has entries of its own.
"""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cpubisect.base.errors import UserError

_PLAIN = re.compile(r"[a-z+]+:/[^\s|]*")
_FORMS = "use redis://HOST, or file:///SHARED/FOLDER"

FILE, REDIS = "file", "redis"
CONFINED = (FILE, REDIS)
"""The kinds that builds in a sandbox can use."""

OPEN = (*CONFINED, "http")
"""Those that ccache can use by itself."""


def kind_of(url: str) -> str:
    """Of which kind an address is; empty for none."""
    return url.partition(":")[0]


def check(url: str) -> None:
    """Raises UserError for an address that no build could use; an empty one means that none is shared."""
    if not url:
        return
    if not _PLAIN.fullmatch(url) or kind_of(url) not in OPEN:
        raise UserError(f"{url!r} is not the address of a compiler cache", _FORMS)
    if kind_of(url) == FILE and not folder(url).is_dir():
        raise UserError(f"there is no folder {folder(url)} to share a compiler cache in", "make it, or name another")
    if kind_of(url) != FILE and not urlsplit(url).hostname:
        raise UserError(f"{url!r} names no host", _FORMS)


def check_confined(url: str) -> None:
    """Raises UserError for an address that builds in a sandbox cannot use."""
    if url and kind_of(url) not in CONFINED:
        raise UserError(
            f"the compiler cache {url} cannot be reached from a sandbox", f"{_FORMS}, or run with --sandbox off"
        )


def folder(url: str) -> Path:
    """Where a shared folder is."""
    return Path(unquote(urlsplit(url).path))
