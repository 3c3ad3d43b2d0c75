"""The steps of the insert benchmark against a real server: what they find, what they send, and what they leave."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mariadb_artifact import SMALL, link_artifact, logging_server, server_version

from cpubisect.base.metrics import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS, Counter
from cpubisect.workloads.mysql.background import LEAST_SHARE, Pace
from cpubisect.workloads.mysql.client import Client
from cpubisect.workloads.mysql.insert_benchmark import INDEXES, INSERT_BENCHMARK
from cpubisect.workloads.mysql.server import DATABASE, Server
from cpubisect.workloads.mysql.tests import SCRIPTS
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Samples
from cpubisect.workloads.sysbench import WORKLOAD

ROWS = 2000
_STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100")
# Of l.i1 a fifth and of l.i2 a twentieth of the rows were replaced before.
_REPLACED = {"l.i0": 0, "l.x": 0, "l.i1": 0, "l.i2": ROWS // 5, "qr100": ROWS // 4, "qp100": ROWS // 4}


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_artifact(tmp_path_factory.mktemp("m") / "artifact")


@pytest.fixture(scope="module")
def server(artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with logging_server(artifact, tmp_path_factory.mktemp("l")) as one:
        yield one


def _loaded(server: Server, name: str, **given: str) -> Client:
    """A client of a test, on tables that were just made for it."""
    server.execute([f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}"], database=None)
    script = SCRIPTS[name]
    client = Client(server, script, {**script.test.parameters, "rows": str(ROWS), **given})
    client.load()
    return client


def _row(server: Server, statement: str) -> tuple[int, ...]:
    with server.cursor(DATABASE) as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    assert row is not None
    return tuple(int(value) for value in row)


def _keys(server: Server, table: str = "pi1") -> tuple[int, ...]:
    return _row(server, f"SELECT COUNT(*), MIN(transactionid), MAX(transactionid) FROM {table}")


def _indexes(server: Server) -> dict[str, list[str]]:
    with server.cursor(DATABASE) as cursor:
        cursor.execute("SHOW INDEX FROM pi1")
        found: dict[str, list[str]] = {}
        for row in cursor.fetchall():
            found.setdefault(str(row[2]), []).append(str(row[4]))
    return found


def _sent(server: Server, client: Client, events: int, kinds: str = "SELECT|INSERT|DELETE|ALTER") -> list[str]:
    log = server.place.log.with_name("general.log")
    before = len(log.read_text(errors="replace"))
    client.run(seed=7, events=events, timeout_s=60)
    logged = log.read_text(errors="replace")[before:]
    return re.findall(rf"Query\s+((?:{kinds})\b.*)", logged)


def _spent(server: Server, client: Client, events: int) -> dict[str, int]:
    """How many statements of each kind the server itself counted."""
    names = ("Com_insert", "Com_delete", "Com_alter_table", "Com_select")
    before = server.status()
    client.run(seed=7, events=events, timeout_s=60)
    after = server.status()
    return {name: int(after[name]) - int(before[name]) for name in names}


def test_the_steps_are_there_in_their_order() -> None:
    assert tuple(script.test.name for script in INSERT_BENCHMARK) == _STEPS
    assert {script.test.group for script in INSERT_BENCHMARK} == {"insert benchmark"}
    assert {one.test.name: one.test.parameters.get("rows-per-commit") for one in INSERT_BENCHMARK} == {
        "l.i0": "100", "l.x": None, "l.i1": "50", "l.i2": "5", "qr100": None, "qp100": None
    }  # fmt: skip
    for name in ("qr100", "qp100"):
        parameters = SCRIPTS[name].test.parameters
        assert (parameters["writes-per-second"], parameters["rows-per-query"]) == ("100", "10")


@pytest.mark.parametrize("name", _STEPS)
def test_a_step_finds_what_those_before_it_left(server: Server, name: str) -> None:
    _loaded(server, name)
    assert _keys(server) == (ROWS, 1 + _REPLACED[name], ROWS + _REPLACED[name])
    expected = {} if name in ("l.i0", "l.x") else {
        "product": ["productid", "customerid", "price"],
        "register": ["cashregisterid", "customerid", "price"],
        "market": ["price", "dateandtime", "customerid"],
    }  # fmt: skip
    assert _indexes(server) == {"PRIMARY": ["transactionid"], **expected}
    cardinalities = _row(
        server,
        "SELECT MAX(cashregisterid), MAX(productid), MAX(customerid), MAX(price), MIN(LENGTH(data)), MAX(LENGTH(data)) "
        "FROM pi1",
    )
    limits = (1000, 10000, 100000, 500)
    assert all(0.95 * limit <= largest <= limit for largest, limit in zip(cardinalities, limits, strict=False))
    assert cardinalities[4:] == (10, 20)


def test_the_same_rows_are_made_every_time(server: Server) -> None:
    sums = []
    for _ in range(2):
        _loaded(server, "qr100")
        with server.cursor(DATABASE) as cursor:
            cursor.execute("CHECKSUM TABLE pi1")
            sums.append(cursor.fetchone())
    assert sums[0] == sums[1]


@pytest.mark.parametrize(
    ("name", "operations", "counted", "keys"),
    [
        ("l.i0", 1000, {"Com_insert": 10}, (ROWS + 1000, 1, ROWS + 1000)),
        ("l.x", 10 * ROWS, {"Com_alter_table": 20}, (ROWS, 1, ROWS)),
        ("l.i1", 500, {"Com_insert": 10, "Com_delete": 10}, (ROWS, 501, ROWS + 500)),
        ("l.i2", 50, {"Com_insert": 10, "Com_delete": 10}, (ROWS, 451, ROWS + 450)),
        ("qr100", 10, {"Com_select": 10}, (ROWS, 501, ROWS + 500)),
        ("qp100", 10, {"Com_select": 10}, (ROWS, 501, ROWS + 500)),
    ],
)
def test_what_ten_events_send_count_as_and_leave(
    server: Server, name: str, operations: int, counted: Mapping[str, int], keys: tuple[int, ...]
) -> None:
    client = _loaded(server, name)
    # Each connection first asks for the keys, but of l.x, which needs none.
    begins = 0 if name == "l.x" else 1
    spent = _spent(server, client, 10)
    spent["Com_select"] -= begins
    assert {kind: number for kind, number in spent.items() if number} == counted
    assert _keys(server) == keys
    report = client.run(seed=8, events=10, timeout_s=60)
    assert (report.events, report.queries) == (10, operations)


def test_the_indexes_are_made_in_one_statement(server: Server) -> None:
    one, two = _sent(server, _loaded(server, "l.x"), 1)
    assert re.fullmatch(r"ALTER TABLE pi1 ADD INDEX product .*, ADD INDEX register .*, ADD INDEX market .*", one)
    assert re.fullmatch(r"ALTER TABLE pi1 DROP INDEX product, DROP INDEX register, DROP INDEX market", two)


def test_range_queries_are_answered_from_each_of_the_indexes(server: Server) -> None:
    statements = [one for one in _sent(server, _loaded(server, "qr100"), 30) if "COALESCE" not in one]
    assert len(statements) == 30
    used = set()
    with server.cursor(DATABASE) as cursor:
        for statement in statements:
            found = re.fullmatch(
                r"SELECT (\S+) FROM pi1 FORCE INDEX \((\w+)\) WHERE \w+>=\d+ ORDER BY \1 LIMIT 10", statement
            )
            assert found, statement
            used.add(found[2])
            assert cursor.execute(statement) == 10
            cursor.execute(f"EXPLAIN {statement}")
            plan = cursor.fetchone()
            assert plan is not None
            assert found[2] in plan
            assert str(plan[-1]).endswith("Using index")
    assert used == set(INDEXES)


def test_point_queries_are_of_rows_that_are_there(server: Server) -> None:
    statements = [one for one in _sent(server, _loaded(server, "qp100"), 10) if "COALESCE" not in one]
    with server.cursor(DATABASE) as cursor:
        for statement in statements:
            found = re.fullmatch(r"SELECT \* FROM pi1 WHERE transactionid IN \(((?:\d+,){9}\d+)\)", statement)
            assert found, statement
            assert cursor.execute(statement) == len(set(found[1].split(",")))
    assert len(set(statements)) == 10


@pytest.mark.parametrize("clients", [4, 16])
@pytest.mark.parametrize("name", _STEPS)
def test_each_client_has_a_table_of_its_own(server: Server, name: str, clients: int) -> None:
    client = _loaded(server, name, clients=str(clients), rows="200")
    assert client.run(seed=3, events=2 * clients, timeout_s=60).ignored_errors == 0
    with server.cursor(DATABASE) as cursor:
        assert cursor.execute("SHOW TABLES") == clients
    if name == "l.i1":
        assert sum(_keys(server, f"pi{n + 1}")[0] for n in range(clients)) == 200 * clients


def test_writers_that_cannot_write_are_told(server: Server) -> None:
    client = _loaded(server, "qr100")
    command = tuple(word if "--threads" not in word else "--threads=4" for word in client.background_command(100, 50))
    with (
        pytest.raises(ProbeError, match=r"the writers in the background: .*pi2.* doesn't exist"),
        client.background(command),
    ):
        client.run(seed=1, seconds=2, timeout_s=60)


@pytest.mark.parametrize(
    ("pace", "statements", "seconds", "missed"),
    [
        (Pace(100, 1, 50), 20, 10.0, False),
        (Pace(100, 1, 50), 18, 10.0, False),
        (Pace(100, 1, 50), 17, 10.0, True),
        (Pace(100, 4, 50), 80, 10.0, False),
        (Pace(100, 4, 50), 40, 10.0, True),
        (Pace(1000, 1, 50), 190, 10.0, False),
        (Pace(1000, 1, 50), 0, 10.0, True),
    ],
)
def test_the_rate_of_the_writers(pace: Pace, statements: int, seconds: float, missed: bool) -> None:
    assert bool(pace.missed(statements, seconds)) == missed


def test_how_much_they_missed_is_said() -> None:
    assert (
        Pace(1000, 2, 50)
        .missed(100, 5.0)
        .endswith("missed their rate: 1000 of 2000 rows inserted and deleted per second")
    )


@given(rows=st.integers(1, 10**6), clients=st.integers(1, 64), commit=st.integers(1, 500), seconds=st.floats(0.5, 1e4))
def test_who_writes_as_asked_has_missed_nothing(rows: int, clients: int, commit: int, seconds: float) -> None:
    pace = Pace(rows, clients, commit)
    done = int(rows * clients * seconds / commit)
    assert not pace.missed(done, seconds)
    # All but what may have been under way, and a little less than the share that is asked for.
    too_few = int(LEAST_SHARE * 0.99 * done) - clients
    assert too_few < 0 or pace.missed(too_few, seconds)


def _probe(artifact: Path, scratch: Path, name: str, *, counter: Counter = Counter.NONE, **given: str) -> Samples:
    test = SCRIPTS[name].test
    small = {f"mysqld.{option}": value for option, value in SMALL.items()}
    brief = {"rows": str(ROWS), "queries": "200", "warm-queries": "100", "repeats": "1", "seconds": "2", "samples": "2"}
    parameters = {**test.parameters, **brief, **small, **given}
    clock = counter is Counter.NONE
    return WORKLOAD.probe(ProbeRequest(artifact, server_version(), test, parameters, counter, scratch, clock=clock))


@pytest.mark.parametrize(("rate", "missed"), [("100", False), ("100000000", True)])
def test_a_probe_says_if_the_writers_missed_their_rate(artifact: Path, tmp_path: Path, rate: str, missed: bool) -> None:
    samples = _probe(artifact, tmp_path, "qp100", **{"writes-per-second": rate})
    assert {CPU, CONTEXT_SWITCHES, QPS} <= samples.values.keys()
    assert samples.note.startswith("the writers in the background missed their rate") == missed
    assert any("insert_benchmark_writers.lua" in command for command in samples.commands)


@pytest.mark.parametrize("name", ["l.i0", "l.x", "l.i2", "qr100"])
def test_instructions_of_a_step_are_counted(artifact: Path, tmp_path: Path, name: str) -> None:
    samples = _probe(artifact, tmp_path, name, counter=Counter.CALLGRIND)
    (counted,) = samples.values[INSTRUCTIONS]
    assert 1000 < counted < 2_000_000
    assert sum(samples.profile.values()) == pytest.approx(counted, rel=1e-6)
