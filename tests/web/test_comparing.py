"""The pages of comparisons: asked for by a form, measured by a worker, shown, and led on to a bisection."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
import schemathesis
from flask.testing import FlaskClient
from small_bisections import QUICK, cost, history, tree
from web_home import TOKEN, application

from cpubisect.base.home import Home
from cpubisect.records.comparisons import Comparisons
from cpubisect.search.events import Event
from cpubisect.service.compare import run

SETTINGS = "\n".join(QUICK[1::2])
PAGE = "/comparisons/1"


def quiet(event: Event) -> None:
    pass


def form(client: FlaskClient, **fields: str) -> dict[str, str]:
    """What the form of the page would send."""
    token = re.search(r'name="csrf" value="([^"]+)"', client.get("/comparisons/new").text)
    assert token is not None
    plain = {"repository": "kv", "versions": "", "tests": "readrandom", "rounds": "2", "settings": SETTINGS}
    return {"csrf": token[1], **plain, **fields}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[tuple[Path, Path, list[str]]]:
    """A home with one comparison that was asked for by the form, and measured; its clone, and the commits."""
    root = tmp_path_factory.mktemp("comparing")
    shas = history(tree(1000), cost(3000), cost(1, "#error <b>not today</b>\n")).write(root / "kv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPUBISECT_HOME", str(root / "home"))
        patch.setenv("CCACHE_DIR", str(compiler_cache))
        home = Home.open()
        client = application(root / "home", repositories=(f"kv={root / 'kv'}",)).test_client()
        answer = client.post("/comparisons/new", data=form(client, versions=" ".join(shas.values())))
        assert (answer.status_code, answer.headers["Location"]) == (303, PAGE), answer.text
        comparisons = Comparisons.of(home)
        assert comparisons.queued() == [1]
        assert "queued" in client.get(PAGE).text
        assert run(comparisons, 1, quiet)
        yield root / "home", root / "kv", list(shas.values())


@pytest.fixture
def browser(measured: tuple[Path, Path, list[str]]) -> FlaskClient:
    home, clone, _ = measured
    return application(home, repositories=(f"kv={clone}",)).test_client()


def test_a_page_shows_the_tables_and_escapes_what_compilers_say(
    browser: FlaskClient, measured: tuple[Path, Path, list[str]]
) -> None:
    text = browser.get(PAGE).text
    assert "Relative instructions/query" in text
    assert 'class="num worse"' in text
    assert "could not be built" in text
    assert "<b>not today" not in text
    assert PAGE in browser.get("/compare").text
    assert browser.get("/comparisons/2").status_code == 404


def test_a_cell_leads_to_probes_functions_and_a_bisection(
    browser: FlaskClient, measured: tuple[Path, Path, list[str]]
) -> None:
    shas = measured[2]
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
def test_what_the_form_refuses(
    browser: FlaskClient, measured: tuple[Path, Path, list[str]], fields: dict[str, str], says: str
) -> None:
    answer = browser.post("/comparisons/new", data=form(browser, **{"versions": " ".join(measured[2]), **fields}))
    assert answer.status_code == 422
    assert says in answer.text


def test_a_form_that_is_not_ours_changes_nothing(browser: FlaskClient) -> None:
    for address in ("/comparisons/new", f"{PAGE}/cancel", f"{PAGE}/resume"):
        assert browser.post(address, data={"versions": "a b"}).status_code == 403


def test_on_another_address_the_token_is_needed(measured: tuple[Path, Path, list[str]]) -> None:
    home, clone, _ = measured
    client = application(home, host="0.0.0.0", token=TOKEN, repositories=(f"kv={clone}",)).test_client()
    assert "sign in" in client.get("/comparisons/new").text
    assert client.get(PAGE).status_code == 200


def test_what_is_finished_cannot_be_cancelled(browser: FlaskClient) -> None:
    sent = {"csrf": form(browser)["csrf"]}
    answer = browser.post(f"{PAGE}/cancel", data=sent, follow_redirects=True)
    assert "is finished" in answer.text
