"""Commands that only show something start light: what builds, measures, draws or computes is not even imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy", "altair", "vl_convert", "pydantic", "yaml", "git", "flask", "requests", "psutil", "pymysql")
OURS = tuple(f"cpubisect.{room}" for room in ("builders", "workloads", "run", "service", "history", "draw", "web"))


def loaded(*words: str, home: Path) -> set[str]:
    """The modules that a command has loaded at its end."""
    code = (
        "import json, sys\nfrom cpubisect.cli import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit:\n    pass\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    environment = {**os.environ, "CPUBISECT_HOME": str(home)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("start", "--help"),
        ("compare", "--help"),
        ("compare", "--list"),
        ("list",),
        ("list", "--json"),
        ("status",),
    ],
)
def test_what_only_shows_starts_light(words: tuple[str, ...], tmp_path: Path) -> None:
    found = loaded(*words, home=tmp_path / "home")
    assert "cpubisect.cli" in found
    assert {name for name in found if name.split(".")[0] in HEAVY} == set()
    assert {name for name in found if ".".join(name.split(".")[:2]) in OURS} == set()


def test_what_starts_something_loads_what_it_needs(tmp_path: Path) -> None:
    found = loaded("tests", home=tmp_path / "home")
    assert {"cpubisect.workloads.catalog", "cpubisect.builders.recipes.matrix"} <= found


INTERRUPTS = """
import os, signal, sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Hook())
sys.argv = ["bisect", *{words!r}]
from cpubisect.entry import main
main()
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("click", ("list",)),
        ("cpubisect.cli", ("list",)),
        ("cpubisect.records.queries", ("list",)),
        ("cpubisect.service.ask", ("start", "v1", "v2", "--test", "scan")),
        ("numpy", ("start", "v1", "v2", "--test", "scan", "--repo", "/nowhere")),
    ],
)
def test_an_interruption_while_it_loads_is_one_line(name: str, words: tuple[str, ...], tmp_path: Path) -> None:
    environment = {**os.environ, "CPUBISECT_HOME": str(tmp_path / "home")}
    code = INTERRUPTS.format(name=name, words=list(words))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "bisect: interrupted\n")
