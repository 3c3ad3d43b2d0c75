"""What a bisection took is the same wherever it is told."""

import json
import time
from pathlib import Path

import pytest
from before_lists import restored
from click.testing import CliRunner
from web_home import application

from cpubisect.cli import main
from cpubisect.records.registry import Registry
from cpubisect.report.form import Form
from cpubisect.report.render import render
from cpubisect.views.totals import Totals, totals

BUILDS_OF_TWO = 2
"""The one of its bisections that made no builds of its own, but used those of another."""


@pytest.fixture
def registry(home: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Bisections that made builds, and that used those of another, at a time that stands still."""
    monkeypatch.setattr(time, "time", lambda: 2e9)
    return restored()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_report_page_api_list_and_status_tell_the_same(registry: Registry, number: int) -> None:
    told = totals(registry.store, registry.store.bisection(number))
    report = json.loads(render(registry, number, Form.JSON))
    client = application(registry.home.root).test_client()
    page = client.get(f"/api/bisections/{number}").json
    listing = client.get("/api/bisections").json
    assert page is not None
    assert listing is not None
    assert Totals.from_json(report["totals"]) == Totals.from_json(page["totals"]) == told
    (row,) = [row for row in listing["bisections"] if row["id"] == number]
    for name in ("builds", "build_seconds", "probes", "probe_seconds"):
        assert row[name] == getattr(told, name), name
    status = CliRunner().invoke(main, ["status", str(number)]).stdout
    assert f"{told.build_seconds:,.0f} s of builds, {told.probe_seconds:,.0f} s of probes" in status
    assert json.loads(CliRunner().invoke(main, ["status", str(number), "--json"]).stdout)["totals"] == report["totals"]


@pytest.mark.parametrize("number", [1, BUILDS_OF_TWO])
def test_builds_that_another_bisection_made_took_nothing_here(registry: Registry, number: int) -> None:
    told = totals(registry.store, registry.store.bisection(number))
    commits = json.loads(render(registry, number, Form.JSON))["commits"]
    assert told.builds == len(commits) == 4
    assert told.builds_made == sum(commit["made"] for commit in commits) == (0 if number == BUILDS_OF_TWO else 4)
    made = [commit["build_seconds"] for commit in commits if commit["made"]]
    assert told.build_seconds == pytest.approx(sum(made), abs=0.05 * len(commits))
    assert all(commit["build_seconds"] > 0 for commit in commits), "what a build took is known, whoever made it"
