"""Every way a server can fail gets one clear line, and the token stays where it belongs."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracker_stand_in import PATIENT, TOKEN, StandIn, standing_in

from cpubisect.attach.access import Login, Patience, base_url, checked_token
from cpubisect.attach.remote import Remote
from cpubisect.attach.ticket import Doubtful
from cpubisect.base.errors import UserError

COMMENTS = "/repos/a/b/issues/1/comments"
LIST = list[dict[str, str | None]]
ONE = dict[str, str]


@pytest.fixture
def server() -> Iterator[StandIn]:
    with standing_in() as running:
        yield running


def remote(base: str, *, token: str = TOKEN, timeout: float = PATIENT, repeats: int = 2) -> Remote:
    login = Login(f"Bearer {token}", (token,), "set TOKEN")
    return Remote(base, login, {}, Patience(timeout=timeout, repeats=repeats, pause=0))


def refused(base: str, *, token: str = TOKEN, repeats: int = 2) -> str:
    """The one line when reading fails."""
    with pytest.raises(UserError) as caught:
        remote(base, token=token, repeats=repeats).get(COMMENTS, LIST, per_page=1, page=1)
    line = str(caught.value)
    assert line.isprintable()
    assert token not in line
    return line


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "the token is wrong or has run out; set TOKEN"),
        (403, "the token may not do this; set TOKEN"),
        (404, "check the ticket's name"),
        (410, "deleted"),
        (413, "--no-files"),
        (422, "does not take this text"),
        (429, "no more requests for now"),
        (500, "answered 500: no, Bearer …: see what the tracker says"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(server: StandIn, status: int, says: str) -> None:
    server.faults["GET"] = [status]
    line = refused(server.base)
    assert str(status) in line
    assert says in line
    assert "Bearer …" in line
    assert len(server.seen) == 1


def test_a_refused_post_is_not_made_again(server: StandIn) -> None:
    server.faults["POST"] = [403]
    with pytest.raises(UserError, match="the token may not do this"):
        remote(server.base).post(COMMENTS, ONE, json={"body": "x"})
    assert server.posts() == 1


@pytest.mark.parametrize("fault", ["lose", "garbage", "fail", "refuse", 408, 503])
def test_a_post_whose_end_is_not_known_is_not_made_again(server: StandIn, fault: str | int) -> None:
    server.faults["POST"] = [fault]
    with pytest.raises(Doubtful) as caught:
        remote(server.base).post(COMMENTS, ONE, json={"body": "x"})
    assert server.posts() == 1
    assert TOKEN not in str(caught.value)


def test_reading_is_repeated_after_a_gateway_failed(server: StandIn) -> None:
    server.faults["GET"] = [502, 503]
    assert remote(server.base).get(COMMENTS, LIST, per_page=1, page=1).data == []
    assert len(server.seen) == 3


def test_reading_is_repeated_after_a_lost_connection(server: StandIn) -> None:
    server.faults["GET"] = ["lose"]
    assert remote(server.base).get(COMMENTS, LIST, per_page=1, page=1).data == []


def test_a_gateway_that_stays_down(server: StandIn) -> None:
    server.faults["GET"] = [503] * 9
    assert "answered 503" in refused(server.base)
    assert len(server.seen) == 3


def test_a_server_that_never_answers(server: StandIn) -> None:
    server.faults["GET"] = ["wait"]
    with pytest.raises(UserError, match=r"\(no answer in time\): check the address and the network"):
        remote(server.base, timeout=0.1, repeats=0).get(COMMENTS, LIST, per_page=1, page=1)


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        line = refused(f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert "Connection refused" in line


def test_an_answer_that_is_no_json(server: StandIn) -> None:
    server.faults["GET"] = ["garbage"]
    assert "something else than the API's JSON: check the address" in refused(server.base)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_the_token_stays_here(server: StandIn, method: str, status: int) -> None:
    with standing_in() as other:
        server.status = status
        server.faults[method] = [f"{other.base}/elsewhere?x=1"]
        there = remote(server.base)
        ask = {"GET": lambda: there.get(COMMENTS, LIST), "POST": lambda: there.post(COMMENTS, ONE, json={"body": "x"})}
        says = r"redirects to http://127.0.0.1:\d+/elsewhere: the token is not sent there; give that address"
        with pytest.raises(UserError, match=says):
            ask[method]()
        assert not other.seen
        assert len(server.seen) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "where", ["http://[bad", "http://a:b/", "javascript://x", "https://127.0.0.1/", "http://user@evil.invalid/"]
)
def test_strange_redirects_are_refused(server: StandIn, where: str, method: str) -> None:
    server.faults[method] = [where]
    there = remote(server.base)
    with pytest.raises(UserError, match="redirects to") as caught:
        there.get(COMMENTS, LIST) if method == "GET" else there.post(COMMENTS, ONE, json={"body": "x"})
    assert where in str(caught.value)


def test_a_redirect_within_the_tracker_is_refused_too(server: StandIn) -> None:
    server.faults["GET"] = ["/repos/c/d/issues/2/comments?page=1"]
    assert f"redirects to {server.base}/repos/c/d/issues/2/comments: " in refused(server.base)
    assert len(server.seen) == 1


def test_other_credentials_on_this_host_are_not_used(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with standing_in() as proxy:
        monkeypatch.setenv("http_proxy", proxy.base)
        remote(server.base).get(COMMENTS, LIST, per_page=1, page=1)
        assert not proxy.seen
    assert server.seen[0][2] == f"Bearer {TOKEN}"


def test_a_login_does_not_show_itself() -> None:
    assert TOKEN not in repr(Login(f"Bearer {TOKEN}", (TOKEN,), ""))


@pytest.mark.parametrize("url", ["http://example.org", "http://127.0.0.1.example.org", "http://10.0.0.1/jira"])
def test_plain_http_to_others_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="the token would travel in the clear"):
        base_url(url, "it")


@pytest.mark.parametrize(
    "url", ["https://example.org/jira/", "http://localhost:8080", "http://127.0.0.2", "http://[::1]"]
)
def test_good_addresses(url: str) -> None:
    assert base_url(url, "it") == url.rstrip("/")


@pytest.mark.parametrize("url", ["https://ada:pw@example.org", "https://ada@example.org"])
def test_credentials_in_an_address_are_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UserError, match="environment only") as caught:
        base_url(url, "it")
    assert "ada" not in str(caught.value)


@given(st.text() | st.from_regex(r"https?://[^/]*(/.*)?", fullmatch=True))
def test_any_address_is_taken_or_refused_with_one_line(url: str) -> None:
    try:
        found = base_url(url, "it")
    except UserError as error:
        found = str(error)
    assert found.isprintable()
    assert re.match(r"it |https://|http://(localhost|127|\[)", found, re.IGNORECASE)


@pytest.mark.parametrize("token", ["a b", "a\nb: c", "ä", "\x1b", " "])
def test_what_is_no_token_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(UserError) as caught:
        checked_token(token, "TOKEN")
    assert str(caught.value) == "$TOKEN does not hold a token: it has characters that no token has; set it again"


def test_a_line_feed_after_a_token_does_no_harm() -> None:
    assert checked_token("abc\n", "TOKEN") == "abc"
