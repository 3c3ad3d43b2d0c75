"""PURE: addresses of a cluster's hosts, and that nothing leaves this host unencrypted."""

import ipaddress
import re
from dataclasses import dataclass

from cpubisect.base.errors import UserError

PORT = 8786
"""Where a head listens by default: Dask's own choice."""

_FORM = re.compile(r"(?P<scheme>[a-z]+)://(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]@]+)(?::(?P<port>\d{1,5}))?/?")
_EXAMPLE = f"use tls://HOST:{PORT}, or tcp://127.0.0.1:{PORT} on one host"


@dataclass(frozen=True)
class Address:
    """Where a head is; `encrypted` if connections to it are."""

    host: str
    port: int
    encrypted: bool

    @classmethod
    def read(cls, text: str) -> "Address":
        """From what the user typed; raises UserError, also for one that is neither encrypted nor on this host."""
        found = _FORM.fullmatch(text)
        if found is None or found["scheme"] not in ("tls", "tcp"):
            raise UserError(f"{text!r} is not the address of a head", _EXAMPLE)
        port = int(found["port"] or PORT)
        if not 0 < port < 1 << 16:
            raise UserError(f"there is no port {port}", _EXAMPLE)
        address = cls(found["host"].strip("[]"), port, found["scheme"] == "tls")
        if not address.encrypted and not is_loopback(address.host):
            raise UserError(
                f"{text} is another host, and tcp is not encrypted",
                "make certificates with `bisect cluster certificates`, and use tls://",
            )
        return address

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.encrypted else 'tcp'}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether a name or number means this host, and no other can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str | None, *, encrypted: bool) -> str:
    """What a head or a worker listens on: what was asked for, else all of the host's addresses if connections are
    encrypted, and this host's own if not. Raises UserError for others without encryption."""
    if host is None:
        return "0.0.0.0" if encrypted else "127.0.0.1"
    if not encrypted and not is_loopback(host):
        raise UserError(
            f"without certificates nothing listens on {host}",
            "make some with `bisect cluster certificates DIR HOST…` and give --certificates, or leave out --host",
        )
    return host
