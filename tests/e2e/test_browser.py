"""A real browser on a real server: from the form to the culprit's page, and its bundle."""

import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import frame_to_be_available_and_switch_to_it
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from cpubisect.draw.look import IN_THE_DARK, INK
from cpubisect.example.history import Generated

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("browser")]

SOON_S, LATE_S = 60, 900
"""How long a browser waits at most: for an answer, and for a whole bisection on a busy host."""

GOOD, BAD = "v1.2.0", "v1.3.0"
"""The release that brought the culprit, and nothing else that can be seen."""

SERVER = [sys.executable, "-m", "cpubisect.cli", "serve", "--port", "0"]


@pytest.fixture
def address(example: Generated, home: Path) -> Iterator[str]:
    """A server with an empty store, and the example among its repositories."""
    command = [*SERVER, "--repo", f"example={example.path}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://[^/]+/", server.stderr.readline())
        assert found
        yield found[0]
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=SOON_S)
    assert server.returncode == 0


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """Chromium without a window; what it downloads goes to `tmp_path/downloads`."""
    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,1000"):
        options.add_argument(f"--{argument}")
    options.add_experimental_option("prefs", {"download.default_directory": str(tmp_path / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def lines(browser: webdriver.Chrome) -> list[WebElement]:
    """The measured commits in the table."""
    return browser.find_elements(By.CSS_SELECTOR, "table.commits tbody tr[id]")


@contextmanager
def within(browser: webdriver.Chrome, picture: str) -> Iterator[None]:
    """Look into a picture of the page, once it is there and no other is about to take its place."""
    WebDriverWait(browser, SOON_S).until(lambda b: not b.find_elements(By.CSS_SELECTOR, "object.coming"))
    WebDriverWait(browser, SOON_S).until(frame_to_be_available_and_switch_to_it((By.CSS_SELECTOR, picture)))
    WebDriverWait(browser, SOON_S).until(lambda b: b.find_elements(By.CSS_SELECTOR, "svg title"))
    yield
    browser.switch_to.default_content()


def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the browser's console has to say: refused scripts, styles and the like."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_from_the_form_to_the_culprit_and_its_bundle(
    browser: webdriver.Chrome, address: str, example: Generated, tmp_path: Path
) -> None:
    browser.get(address)
    browser.find_element(By.LINK_TEXT, "Start").click()
    Select(browser.find_element(By.NAME, "repository")).select_by_value("example")
    browser.find_element(By.NAME, "good").send_keys("no-such-tag")
    browser.find_element(By.NAME, "bad").send_keys(BAD)
    Select(browser.find_element(By.NAME, "tests")).select_by_value("seekrandom")
    browser.find_element(By.CSS_SELECTOR, "summary").click()
    browser.find_element(By.NAME, "settings").send_keys("repeats=1")
    browser.find_element(By.CSS_SELECTOR, "form.start button").click()
    alert = WebDriverWait(browser, SOON_S).until(lambda b: b.find_element(By.CSS_SELECTOR, "[role=alert]"))
    assert "no-such-tag" in alert.text
    assert all("422" in complaint for complaint in complaints(browser))

    good = browser.find_element(By.NAME, "good")
    good.clear()
    good.send_keys(GOOD)
    assert browser.find_element(By.NAME, "settings").get_attribute("value") == "repeats=1"
    browser.find_element(By.CSS_SELECTOR, "form.start button").click()
    WebDriverWait(browser, SOON_S).until(lambda b: "/bisections/1" in b.current_url)

    browser.execute_script("window.never = 'reloaded'")  # type: ignore[no-untyped-call]
    seen = {0}

    def grown(b: webdriver.Chrome) -> bool:
        seen.add(b.execute_script("return document.querySelectorAll('table.commits tbody tr[id]').length"))  # type: ignore[no-untyped-call]
        return bool(b.find_elements(By.CSS_SELECTOR, "section.verdict"))

    WebDriverWait(browser, LATE_S, poll_frequency=0.2).until(grown)
    assert len(seen) > 4, "the commits were to arrive one after another"
    assert browser.execute_script("return window.never") == "reloaded"  # type: ignore[no-untyped-call]
    with within(browser, "[data-part=chart] object.broad"):
        browser.find_elements(By.CSS_SELECTOR, "a path")[-1].click()
    WebDriverWait(browser, SOON_S).until(lambda b: "#c-" in b.current_url)
    assert browser.find_elements(By.CSS_SELECTOR, "table.commits tr:target")
    assert browser.execute_script("return window.never") == "reloaded"  # type: ignore[no-untyped-call]
    assert not complaints(browser)

    browser.find_element(By.CSS_SELECTOR, f"a[href$='/culprits/{example.culprit}']").click()
    WebDriverWait(browser, SOON_S).until(lambda b: example.culprit in b.current_url)
    with within(browser, ".flame object"):
        assert browser.find_elements(By.CSS_SELECTOR, "path title")
    assert browser.find_elements(By.CSS_SELECTOR, "table.functions tr")
    assert not complaints(browser)

    scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})  # type: ignore[no-untyped-call]
    with within(browser, ".flame object"):
        caption = browser.find_element(By.CSS_SELECTOR, f'text[fill="{INK}"]')
        red, green, blue = bytes.fromhex(IN_THE_DARK[INK][1:])
        assert caption.value_of_css_property("fill") == f"rgb({red}, {green}, {blue})"
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})  # type: ignore[no-untyped-call]
    browser.refresh()
    with within(browser, ".flame object"):
        assert browser.find_elements(By.CSS_SELECTOR, "path title")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})  # type: ignore[no-untyped-call]
    assert not complaints(browser)

    browser.find_element(By.PARTIAL_LINK_TEXT, "bundle").click()
    downloads = tmp_path / "downloads"
    WebDriverWait(browser, SOON_S).until(lambda _: list(downloads.glob("*.tar.gz")))
    (bundle,) = downloads.glob("*.tar.gz")
    with tarfile.open(bundle) as opened:
        assert any(name.endswith("/reproduce.sh") for name in opened.getnames())


def test_the_page_is_whole_without_javascript(browser: webdriver.Chrome, address: str) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})  # type: ignore[no-untyped-call]
    browser.get(address)
    assert "No bisection yet" in browser.page_source
    browser.find_element(By.LINK_TEXT, "Start").click()
    assert browser.find_elements(By.CSS_SELECTOR, "form.start button")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(browser: webdriver.Chrome, address: str, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)  # type: ignore[no-untyped-call]
    for page in ("", "start", "compare"):
        browser.get(address + page)
        wide = browser.execute_script("return document.documentElement.scrollWidth")  # type: ignore[no-untyped-call]
        assert wide <= width, page
