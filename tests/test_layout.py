"""The shape of the tree: where rooms are, and that arrows between them go one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("bisect", "builders", "workloads", "web", "example")
LEAVES = {"errors", "version", "process", "scratch", "engine"}
PURE = {
    *("changepoint", "channel", "choice", "costs", "digest", "ends", "flame", "flame_picture", "path", "posterior"),
    *("price", "search", "situation", "stats", "suspects", "variables", "verdict", "harmless", "shorten"),
    *("chart", "chart_layers", "chart_look", "commit_axis", "packing"),
}


def imports(path: Path) -> set[str]:
    """Modules a file imports, as dotted names, whether at the top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def test_bisect_has_no_init_so_the_standard_library_keeps_its_name() -> None:
    assert not (ROOT / "bisect" / "__init__.py").exists()
    code = "import bisect, random; print(bisect.bisect_left([1, 2], 2), bisect.__file__)"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert out.startswith("1 ")
    assert str(ROOT / "bisect") not in out


@pytest.mark.parametrize("name", ["compiler-matrix.yaml", "patches", "tests", "setup.cfg", *ROOMS])
def test_the_rooms_are_there(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("path", files("builders") + files("workloads"), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_builders_and_workloads_know_nothing_of_bisections(path: Path) -> None:
    other = {"builders": "workloads", "workloads": "builders"}[path.relative_to(ROOT).parts[0]]
    for name in imports(path):
        if name.startswith("cpubisect."):
            module = name.split(".")[1]
            assert module in LEAVES | {path.relative_to(ROOT).parts[0]}, f"{path.name} imports {name}"
            assert module != other


@pytest.mark.parametrize("name", sorted(PURE))
def test_the_pure_core_touches_nothing_outside(name: str) -> None:
    allowed = {f"cpubisect.{pure}" for pure in PURE} | {"scipy.special"}
    touching = {"os", "sys", "subprocess", "time", "random", "pathlib", "sqlite3", "sqlalchemy", "git", "socket"}
    for imported in imports(ROOT / "bisect" / f"{name}.py"):
        top = imported.split(".")[0]
        assert top not in touching
        if top in ("cpubisect", "scipy"):
            assert any(imported.startswith(prefix) for prefix in allowed), imported


def test_only_the_lab_and_what_it_serves_call_builders_and_workloads() -> None:
    allowed = {"builders", "workloads"}
    for path in files("bisect"):
        if path.stem in PURE | LEAVES | {"history", "graph", "names", "releases", "relevance", "repository"}:
            rooms = {name.split(".")[1] for name in imports(path) if name.startswith("cpubisect.")}
            assert not rooms & allowed, path.name
