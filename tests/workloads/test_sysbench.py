"""sysbench against a real server: what each test sends, what a probe measures, and what it says when it cannot."""

import re
from collections import Counter as Tally
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import fake_perf
import pytest
from mariadb_artifact import SMALL, link_artifact, logging_server, server_version

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import (
    CACHE_MISSES,
    CONTEXT_SWITCHES,
    CPU,
    CYCLES,
    HARDWARE,
    INSTRUCTIONS,
    L1_MISSES,
    LL_MISSES,
    MISPREDICTIONS,
    QPS,
    SIMULATED,
    Counter,
    Simulation,
)
from cpubisect.search.ends import IGNORED_VARIABLES
from cpubisect.workloads.counters.hardware import supported
from cpubisect.workloads.mysql.client import Client, Report, parse_report, telling_line
from cpubisect.workloads.mysql.plan import Plan
from cpubisect.workloads.mysql.script import SBTEST
from cpubisect.workloads.mysql.server import DATABASE, Server
from cpubisect.workloads.mysql.tests import ENGINES, SCRIPTS, TESTS
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Samples
from cpubisect.workloads.sysbench import WORKLOAD

ROWS = 2000
_QUERIES_PER_EVENT = {
    "read-only-10": 16,
    "read-only": 16,
    "read-only-10000": 16,
    "read-only-simple": 13,
    "read-only-sum": 13,
    "read-only-order": 13,
    "read-only-distinct": 13,
    "write-only": 6,
    "read-write-10": 20,
    "read-write": 20,
}
# The published set: what each test's range is, by the parameter that says it; None where it has none.
_PUBLISHED = {
    "point-query": None,
    "hot-points": ("random-points", "100"),
    "random-points-10": ("random-points", "10"),
    "random-points": ("random-points", "100"),
    "random-points-1000": ("random-points", "1000"),
    "points-covered-pk": ("random-points", "100"),
    "points-notcovered-pk": ("random-points", "100"),
    "points-covered-si": ("random-points", "100"),
    "points-notcovered-si": ("random-points", "100"),
    "range-covered-pk": ("range-size", "100"),
    "range-notcovered-pk": ("range-size", "100"),
    "range-covered-si": ("range-size", "100"),
    "range-notcovered-si": ("range-size", "100"),
    "scan": None,
    "read-only-10": ("range-size", "10"),
    "read-only": ("range-size", "100"),
    "read-only-10000": ("range-size", "10000"),
    "read-only-simple": ("range-size", "1000"),
    "read-only-sum": ("range-size", "1000"),
    "read-only-order": ("range-size", "1000"),
    "read-only-distinct": ("range-size", "1000"),
    "read-only-count": ("range-size", "1000"),
    "update-inlist": ("random-points", "10"),
    "update-index": None,
    "update-nonindex": None,
    "update-zipf": ("zipf-exponent", "0.8"),
    "update-one": ("rows", "1"),
    "insert": None,
    "delete": None,
    "write-only": None,
    "read-write-10": ("range-size", "10"),
    "read-write": ("range-size", "100"),
}
_OF_SBTEST = [name for name, script in SCRIPTS.items() if script.data is SBTEST]
_SMALL_SETTINGS = {f"mysqld.{name}": value for name, value in SMALL.items()}


@dataclass(frozen=True)
class _Loaded:
    """A running server with sbtest1 filled, which logs every statement."""

    server: Server
    log: Path

    def client(self, name: str, **parameters: str) -> Client:
        script = SCRIPTS[name]
        return Client(self.server, script, {**script.test.parameters, "rows": str(ROWS), **parameters})

    def statements(self, client: Client, events: int, seed: int = 7, first: int = 0) -> list[str]:
        """What the server says it was told to run during so many events."""
        before = len(self.log.read_text(errors="replace"))
        client.run(seed=seed, events=events, first=first, timeout_s=60)
        logged = self.log.read_text(errors="replace")[before:]
        return re.findall(r"(?:Execute|Query)\s+((?:SELECT|UPDATE|DELETE|INSERT|BEGIN|COMMIT)\b.*)", logged)

    def rows(self) -> int:
        with self.server.cursor(DATABASE) as cursor:
            cursor.execute("SELECT COUNT(*) FROM sbtest1")
            row = cursor.fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_artifact(tmp_path_factory.mktemp("m") / "artifact")


