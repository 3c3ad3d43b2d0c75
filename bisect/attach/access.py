"""How a tracker's API is reached: its address, the token for it, and how long to try; nothing is sent here."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from cpubisect.base.errors import UserError


@dataclass(frozen=True)
class Patience:
    """`timeout` is in seconds, for a connection and for each wait for bytes; a reading request is made `repeats` times
    more after a failure, `pause` seconds after the first one and twice as long after each further one."""

    timeout: float = 30.0
    repeats: int = 2
    pause: float = 0.5


@dataclass(frozen=True)
class Login:
    """The `value` of an Authorization header; `secrets` is what must not be shown, `needs` says how to get it right."""

    value: str
    secrets: tuple[str, ...]
    needs: str

    def __repr__(self) -> str:
        return "Login(…)"


def base_url(given: str, named: str) -> str:
    """An address of an API without a slash at its end; `named` is what it is called in a message.

    Raises UserError unless it is https, or http to this host itself: over plain http others could read the token.
    """
    try:
        parts = urlsplit(given.strip())
        port = parts.port
    except ValueError:
        parts, port = SplitResult("", "", "", "", ""), 0
    if "@" in parts.netloc:
        raise UserError(f"{named} has a user name or a password in it", "they come from the environment only")
    strange = port == 0 or parts.query or parts.fragment or " " in given.strip() or not given.isprintable()
    if strange or parts.scheme not in ("https", "http") or not parts.hostname:
        raise UserError(f"{named} {given!a} is not an address", "give one like https://example.org")
    if parts.scheme == "http" and not _loopback(parts):
        raise UserError(f"{named} {given!a} is not https", "the token would travel in the clear")
    return parts.geturl().rstrip("/")


def checked_token(token: str, variable: str) -> str:
    """A token from an environment variable without white space around it; raises UserError if it cannot be one."""
    stripped = token.strip()
    if not stripped or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise UserError(f"${variable} does not hold a token", "it has characters that no token has; set it again")
    return stripped


def _loopback(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
