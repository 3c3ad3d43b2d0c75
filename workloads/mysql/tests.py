"""The named MySQL tests: which script sends which statements, in the groups of the sysbench microbenchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cpubisect.workloads.probe import Test
from cpubisect.workloads.repeatability import spread_percent

LUA = Path(__file__).parent.parent / "lua"

POINT = "point queries"
RANGE = "range queries without aggregation"
AGGREGATE = "range queries with aggregation"
WRITE = "writes"

SERVER_PREFIX = "mysqld."
"""A parameter `mysqld.NAME` gives the server the option `--NAME`."""

COMMON: Mapping[str, str] = {
    "tables": "1",
    "clients": "1",
    "seconds": "5",
    "samples": "5",
    "repeats": "2",
    "distribution": "uniform",
    "db-ps-mode": "auto",
    "pin": "yes",
    "defaults": "pinned",
}
"""What every test can be told, all as strings, beside its own `rows`, `queries` and `warm-queries`.

`rows` are in each of `tables`, `clients` is the number of connections. The clock runs for `seconds`, split into
`samples` runs of whole seconds. Instructions are counted over `queries` statements after `warm-queries`, until
`repeats` counts in a row agree. `distribution` is sysbench's `rand-type`; `db-ps-mode` is `auto` or, for plain
statements, `disable`; `pin` `yes` puts server and client on one CPU; `defaults` `server` leaves the server its own
defaults.
"""


@dataclass(frozen=True)
class Script:
    """What runs a test: `name` is one of sysbench's own scripts or a file in `lua/`; `options` are its fixed options
    and `settable` maps its other options to the parameter each takes its value from. A `draining` script removes a row
    for good with each event."""

    test: Test
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    settable: Mapping[str, str] = field(default_factory=dict)
    draining: bool = False

    @property
    def own(self) -> bool:
        """True if the script is ours."""
        return self.name.endswith(".lua")


def _script(
    name: str,
    group: str,
    summary: str,
    script: str,
    options: Mapping[str, str] | None = None,
    *,
    settable: Mapping[str, tuple[str, str]] | None = None,
    draining: bool = False,
    rows: int = 100_000,
    queries: int = 4000,
    warm: int = 1000,
) -> Script:
    """`settable` maps a script's option to the parameter it takes its value from and that parameter's default."""
    own = dict((settable or {}).values())
    numbers = {"rows": str(rows), "queries": str(queries), "warm-queries": str(warm)}
    parameters = {**numbers, **own, **COMMON}
    test = Test(name, "mysql", group, summary, group == WRITE, parameters, spread_percent("mysql", name))
    names = {option: parameter for option, (parameter, _) in (settable or {}).items()}
    return Script(test, script, options or {}, names, draining)


def _points(size: str) -> dict[str, tuple[str, str]]:
    return {"points": ("random-points", size)}


def _range(size: str, option: str = "range_size") -> dict[str, tuple[str, str]]:
    return {option: ("range-size", size)}


def _read_only_with(kind: str, words: str) -> Script:
    others = {f"{one}_ranges": "1" if one == kind else "0" for one in ("simple", "sum", "order", "distinct")}
    return _script(
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
    _script("point-query", POINT, "SELECT c of one row by primary key", "oltp_point_select"),
    _script(
        "hot-points",
        POINT,
        "SELECT c of always the same adjacent rows by an IN list of primary keys",
        "inlist_select.lua",
        {"hot": "on"},
        settable=_points("100"),
        queries=120,
        warm=100,
    ),
    _script(
        "random-points",
        POINT,
        "SELECT c of random rows by an IN list of primary keys",
        "inlist_select.lua",
        settable=_points("100"),
        queries=120,
        warm=100,
    ),
    *(
        _script(
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
        _script(
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
    _script("scan", RANGE, "SELECT that reads a whole table and returns nothing", "scan.lua", queries=2, warm=1),
)

_AGGREGATE_TESTS = (
    _script(
        "read-only",
        AGGREGATE,
        "transaction of 10 point queries and a simple, SUM, ORDER BY and DISTINCT range query",
        "oltp_read_only",
        settable=_range("100"),
        queries=1600,
        warm=800,
    ),
    _read_only_with("simple", "range query"),
    _read_only_with("sum", "SUM over a range"),
    _read_only_with("order", "range query with ORDER BY"),
    _read_only_with("distinct", "range query with DISTINCT and ORDER BY"),
    _script(
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
    _script(
        "update-inlist",
        WRITE,
        "UPDATE c of random rows by an IN list of primary keys",
        "inlist_update.lua",
        settable=_points("10"),
        queries=600,
        warm=300,
    ),
    _script("update-index", WRITE, "UPDATE of an indexed column of one row by primary key", "oltp_update_index"),
    _script("update-nonindex", WRITE, "UPDATE of a column without index by primary key", "oltp_update_non_index"),
    _script("update-one", WRITE, "UPDATE of always the same row", "oltp_update_non_index", rows=1),
    _script("insert", WRITE, "INSERT of one row", "oltp_insert"),
    _script("delete", WRITE, "DELETE of one existing row by primary key", "delete.lua", draining=True),
    _script("write-only", WRITE, "transaction of two UPDATEs, a DELETE and an INSERT", "oltp_write_only", queries=3000),
    _script(
        "read-write",
        WRITE,
        "the transactions of read-only and write-only in one",
        "oltp_read_write",
        settable=_range("100"),
        queries=1600,
        warm=800,
    ),
)

SCRIPTS: Mapping[str, Script] = {
    one.test.name: one for one in (*_POINT_TESTS, *_RANGE_TESTS, *_AGGREGATE_TESTS, *_WRITE_TESTS)
}
TESTS: tuple[Test, ...] = tuple(one.test for one in SCRIPTS.values())
