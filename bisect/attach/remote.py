"""Requests to a tracker's API: the token goes to one host only, what is not safe to repeat is not repeated."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
from pydantic import TypeAdapter, ValidationError
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NewConnectionError, TimeoutError
from urllib3.util import Retry

from cpubisect.attach.access import Login, Patience
from cpubisect.attach.ticket import Doubtful
from cpubisect.attach.visible import visible
from cpubisect.base.errors import UserError

T = TypeVar("T")
GATEWAY = (502, 503, 504)
"""Answers that a reading request is repeated after; they come from what is between us and the tracker."""
SAID = 200
"""Characters of a server's own message that are shown."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a server answered, and whether it says that a next page follows."""

    data: T
    more: bool


class _Session(requests.Session):
    """A session that follows no redirect, nor even parses where it leads."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Nowhere."""


class Remote:
    """The API of one tracker below `base`; a redirect is refused, wherever it leads."""

    def __init__(self, base: str, login: Login, headers: Mapping[str, str], patience: Patience) -> None:
        """Nothing is sent yet; `base` was checked by `base_url`."""
        self.base = base
        self._login = login
        self._patience = patience
        self._session = _Session()
        self._session.auth = self._authorized
        self._session.headers.update({"User-Agent": "cpubisect", "Accept": "application/json", **headers})
        self._session.trust_env = urlsplit(base).scheme == "https"
        retry = Retry(
            connect=patience.repeats, read=patience.repeats, status=patience.repeats, total=patience.repeats,
            redirect=0, other=0, allowed_methods={"GET"}, status_forcelist=GATEWAY, backoff_factor=patience.pause,
            respect_retry_after_header=False, raise_on_status=False,
        )  # fmt: skip
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def get(self, path: str, shape: type[T], **parameters: str | int) -> Answer[T]:
        """Read something of that shape, which pydantic checks; raises UserError with the next step for whatever goes
        wrong."""
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
            return Answer(TypeAdapter(shape).validate_json(response.content), "next" in response.links)
        except ValidationError:
            raise UserError(
                f"{self.base} answered with something else than the API's JSON", "check the address of the tracker"
            ) from None

    def post(self, path: str, shape: type[T], **content: Any) -> T:
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
                return TypeAdapter(shape).validate_json(response.content)
        except ValidationError:
            raise Doubtful(f"{self.base} answered with something else than the API's JSON") from None
        raise Doubtful(f"{self.base} answered {response.status_code}{self._message(response)}")

    def _authorized(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Being there, it also keeps requests from reading ~/.netrc."""
        request.headers["Authorization"] = self._login.value
        return request

    def _request(self, method: str, path: str, **content: Any) -> requests.Response:
        url = f"{self.base}{path}"
        response = self._session.request(method, url, timeout=self._patience.timeout, **content)
        if 300 <= response.status_code < 400 and (target := response.headers.get("location")):
            with contextlib.suppress(ValueError):
                target = urljoin(url, target)
            raise UserError(
                f"{self.base} redirects to {self._clean(target.partition('?')[0])}",
                "the token is not sent there; give that address, or the ticket's new name, if it is right",
            )
        return response

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
            said = TypeAdapter(dict[str, Any]).validate_json(response.content)
        except ValidationError:
            return ""
        told = self._clean("; ".join(_words([said.get(key) for key in ("message", "errorMessages", "errors")])))
        return f": {told}" if told else ""

    def _clean(self, text: str) -> str:
        for secret in self._login.secrets:
            text = text.replace(secret, "…")
        text = " ".join(visible(text).split())
        return text if len(text) <= SAID else text[: SAID - 1] + "…"


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
