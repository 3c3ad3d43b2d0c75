"""Takes the pictures of every page for the docs, in a real browser, from a running `bisect serve`.

    python scripts/screenshots.py http://127.0.0.1:8000 ID docs/screenshots [--comparison ID]

ID is a finished bisection with a culprit. The pages of comparisons are taken only if one that has values is given. All
are taken 1280 and 400 pixels wide, the bisection in the dark as well.
"""

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

WIDTHS = (1280, 400)
HIGHEST = 2400
"""Pixels of a page that are shown at most."""


def pages(address: str, bisection: str) -> Iterator[tuple[str, str]]:
    """Name and path of each page."""
    with urlopen(f"{address}/api/bisections/{bisection}") as answer:
        view = json.load(answer)
    culprit = view["verdict"]["culprits"][0]["sha"]
    build = next(line["build"] for line in view["commits"] if line["sha"] == culprit)
    with urlopen(f"{address}/api/bisections/{bisection}/builds/{build}") as answer:
        probe = json.load(answer)["probes"][0]
    one = f"/bisections/{bisection}"
    yield "bisections", "/"
    yield "bisection", one
    yield "culprit", f"{one}/culprits/{culprit}"
    yield "suspects", f"{one}/suspects"
    yield "build", f"{one}/builds/{build}"
    yield "probe", f"{one}/probes/{probe}"
    yield "journal", f"{one}/log"
    yield "compare", f"/compare?build={view['good']['name']}&build={view['bad']['name']}&build={culprit[:12]}"
    yield "start", "/start"


def comparison_pages(address: str, comparison: str) -> Iterator[tuple[str, str]]:
    """Name and path of each page of comparisons; the cell is the one that differs most from 1."""
    with urlopen(f"{address}/api/comparisons/{comparison}") as answer:
        view = json.load(answer)
    _, row, version = max(
        (abs(cell["relative"] - 1), line["label"], version["name"])
        for table in view["tables"]
        for group in table["groups"]
        for line in group["lines"]
        for cell, version in zip(line["cells"], view["versions"], strict=True)
        if cell["relative"] is not None
    )
    one = f"/comparisons/{comparison}"
    yield "comparisons", "/comparisons"
    yield "comparison-new", "/comparisons/new"
    yield "comparison", one
    yield "cell", f"{one}/cell?{urlencode({'row': row, 'version': version})}"


def take(browser: webdriver.Chrome, address: str, path: Path, width: int, *, dark: bool = False) -> None:
    """One picture of a page as high as it is, up to HIGHEST."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    for height in (800, 0):
        metrics = {"width": width, "height": height or _height(browser), "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get(address)
    browser.save_screenshot(str(path))


def _height(browser: webdriver.Chrome) -> int:
    return min(HIGHEST, int(browser.execute_script("return document.documentElement.scrollHeight")))


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("bisection", metavar="ID")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--comparison", metavar="ID")
    arguments = parser.parse_args()
    address, target = arguments.address, arguments.folder
    target.mkdir(parents=True, exist_ok=True)
    shown = [*pages(address, arguments.bisection)]
    if arguments.comparison:
        shown += comparison_pages(address, arguments.comparison)
    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    try:
        for name, path in shown:
            for width in WIDTHS:
                take(browser, address + path, target / f"{name}-{width}.png", width)
        dark = target / "bisection-dark-1280.png"
        take(browser, f"{address}/bisections/{arguments.bisection}", dark, 1280, dark=True)
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
