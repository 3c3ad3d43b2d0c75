"""Who may read, who may change something, and what the answers tell browsers."""

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from web_home import TOKEN, Known, application

from cpubisect.base.errors import UserError
from cpubisect.web.security import Access, is_loopback, secret_key

pytestmark = pytest.mark.xdist_group("known")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_on_this_host_no_token_is_needed(host: str) -> None:
    assert Access(host).loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "db7.example.org", "127.0.0.1.example.org", ""])
def test_beyond_this_host_it_refuses_without_a_token(host: str) -> None:
    with pytest.raises(UserError, match="no token is set"):
        Access(host)
    assert not Access(host, TOKEN).loopback


def test_a_token_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(UserError, match="at least 16"):
        Access("0.0.0.0", "secret")


@given(st.text())
def test_no_text_but_an_address_of_this_host_is_loopback(text: str) -> None:
    if is_loopback(text):
        assert text == "localhost" or text.strip("[]").startswith("127.") or "1" in text


@given(st.text())
def test_only_the_token_is_the_token(text: str) -> None:
    assert Access("0.0.0.0", TOKEN).is_token(text) == (text == TOKEN)
    assert not Access("127.0.0.1").is_token(text)


def field(client: FlaskClient, page: str = "/start") -> str:
    """The anti-forgery value that a page gives to this browser."""
    found = re.search(r'name="csrf" value="([^"]+)"', client.get(page).text)
    assert found
    return found[1]


CHANGES = ["/start", "/bisections/1/cancel", "/bisections/1/resume"]


@pytest.mark.parametrize("path", CHANGES)
def test_a_form_that_is_not_ours_changes_nothing(client: FlaskClient, path: str) -> None:
    assert client.post(path).status_code == 403
    assert client.post(path, data={"csrf": "guess"}).status_code == 403
    value = field(client)
    for headers in (
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "http://["},
    ):
        assert client.post(path, data={"csrf": value}, headers=headers).status_code == 403
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert client.post(path, data={"csrf": value}, headers=own).status_code in (303, 422)


def test_another_browsers_value_does_not_count(known: Known, client: FlaskClient) -> None:
    other = application(known.home).test_client()
    assert client.post("/start", data={"csrf": field(other)}).status_code == 403


def test_beyond_this_host_a_form_needs_signing_in(known: Known) -> None:
    client = application(known.home, host="0.0.0.0", token=TOKEN).test_client()
    assert "sign in" in client.get("/start").text
    value = field(client, "/sign-in")
    assert client.post("/bisections/1/resume", data={"csrf": value}).status_code == 403
    assert client.post("/sign-in", data={"csrf": value, "token": "wrong"}).status_code == 403
    assert client.post("/bisections/1/resume", data={"csrf": value}).status_code == 403
    assert client.post("/sign-in", data={"token": TOKEN}).status_code == 403
    assert client.post("/sign-in", data={"csrf": value, "token": TOKEN}).status_code == 303
    assert client.post("/bisections/1/resume", data={"csrf": value}).status_code == 303


@pytest.mark.parametrize("path", ["/api/bisections", "/api/bisections/1/cancel", "/api/bisections/1/resume"])
def test_the_api_changes_nothing_without_the_token(known: Known, path: str) -> None:
    client = application(known.home, token=TOKEN).test_client()
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        answer = client.post(path, json={}, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    accepted = client.post(path, json={}, headers={"Authorization": f"Bearer {TOKEN}"})
    assert accepted.status_code in (409, 422)


def test_a_server_without_a_token_takes_no_change_by_api(client: FlaskClient) -> None:
    answer = client.post("/api/bisections", json={}, headers={"Authorization": "Bearer "})
    assert answer.status_code == 401
    assert "has none" in answer.text


@pytest.mark.parametrize("name", ["evil.example", "evil.example:8000", "10.0.0.1", "localhost.evil.example", ""])
def test_names_that_are_not_this_host_are_not_answered(client: FlaskClient, name: str) -> None:
    assert client.get("/", headers={"Host": name}).status_code in (400, 421)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1:8000", "[::1]:8000"])
def test_names_of_this_host_are(client: FlaskClient, name: str) -> None:
    assert client.get("/", headers={"Host": name}).status_code == 200


def test_every_answer_carries_the_policy(client: FlaskClient) -> None:
    for path in ("/", "/nope", "/static/live.js", "/api/bisections", "/api/nope"):
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"


def test_a_picture_runs_nothing_and_is_shown_by_our_pages_alone(known: Known, client: FlaskClient) -> None:
    culprit = f"/bisections/1/culprits/{known.culprit}"
    for path in ("/bisections/1/chart.svg", f"{culprit}/steps.svg", f"{culprit}/flame.svg"):
        for headers in ({}, {"If-None-Match": client.get(path).headers["ETag"]}):
            answer = client.get(path, headers=headers)
            policy = dict(part.split(maxsplit=1) for part in answer.headers["Content-Security-Policy"].split("; "))
            assert policy == {
                "default-src": "'none'",
                "style-src": "'self'",
                "form-action": "'none'",
                "base-uri": "'none'",
                "frame-ancestors": "'self'",
            }
            assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(client: FlaskClient) -> None:
    cookie = client.get("/start").headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_the_key_is_made_once_and_its_owners_alone(tmp_path: Path) -> None:
    first = secret_key(tmp_path / "key")
    assert secret_key(tmp_path / "key") == first
    assert len(first) == 32
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0


def test_a_large_body_is_refused(client: FlaskClient) -> None:
    data = {"csrf": field(client), "settings": "x" * 300_000}
    assert client.post("/start", data=data).status_code == 413


def test_the_repository_comes_from_the_list_alone(known: Known, client: FlaskClient, tmp_path: Path) -> None:
    for repository in (str(known.clone), "https://evil.example/x.git", "../kv", "ext::sh -c touch% x"):
        form = {"csrf": field(client), "repository": repository, "good": "a", "bad": "b", "tests": "readrandom"}
        answer = client.post("/start", data=form)
        assert answer.status_code == 422
        assert "there is no repository" in answer.text