@pytest.fixture(scope="module")
def loaded(artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Loaded]:
    with logging_server(artifact, tmp_path_factory.mktemp("l")) as server:
        server.execute([f"CREATE DATABASE IF NOT EXISTS {DATABASE}"], database=None)
        one = _Loaded(server, server.place.log.with_name("general.log"))
        one.client("point-query").load()
        yield one


def test_the_catalogue_has_the_known_names_and_groups() -> None:
    groups = {test.name: test.group for test in TESTS}
    assert [(test.engine, test.name) for test in TESTS] == [(name, one) for name in ENGINES for one in groups]
    assert groups["point-query"] == groups["hot-points"] == groups["random-points"] == "point queries"
    assert groups["range-covered-pk"] == groups["scan"] == "range queries without aggregation"
    assert groups["read-only"] == groups["read-only-count"] == "range queries with aggregation"
    assert {test.name for test in TESTS if test.writes} == {
        "update-inlist", "update-index", "update-nonindex", "update-zipf", "update-one", "insert", "delete",
        "write-only", "read-write-10", "read-write", "l.i0", "l.x", "l.i1", "l.i2",
    }  # fmt: skip
    assert all(test.summary for test in TESTS)


def test_all_of_the_published_set_are_there_with_their_sizes() -> None:
    assert list(_PUBLISHED) == _OF_SBTEST
    assert Tally(SCRIPTS[name].test.group for name in _OF_SBTEST) == {
        "point queries": 9, "range queries without aggregation": 5, "range queries with aggregation": 8, "writes": 10
    }  # fmt: skip
    for name, said in _PUBLISHED.items():
        parameters = SCRIPTS[name].test.parameters
        if said:
            assert parameters[said[0]] == said[1], name
        else:
            assert not parameters.keys() & {"range-size", "random-points"}
        assert parameters.get("distribution") == (None if name == "update-zipf" else "uniform")


def test_a_test_takes_its_own_parameters_and_any_server_option() -> None:
    test = SCRIPTS["random-points"].test
    assert WORKLOAD.accepts(test, "random-points")
    assert WORKLOAD.accepts(test, "mysqld.performance_schema")
    assert not WORKLOAD.accepts(test, "range-size")
    assert not WORKLOAD.accepts(test, "mysqld.")
    assert not WORKLOAD.accepts(test, "mysqld.x y")
    assert WORKLOAD.refusal(test, "random-points") == WORKLOAD.refusal(test, "mysqld.performance_schema") == ""
    assert "the network" in WORKLOAD.refusal(test, "mysqld.port")
    assert WORKLOAD.variable("port", lenient=True) == ""


@pytest.mark.parametrize("name", [name for name in _OF_SBTEST if name != "delete"])
def test_every_test_runs_and_counts_its_statements(loaded: _Loaded, name: str) -> None:
    rows = {"rows": "1"} if name == "update-one" else {}
    report = loaded.client(name, **rows).run(seed=3, events=3, timeout_s=60)
    assert report.events == 3
    assert report.queries == 3 * _QUERIES_PER_EVENT.get(name, 1)
    assert report.ignored_errors == 0


@pytest.mark.parametrize("clients", [4, 16])
def test_every_test_runs_with_several_clients(loaded: _Loaded, clients: int) -> None:
    for name in _OF_SBTEST:
        rows = {"rows": "1"} if name == "update-one" else {}
        report = loaded.client(name, clients=str(clients), **rows).run(seed=3, events=2 * clients, timeout_s=60)
        assert report.queries >= 2 * clients * _QUERIES_PER_EVENT.get(name, 1), name


def test_loading_makes_the_same_rows_every_time(loaded: _Loaded) -> None:
    sums = []
    for _ in range(2):
        loaded.server.execute(["DROP TABLE sbtest1"])
        loaded.client("point-query").load()
        with loaded.server.cursor(DATABASE) as cursor:
            cursor.execute("CHECKSUM TABLE sbtest1")
            sums.append(cursor.fetchone())
        assert loaded.rows() == ROWS
    assert sums[0] == sums[1]


