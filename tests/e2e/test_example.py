"""The embedded example from two tags to the verdict: real git, compilers, callgrind; and killed on the way."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_bisections import verdict_of

from cpubisect.example.history import Generated

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("example")]

SMALL = ["--set", "repeats=1", "--sandbox", "off"]
"""The browser's test has the same in the sandbox."""

RELEASE = ("v1.2.0", "v1.3.0")
"""The release that brought the culprit, and nothing else that can be seen."""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "cpubisect.cli", *words]


def question(
    example: Generated, *more: str, test: str = "seekrandom", ends: tuple[str, str] | None = None
) -> list[str]:
    words = ["start", *(ends or (example.good, example.bad)), "--test", test, "--repo", str(example.path)]
    return [*words, "--json", "--quiet", *SMALL, *more]


def answer(words: Sequence[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


@pytest.fixture(scope="module")
def module_home(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> dict[str, str]:
    """A home directory that the tests of this module share: what one built, the next finds."""
    root = tmp_path_factory.mktemp("home")
    return {**os.environ, "CPUBISECT_HOME": str(root), "CCACHE_DIR": str(compiler_cache)}


@pytest.fixture(scope="module")
def undisturbed(example: Generated, module_home: dict[str, str]) -> dict[str, Any]:
    return answer(question(example), module_home)


def test_the_planted_regression_is_found_inside_its_merge(undisturbed: dict[str, Any], example: Generated) -> None:
    verdict = verdict_of(undisturbed)
    assert verdict["kind"] == "culprit"
    first = verdict["culprits"][0]
    assert first["sha"] == example.culprit
    assert first["inside"] == [example.merge]
    step = first["steps"]["instructions/query"]
    assert 10 < step["percent"] < 30
    assert step["low"] <= step["percent"] <= step["high"]
    assert {"cpu us/query", "qps"} <= first["steps"].keys()
    assert first["functions"]


def test_the_smaller_step_comes_second(undisturbed: dict[str, Any], example: Generated) -> None:
    culprits = verdict_of(undisturbed)["culprits"]
    assert [c["sha"] for c in culprits] == [example.culprit, example.labelled["second step"]]
    assert abs(verdict_of(undisturbed)["remainder"]) < 4


def test_totals_tell_what_it_cost(undisturbed: dict[str, Any], example: Generated) -> None:
    totals = undisturbed["totals"]
    counted = ["git", "rev-list", "--count", "--first-parent", f"{example.good}..{example.bad}"]
    assert totals["candidates"] == int(subprocess.check_output(counted, cwd=example.path))
    assert totals["builds"] < totals["candidates"] / 2
    assert totals["probes"] >= totals["builds"] - totals["builds_failed"]
    assert totals["build_seconds"] > 0
    assert totals["probe_seconds"] > 0


def test_a_commit_was_repaired_on_the_way(undisturbed: dict[str, Any]) -> None:
    repaired = [commit for commit in undisturbed["commits"] if commit["repairs"]]
    assert repaired
    assert all(commit["outcome"] == "built" for commit in repaired)


def test_reports_in_text_and_markdown_name_the_culprit(
    undisturbed: dict[str, Any], module_home: dict[str, str], example: Generated
) -> None:
    for form in ("text", "markdown"):
        words = command("report", str(undisturbed["id"]), "--format", form)
        text = subprocess.run(words, capture_output=True, text=True, check=True, env=module_home).stdout
        assert example.culprit in text
        assert form == "markdown" or all(len(line) <= 76 for line in text.splitlines() if str(example.path) not in line)


def test_the_other_way_round_is_an_improvement(module_home: dict[str, str], example: Generated) -> None:
    data = answer(question(example, "--find", "improvement"), module_home)
    assert verdict_of(data)["kind"] in ("improvement", "no-regression")
    assert verdict_of(data)["ends"]["instructions/query"]["percent"] > 0
    assert not verdict_of(data)["culprits"]


@pytest.mark.long
def test_killed_at_random_moments_it_ends_in_the_same_verdict(
    undisturbed: dict[str, Any], module_home: dict[str, str], example: Generated, tmp_path: Path
) -> None:
    environment = {**module_home, "CPUBISECT_HOME": str(tmp_path / "home")}
    moments = random.Random(7)
    words = [word for word in question(example, ends=RELEASE) if word != "--quiet"]
    alive = 0
    for attempt in range(6):
        lines = moments.randint(1, 12)
        process = subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        assert process.stderr is not None
        for _ in range(lines):
            process.stderr.readline()
        process.send_signal(signal.SIGKILL if attempt % 3 else signal.SIGINT)
        process.communicate()
        alive += process.returncode in (-signal.SIGKILL, 130)
        words = ["resume", "1", "--json"]
    assert alive >= 4, "most attempts were to be ended on their way"
    listed = json.loads(subprocess.check_output(command("list", "--json"), env=environment))
    if listed[0]["state"] != "finished":
        assert listed[0]["state"] == "interrupted"
        answer([*words, "--quiet"], environment)
    data = answer(["report", "1", "--format", "json"], environment)
    (found,), whole = verdict_of(data)["culprits"], verdict_of(undisturbed)["culprits"][0]
    assert verdict_of(data)["kind"] == verdict_of(undisturbed)["kind"]
    assert not verdict_of(data)["groups"]
    assert [found[key] for key in ("sha", "parent", "inside")] == [whole[key] for key in ("sha", "parent", "inside")]
    sizes = [culprit["steps"]["instructions/query"]["percent"] for culprit in (found, whole)]
    assert sizes[0] == pytest.approx(sizes[1], abs=0.2)
    shas = [commit["sha"] for commit in data["commits"]]
    assert len(shas) == len(set(shas))
    assert not list((tmp_path / "home" / "work").glob("s*"))


def test_a_running_one_is_alone_and_can_be_cancelled(
    undisturbed: dict[str, Any], module_home: dict[str, str], example: Generated
) -> None:
    words = [word for word in question(example, test="fwdrange") if word != "--quiet"]
    process = subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=module_home)
    assert process.stderr is not None
    process.stderr.readline()
    newest = json.loads(subprocess.check_output(command("list", "--json"), env=module_home))[0]
    assert newest["state"] == "running"
    refused = subprocess.run(command("resume", str(newest["id"])), capture_output=True, text=True, env=module_home)
    assert refused.returncode == 2
    assert "another process" in refused.stderr
    subprocess.run(command("cancel", str(newest["id"])), check=True, capture_output=True, env=module_home)
    process.communicate()
    assert process.returncode == 4
    status = json.loads(subprocess.check_output(command("status", str(newest["id"]), "--json"), env=module_home))
    assert status["state"] == "cancelled"
