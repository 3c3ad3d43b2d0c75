"""Queued bisections: from the form to the verdict, one after another, and what cancelling and stopping do to them."""

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from small_bisections import briefly
from web_home import Known, application

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import hold
from cpubisect.base.sandbox.policy import Wish
from cpubisect.records.queries import count
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.service.worker import Worker

pytestmark = pytest.mark.xdist_group("known")

SETTINGS = "rows=100\nrepeats=1\ninstructions_ops=100,300\nclock_ops=100,2000\nload=filluniquerandom"


@pytest.fixture
def copied(known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler_cache: Path) -> Registry:
    """A registry over a copy of the known home: what is built there is found, and may be added to."""
    shutil.copytree(known.home, tmp_path / "home", ignore=shutil.ignore_patterns("ccache"))
    monkeypatch.setenv("CPUBISECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CCACHE_DIR", str(compiler_cache))
    home = Home.open()
    return Registry(home, Store(home.store))


@pytest.fixture
def browser(copied: Registry, known: Known) -> FlaskClient:
    return application(copied.home.root, repositories=(f"kv={known.clone}",)).test_client()


def started(browser: FlaskClient, known: Known, **other: str) -> int:
    """Fill the form in and send it; the new bisection's id."""
    value = re.search(r'name="csrf" value="([^"]+)"', browser.get("/start").text)
    assert value
    form = {"csrf": value[1], "repository": "kv", "good": known.shas[1], "bad": known.shas[6], "tests": "readrandom"}
    answer = browser.post("/start", data={**form, "settings": SETTINGS, **other})
    assert answer.status_code == 303, answer.text
    return int(answer.headers["Location"].rpartition("/")[2])


def started_without_a_regression(browser: FlaskClient, known: Known) -> int:
    """As `started`, of ends that do not differ, which is soon known."""
    return started(browser, known, bad=known.shas[3], metric="instructions")


def pressed(browser: FlaskClient, bisection: int, button: str) -> str:
    """Press a button of a bisection's page, and read the page that follows."""
    value = re.search(r'name="csrf" value="([^"]+)"', browser.get("/start").text)
    assert value
    path = f"/bisections/{bisection}/{button}"
    return browser.post(path, data={"csrf": value[1]}, follow_redirects=True).text


def work(registry: Registry, until: int) -> list[str]:
    """Let a worker run until a bisection has left the queue and ended; what it said."""
    stop, said = threading.Event(), []

    def hear(text: str) -> None:
        said.append(text)
        if text.startswith(f"bisection {until} is "):
            stop.set()

    with briefly():
        # What is tried here is the queue; in the sandbox is what the command runs, and the browser's test.
        Worker(registry, hear, sandbox=Wish.OFF).run(stop)
    return said


def test_what_the_form_starts_the_worker_finishes(copied: Registry, browser: FlaskClient, known: Known) -> None:
    bisection = started(browser, known)
    page = browser.get(f"/bisections/{bisection}").text
    assert "Waiting for a worker" in page
    assert "no worker runs" in browser.get("/").text
    assert work(copied, bisection) == [f"bisection {bisection} begins", f"bisection {bisection} is finished"]
    assert f"/bisections/{bisection}/culprits/{known.culprit}" in browser.get(f"/bisections/{bisection}").text


