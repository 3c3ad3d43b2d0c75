"""What every MySQL test is made of: the script that sends its statements, the data it starts from, its parameters."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cpubisect.workloads.probe import Test

LUA = Path(__file__).parent.parent / "lua"

WRITE = "writes"

WRITES_PER_SECOND = "writes-per-second"
"""The parameter of a test with a background: rows that are inserted, and as many deleted, in a second for each client.
"""

COMMON: Mapping[str, str] = {
    "tables": "1",
    "clients": "1",
    "seconds": "5",
    "samples": "5",
    "repeats": "2",
    "distribution": "uniform",
    "db-ps-mode": "auto",
    "pin": "auto",
    "defaults": "pinned",
}
"""What every test can be told, all as strings, beside its own `rows`, `queries` and `warm-queries`.

`rows` are in each of `tables`, `clients` is the number of connections. The clock runs for `seconds`, split into
`samples` runs of whole seconds. Instructions are counted over `queries` statements after `warm-queries`, until
`repeats` counts in a row agree. `distribution` is sysbench's `rand-type`; `db-ps-mode` is `auto` or, for plain
statements, `disable`; `pin` `yes` puts server and client on one CPU, `auto` does not while several clients are timed,
which would only wait for each other there; `defaults` `server` leaves the server its own defaults.
"""


@dataclass(frozen=True)
class Data:
    """The tables that a test starts from, named `prefix` and a number.

    `loader` in `lua/` creates and fills them, with its `options`; `reads` are the statements that read every page of a
    table, written as `{table}`. With `of_clients` each client has a table of its own.
    """

    prefix: str
    loader: str
    reads: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    of_clients: bool = False

    def names(self, tables: int) -> tuple[str, ...]:
        """The first so many tables."""
        return tuple(f"{self.prefix}{number}" for number in range(1, tables + 1))


SBTEST = Data(
    "sbtest",
    "load.lua",
    (
        "SELECT COUNT(*), SUM(LENGTH(pad)) FROM {table} FORCE INDEX (PRIMARY)",
        "SELECT COUNT(*), SUM(k) FROM {table} FORCE INDEX (k_{table}) WHERE k >= 0",
    ),
)
"""The tables of sysbench's own OLTP tests."""


@dataclass(frozen=True)
class Script:
    """What runs a test: `name` is one of sysbench's own scripts or a file in `lua/`; `options` are its fixed options
    and `settable` maps its other options to the parameter each takes its value from. A `draining` script removes a row
    for good with each event. An event counts as so many `operations`: a number, or the parameter that says it; 0: as
    many as it sends statements. `background` is the script of the connections that write while the clock runs."""

    test: Test
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    settable: Mapping[str, str] = field(default_factory=dict)
    draining: bool = False
    data: Data = SBTEST
    operations: int | str = 0
    background: str = ""

    @property
    def own(self) -> bool:
        """True if the script is ours."""
        return self.name.endswith(".lua")

    def tables(self, parameters: Mapping[str, str]) -> int:
        """How many tables there are."""
        return int(parameters["clients" if self.data.of_clients else "tables"])

    def operations_per_event(self, parameters: Mapping[str, str]) -> int:
        """What an event counts as; 0: as many operations as it sends statements."""
        return int(parameters[self.operations]) if isinstance(self.operations, str) else self.operations


def define(
    name: str,
    group: str,
    summary: str,
    script: str,
    options: Mapping[str, str] | None = None,
    *,
    settable: Mapping[str, tuple[str, str]] | None = None,
    draining: bool = False,
    data: Data = SBTEST,
    operations: int | str = 0,
    background: str = "",
    own: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    writes: bool | None = None,
    rows: int = 100_000,
    queries: int = 4000,
    warm: int = 1000,
) -> Script:
    """A test and its script. `settable` maps a script's option to the parameter it takes its value from and that
    parameter's default; `own` are parameters that no option of the script takes, `without` those of COMMON that it does
    not have; a test of the group of writes `writes` unless it is said. How far its counts spread is not said here: that
    depends on the engine."""
    numbers = {"rows": str(rows), "queries": str(queries), "warm-queries": str(warm)}
    common = {parameter: value for parameter, value in COMMON.items() if parameter not in without}
    parameters = {**numbers, **dict((settable or {}).values()), **(own or {}), **common}
    changing = group == WRITE if writes is None else writes
    test = Test(name, "mysql", group, summary, changing, parameters)
    names = {option: parameter for option, (parameter, _) in (settable or {}).items()}
    return Script(test, script, options or {}, names, draining, data, operations, background)
