"""The named MySQL tests: which script sends which statements, in the groups of the sysbench microbenchmarks."""

from collections.abc import Mapping
from dataclasses import replace

from cpubisect.workloads.mysql.insert_benchmark import INSERT_BENCHMARK
from cpubisect.workloads.mysql.script import WRITE, Script, define
from cpubisect.workloads.probe import Test
from cpubisect.workloads.repeatability import spread_percent

POINT = "point queries"
RANGE = "range queries without aggregation"
AGGREGATE = "range queries with aggregation"


def _points(size: str) -> dict[str, tuple[str, str]]:
    return {"points": ("random-points", size)}


def _range(size: str, option: str = "range_size") -> dict[str, tuple[str, str]]:
    return {option: ("range-size", size)}


def _read_only_with(kind: str, words: str) -> Script:
    others = {f"{one}_ranges": "1" if one == kind else "0" for one in ("simple", "sum", "order", "distinct")}
    return define(
        f"read-only-{kind}",
        AGGREGATE,
        f"transaction of 10 point queries and one {words}",
        "oltp_read_only",
        others,
        settable=_range("1000"),
        queries=600,
        warm=240,
    )


_POINT_TESTS = (
    define("point-query", POINT, "SELECT c of one row by primary key", "oltp_point_select"),
    define(
        "hot-points",
        POINT,
        "SELECT c of always the same adjacent rows by an IN list of primary keys",
        "inlist_select.lua",
        {"hot": "on"},
        settable=_points("100"),
        queries=120,
        warm=100,
    ),
    *(
        define(
            name,
            POINT,
            f"SELECT c of {words} by an IN list of primary keys",
            "inlist_select.lua",
            settable=_points(points),
            queries=queries,
            warm=warm,
        )
        for name, points, words, queries, warm in (
            ("random-points-10", "10", "10 random rows", 1200, 1000),
            ("random-points", "100", "random rows", 120, 100),
            ("random-points-1000", "1000", "1000 random rows", 12, 10),
        )
    ),
    *(
        define(
            f"points-{covered}-{index}",
            POINT,
            f"SELECT {columns} of random rows by an IN list of {'primary' if key == 'id' else 'secondary'} keys",
            "inlist_select.lua",
            {"key": key, "columns": columns},
            settable=_points("100"),
            queries=120,
            warm=100,
        )
        for key, index in (("id", "pk"), ("k", "si"))
        for covered, columns in (("covered", key), ("notcovered", f"{key},c"))
    ),
)

_RANGE_TESTS = (
    *(
        define(
            f"range-{covered}-{index}",
            RANGE,
            f"SELECT {columns} of a range of {'primary' if key == 'id' else 'secondary'} keys",
            "range_select.lua",
            {"key": key, "columns": columns},
            settable=_range("100"),
            queries=1500,
            warm=500,
        )
        for key, index in (("id", "pk"), ("k", "si"))
        for covered, columns in (("covered", key), ("notcovered", f"{key},c"))
    ),
    define("scan", RANGE, "SELECT that reads a whole table and returns nothing", "scan.lua", queries=2, warm=1),
)

_AGGREGATE_TESTS = (
    *(
        define(
            name,
            AGGREGATE,
            f"transaction of 10 point queries and a simple, SUM, ORDER BY and DISTINCT range query{words}",
            "oltp_read_only",
            settable=_range(rows),
            queries=queries,
            warm=warm,
        )
        for name, rows, words, queries, warm in (
            ("read-only-10", "10", " of 10 rows", 1600, 800),
            ("read-only", "100", "", 1600, 800),
            ("read-only-10000", "10000", " of 10000 rows", 16, 16),
        )
    ),
    _read_only_with("simple", "range query"),
    _read_only_with("sum", "SUM over a range"),
    _read_only_with("order", "range query with ORDER BY"),
    _read_only_with("distinct", "range query with DISTINCT and ORDER BY"),
    define(
        "read-only-count",
        AGGREGATE,
        "SELECT COUNT(c) over a range of primary keys",
        "range_select.lua",
        {"columns": "COUNT(c)"},
        settable=_range("1000"),
        queries=200,
        warm=100,
    ),
)

_WRITE_TESTS = (
    define(
        "update-inlist",
        WRITE,
        "UPDATE c of random rows by an IN list of primary keys",
        "inlist_update.lua",
        settable=_points("10"),
        queries=600,
        warm=300,
    ),
    define("update-index", WRITE, "UPDATE of an indexed column of one row by primary key", "oltp_update_index"),
    define("update-nonindex", WRITE, "UPDATE of a column without index by primary key", "oltp_update_non_index"),
    define(
        "update-zipf",
        WRITE,
        "UPDATE of a column without index by primary key, most often of the same few rows",
        "update_zipf.lua",
        settable={"exponent": ("zipf-exponent", "0.8")},
        without=("distribution",),
    ),
    define("update-one", WRITE, "UPDATE of always the same row", "oltp_update_non_index", rows=1),
    define("insert", WRITE, "INSERT of one row", "oltp_insert"),
    define("delete", WRITE, "DELETE of one existing row by primary key", "delete.lua", draining=True),
    define("write-only", WRITE, "transaction of two UPDATEs, a DELETE and an INSERT", "oltp_write_only", queries=3000),
    *(
        define(
            name,
            WRITE,
            f"the transactions of {reads} and write-only in one",
            "oltp_read_write",
            settable=_range(rows),
            queries=1600,
            warm=800,
        )
        for name, reads, rows in (("read-write-10", "read-only-10", "10"), ("read-write", "read-only", "100"))
    ),
)

SCRIPTS: Mapping[str, Script] = {
    one.test.name: one for one in (*_POINT_TESTS, *_RANGE_TESTS, *_AGGREGATE_TESTS, *_WRITE_TESTS, *INSERT_BENCHMARK)
}
ENGINES = ("mysql", "mariadb")
"""Those that have all of them."""

TESTS: tuple[Test, ...] = tuple(
    replace(one.test, engine=engine, spread_percent=spread_percent(engine, name))
    for engine in ENGINES
    for name, one in SCRIPTS.items()
)
