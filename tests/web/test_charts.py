"""The addresses of the charts: what is drawn there, when it is drawn again, and which pages show it."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient
from web_home import Known, application

from cpubisect.draw import picture
from cpubisect.draw.axis import Axis, Mark, Point
from cpubisect.records.store import Store
from cpubisect.search.events import Notice
from cpubisect.web.draw.drawing import specification

pytestmark = pytest.mark.xdist_group("known")

XLINK = "{http://www.w3.org/1999/xlink}"


def charts(known: Known) -> list[str]:
    """The address of each chart."""
    culprit = f"/bisections/1/culprits/{known.culprit}"
    return ["/bisections/1/chart.svg", f"{culprit}/steps.svg", f"{culprit}/flame.svg"]


def shown(client: FlaskClient, page: str) -> list[str]:
    """The addresses of the charts that a page shows."""
    return [unescape(found) for found in re.findall(r'<object [^>]*data="([^"]+)"', client.get(page).text)]


@pytest.fixture
def home(known: Known, tmp_path: Path) -> Path:
    """A copy to be changed."""
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    return tmp_path / "home"


def test_each_is_a_document_with_our_stylesheet_and_nothing_that_runs(client: FlaskClient, known: Known) -> None:
    for path in charts(known):
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.mimetype == "image/svg+xml"
        assert answer.text.startswith('<?xml-stylesheet href="/charts.css"?>')
        root = ElementTree.fromstring(answer.text)
        for element in root.iter():
            name = element.tag.rpartition("}")[2]
            assert name in ("svg", "g", "path", "text", "tspan", "title", "a", "defs", "clipPath", "rect", "line")
            assert "style" not in element.attrib
            assert not [attribute for attribute in element.attrib if attribute.startswith("on")]
            assert not element.get(f"{XLINK}href", "/").startswith(("javascript", "http", "//"))
    style = client.get("/charts.css")
    assert style.mimetype == "text/css"
    assert "prefers-color-scheme: dark" in style.text


def test_hostile_subjects_are_text(client: FlaskClient) -> None:
    text = client.get("/bisections/1/chart.svg").text
    assert "<script>alert('subject')" in "".join(ElementTree.fromstring(text).itertext())
    assert "<script" not in text


def test_each_has_two_widths(client: FlaskClient, known: Known) -> None:
    for path in charts(known):
        wide, narrow = (
            ElementTree.fromstring(client.get(f"{path}?width={width}").text).attrib["viewBox"].split()
            for width in ("broad", "narrow")
        )
        assert float(narrow[2]) < 0.7 * float(wide[2])


def test_pages_show_them_where_they_are(client: FlaskClient, known: Known) -> None:
    found = shown(client, "/bisections/1") + shown(client, f"/bisections/1/culprits/{known.culprit}")
    assert len(found) == 4
    assert {address.partition("?")[0] for address in found} == set(charts(known))
    for address in found:
        assert client.get(address).mimetype == "image/svg+xml"


def test_points_lead_to_the_lines_of_the_page_that_shows_them(home: Path) -> None:
    store = Store(home / "store.sqlite")
    question = store.bisection(1).question
    both = ("readrandom", "overwrite")
    parameters = dict.fromkeys(both, question.parameters["readrandom"])
    store.update_bisection(1, question=replace(question, tests=both, parameters=parameters))
    client = application(home).test_client()
    for page in ("/bisections/1", "/bisections/1?test=readrandom", "/bisections/1?test=nothing"):
        lines = set(re.findall(r'<tr id="([^"]+)"', client.get(page).text))
        for address in shown(client, page):
            links = list(ElementTree.fromstring(client.get(address).text).iter("{http://www.w3.org/2000/svg}a"))
            assert links
            for link in links:
                assert link.get("target") == "_top"
                where, _, line = link.attrib[f"{XLINK}href"].partition("#")
                assert where == page.removesuffix("?test=nothing")
                assert line in lines


def test_a_culprit_inside_a_merge_leads_to_the_line_of_the_merge() -> None:
    merge = Point(1, "b" * 40, "Merge", 2.0, None, None, 1)
    ends = (Point(0, "a" * 40, "good", 1.0, None, None, 1), Point(2, "d" * 40, "bad", 2.0, None, None, 1))
    known = Axis(
        *(1, "rocksdb", "readrandom", "finished", "instructions/query", 2, "v1", "v2", 1.0, 2.0),
        points=(ends[0], merge, ends[1]),
        culprits=(Mark(1, "c" * 40, "inside", 100.0),),
    )
    links = set(re.findall(r'"(#c-[^"]+)"', json.dumps(specification(known))))
    assert links == {f"#c-{letter * 12}-main" for letter in "abd"}


def test_what_is_known_is_not_drawn_again_until_something_happens(
    home: Path, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = application(home).test_client()
    page, path = "/bisections/1", charts(known)[0]
    before, first = shown(client, page), client.get(path)
    assert first.headers["Cache-Control"] == "no-cache"
    known_tag = {"If-None-Match": first.headers["ETag"]}
    with monkeypatch.context() as patch:
        patch.setattr(picture, "document", lambda *_: pytest.fail("drawn again"))
        again = client.get(path, headers=known_tag)
    assert (again.status_code, again.text) == (304, "")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert shown(client, page) == before
    Store(home / "store.sqlite").add_event(1, Notice(text="something"))
    later = client.get(path, headers=known_tag)
    assert later.status_code == 200
    assert later.headers["ETag"] != first.headers["ETag"]
    assert set(shown(client, page)).isdisjoint(before)
    other = application(home).test_client().get(path, headers={"If-None-Match": later.headers["ETag"]})
    assert other.status_code == 200, "another server may draw it otherwise"


def test_a_state_is_something_that_happens(home: Path) -> None:
    client = application(home).test_client()
    before = shown(client, "/bisections/1")
    Store(home / "store.sqlite").update_bisection(1, state="cancelled")
    assert set(shown(client, "/bisections/1")).isdisjoint(before)


def test_without_call_graphs_there_is_no_flame_graph(home: Path, known: Known) -> None:
    store = Store(home / "store.sqlite")
    answer = store.bisection(1).verdict
    assert answer
    verdict = answer.tests["readrandom"]
    elsewhere = replace(verdict, culprits=(replace(verdict.culprits[0], parent="0" * 40),))
    store.update_bisection(1, verdict=replace(answer, tests={"readrandom": elsewhere}))
    client = application(home).test_client()
    path = f"/bisections/1/culprits/{known.culprit}"
    assert "kept no call graph" in client.get(path).text
    assert not [address for address in shown(client, path) if "flame" in address]
    assert client.get(f"{path}/flame.svg").status_code == 404


@pytest.mark.parametrize("path", ["2/chart.svg", "1/culprits/0/steps.svg", "1/culprits/0/flame.svg", "1/chart.png"])
def test_there_is_no_chart_of_what_is_not_there(client: FlaskClient, path: str) -> None:
    assert client.get(f"/bisections/{path}").status_code == 404


def test_what_draws_is_loaded_by_the_first_chart_and_no_page(known: Known) -> None:
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent.parent / "support")!r})
from web_home import application
import cpubisect.report.render
client = application(Path({str(known.home)!r})).test_client()
heavy = {{"altair", "vl_convert"}}
for path in ("/", "/bisections/1", "/bisections/1/culprits/{known.culprit}", "/charts.css", "/bisections/1/suspects"):
    assert client.get(path).status_code == 200
    assert not heavy & sys.modules.keys(), path
assert client.get("/bisections/1/chart.svg").status_code == 200
assert heavy <= sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
