"""Requests to a tracker's API: the token goes to one host only, what is not safe to repeat is not repeated."""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from pydantic import TypeAdapter, ValidationError
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NewConnectionError, TimeoutError
from urllib3.util import Retry

from cpubisect.errors import UserError
from cpubisect.harmless import visible

T = TypeVar("T")
REDIRECTS = 3
GATEWAY = (502, 503, 504)
"""Answers that a reading request is repeated after; they come from what is between us and the tracker."""
SAID = 200
"""Characters of a server's own message that are shown."""


class Doubtful(Exception):
    """A request that changes something may or may not have been carried out; says what was seen of it."""


@dataclass(frozen=True)
class Patience:
    """`timeout` is in seconds, for a connection and for each wait for bytes; a reading request is made `repeats` times
    more after a failure, `pause` seconds after the first one and twice as long after each further one."""

    timeout: float = 30.0
    repeats: int = 2
    pause: float = 0.5


@dataclass(frozen=True)
class Login(requests.auth.AuthBase):
    """The Authorization header with `value`; `secrets` is what must not be shown, `needs` says how to get it right."""

    value: str
    secrets: tuple[str, ...]
    needs: str

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Put the header on a request; being there, it also keeps requests from reading ~/.netrc."""
        request.headers["Authorization"] = self.value
        return request

    def __repr__(self) -> str:
        return "Login(…)"


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a server answered, and whether it says that a next page follows."""

    data: T
    more: bool


class Remote:
    """The API of one tracker below `base`."""

    def __init__(self, base: str, login: Login, headers: Mapping[str, str], patience: Patience) -> None:
        """Nothing is sent yet; `base` was checked by `base_url`."""
        self.base = base
        self._login = login
        self._patience = patience
        self._session = requests.Session()
        self._session.auth = login
        self._session.headers.update({"User-Agent": "cpubisect", "Accept": "application/json", **headers})
        self._session.trust_env = urlsplit(base).scheme == "https"
        retry = Retry(
            connect=patience.repeats, read=patience.repeats, status=patience.repeats, total=patience.repeats,
            redirect=0, other=0, allowed_methods={"GET"}, status_forcelist=GATEWAY, backoff_factor=patience.pause,
            respect_retry_after_header=False, raise_on_status=False,
        )  # fmt: skip
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def get(self, path: str, shape: TypeAdapter[T], **parameters: str | int) -> Answer[T]:
        """Read something of that shape; raises UserError with the next step for whatever goes wrong."""
        try:
            response = self._request("GET", path, params=parameters)
        except requests.RequestException as error:
            raise UserError(
                f"cannot read from {self.base} ({self._clean(_reason(error))})",
                "check the address and the network, then run it again",
            ) from None
        if response.status_code >= 400:
            raise self._refusal(response)
        try:
            return Answer(shape.validate_json(response.content), "next" in response.links)
        except ValidationError:
            raise UserError(
                f"{self.base} answered with something else than the API's JSON", "check the address of the tracker"
            ) from None

    def post(self, path: str, shape: TypeAdapter[T], **content: Any) -> T:
        """Send something once; `content` is as for requests.

        Raises UserError if it surely was refused, Doubtful if it may have been carried out.
        """
        try:
            response = self._request("POST", path, **content)
        except requests.RequestException as error:
            raise Doubtful(f"posting to {self.base} failed ({self._clean(_reason(error))})") from None
        if 400 <= response.status_code < 500 and response.status_code != 408:
            raise self._refusal(response)
        try:
            if response.ok:
                return shape.validate_json(response.content)
        except ValidationError:
            raise Doubtful(f"{self.base} answered with something else than the API's JSON") from None
        raise Doubtful(f"{self.base} answered {response.status_code}{self._message(response)}")

    def _request(self, method: str, path: str, **content: Any) -> requests.Response:
        url = f"{self.base}{path}"
        for _ in range(REDIRECTS):
            try:
                response = self._session.request(
                    method, url, timeout=self._patience.timeout, allow_redirects=False, **content
                )
                target = response.headers.get("location") if 300 <= response.status_code < 400 else None
                moved = urljoin(url, target or "")
            except ValueError as error:
                # requests parses where a redirect leads even if it is not to follow it
                raise requests.exceptions.InvalidURL("it redirects to what is no address") from error
            if target is None:
                return response
            if not _same_host(url, moved) or (method == "POST" and response.status_code not in (307, 308)):
                where = self._clean(moved.partition("?")[0])
                raise UserError(
                    f"{self.base} redirects to {where}", "the token is not sent there; give that address if it is right"
                )
            url, content = moved, {name: value for name, value in content.items() if name != "params"}
        raise UserError(f"{self.base} redirects more than {REDIRECTS} times", "check the address of the tracker")

    def _refusal(self, response: requests.Response) -> UserError:
        status, said = response.status_code, self._message(response)
        limited = status == 429 or response.headers.get("x-ratelimit-remaining") == "0"
        if limited or (status == 403 and "retry-after" in response.headers):
            wait = response.headers.get("retry-after", "")
            when = f"try again in {wait} s" if wait.isascii() and wait.isdecimal() else "try again later"
            return UserError(f"{self.base} takes no more requests for now ({status}{said})", when)
        hints = {
            401: f"the token is wrong or has run out; {self._login.needs}",
            403: f"the token may not do this; {self._login.needs}",
            404: f"check the ticket's name, and that the token may see it; {self._login.needs}",
            410: "the ticket was deleted, or the tracker has been turned off",
            413: "the files are too large for it; --no-files posts only the text",
            422: "the tracker does not take this text; see what it says",
        }
        return UserError(f"{self.base} answered {status}{said}", hints.get(status, "see what the tracker says"))

    def _message(self, response: requests.Response) -> str:
        try:
            said = _Said.validate_json(response.content)
        except ValidationError:
            return ""
        told = self._clean("; ".join(_words([said.get(key) for key in ("message", "errorMessages", "errors")])))
        return f": {told}" if told else ""

    def _clean(self, text: str) -> str:
        for secret in self._login.secrets:
            text = text.replace(secret, "…")
        text = " ".join(visible(text).split())
        return text if len(text) <= SAID else text[: SAID - 1] + "…"


_Said: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


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


def _same_host(one: str, other: str) -> bool:
    def origin(url: str) -> tuple[str, str | None, int]:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)

    try:
        return origin(one) == origin(other)
    except ValueError:
        return False


def _words(said: object) -> Iterator[str]:
    match said:
        case str():
            yield said
        case list():
            for part in said:
                yield from _words(part)
        case {"message": str() as message}:
            yield message
        case dict():
            yield from (part for part in said.values() if isinstance(part, str))


def _reason(error: requests.RequestException) -> str:
    cause: object = error.args[0] if error.args else error
    cause = getattr(cause, "reason", cause)
    late = isinstance(cause, TimeoutError) and not isinstance(cause, NewConnectionError)
    if late or isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted, or it does not speak TLS"
    return str(cause).rpartition(": ")[2] or type(error).__name__