def test_the_command_runs_what_is_queued(copied: Registry, browser: FlaskClient, known: Known) -> None:
    bisection = started_without_a_regression(browser, known)
    words = [sys.executable, "-m", "cpubisect.cli", "worker"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr
        ended = next(line for line in worker.stderr if f"bisection {bisection} is " in line)
        worker.terminate()
    assert ended.endswith(f"bisection {bisection} is finished\n")
    assert copied.store.bisection(bisection).state == "finished"


@pytest.mark.long
def test_they_run_in_the_order_in_which_they_came(copied: Registry, browser: FlaskClient, known: Known) -> None:
    first, second = started_without_a_regression(browser, known), started_without_a_regression(browser, known)
    said = work(copied, second)
    assert [line for line in said if line.endswith("begins")] == [
        f"bisection {first} begins",
        f"bisection {second} begins",
    ]


def test_a_cancelled_one_leaves_the_queue_and_can_come_back(
    copied: Registry, browser: FlaskClient, known: Known
) -> None:
    first, second = started_without_a_regression(browser, known), started_without_a_regression(browser, known)
    assert "cancelled" in pressed(browser, first, "cancel")
    assert f"bisection {first} begins" not in work(copied, second)
    assert "only an unfinished one" in pressed(browser, second, "cancel")
    assert "Waiting for a worker" in pressed(browser, first, "resume")
    assert "only an interrupted or cancelled one" in pressed(browser, first, "resume")
    assert f"bisection {first} is finished" in work(copied, first)


def test_one_that_is_still_stopping_is_not_queued_under_its_feet(
    copied: Registry, browser: FlaskClient, known: Known
) -> None:
    bisection = started_without_a_regression(browser, known)
    pressed(browser, bisection, "cancel")
    with hold(copied.home.running / f"{bisection}.lock", UserError("held")):
        assert "still stopping" in pressed(browser, bisection, "resume")
        assert copied.store.bisection(bisection).state == "cancelled"
    assert "Waiting for a worker" in pressed(browser, bisection, "resume")


def test_a_stopped_worker_gives_back_what_it_was_running(copied: Registry, browser: FlaskClient, known: Known) -> None:
    bisection = started_without_a_regression(browser, known)
    stop = threading.Event()
    Worker(copied, lambda _: stop.set(), sandbox=Wish.OFF).run(stop)
    assert copied.store.bisection(bisection).state == "queued"
    assert f"bisection {bisection} is finished" in work(copied, bisection)


def test_a_comparison_is_measured_after_the_bisections(copied: Registry, browser: FlaskClient, known: Known) -> None:
    value = re.search(r'name="csrf" value="([^"]+)"', browser.get("/comparisons/new").text)
    assert value
    form = {"csrf": value[1], "repository": "kv", "versions": f"{known.shas[1]} {known.shas[6]}", "rounds": "2"}
    answer = browser.post("/comparisons/new", data={**form, "tests": "readrandom", "settings": SETTINGS})
    assert answer.headers["Location"] == "/comparisons/1"
    stop, said = threading.Event(), []

    def hear(text: str) -> None:
        said.append(text)
        if " is " in text:
            stop.set()

    Worker(copied, hear, sandbox=Wish.OFF).run(stop)
    assert said == ["comparison 1 begins", "comparison 1 is finished"]
    assert "4 of 4 probes" in browser.get("/comparisons/1").text


def test_there_is_one_worker_for_a_home(copied: Registry) -> None:
    stop, began = threading.Event(), threading.Event()

    def run() -> None:
        began.set()
        Worker(copied, lambda _: None).run(stop)

    thread = threading.Thread(target=run)
    thread.start()
    began.wait()
    while not copied.is_working():
        pass
    with pytest.raises(UserError, match="another worker"):
        Worker(copied, lambda _: None).run(threading.Event())
    stop.set()
    thread.join()
    assert not copied.is_working()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"good": "no-such-tag"}, "no-such-tag"),
        ({"good": "--upload-pack=x"}, "is not a commit"),
        ({"tests": "no-such-test"}, "has no test"),
        ({"settings": "rows"}, "is not NAME=VALUE"),
        ({"settings": "ro ws=1"}, "is not a setting"),
        ({"settings": "report_file=/tmp/x"}, "only be given on the command line"),
        ({"settings": "wal_dir=x"}, "setting wal_dir is about files"),
        ({"settings": "run.env_uri=x", "unsafe_settings": "1"}, "setting run.env_uri is about files"),
        ({"min_step": "small"}, "is not a number"),
        ({"min_step": "0"}, "min_step"),
        ({"toolchain": "gcc-1"}, "gcc-1"),
        ({"metric": "luck"}, "metric"),
        ({"flags": "fast"}, "flags"),
        ({"repository": "another"}, "there is no repository"),
        ({"good": ""}, "good"),
        ({"both_sides": "1"}, "there is no other side to search"),
    ],
)
def test_the_form_is_checked_as_the_command_line_is(
    copied: Registry, browser: FlaskClient, known: Known, wrong: dict[str, str], says: str
) -> None:
    value = re.search(r'name="csrf" value="([^"]+)"', browser.get("/start").text)
    assert value
    form = {"csrf": value[1], "repository": "kv", "good": known.shas[1], "bad": known.shas[6], "tests": "readrandom"}
    answer = browser.post("/start", data={**form, "settings": SETTINGS, **wrong})
    assert answer.status_code == 422
    assert says in answer.text
    assert count(copied.store) == 1