def test_the_same_seed_asks_for_the_same_keys(loaded: _Loaded) -> None:
    client = loaded.client("point-query")
    first = loaded.statements(client, 20)
    assert len(set(first)) > 10
    assert loaded.statements(client, 20) == first
    assert loaded.statements(client, 20, seed=8) != first


def test_hot_points_are_always_the_same_neighbours_of_the_middle(loaded: _Loaded) -> None:
    statements = loaded.statements(loaded.client("hot-points", **{"random-points": "5"}), 3)
    middle = ROWS // 2
    expected = ",".join(str(middle + i) for i in range(1, 6))
    assert statements == [f"SELECT c FROM sbtest1 WHERE id IN ({expected})"] * 3


def test_random_points_are_many_and_spread(loaded: _Loaded) -> None:
    (one,) = loaded.statements(loaded.client("random-points", **{"random-points": "50"}), 1)
    ids = [int(word) for word in re.findall(r"\d+", one.partition(" IN ")[2])]
    assert len(ids) == 50
    assert min(ids) < ROWS // 4 < 3 * ROWS // 4 < max(ids)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("points-covered-pk", r"SELECT id FROM sbtest1 WHERE id IN \([\d,]+\)"),
        ("points-notcovered-pk", r"SELECT id,c FROM sbtest1 WHERE id IN \([\d,]+\)"),
        ("points-covered-si", r"SELECT k FROM sbtest1 WHERE k IN \([\d,]+\)"),
        ("points-notcovered-si", r"SELECT k,c FROM sbtest1 WHERE k IN \([\d,]+\)"),
        ("range-covered-pk", r"SELECT id FROM sbtest1 WHERE id BETWEEN \d+ AND \d+"),
        ("range-notcovered-pk", r"SELECT id,c FROM sbtest1 WHERE id BETWEEN \d+ AND \d+"),
        ("range-covered-si", r"SELECT k FROM sbtest1 WHERE k BETWEEN \d+ AND \d+"),
        ("range-notcovered-si", r"SELECT k,c FROM sbtest1 WHERE k BETWEEN \d+ AND \d+"),
        ("read-only-count", r"SELECT COUNT\(c\) FROM sbtest1 WHERE id BETWEEN \d+ AND \d+"),
        ("scan", r"SELECT \* FROM sbtest1 WHERE LENGTH\(c\) < 0"),
        ("update-inlist", r"UPDATE sbtest1 SET c='[\d-]{119}' WHERE id IN \((\d+,){9}\d+\)"),
        ("update-index", r"UPDATE sbtest1 SET k=k\+1 WHERE id=\d+"),
        ("update-nonindex", r"UPDATE sbtest1 SET c='[\d-]{119}' WHERE id=\d+"),
    ],
)
def test_what_a_test_sends(loaded: _Loaded, name: str, shape: str) -> None:
    statements = loaded.statements(loaded.client(name), 3)
    assert len(statements) == 3
    for statement in statements:
        assert re.fullmatch(shape, statement), statement


def test_ranges_are_whole_and_of_the_size_asked_for(loaded: _Loaded) -> None:
    client = loaded.client("range-covered-pk", **{"range-size": str(ROWS - 3)})
    for statement in loaded.statements(client, 10):
        low, high = map(int, re.findall(r"\d+", statement)[-2:])
        assert 1 <= low <= high <= ROWS
        assert high - low == ROWS - 4


def test_deletes_never_miss(loaded: _Loaded) -> None:
    loaded.server.execute(["DROP TABLE sbtest1"])
    client = loaded.client("delete", clients="1")
    client.load()
    loaded.statements(client, 150)
    statements = loaded.statements(client, 150, first=150)
    assert len(statements) == 150
    assert loaded.rows() == ROWS - 300


def test_deletes_of_several_clients_never_miss(loaded: _Loaded) -> None:
    loaded.server.execute(["DROP TABLE sbtest1"])
    client = loaded.client("delete", clients="4")
    client.load()
    assert len(loaded.statements(client, 402)) == 404
    assert len(loaded.statements(client, 400, first=101)) == 400
    assert loaded.rows() == ROWS - 804


