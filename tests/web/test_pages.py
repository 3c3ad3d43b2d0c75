"""Every page, as a browser without JavaScript gets it, over a real finished bisection."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from web_home import Known, application

from cpubisect.base.home import Home
from cpubisect.base.metrics import CPU, INSTRUCTIONS, Counter
from cpubisect.records.purpose import Purpose
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.report.form import Form
from cpubisect.report.render import render
from cpubisect.search.events import read
from cpubisect.search.verdict import Answer
from cpubisect.workloads.probe import Samples

pytestmark = pytest.mark.xdist_group("known")


def pages(known: Known) -> list[str]:
    """The address of each page."""
    one = "/bisections/1"
    compare = f"/compare?build={known.shas[1]}&build={known.culprit}"
    below = ["", "/suspects", "/log", "/builds/1", "/probes/1", f"/culprits/{known.culprit}"]
    return ["/", "/start", "/compare", compare, "/sign-in", *(one + path for path in below)]


class Elements(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.scripts: list[str | None] = []
        self.styles = 0
        self.forms = 0
        self.csrf = 0
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag == "script":
            self.scripts.append(given.get("src"))
        self.styles += tag == "style" or "style" in given
        self.forms += tag == "form" and given.get("method") == "post"
        self.csrf += given.get("name") == "csrf"
        self.handlers += [name for name in given if name.startswith("on")]


def test_each_page_answers_and_obeys_its_own_policy(client: FlaskClient, known: Known) -> None:
    for page in pages(known):
        answer = client.get(page)
        assert answer.status_code == 200, page
        found = Elements(answer.text)
        assert found.scripts == ["/static/live.js"], page
        assert not found.styles, f"{page}: the policy forbids inline styles"
        assert not found.handlers, page
        assert found.csrf == found.forms, page
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_links_lead_somewhere(client: FlaskClient, known: Known) -> None:
    links = {link.partition("#")[0] for page in pages(known) for link in Elements(client.get(page).text).links}
    for link in sorted(filter(None, links)):
        assert client.get(link).status_code == 200, link


def test_hostile_names_stay_text(client: FlaskClient, known: Known) -> None:
    for page in pages(known):
        text = client.get(page).text
        assert "<script>alert" not in text, page
    assert "&lt;script&gt;alert(&#39;subject&#39;)" in client.get(f"/bisections/1/culprits/{known.culprit}").text


def test_one_bisection_shows_its_answer_and_all_that_was_measured(client: FlaskClient, known: Known) -> None:
    text = client.get("/bisections/1").text
    assert f"/bisections/1/culprits/{known.culprit}" in text
    with_culprit = re.search(r'<tr id="c-[^"]*" class="culprit">.*?</tr>', text, re.DOTALL)
    assert with_culprit
    assert known.culprit[:12] in with_culprit[0]
    assert 'class="num worse"' in with_culprit[0]
    for end in ("good", "bad"):
        assert f'<span class="role">{end}</span>' in text
    assert "instructions/query" in text


def test_the_culprit_page_has_what_a_bug_report_needs(client: FlaskClient, known: Known) -> None:
    text = client.get(f"/bisections/1/culprits/{known.culprit}").text
    for part in (
        "Ada Writer",
        known.culprit,
        known.shas[3],
        "cpu us/query",
        "cost.h",
        "bisect start",
        "steps.svg",
        "flame.svg",
    ):
        assert part in text, part


@pytest.mark.parametrize(
    "path",
    [
        "/bisections/2",
        "/bisections/99999999999999999999",
        "/bisections/1/builds/999",
        "/bisections/1/probes/999",
        "/bisections/1/culprits/" + "0" * 40,
        "/bisections/1/culprits/../../etc/passwd",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/bisections/1/report.%2e%2e%2fstore",
        "/compare?build=nothing",
    ],
)
def test_what_is_not_there_is_said_in_one_line(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "Traceback" not in answer.text


def test_comparing_puts_the_base_at_one(client: FlaskClient, known: Known) -> None:
    data = client.get(f"/api/compare?build={known.shas[1]}&build={known.culprit[:10]}").json
    assert data
    cells = data["groups"][0]["lines"][0]["cells"]
    assert cells[0]["relative_instructions"] == 1.0
    assert 1.05 < cells[1]["relative_instructions"] < 1.5
    text = client.get(f"/compare?build={known.shas[1]}&build={known.culprit}").text
    assert 'class="num worse"' in text


def test_another_counter_is_not_mixed_in(known: Known, tmp_path: Path) -> None:
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    app = application(tmp_path / "home")
    address = f"/api/compare?build={known.shas[1]}&build={known.culprit}"
    before = app.test_client().get(address).json
    store = Store(tmp_path / "home" / "store.sqlite")
    build = next(build for build, _ in store.builds(1) if build.sha == known.culprit)
    parameters = store.bisection(1).question.parameters["readrandom"]
    found = Samples({INSTRUCTIONS: (9e9,)}, Counter.HARDWARE, parameters, 1.0)
    store.add_probe(1, build.id, Purpose.SEARCH, "readrandom", parameters, 1.0, found, seconds=1.0, counter="perf")
    after = app.test_client().get(address).json
    assert before is not None
    assert after is not None
    assert before["groups"][0]["lines"][0] in after["groups"][0]["lines"]


def test_a_count_that_is_not_steady_is_said_to_be_so(known: Known, tmp_path: Path) -> None:
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    home = Home(tmp_path / "home")
    store = Store(home.store)
    build = next(build for build, _ in store.builds(1) if build.sha == known.culprit)
    parameters = store.bisection(1).question.parameters["readrandom"]
    note = "not steady: the last 2 of 8 counts are 3.00 % apart"
    found = Samples({INSTRUCTIONS: (9e9,)}, Counter.CALLGRIND, parameters, 1.0, note=note)
    counter = "callgrind"
    store.add_probe(1, build.id, Purpose.SEARCH, "readrandom", parameters, 1.0, found, seconds=1.0, counter=counter)
    probe = store.probes(1)[-1]
    assert note in application(home.root).test_client().get(f"/bisections/1/probes/{probe.id}").text
    registry = Registry(home, store)
    (told,) = (one for one in json.loads(render(registry, 1, Form.JSON))["commits"] if one["sha"] == known.culprit)
    assert told["notes"] == {"readrandom": [note]}
    assert note in render(registry, 1, Form.MARKDOWN).decode()


def test_a_step_in_cpu_time_is_shown_while_it_is_searched_for(known: Known, tmp_path: Path) -> None:
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    store = Store(tmp_path / "home" / "store.sqlite")
    store.update_bisection(1, verdict=None, state="queued")
    store.add_event(1, read("regime", {"regime": "noisy", "metric": CPU, "percent": 9.0, "min_step": 2.0}))
    view = application(tmp_path / "home").test_client().get("/api/bisections/1").json
    assert view is not None
    stepped = [line for line in view["commits"] if line["step_percent"] is not None]
    assert stepped
    for before, line in pairwise(view["commits"]):
        if line["step_percent"] is not None and before["path"] == line["path"]:
            expected = (line["cpu_us"]["mean"] / before["cpu_us"]["mean"] - 1) * 100
            assert line["step_percent"] == pytest.approx(expected)


def test_each_test_has_its_own_culprit_page(known: Known, tmp_path: Path) -> None:
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    store = Store(tmp_path / "home" / "store.sqlite")
    row = store.bisection(1)
    assert row.verdict is not None
    verdict = row.verdict.tests["readrandom"]
    ((culprit, step),) = verdict.found
    steps = {**culprit.steps, INSTRUCTIONS: replace(step, percent=77.0)}
    other = replace(verdict, culprits=(replace(culprit, steps=steps),))
    both = ("readrandom", "overwrite")
    question = replace(row.question, tests=both, parameters=dict.fromkeys(both, row.question.parameters["readrandom"]))
    answer = Answer.of({"readrandom": verdict, "overwrite": other}, both)
    store.update_bisection(1, question=question, verdict=answer)
    client = application(tmp_path / "home").test_client()
    link = re.search(r'href="([^"]*/culprits/[^"]*)"', client.get("/bisections/1?test=overwrite").text)
    assert link
    assert "+77.00 %" in client.get(link[1].replace("&amp;", "&")).text
    assert "+77.00 %" not in client.get(f"/bisections/1/culprits/{known.culprit}").text


def test_an_empty_store_says_how_to_begin(home: Path) -> None:
    text = application(Home.open().root).test_client().get("/").text
    assert "No bisection yet" in text
