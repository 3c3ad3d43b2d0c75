"""Two hosts that share a compiler cache: what is printed of them, and a small tree that is really built on both."""

import json
import shutil
from pathlib import Path

import pytest
import shared_cache
from shared_cache import Row, table
from small_bisections import cost, history, tree
from small_trees import GOOD


@pytest.mark.parametrize(("hits", "misses", "share"), [(0, 0, 0.0), (0, 5, 0.0), (19, 1, 0.95), (3, 0, 1.0)])
def test_a_share_is_of_all_compilations(hits: int, misses: int, share: float) -> None:
    assert Row("b", hits, misses, 1.0, 1.0).share == share


def test_the_table_has_a_row_for_each_host() -> None:
    lines = table([Row("first", 0, 1200, 480.4, 300.0), Row("second", 1199, 1, 20.0, 31.6)])
    assert lines[2:] == [
        "| first | 1,200 | 0 | 0.0% | 480 | 300 |",
        "| second | 1,200 | 1,199 | 99.9% | 20 | 32 |",
    ]


@pytest.mark.parametrize("words", [[], ["clone"], ["clone", "HEAD", "--jobs", "0"], ["clone", "HEAD", "--place", "."]])
def test_bad_input_is_refused_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        shared_cache.arguments(words)
    assert ended.value.code == 2
    assert " error: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "more", "why"),
    [("none", [], "none"), ("kv", ["--engine", "oracle"], "oracle"), ("kv", [], "no-such")],
)
def test_what_is_not_there_is_one_line(
    tmp_path: Path, name: str, more: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    history(tree(1000), cost(1001)).write(tmp_path / "kv")
    assert shared_cache.main([str(tmp_path / name), "no-such", *more]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert why in said


@pytest.mark.long
@pytest.mark.xdist_group("cluster")
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_the_second_host_compiles_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    version = {"include/minikv/version.h": tree(1000)["include/minikv/version.h"]}
    makefile = {"Makefile": GOOD["Makefile"].replace("$(OPT)", "-I.")}
    shas = history({**GOOD, **version, **makefile}).write(tmp_path / "kv")
    assert shared_cache.main([str(tmp_path / "kv"), shas[1], "--place", str(tmp_path / "place")]) == 0
    printed = capsys.readouterr().out.splitlines()
    found = json.loads(printed[-1])
    first, second = found["builds"]
    assert (first["hits"], first["misses"]) == (0, 2)
    assert (second["hits"], second["misses"]) == (2, 0)
    assert found["share"] == 1.0