@pytest.mark.parametrize("exponent", ["0.8", "1"])
def test_zipf_asks_for_the_first_rows_most(loaded: _Loaded, exponent: str) -> None:
    statements = loaded.statements(loaded.client("update-zipf", **{"zipf-exponent": exponent}), 4000)
    matches = [re.fullmatch(r"UPDATE sbtest1 SET c='[\d-]{119}' WHERE id=(\d+)", one) for one in statements]
    ids = Tally(int(match[1]) for match in matches if match)
    weights = [n ** -float(exponent) for n in range(1, ROWS + 1)]
    assert sum(ids.values()) == 4000
    assert 1 <= min(ids) <= max(ids) <= ROWS
    for upto in (1, 10, 100, 1000):
        drawn = sum(count for one, count in ids.items() if one <= upto)
        assert drawn / 4000 == pytest.approx(sum(weights[:upto]) / sum(weights), abs=0.03)


def test_plain_statements_instead_of_prepared_ones(loaded: _Loaded) -> None:
    assert loaded.statements(loaded.client("random-points", **{"db-ps-mode": "disable"}), 2)


def test_sysbenchs_own_words_when_it_fails(loaded: _Loaded) -> None:
    with pytest.raises(ProbeError, match=r"sysbench: .*(distribution|rand-type)"):
        loaded.client("point-query", distribution="nosuch").run(seed=1, events=1, timeout_s=60)


def test_the_servers_words_when_the_table_is_missing(loaded: _Loaded) -> None:
    with pytest.raises(ProbeError, match=r"sysbench: .*sbtest2.* doesn't exist"):
        loaded.client("random-points", tables="2").run(seed=1, events=5, timeout_s=60)


_OUTPUT = """
SQL statistics:
    queries performed:
        read:                            1400
        total:                           1600
    transactions:                        100    (312.22 per sec.)
    queries:                             1600   (4995.49 per sec.)
    ignored errors:                      2      (6.24 per sec.)
    reconnects:                          0      (0.00 per sec.)
"""


def test_the_report_is_read() -> None:
    assert parse_report(_OUTPUT) == Report(queries=1600, events=100, qps=4995.49, ignored_errors=2)


def test_a_report_without_statistics() -> None:
    with pytest.raises(ValueError, match="no closing statistics"):
        parse_report("Running the test with following options:\nNumber of threads: 1\n")


def test_the_clients_telling_line() -> None:
    assert telling_line("sysbench 1.0.20\n\nFATAL: no driver\nmore\n") == "FATAL: no driver"
    deep = 'FATAL: mysql_stmt_prepare() failed\nFATAL: MySQL error: 1146 "no table"\nFATAL: `thread_init\' failed\n'
    assert telling_line(deep) == 'FATAL: MySQL error: 1146 "no table"'
    assert telling_line("") == "it printed nothing"


@pytest.mark.parametrize(
    ("name", "value"), [("rows", "0"), ("rows", "many"), ("clients", "-1"), ("pin", "maybe"), ("defaults", "mine")]
)
def test_a_parameter_that_is_no_such_thing(name: str, value: str) -> None:
    with pytest.raises(UserError, match=f"{name} is"):
        Plan.read({**SCRIPTS["scan"].test.parameters, name: value})


@pytest.mark.parametrize(
    ("pin", "clients", "counting", "timed"),
    [("yes", "4", True, True), ("no", "1", False, False), ("auto", "1", True, True), ("auto", "4", True, False)],
)
def test_several_clients_are_not_timed_on_one_cpu(pin: str, clients: str, counting: bool, timed: bool) -> None:
    plan = Plan.read({**SCRIPTS["scan"].test.parameters, "pin": pin, "clients": clients})
    assert (plan.pinned(timed=False), plan.pinned(timed=True)) == (counting, timed)


def test_events_may_count_as_other_than_their_statements() -> None:
    assert parse_report(_OUTPUT).counting(50) == Report(5000, 100, pytest.approx(50 * 312.22, rel=1e-4), 2)


