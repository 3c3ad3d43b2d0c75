"""What was measured of the spread of counts is one thing in the data, in the tests and in the docs."""

import json
from pathlib import Path

import pytest
import repeatability as benchmark

from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.workloads import catalog, repeatability


def test_the_page_has_what_the_data_says() -> None:
    text = benchmark.PAGE.read_text()
    assert benchmark.page(text) == text


def test_the_tests_of_the_catalogue_know_their_spread() -> None:
    for name, known in repeatability.measured().items():
        tests = {test.name: test for test in catalog.tests_of(Matrix.load().engine(name))}
        assert known.tests
        assert known.tests.keys() <= tests.keys()
        for test in tests.values():
            one = known.tests.get(test.name)
            assert test.spread_percent == (one.spread_percent if one else None)


def test_a_table_tells_what_misses_its_goal_and_what_was_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = {
        name: {"probes": 3, "count": 1000.5, "spread_percent": spread, "seconds": 7.4}
        for name, spread in (("fillseq", 0.05), ("readrandom", 0.02), ("seekrandom", 0.001))
    }
    file = tmp_path / "repeatability.json"
    file.write_text(json.dumps({"rocksdb": {"commit": "c" * 40, "version": "8.5.3", "tests": tests}}))
    monkeypatch.setattr(repeatability, "FILE", file)
    repeatability.measured.cache_clear()
    try:
        (table,) = benchmark.tables()
    finally:
        repeatability.measured.cache_clear()
    lines = table.splitlines()
    assert "## rocksdb, commit cccccccccccc (8.5.3)" in lines
    assert "| fillseq | 1,000.5 | 3 | 0.0500 % | 0.1 % | 7 |" in lines
    assert "| readrandom | 1,000.5 | 3 | 0.0200 % | 0.01 %, missed | 7 |" in lines
    assert any(line.startswith("Not measured: ") and "mergerandom" in line for line in lines)


def test_the_functions_that_vary_most_come_first() -> None:
    profiles = ({"a": 5.0, "b": 1.0}, {"a": 5.5, "b": 9.0}, {"a": 5.0, "c": 2.0})
    probes = [benchmark.Probe(10.0, (10.0,), 1.0, profile) for profile in profiles]
    assert list(benchmark.varying(probes)) == [("b", 0.0, 9.0), ("c", 0.0, 2.0), ("a", 5.0, 5.5)]
