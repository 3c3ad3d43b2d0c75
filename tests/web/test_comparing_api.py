"""The API of comparisons: it says what their pages show, and starts, cancels and resumes one."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from flask.testing import FlaskClient
from small_bisections import QUICK
from web_home import TOKEN, Compared, application

from cpubisect.base.flags import Flags
from cpubisect.base.home import Home
from cpubisect.base.metrics import Counter
from cpubisect.records.comparisons import Comparisons
from cpubisect.web.views import side_by_side

ALLOWED = {"Authorization": f"Bearer {TOKEN}"}
EVERY = "/api/comparisons"
ONE = f"{EVERY}/1"

pytestmark = pytest.mark.xdist_group("known")


def answered(client: FlaskClient, address: str, **query: str) -> Any:
    """What an address answers with 200."""
    answer = client.get(address, query_string=query)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_each_answer_is_as_described(browser: FlaskClient, compared: Compared) -> None:
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", browser.application)
    for version in compared.shas:
        for path, query in (("", {}), ("/{comparison}", {}), ("/{comparison}/cell", {"row": "readrandom"})):
            asked = {**query, "version": version} if query else {}
            parts = {"comparison": 1} if path else {}
            case = schema[EVERY + path]["GET"].Case(path_parameters=parts, query=asked)
            answer = case.call(headers={"Host": "localhost"})
            assert answer.status_code == 200, path
            case.validate_response(answer)


def test_the_api_says_the_same_as_the_file(browser: FlaskClient) -> None:
    assert answered(browser, ONE) == answered(browser, "/comparisons/1/table.json")
    assert browser.get(f"{EVERY}/7").status_code == 404


def test_comparisons_are_listed_page_by_page(
    browser: FlaskClient, compared: Compared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = answered(browser, EVERY)
    assert [(one["id"], one["versions"]) for one in data["comparisons"]] == [(1, compared.shas)]
    assert browser.get(EVERY, query_string={"page": "x"}).status_code == 422
    assert "/comparisons/1" in browser.get("/comparisons").text
    home = Home(tmp_path / "home")
    shutil.copytree(compared.home, home.root, ignore=shutil.ignore_patterns("ccache"))
    comparisons = Comparisons.of(home)
    for _ in range(2):
        comparisons.add(comparisons.row(1).asked, {}, queued=True)
    monkeypatch.setattr(side_by_side, "PER_PAGE", 2)
    pages = [side_by_side.comparisons_listed(comparisons, page) for page in (0, 1, 2, 3)]
    assert [[one.id for one in page.comparisons] for page in pages] == [[3, 2], [3, 2], [1], [1]]
    assert {(page.total, page.pages) for page in pages} == {(3, 2)}
    assert "page 2 of 2" in application(home.root).test_client().get("/comparisons?page=2").text


def test_a_cell_has_its_probes_and_the_bisection_to_ask_for(browser: FlaskClient, compared: Compared) -> None:
    base, slower, broken = compared.shas
    data = answered(browser, f"{ONE}/cell", row="readrandom", version=slower)
    assert [(side["name"], len(side["probes"])) for side in data["sides"]] == [(base, 2), (slower, 2)]
    assert "instructions/query" in data["sides"][1]["probes"][0]["readings"]
    assert any("lookup" in one["function"] for one in data["grown"])
    wanted = {"good": base, "bad": slower, "test": "readrandom", "find": "regression", "flags": "pinned"}
    assert wanted.items() <= data["onward"].items()
    failed = answered(browser, f"{ONE}/cell", row="readrandom", version=broken)
    assert (failed["sides"][1]["probes"], failed["onward"]) == ([], None)
    assert "not today" in failed["sides"][1]["problem"]
    assert answered(browser, f"{ONE}/cell", row="readrandom", version=base)["onward"] is None
    assert browser.get(f"{ONE}/cell", query_string={"row": "nothing", "version": base}).status_code == 404


def test_a_comparison_is_started_cancelled_and_resumed(compared: Compared, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(compared.home, home, ignore=shutil.ignore_patterns("ccache"))
    client = application(home, token=TOKEN, repositories=(f"kv={compared.clone}",)).test_client()
    asked: dict[str, Any] = {"repository": "kv", "versions": compared.shas[:2], "tests": ["readrandom"]}
    asked |= {"settings": dict(pair.split("=", 1) for pair in QUICK[1::2]), "rounds": 3, "clients": [1, 2]}
    asked |= {"flags": "release", "counter": "callgrind"}
    assert client.post(EVERY, json=asked).status_code == 401
    started = client.post(EVERY, json=asked, headers=ALLOWED)
    assert (started.status_code, started.headers["Location"]) == (201, f"{EVERY}/2"), started.text
    stored = Comparisons.of(Home(home)).row(2).asked
    assert (stored.flags, stored.counter, stored.rounds) == (Flags.RELEASE, Counter.CALLGRIND, 3)
    assert stored.clients == (1, 2)
    where = f"{EVERY}/2"
    for change, code, state in (("cancel", 200, "cancelled"), ("cancel", 409, ""), ("resume", 200, "queued")):
        answer = client.post(f"{where}/{change}", headers=ALLOWED)
        assert answer.status_code == code, answer.text
        assert not state or answer.json == {"id": 2, "state": state}
    assert client.post(f"{where}/cancel").status_code == 401
    assert client.post(f"{EVERY}/7/cancel", headers=ALLOWED).status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"versions": ["one"]},
        {"rounds": 1},
        {"clients": [0]},
        {"flags": "other"},
        {"repository": "elsewhere"},
        {"settings": {"db": "/etc/passwd"}},
        {"unsafe_settings": True},
        {"tests": ["nothing"]},
    ],
)
def test_what_cannot_be_asked_is_refused(compared: Compared, fields: dict[str, Any]) -> None:
    client = application(compared.home, token=TOKEN, repositories=(f"kv={compared.clone}",)).test_client()
    asked = {"repository": "kv", "versions": compared.shas[:2], "tests": ["readrandom"], **fields}
    answer = client.post(EVERY, json=asked, headers=ALLOWED)
    assert answer.status_code == 422
    assert answer.json["problem"]  # type: ignore[index]