def test_the_clock_runs_whole_seconds() -> None:
    plan = Plan.read({**SCRIPTS["scan"].test.parameters, "seconds": "3", "samples": "5"})
    assert (plan.samples, plan.slice_s) == (3, 1)


def test_runs_that_read_repeat_and_runs_that_write_do_not() -> None:
    plan = Plan.read(SCRIPTS["delete"].test.parameters)
    reads, writes = plan.deck(SCRIPTS["scan"]), plan.deck(SCRIPTS["insert"])
    assert reads.next_seed() == reads.next_seed()
    assert writes.next_seed() != writes.next_seed()


def test_more_deletes_than_rows_are_refused() -> None:
    deck = Plan.read({**SCRIPTS["delete"].test.parameters, "rows": "100"}).deck(SCRIPTS["delete"])
    assert [deck.take(60), deck.take(40)] == [0, 60]
    with pytest.raises(UserError, match="removes 101 rows and the table has 100"):
        deck.take(1)


def test_each_client_gets_as_many_rows_to_delete() -> None:
    parameters = {**SCRIPTS["delete"].test.parameters, "rows": "100", "clients": "4"}
    plan = Plan.read(parameters)
    deck = plan.deck(SCRIPTS["delete"])
    assert [deck.take(4), deck.take(5), deck.take(88)] == [0, 1, 3]
    with pytest.raises(UserError, match="removes 104 rows and the table has 100"):
        deck.take(1)
    assert plan.clock_limit(SCRIPTS["delete"]) == 16
    assert plan.clock_limit(SCRIPTS["insert"]) == 0


def _request(artifact: Path, scratch: Path, name: str, *, clock: bool = False, **given: str) -> ProbeRequest:
    test = SCRIPTS[name].test
    brief = {"rows": str(ROWS), "queries": "300", "warm-queries": "300", "repeats": "1", "seconds": "1"}
    parameters = {**test.parameters, **brief, **_SMALL_SETTINGS, **given}
    return ProbeRequest(artifact, server_version(), test, parameters, Counter.CALLGRIND, scratch, clock=clock)


