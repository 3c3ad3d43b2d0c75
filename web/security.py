"""Who may do what: hosts that are answered, tokens and forms that may change something, headers on every answer."""

import hmac
import ipaddress
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from flask import Flask, Response, abort, request, session

from cpubisect.base.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")

LEAST_TOKEN = 16
"""Characters of a token at least: shorter ones can be guessed."""

HEADERS = {
    "Content-Security-Policy": (
        # Some browsers want objects to be allowed as frames as well.
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; object-src 'self'; frame-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


PICTURE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
}
"""In their place for a picture, which a page of ours shows within itself."""


@dataclass(frozen=True)
class Access:
    """Where the server listens and what a change needs.

    On a loopback address a form of our own page may change things; elsewhere its sender must have signed in with the
    token. A request with the token in its `Authorization: Bearer` header may always.
    """

    host: str
    token: str = ""

    def __post_init__(self) -> None:
        """Raises UserError for an address beyond this host without a token, or a token that can be guessed."""
        if not self.loopback and not self.token:
            raise UserError(
                f"{self.host} can be reached from other hosts, and no token is set",
                "put one in CPUBISECT_TOKEN (`openssl rand -hex 24` makes one), or listen on 127.0.0.1",
            )
        if self.token and (len(self.token) < LEAST_TOKEN or not self.token.isascii()):
            raise UserError(
                f"CPUBISECT_TOKEN needs at least {LEAST_TOKEN} ASCII characters", "`openssl rand -hex 24` makes one"
            )

    @property
    def loopback(self) -> bool:
        """True if only this host can connect."""
        return is_loopback(self.host)

    def is_token(self, given: str) -> bool:
        """Whether this is the token; takes the same time whatever is wrong."""
        return bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())

    def bearer(self) -> bool:
        """Whether the request carries the token."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(given.strip())

    def form_allowed(self) -> bool:
        """Whether this browser's forms may change something."""
        return self.loopback or self.signed_in()

    def signed_in(self) -> bool:
        """Whether this browser gave the token before."""
        return bool(self.token) and hmac.compare_digest(str(session.get("signed", "")), self._proof())

    def sign_in(self, given: str) -> bool:
        """Remember in this browser that it knows the token; False if it does not."""
        if self.is_token(given):
            session["signed"] = self._proof()
            return True
        return False

    def _proof(self) -> str:
        return hmac.new(self.token.encode(), b"signed in", "sha256").hexdigest()


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this host can connect to."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def guard(app: Flask, access: Access) -> None:
    """Answer only requests for our own name, and put the headers on every answer.

    On a loopback address a request for any other name comes from a page that had its own name resolved to this host.
    """

    @app.before_request
    def own_name() -> None:
        name = urlsplit(f"//{request.host}").hostname or ""
        if access.loopback and not is_loopback(name):
            abort(421, f"this server is not {name}")

    @app.after_request
    def headers(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store")
        return response


def csrf() -> str:
    """The value that this browser's forms must carry."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def same_origin() -> bool:
    """Whether the browser says that the request comes from a page of ours; what it does not say counts as yes."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = request.headers.get("Origin")
    return origin in (None, f"http://{request.host}", f"https://{request.host}")


def form_is_ours() -> bool:
    """Whether the submitted form is one that we gave to this browser."""
    given, known = request.form.get("csrf", ""), str(session.get("csrf", ""))
    return bool(known) and hmac.compare_digest(given.encode(), known.encode()) and same_origin()


def changes_by_form(access: Access) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For a view that a form is sent to: 403 unless the form is ours and this browser may change something."""

    def decorate(view: Callable[P, R]) -> Callable[P, R]:
        @wraps(view)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if not form_is_ours():
                abort(403, "this form was not given out by this page, or it is too old: load the page again")
            if not access.form_allowed():
                abort(403, "sign in with the token first")
            return view(*args, **kwargs)

        return checked

    return decorate


def secret_key(path: Path) -> bytes:
    """The key that signs cookies, kept in a file that only its owner can read; made on first use."""
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_bytes(secrets.token_bytes(32))
        fresh.rename(path)
    return path.read_bytes()
