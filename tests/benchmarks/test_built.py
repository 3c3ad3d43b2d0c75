"""The page of what was built: its rows can be read back, and what no home knows any more stays."""

from dataclasses import replace

import built
import pytest
from built import Row, page, read, together

from cpubisect.records.rows import BuildRow

OLD = Row("mysql", "5.6.51", "gcc-12", "438", 659, 660, "edit cmake/ssl.cmake", {"scan": "177,491.5"})
NEW = Row("mysql", "5.6.51", "gcc-12", "20", 3, 660, "", {"point-query": "35.7"})
OTHER = Row("mysql", "8.0.22", "gcc-12", "1,671", 1203, 1204, "failed: a \\| b", {})


def test_the_page_reads_as_it_was_written() -> None:
    text = built.PAGE.read_text().partition(built.BEGIN)[2].partition(built.END)[0]
    rows = read(text)
    assert len(rows) > 20
    assert "\n".join(page(rows)).strip() == text.strip()
    assert read("\n".join(page([OLD, OTHER]))) == [OLD, OTHER]


def test_a_newer_home_adds_and_takes_nothing_away() -> None:
    kept = replace(OLD, costs={"scan": "177,491.5", "point-query": "35.7"})
    assert together([OLD, OTHER], [NEW]) == [kept, OTHER]
    more = replace(NEW, made=660, costs={"scan": "177,000.0"})
    assert together([OLD], [more]) == [more]
    leaner = replace(OTHER, cpu_seconds="1,200", made=1170, compilations=1172)
    assert together([OTHER], [leaner]) == [leaner]


@pytest.mark.parametrize("made", [(0, 0), (5, 5), (1172, 1172)])
def test_a_build_that_failed_comes_after_one_that_did_not(made: tuple[int, int]) -> None:
    built_one = replace(OTHER, remarks="edit cmake/ssl.cmake", made=600, compilations=1172)
    failed = replace(OTHER, made=made[0], compilations=made[1])
    assert together([built_one], [failed]) == [built_one]
    assert together([failed], [built_one]) == [built_one]


def test_a_little_less_each_time_is_less() -> None:
    rows = [replace(OLD, made=made, compilations=1000) for made in (1000, 991, 982, 973, 964)]
    (row,) = together((), rows)
    assert row.made / row.compilations > 0.98


def test_some_tests_have_a_column_in_an_order_of_their_own() -> None:
    costs = {"insert": "114.8", "hot-points": "2,581.9", "point-query": "46.9"}
    head = page([replace(OTHER, costs=costs)])[2]
    assert head.endswith("| repairs or first error | point-query | insert |")


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ({}, "mysql"),
        ({"flags": "pinned"}, "mysql"),
        ({"flags": "release"}, "mysql, as each release builds itself"),
        ({"cxxflags": ["-O0 -w"]}, "mysql, compiled without optimisation"),
    ],
)
def test_builds_by_other_flags_have_a_table_of_their_own(change: dict[str, object], table: str) -> None:
    recipe = {"engine": "mysql", "version": "5.7.22", "toolchain": {"name": "gcc-12"}, "options": [], "cxxflags": []}
    row = BuildRow(1, "0" * 40, "built", "a", "", 1.0, 1.0, 0, 1, "", "", "key", {**recipe, **change}, (), (), "")
    assert built.key_of(row) == (table, "5.7.22", "gcc-12")
