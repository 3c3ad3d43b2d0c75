"""The pages of comparisons: asked for by a form, measured by a worker, shown, and led on to a bisection."""

import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from web_home import TOKEN, Compared, application, comparison_form

from cpubisect.base.flags import Flags
from cpubisect.base.home import Home
from cpubisect.base.metrics import Counter
from cpubisect.records.comparisons import Comparisons
from cpubisect.report.comparing.content import details, opening
from cpubisect.search.comparing.question import Asked
from cpubisect.views.comparison import gather_comparison

PAGE = "/comparisons/1"

pytestmark = pytest.mark.xdist_group("known")


@pytest.fixture
def copied(compared: Compared, tmp_path: Path) -> Comparisons:
    """A copy of the home with the comparison, to be changed."""
    shutil.copytree(compared.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    return Comparisons.of(Home(tmp_path / "home"))


def browsing(comparisons: Comparisons, compared: Compared) -> FlaskClient:
    return application(comparisons.home.root, repositories=(f"kv={compared.clone}",)).test_client()


def asked_of(comparisons: Comparisons) -> Asked:
    return comparisons.row(1).asked


def cells(client: FlaskClient) -> list[str]:
    """The addresses that the tables lead to, each once."""
    found = re.findall(r'href="(/comparisons/1/cell[^"]+)"', client.get(PAGE).text)
    return list(dict.fromkeys(map(unescape, found)))


def onward(client: FlaskClient, cell: str) -> str:
    """The address of the bisection that a cell leads to."""
    (found,) = re.findall(r'href="(/start[^"]+)"', client.get(cell).text)
    return unescape(found)


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
    cell = next(cell for cell in cells(browser) if shas[1] in cell)
    assert "lookup" in browser.get(cell).text
    filled = browser.get(onward(browser, cell)).text
    assert f'value="{shas[0]}"' in filled
    assert f'value="{shas[1]}"' in filled
    assert "clock_ops=100,2000" in filled
    assert re.search(r'<option value="readrandom"[^>]* selected', filled)
    assert re.search(r'<option value="kv" selected', filled)
    assert browser.get(f"{PAGE}/cell?row=nothing&version=x").status_code == 404


def test_a_bisection_asks_what_its_cell_shows(browser: FlaskClient, compared: Compared, copied: Comparisons) -> None:
    offered = re.search(r'<select name="toolchain">.*?<option>([^<]+)', browser.get("/start").text)
    assert offered
    named = asked_of(copied)
    own = {"flags": Flags.RELEASE, "toolchain": offered[1], "counter": Counter.CALLGRIND}
    copied.update(1, asked=replace(named, **own))
    client = browsing(copied, compared)
    cell = next(cell for cell in cells(client) if compared.shas[1] in cell)
    filled = client.get(onward(client, cell)).text
    for value in own.values():
        assert re.search(rf'<option[^>]* selected>{value}<|<option value="{value}" selected>', filled), value
    copied.update(1, asked=replace(named, toolchain=None))
    assert not re.search("[?&](flags|toolchain|counter)=", onward(client, cell))


def test_a_page_says_what_the_report_says(browser: FlaskClient, compared: Compared, copied: Comparisons) -> None:
    asked = asked_of(copied)
    first, second, broken = asked.sides
    changed = replace(
        asked, flags=Flags.RELEASE, given={**asked.given, "defaults": "4.0"}, sides=(broken, first, second)
    )
    copied.update(1, asked=changed)
    with copied.store.writing() as connection:
        connection.execute("UPDATE builds SET sandbox = 'none'")
    told = gather_comparison(copied, 1)
    text = unescape(browsing(copied, compared).get(PAGE).text)
    for line in opening(told):
        assert line in text
    for section in details(told):
        assert f"<h2>{section.title}</h2>" in text
    wanted = ("of each release build", "defaults=4.0", str(compared.clone), told.counter or "-", "Built in no sandbox")
    for said in (*wanted, f"{broken.name} cannot be the base; {first.name} is"):
        assert said in text, said


def test_a_failed_cell_leads_to_what_is_known_of_it(
    browser: FlaskClient, compared: Compared, copied: Comparisons
) -> None:
    broken = next(cell for cell in cells(browser) if compared.shas[2] in cell)
    text = browser.get(broken).text
    assert "could not be built" in text
    assert "Bisect this" not in text
    with copied.store.writing() as connection:
        connection.execute("DELETE FROM comparison_samples")
        connection.execute("UPDATE comparison_probes SET error = 'no such <benchmark>'")
    client = browsing(copied, compared)
    failed = next(cell for cell in cells(browser) if compared.shas[1] in cell)
    text = client.get(failed).text
    assert "no such &lt;benchmark&gt;" in text
    assert "Bisect this" not in text


def test_a_cell_shows_three_digits_of_what_is_small(compared: Compared, copied: Comparisons) -> None:
    with copied.store.writing() as connection:
        connection.execute("UPDATE comparison_samples SET value = 0.0005")
    client = browsing(copied, compared)
    assert '<td class="num">0.000500</td>' in client.get(cells(client)[0]).text


def test_flags_can_be_asked_for(compared: Compared, copied: Comparisons) -> None:
    client = browsing(copied, compared)
    form = comparison_form(client, versions=" ".join(compared.shas[:2]), flags="release", counter="callgrind")
    assert client.post("/comparisons/new", data=form).headers["Location"] == "/comparisons/2"
    asked = copied.row(2).asked
    assert (asked.flags, asked.counter) == (Flags.RELEASE, Counter.CALLGRIND)
    refused = client.post("/comparisons/new", data={**form, "versions": "one"}).text
    assert '<option value="release" selected>' in refused
    assert client.post("/comparisons/new", data={**form, "flags": "other"}).status_code == 422


@pytest.mark.parametrize("name", ["text", "markdown", "html", "csv", "json", "svg", "png"])
def test_every_form_can_be_downloaded(browser: FlaskClient, name: str) -> None:
    answer = browser.get(f"{PAGE}/table.{name}")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["Content-Disposition"]
    assert answer.data


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"versions": "one"}, "at least 2"),
        ({"versions": "no such"}, "no"),
        ({"clients": "many"}, "numbers"),
        ({"rounds": "1"}, "greater than or equal to 2"),
        ({"rounds": "x"}, "numbers"),
        ({"repository": "elsewhere"}, "there is no repository"),
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
