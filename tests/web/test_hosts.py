"""No page, report, picture or answer names a host that is not ours or the repository's."""

import io
import re
import tarfile
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from web_home import Compared, Known

from cpubisect.base.home import Home
from cpubisect.draw import picture
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.report.comparing.form import TableForm, written
from cpubisect.report.form import Form
from cpubisect.report.render import render
from cpubisect.views.comparison import gather_comparison

pytestmark = pytest.mark.xdist_group("known")

_HOST = re.compile(r"//(?:[^\s/\"'<>@]*@)?((?:[a-z0-9-]+\.)+[a-z]{2,})(?![\w.-])", re.IGNORECASE)
_NAMESPACE = "www.w3.org"
"""In the names of XML's parts: no browser asks it for anything."""


def hosts(text: str) -> set[str]:
    """The hosts that a text names by an address, of whatever scheme."""
    return set(_HOST.findall(text)) - {_NAMESPACE}


def ours(known: Known) -> Registry:
    home = Home(known.home)
    return Registry(home, Store(home.store))


def test_what_counts_as_naming_a_host() -> None:
    text = '<a href="//a.example/x"> url(https://b.example) http://127.0.0.1:8000/ "data://c.example" // comment'
    assert hosts(text) == {"a.example", "b.example", "c.example"}


def addresses(client: FlaskClient, *more: str) -> set[str]:
    """Every address without parameters but numbers and commits that a link of a page leads to, from the list on and
    from `more`."""
    seen: set[str] = set()
    ahead = [*more, "/", "/start", "/compare", "/comparisons/new", "/sign-in", "/charts.css", "/no-such-page"]
    ahead += ["/static/live.js", "/static/cpubisect.css", "/static/icon.svg", "/api/openapi.json", "/api/choices"]
    below = ("", "/candidates", "/chart", "/events", "/suspects", "/report", "/builds/1", "/probes/1")
    ahead += ["/api/bisections", *(f"/api/bisections/1{path}" for path in below)]
    while ahead:
        path = ahead.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = client.get(path)
        if answer.mimetype == "text/html" and "attachment" not in answer.headers.get("Content-Disposition", ""):
            found = re.findall(r'(?:href|src|data|action)="(/[^"#]*)', answer.text)
            ahead += [link.replace("&amp;", "&") for link in found if "stream" not in link]
    return seen


def test_no_page_picture_or_answer_names_another_host(client: FlaskClient) -> None:
    looked_at = addresses(client)
    assert {path for path in looked_at if "chart.svg" in path}
    assert {path for path in looked_at if "report.html" in path}
    assert named(client, looked_at) == {}


def named(client: FlaskClient, looked_at: set[str]) -> dict[str, set[str]]:
    """Of those addresses whose answers name other hosts, which; the form offers the public repositories, whose
    addresses it does not say."""
    answers = {path: client.get(path) for path in looked_at}
    texts = {path: one.text for path, one in answers.items() if one.mimetype not in ("image/png", "application/gzip")}
    return {path: found for path, text in texts.items() if (found := hosts(text))}


def test_no_page_of_a_comparison_names_another_host(browser: FlaskClient) -> None:
    forms = [f"/comparisons/1/table.{form.value}" for form in TableForm]
    looked_at = addresses(browser, "/comparisons/1", "/api/comparisons/1", *forms)
    assert {path for path in looked_at if path.startswith("/comparisons/1/cell")}
    assert named(browser, looked_at) == {}


@pytest.mark.parametrize("form", TableForm)
def test_no_form_of_a_comparison_names_another_host(compared: Compared, form: TableForm) -> None:
    told = gather_comparison(Comparisons.of(Home(compared.home)), 1)
    data = written(told, form)
    assert len(data) > 100
    assert hosts(data.decode(errors="ignore")) == set()
    assert b"vega" not in data


@pytest.mark.parametrize("form", Form)
def test_no_form_of_a_report_names_another_host(known: Known, form: Form) -> None:
    content = render(ours(known), 1, form)
    data = content if isinstance(content, bytes) else content.encode()
    if form is Form.BUNDLE:
        with tarfile.open(fileobj=io.BytesIO(data)) as bundle:
            for member in bundle:
                file = bundle.extractfile(member)
                # The matrix says where engines and libraries are from, and stays as its user wrote it.
                if file is not None and not member.name.endswith("/compiler-matrix.yaml"):
                    assert hosts(file.read().decode(errors="ignore")) == set(), member.name
    else:
        assert hosts(data.decode(errors="ignore")) == set()
        assert b"vega" not in data


@pytest.mark.parametrize(
    "target",
    ["#c-0123456789ab-main", "/bisections/1", "x/y?z=1&w=%2F", "//other", "https://example.org/a%20b/commit/1", "c d"],
)
def test_a_link_of_a_picture_leads_where_the_specification_says(target: str) -> None:
    drawn = picture.svg(
        {
            "data": {"values": [{"x": 1, "link": "", "href": target}]},
            "mark": "point",
            "encoding": {"x": {"field": "x", "type": "quantitative"}, "href": {"field": "href", "type": "nominal"}},
        }
    )
    (link,) = re.findall(r'<a xlink:href="([^"]*)"', drawn)
    assert link.replace("&amp;", "&") == target


def test_a_link_that_the_renderer_made_up_leads_nowhere() -> None:
    drawn = picture.svg(
        {
            "data": {"values": [{"x": 1, "elsewhere": "#c-1"}]},
            "mark": "point",
            "encoding": {
                "x": {"field": "x", "type": "quantitative"},
                "href": {"field": "elsewhere", "type": "nominal"},
            },
        }
    )
    assert "vega" not in drawn
    assert "href=" not in drawn


def test_no_file_that_we_serve_names_another_host() -> None:
    web = Path(picture.__file__).resolve().parents[2] / "web"
    files = [*(web / "templates").iterdir(), *(web / "static").iterdir()]
    assert len(files) > 10
    assert {file.name: found for file in files if (found := hosts(file.read_text()))} == {}