@pytest.fixture(scope="module")
def point_query(artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    return WORKLOAD.probe(_request(artifact, tmp_path_factory.mktemp("p"), "point-query", clock=True, repeats="2"))


def test_a_probe_has_every_metric(point_query: Samples) -> None:
    values = point_query.values
    assert values.keys() - HARDWARE == {INSTRUCTIONS, CPU, CONTEXT_SWITCHES, QPS}
    assert [len(values[metric]) for metric in (INSTRUCTIONS, CPU, CONTEXT_SWITCHES, QPS)] == [2, 1, 1, 1]
    # Server and client take turns: about one switch for each query.
    assert 0.5 < values[CONTEXT_SWITCHES][0] < 3
    assert values[CPU][0] * values[QPS][0] < 1_000_000
    assert point_query.variables["character_set_server"] == "latin1"
    assert any("valgrind" in command for command in point_query.commands)
    assert point_query.seconds > 0


def test_events_of_the_hardware_are_recorded_with_the_clock(
    artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "probe").mkdir()
    fake_perf.install(tmp_path, monkeypatch, ("cycles:u", "cache-misses:u"))
    try:
        asked = _request(artifact, tmp_path / "probe", "point-query", clock=True)
        values = WORKLOAD.probe(replace(asked, counter=Counter.NONE)).values
    finally:
        supported.cache_clear()
    assert values.keys() == {CPU, CONTEXT_SWITCHES, QPS, CYCLES, CACHE_MISSES}
    assert values[CYCLES][0] == pytest.approx(300 * values[CACHE_MISSES][0])


def test_the_profile_is_what_the_instructions_are_made_of(point_query: Samples) -> None:
    mean = sum(point_query.values[INSTRUCTIONS]) / 2
    assert sum(point_query.profile.values()) == pytest.approx(mean, rel=1e-6)
    assert any(name.startswith("dispatch_command") for name in point_query.profile)


def test_what_libraries_did_is_in_the_servers_own_functions(point_query: Samples) -> None:
    own, attributed = point_query.profile, point_query.attributed
    assert sum(attributed.values()) == pytest.approx(sum(own.values()), rel=1e-6)
    copying = {name for name in own if name.startswith(("__memcpy", "__memmove", "malloc", "_int_malloc"))}
    assert copying
    # A thread of the background may be inside a library when counting begins: its caller is unknown.
    assert sum(attributed.get(name, 0.0) for name in copying) < 0.05 * sum(own[name] for name in copying)
    assert any(attributed[name] > cost * 1.01 for name, cost in own.items() if name in attributed)


def test_calls_are_per_query_like_the_profile(point_query: Samples) -> None:
    mean = sum(point_query.values[INSTRUCTIONS]) / 2
    (dispatch,) = {callee for _, callee in point_query.calls if callee.startswith("dispatch_command")}
    entered = sum(cost for (caller, callee), cost in point_query.calls.items() if callee == dispatch != caller)
    assert entered == pytest.approx(mean, rel=0.01)


def test_two_probes_agree(artifact: Path, tmp_path: Path, point_query: Samples) -> None:
    again = WORKLOAD.probe(_request(artifact, tmp_path, "point-query"))
    assert again.values.keys() == {INSTRUCTIONS}
    assert again.values[INSTRUCTIONS][0] == pytest.approx(point_query.values[INSTRUCTIONS][0], rel=0.001)
    assert again.variables == point_query.variables


def test_caches_and_branches_are_simulated_in_a_server(artifact: Path, tmp_path: Path, point_query: Samples) -> None:
    asked = replace(_request(artifact, tmp_path, "point-query"), simulations=tuple(Simulation))
    values = WORKLOAD.probe(asked).values
    assert values.keys() == {INSTRUCTIONS, *SIMULATED}
    assert values[INSTRUCTIONS][0] == pytest.approx(point_query.values[INSTRUCTIONS][0], rel=0.001)
    assert all(0 < values[metric][0] < values[INSTRUCTIONS][0] / 10 for metric in (L1_MISSES, MISPREDICTIONS))
    assert values[LL_MISSES][0] <= values[L1_MISSES][0]


def test_what_an_adaptive_hash_index_costs_until_it_is_built_does_not_count(artifact: Path, tmp_path: Path) -> None:
    probed = WORKLOAD.probe(
        _request(artifact, tmp_path, "point-query", repeats="2", **{"mysqld.innodb_adaptive_hash_index": "ON"})
    )
    assert probed.variables["innodb_adaptive_hash_index"] == "ON"
    assert probed.note == ""
    assert probed.values[INSTRUCTIONS][0] == pytest.approx(probed.values[INSTRUCTIONS][1], rel=0.0005)


def test_a_planted_cost_is_seen(artifact: Path, tmp_path: Path, point_query: Samples) -> None:
    slower = WORKLOAD.probe(_request(artifact, tmp_path, "point-query", **{"mysqld.performance_schema": "ON"}))
    assert slower.variables["performance_schema"] == "ON"
    assert min(slower.values[INSTRUCTIONS]) > 1.01 * max(point_query.values[INSTRUCTIONS])


def test_a_wrong_server_option_is_named(artifact: Path, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="unknown variable 'no_such=1'"):
        WORKLOAD.probe(_request(artifact, tmp_path, "scan", **{"mysqld.no_such": "1"}))


def test_a_server_tells_its_variables_without_a_run(artifact: Path, tmp_path: Path, point_query: Samples) -> None:
    """Those that it is given it has, what it does not let be set it keeps, and it is like one that is probed."""
    given = {"mysqld.loose_join_buffer_size": "131072", "mysqld.loose_version_compile_os": "other"}
    variables = WORKLOAD.variables(_request(artifact, tmp_path, "point-query", **given))
    other = {name for name, value in variables.items() if point_query.variables.get(name) != value}
    assert variables["join_buffer_size"] == "131072"
    assert other <= {"join_buffer_size"} | {name for name in variables if name.startswith(IGNORED_VARIABLES)}


def test_a_value_that_a_server_refuses_is_told_with_the_name_of_its_variable(artifact: Path, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="binlog_format"):
        WORKLOAD.variables(_request(artifact, tmp_path, "point-query", **{"mysqld.binlog_format": "NOPE"}))
