"""Showing what was found needs nothing of what finds it: no builder, no workload, no run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from before_lists import restored

ROOMS = ("run", "builders", "workloads")

SHOWN = """
import json, sys
from cpubisect.base.home import Home
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.report.form import Form
from cpubisect.report.render import render
from cpubisect.web.app import create_app
from cpubisect.web.service.clones import Clones
from cpubisect.web.context import Context
from cpubisect.web.security import Access
import cpubisect.attach.attach
import cpubisect.views.live
import cpubisect.views.suspects

registry = Registry.open()
for number in (1, 2, 3):
    for form in Form:
        render(registry, number, form)
client = create_app(Context(registry, Access("127.0.0.1"), {}, Clones(registry.home))).test_client()
culprit = registry.store.bisection(1).verdict.tests["readrandom"].culprits[0].sha
one = ["", "/log", "/builds/1", "/probes/1", f"/culprits/{culprit}"]
twins = ["", "/events", "/candidates", "/chart", "/report", "/builds/1", "/probes/1", f"/culprits/{culprit}"]
pages = ["/", *(f"/bisections/1{path}" for path in one)]
pages += ["/api/bisections", "/api/openapi.json", *(f"/api/bisections/1{path}" for path in twins)]
statuses = {page: client.get(page).status_code for page in pages}
print(json.dumps({"statuses": statuses, "loaded": sorted(sys.modules)}))
"""


def loaded(code: str) -> dict[str, object]:
    """What a fresh interpreter says."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def behind_the_wall(modules: object) -> list[str]:
    assert isinstance(modules, list)
    behind = tuple(f"cpubisect.{room}." for room in ROOMS)
    return [name for name in modules if f"{name}.".startswith(behind)]


def test_reports_and_pages_load_nothing_that_builds_or_measures(home: Path) -> None:
    restored()
    found = loaded(SHOWN)
    assert isinstance(found["statuses"], dict)
    assert set(found["statuses"].values()) == {200}, found["statuses"]
    assert behind_the_wall(found["loaded"]) == []


@pytest.mark.parametrize("module", ["cpubisect.service.launch", "cpubisect.service.askable"])
def test_what_starts_does_load_it(module: str) -> None:
    found = loaded(f"import json, sys; import {module}; print(json.dumps({{'loaded': sorted(sys.modules)}}))")
    assert behind_the_wall(found["loaded"])


def test_what_lists_and_states_need_loads_nothing_that_computes_or_draws() -> None:
    modules = ("records.queries", "views.totals", "views.gather", "report.words")
    names = ", ".join(f"cpubisect.{name}" for name in modules)
    found = loaded(f"import json, sys, {names}; print(json.dumps({{'loaded': sorted(sys.modules)}}))")
    assert isinstance(found["loaded"], list)
    assert not {"numpy", "scipy", "altair", "vl_convert", "flask", "pydantic"} & set(found["loaded"])
