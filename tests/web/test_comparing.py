"""The pages of comparisons: asked for by a form, measured by a worker, shown, and led on to a bisection."""

import re
from html import unescape

import pytest
import schemathesis
from flask.testing import FlaskClient
from web_home import TOKEN, Compared, application, comparison_form

PAGE = "/comparisons/1"

pytestmark = pytest.mark.xdist_group("known")


def test_a_page_shows_the_tables_and_escapes_what_compilers_say(browser: FlaskClient, compared: Compared) -> None:
    text = browser.get(PAGE).text
    assert "Relative instructions/query" in text
    assert 'class="num worse"' in text
    assert "could not be built" in text
    assert "<b>not today" not in text
    assert PAGE in browser.get("/compare").text
    assert browser.get("/comparisons/2").status_code == 404


def test_a_cell_leads_to_probes_functions_and_a_bisection(browser: FlaskClient, compared: Compared) -> None:
    shas = compared.shas
    cells = re.findall(r'href="(/comparisons/1/cell[^"]+)"', browser.get(PAGE).text)
    text = browser.get(unescape(next(cell for cell in cells if shas[1] in cell))).text
    assert "lookup" in text
    (onward,) = re.findall(r'href="(/start[^"]+)"', text)
    filled = browser.get(unescape(onward)).text
    assert f'value="{shas[0]}"' in filled
    assert f'value="{shas[1]}"' in filled
    assert "clock_ops=100,2000" in filled
    assert re.search(r'<option value="readrandom"[^>]* selected', filled)
    assert re.search(r'<option value="kv" selected', filled)
    assert browser.get(f"{PAGE}/cell?row=nothing&version=x").status_code == 404


@pytest.mark.parametrize("name", ["text", "markdown", "html", "csv", "json", "svg", "png"])
def test_every_form_can_be_downloaded(browser: FlaskClient, name: str) -> None:
    answer = browser.get(f"{PAGE}/table.{name}")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["Content-Disposition"]
    assert answer.data


def test_the_api_says_the_same(browser: FlaskClient) -> None:
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", browser.application)
    case = schema["/api/comparisons/{comparison}"]["GET"].Case(path_parameters={"comparison": 1})
    case.validate_response(case.call(headers={"Host": "localhost"}))
    data = browser.get("/api/comparisons/1").json
    assert data is not None
    assert data == browser.get(f"{PAGE}/table.json").json
    assert browser.get("/api/comparisons/7").status_code == 404
    assert browser.get(f"{PAGE}/table.pdf").status_code == 404


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"versions": "one"}, "cannot be compared"),
        ({"versions": "no such"}, "no"),
        ({"clients": "many"}, "numbers"),
        ({"rounds": "1"}, "cannot be made"),
        ({"rounds": "x"}, "numbers"),
        ({"repository": "elsewhere"}, "no such repository"),
        ({"settings": "rows"}, "NAME=VALUE"),
        ({"settings": "db=/etc/passwd"}, "on the command line"),
        ({"settings": "options_file=x"}, "setting options_file is about files"),
        ({"tests": "nothing"}, "has no test"),
    ],
)
def test_what_the_form_refuses(browser: FlaskClient, compared: Compared, fields: dict[str, str], says: str) -> None:
    answer = browser.post(
        "/comparisons/new", data=comparison_form(browser, **{"versions": " ".join(compared.shas), **fields})
    )
    assert answer.status_code == 422
    assert says in answer.text


def test_a_form_that_is_not_ours_changes_nothing(browser: FlaskClient) -> None:
    for address in ("/comparisons/new", f"{PAGE}/cancel", f"{PAGE}/resume"):
        assert browser.post(address, data={"versions": "a b"}).status_code == 403


def test_on_another_address_the_token_is_needed(compared: Compared) -> None:
    repositories = (f"kv={compared.clone}",)
    client = application(compared.home, host="0.0.0.0", token=TOKEN, repositories=repositories).test_client()
    assert "sign in" in client.get("/comparisons/new").text
    assert client.get(PAGE).status_code == 200


def test_what_is_finished_cannot_be_cancelled(browser: FlaskClient) -> None:
    sent = {"csrf": comparison_form(browser)["csrf"]}
    answer = browser.post(f"{PAGE}/cancel", data=sent, follow_redirects=True)
    assert "is finished" in answer.text
