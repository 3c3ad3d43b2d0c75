"""The API against its own description: schemathesis makes requests, right and wrong, and checks every answer."""

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from web_home import TOKEN, Known, application

from cpubisect.records.store import Store
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Answer
from cpubisect.web.openapi import document

pytestmark = pytest.mark.xdist_group("known")

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
    ignored_auth,
)


OPERATIONS = [(path, method) for path, operations in document()["paths"].items() for method in operations]


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda part: part.removeprefix("/api/"))
def test_every_operation_answers_as_described(known: Known, path: str, method: str) -> None:
    """Made-up bisections are refused for what they name, so nothing is ever started here."""
    operation = schemathesis.openapi.from_wsgi("/api/openapi.json", application(known.home, token=TOKEN))[path][method]

    @given(case=operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    def answers(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}", "Host": "localhost"}, checks=CHECKS)

    answers()


def test_numbers_are_taken_within_the_bounds_that_are_described(known: Known) -> None:
    client = application(known.home).test_client()
    tried = 0
    for path, operations in document()["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            bounds = parameter["schema"]
            if parameter["in"] == "query" and bounds["type"] == "integer":
                asked = [bounds["minimum"] - 1, bounds["minimum"], bounds["maximum"], bounds["maximum"] + 1]
                where = path.format(bisection=1) + f"?{parameter['name']}="
                assert [client.get(f"{where}{number}").status_code for number in asked] == [422, 200, 200, 422], where
                tried += 1
    assert tried == 6


@pytest.mark.parametrize("name", ["", "main"])
def test_more_builds_than_are_described_are_refused_also_if_empty_or_the_same(known: Known, name: str) -> None:
    client = application(known.home).test_client()
    answer = client.get("/api/compare?" + "&".join([f"build={name}"] * 13))
    assert answer.status_code == 422
    assert "13 builds are too many" in answer.get_data(as_text=True)


def test_what_is_there_is_answered_as_described(known: Known) -> None:
    """The made-up requests seldom hit what exists: here each shape is checked with something in it."""
    app = application(known.home, token=TOKEN)
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", app)
    one = {"bisection": 1}
    paths: dict[str, dict[str, object]] = {
        "/api/bisections": {},
        "/api/bisections/{bisection}": one,
        "/api/bisections/{bisection}/candidates": one,
        "/api/bisections/{bisection}/chart": one,
        "/api/bisections/{bisection}/events": one,
        "/api/bisections/{bisection}/suspects": one,
        "/api/bisections/{bisection}/report": one,
        "/api/bisections/{bisection}/culprits/{sha}": {**one, "sha": known.culprit},
        "/api/bisections/{bisection}/builds/{build}": {**one, "build": 1},
        "/api/bisections/{bisection}/probes/{probe}": {**one, "probe": 1},
        "/api/comparisons": {},
        "/api/choices": {},
    }
    for path, parameters in paths.items():
        case = schema[path]["GET"].Case(path_parameters=parameters)
        answer = case.call(headers={"Host": "localhost"})
        assert answer.status_code == 200, path
        case.validate_response(answer)
    one_comparison = "/api/comparisons/{comparison}"
    described = {path for path, operations in schema.raw_schema["paths"].items() if "get" in operations}
    assert described == paths.keys() | {"/api/compare", one_comparison, f"{one_comparison}/cell"}


def test_an_unbounded_figure_is_answered_as_described(known: Known, tmp_path: Path) -> None:
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    store = Store(tmp_path / "home" / "store.sqlite")
    answer = store.bisection(1).verdict
    assert answer
    (verdict,) = answer.tests.values()
    steps = {metric: Step(0.0, -math.inf, math.inf, math.inf) for metric in verdict.ends}
    culprit = replace(verdict.culprits[0], steps=steps)
    visible = dict.fromkeys(steps, math.inf)
    unbounded = replace(verdict, ends=steps, culprits=(culprit,), smallest_visible=visible)
    store.update_bisection(1, verdict=Answer.of({"readrandom": unbounded}, ("readrandom",)))
    app = application(tmp_path / "home")
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", app)
    for path in ("", "/report", "/culprits/{sha}"):
        case = schema["/api/bisections/{bisection}" + path]["GET"].Case(
            path_parameters={"bisection": 1, "sha": known.culprit} if path.endswith("{sha}") else {"bisection": 1}
        )
        answered = case.call(headers={"Host": "localhost"})
        assert '"low":null' in answered.text.replace(" ", "")
        case.validate_response(answered)
    text = app.test_client().get("/bisections/1").text
    assert "– … – %" in text
    assert "inf" not in re.sub("<[^>]*>|instr|info", "", text)


def test_each_page_has_its_twin(known: Known) -> None:
    app = application(known.home)
    rules = {rule.rule.removeprefix("/api") for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")}
    pages = {
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith(("pages.", "comparing.")) and "GET" in (rule.methods or ())
    }
    twins = {"/": "/bisections", "/start": "/choices", "/bisections/<id:bisection>/log": None}
    twins["/comparisons/new"] = "/choices"
    without = {"/sign-in", "/stream", "/bisections/<id:bisection>/stream", "/bisections/<id:bisection>/report.<form>"}
    without |= {
        "/bisections/<id:bisection>/builds/<id:build>/log",
        "/charts.css",
        "/bisections/<id:bisection>/building",
        "/comparisons/<id:comparison>/stream",
        "/comparisons/<id:comparison>/table.<form>",
    }
    for page in pages - without:
        twin = twins.get(page, page) or "/bisections/<id:bisection>/events"
        assert twin in rules, page


def test_a_bisection_is_started_cancelled_and_resumed(known: Known, tmp_path: Path) -> None:
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    client = application(tmp_path / "home", token=TOKEN, repositories=(f"kv={known.clone}",)).test_client()
    allowed = {"Authorization": f"Bearer {TOKEN}"}
    asked = {"repository": "kv", "good": known.shas[1], "bad": known.shas[6], "tests": ["readrandom"]}
    answer = client.post("/api/bisections", json=asked, headers=allowed)
    assert answer.status_code == 201
    where = answer.headers["Location"]
    assert client.get(where).json["state"] == "queued"  # type: ignore[index]
    simulated = {**asked, "metric": "l1-misses", "simulations": ["branch-sim"]}
    started = client.post("/api/bisections", json=simulated, headers=allowed).headers["Location"]
    assert client.get(started).json["counted"] == "l1-misses/query"  # type: ignore[index]
    refused = client.post("/api/bisections", json={**simulated, "counter": "perf"}, headers=allowed)
    assert refused.status_code == 422
    assert refused.json["problem"]  # type: ignore[index]
    for unsafe in ({"wal_dir": "x"}, {"run.env_uri": "x"}):
        refused = client.post("/api/bisections", json={**asked, "settings": unsafe}, headers=allowed)
        assert refused.status_code == 422
        assert "is about files" in refused.json["problem"]  # type: ignore[index]
    assert client.post("/api/bisections", json={**asked, "unsafe_settings": True}, headers=allowed).status_code == 422
    assert json.loads(client.post(f"{where}/cancel", headers=allowed).data)["state"] == "cancelled"
    assert client.post(f"{where}/cancel", headers=allowed).status_code == 409
    assert json.loads(client.post(f"{where}/resume", headers=allowed).data)["state"] == "queued"
    for body, code in ((b"{", 400), (b"[]", 422), (b'{"repository": "kv"}', 422)):
        sent = client.post("/api/bisections", data=body, content_type="application/json", headers=allowed)
        assert sent.status_code == code
    assert client.post("/api/bisections", data=b"x", headers=allowed).status_code == 415
