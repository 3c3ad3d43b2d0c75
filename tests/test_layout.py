"""The shape of the tree: where rooms are, how large they are, and that the arrows between them are checked.

Which room may import which is written once, in setup.cfg, and checked by `make arrows`; here it is tried whether that
check sees what it must see.
"""

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("bisect", "builders", "workloads", "web", "example")
ROOMS = sorted(path.name for path in (ROOT / "bisect").iterdir() if path.is_dir() and path.name != "__pycache__")
MOST_ROOMS = 12
MOST_MODULES = 15
"""In a room of `bisect/`, and in a folder of one: more, and nobody finds the one to change."""


def test_bisect_has_no_init_so_the_standard_library_keeps_its_name() -> None:
    assert not (ROOT / "bisect" / "__init__.py").exists()
    code = "import bisect, random; print(bisect.bisect_left([1, 2], 2), bisect.__file__)"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert out.startswith("1 ")
    assert str(ROOT / "bisect") not in out


@pytest.mark.parametrize("name", ["compiler-matrix.yaml", "patches", "tests", "setup.cfg", *FOLDERS])
def test_the_folders_are_there(name: str) -> None:
    assert (ROOT / name).exists()


def test_every_room_is_a_package_that_is_installed() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    packages = settings["options"]["packages"].split()
    found = {path.parent.relative_to(ROOT / "bisect") for path in (ROOT / "bisect").rglob("__init__.py")}
    for folder in FOLDERS[1:]:
        found |= {path.parent.relative_to(ROOT) for path in (ROOT / folder).rglob("__init__.py")}
    assert {f"cpubisect.{'.'.join(folder.parts)}" for folder in found} <= set(packages)
    assert len(ROOMS) <= MOST_ROOMS


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_and_is_not_too_large(room: str) -> None:
    top = ROOT / "bisect" / room
    folders = {path.parent for path in top.rglob("*.py")}
    for folder in folders | {top}:
        names = {path.stem for path in folder.glob("*.py")}
        assert "__init__" in names
        assert len(names) - 1 <= MOST_MODULES
        assert (folder / "__init__.py").read_text().startswith('"""')
        assert folder == top or folder.parent == top


@pytest.mark.parametrize("room", ROOMS)
def test_the_tests_of_a_room_are_found_by_its_name(room: str) -> None:
    assert list((ROOT / "tests" / room).glob("test_*.py"))


def arrows(tree: Path) -> subprocess.CompletedProcess[str]:
    """What `make arrows` prints of a copy of the sources."""
    linked = tree / "links" / "cpubisect"
    linked.mkdir(parents=True)
    for path in (tree / "bisect").iterdir():
        (linked / path.name).symlink_to(path)
    for folder in ("builders", "workloads", "web", "patches", "example"):
        (linked / folder).symlink_to(tree / folder)
    # The installed sources must not be found beside the copy.
    code = "import sys; sys.path[:] = [path for path in sys.path if not path.startswith('__editable__')]; "
    code += "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-logo", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "links")}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources, to be spoilt."""
    for folder in (*FOLDERS, "patches"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    return tmp_path


def test_the_arrows_go_down(tree: Path) -> None:
    found = arrows(tree)
    assert found.returncode == 0, found.stdout


SPOILT = {
    "bisect/search/price.py": ("import time", "The search is pure"),
    "bisect/records/registry.py": ("from cpubisect.run import runner", "Arrows go down only"),
    "bisect/views/gather.py": ("from cpubisect.builders.build import Recipe", "What shows does not run"),
    "bisect/run/lab.py": ("from cpubisect.views import gather", "What runs does not show"),
    "builders/build.py": ("from cpubisect.records import store", "Builders and workloads know nothing of bisections"),
    "bisect/draw/axis.py": ("from cpubisect.records import queries", "Drawing knows data, not where it comes from"),
    "bisect/history/names.py": ("from cpubisect.history import history", "No room imports in circles"),
}


def test_what_breaks_an_arrow_is_seen_also_within_a_function(tree: Path) -> None:
    for name, (line, _) in SPOILT.items():
        with (tree / name).open("a") as file:
            file.write(f"\n\ndef _spoilt() -> None:\n    {line}\n")
    told = arrows(tree).stdout
    assert {broken for _, broken in SPOILT.values() if f"{broken} BROKEN" not in told} == set()
