"""The steps of the insert benchmark, each a test of its own: what it starts from is made by the steps before it.

Each client has a table of its own, whose rows have an increasing key. A load fills it in key order (l.i0), one ALTER
gives it three secondary indexes (l.x), then rows are inserted at its end and as many deleted at its beginning, 50 of
each at a time (l.i1) and 5 (l.i2). Range queries (qr) and point queries (qp) follow, while connections of their own
insert and delete at a given rate.
"""

from cpubisect.workloads.mysql.script import WRITES_PER_SECOND, Data, Script, define

GROUP = "insert benchmark"

ROWS_PER_COMMIT = 50
"""Of the writers in the background, and of l.i1."""

INDEXES = ("product", "register", "market")
"""Of each table from l.x on; their columns are in `lua/insert_benchmark.lua`."""

_ROWS = 50_000
# Texts are made by the script, whose clients have tables of their own and draw all keys alike.
_WITHOUT = ("tables", "distribution", "db-ps-mode")


def _after(step: str, *, indexed: bool) -> Data:
    """The tables as a step leaves them."""
    secondary = tuple(f"SELECT COUNT(*), SUM(customerid) FROM {{table}} FORCE INDEX ({name})" for name in INDEXES)
    primary = "SELECT COUNT(*), SUM(LENGTH(data)) FROM {table} FORCE INDEX (PRIMARY)"
    reads = (primary, *(secondary if indexed else ()))
    return Data("pi", "load_insert_benchmark.lua", reads, {"through": step}, of_clients=True)


# Enough rows are counted that what comes once in a thousand of them weighs alike in every count: InnoDB 5.6 estimates
# the statistics of an index again after a sixteenth of the table has changed, in the thread that changed it.
def _step(
    name: str, summary: str, script: str, *, after: Data, commit: int = 0, rows: int = _ROWS, queries: int, warm: int
) -> Script:
    """A step that writes, `commit` rows in a statement; without that an event writes all rows."""
    return define(
        name,
        GROUP,
        summary,
        script,
        data=after,
        operations="rows-per-commit" if commit else "rows",
        without=_WITHOUT,
        writes=True,
        rows=rows,
        settable={"rows_per_commit": ("rows-per-commit", str(commit))} if commit else {},
        queries=queries,
        warm=warm,
    )


def _query(name: str, kind: str, words: str, *, queries: int, warm: int) -> Script:
    return define(
        name,
        GROUP,
        f"{words}, while others insert and delete",
        "insert_benchmark_query.lua",
        {"kind": kind},
        settable={"rows_per_query": ("rows-per-query", "10")},
        data=_after("l.i2", indexed=True),
        operations=1,
        background="insert_benchmark_writers.lua",
        own={WRITES_PER_SECOND: name[2:]},
        without=_WITHOUT,
        writes=False,
        rows=_ROWS,
        queries=queries,
        warm=warm,
    )


INSERT_BENCHMARK = (
    _step(
        "l.i0",
        "INSERT of 100 rows in key order, without secondary indexes (cost is per row)",
        "insert_benchmark_insert.lua",
        after=_after("l.i0", indexed=False),
        commit=100,
        queries=8000,
        warm=2000,
    ),
    _step(
        "l.x",
        "ALTER TABLE that creates three secondary indexes, and one that drops them (cost is per row)",
        "insert_benchmark_index.lua",
        after=_after("l.i0", indexed=False),
        rows=20_000,
        queries=20_000,
        warm=20_000,
    ),
    _step(
        "l.i1",
        "INSERT of 50 rows, DELETE of the 50 oldest, with three secondary indexes (cost is per row inserted)",
        "insert_benchmark_replace.lua",
        after=_after("l.x", indexed=True),
        commit=ROWS_PER_COMMIT,
        queries=4000,
        warm=1000,
    ),
    _step(
        "l.i2",
        "INSERT of 5 rows, DELETE of the 5 oldest, with three secondary indexes (cost is per row inserted)",
        "insert_benchmark_replace.lua",
        after=_after("l.i1", indexed=True),
        commit=5,
        queries=2000,
        warm=500,
    ),
    _query("qr100", "range", "SELECT of the next 10 entries of a secondary index", queries=1500, warm=500),
    _query("qp100", "point", "SELECT of 10 random rows by an IN list of primary keys", queries=1000, warm=500),
)
"""In their order."""
