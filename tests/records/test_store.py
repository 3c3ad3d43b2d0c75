import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from questions import question

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import Counter
from cpubisect.base.objects import ObjectFile
from cpubisect.builders.build import BuildResult, Outcome, Recipe, Repair, Toolchain
from cpubisect.records.care.health import problems
from cpubisect.records.purpose import Purpose
from cpubisect.records.queries import headlines, places, spent
from cpubisect.records.rows import ProbedBuild, ProbeRow, SuspectRow
from cpubisect.records.schema import MIGRATIONS
from cpubisect.records.store import Store, pack, pack_calls, unpack_calls
from cpubisect.search.costs import CallGraph
from cpubisect.search.events import Next, Notice
from cpubisect.workloads.probe import Samples

TOOLCHAIN = Toolchain("gcc-12", "gcc-12", "g++-12", "ar", "ranlib", "12.2.0")


def build_result(sha: str, outcome: Outcome = Outcome.BUILT) -> BuildResult:
    recipe = Recipe(engine="mysql", commit=sha, version="5.6.27", toolchain=TOOLCHAIN, system="cmake")
    repair = Repair("include", "sql/a.cc", "#include <limits>", "std::numeric_limits")
    return BuildResult(recipe, outcome, None, Path("log"), 12.5, 7.5, repairs=(repair,), cache_hits=3, cache_misses=2)


def samples(count: float) -> Samples:
    values = {"instructions/query": (count,), "cpu us/query": (1.5, 1.25)}
    return Samples(
        values,
        Counter.CALLGRIND,
        {"rows": "10"},
        2.0,
        {"f(int)": 3.5},
        {"a": "ON"},
        ("run it",),
        {"f(int)": 4.5},
        {("f(int)", "g"): 1.0},
        "not steady",
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


def begin(store: Store) -> int:
    return store.create_bisection(question(), {"cpu": "x"})


def test_what_was_stored_comes_back(store: Store) -> None:
    bisection = begin(store)
    build = store.add_build(bisection, build_result("c0ffee"), "d1gest", 1.0)
    store.add_probe(
        bisection, build.id, Purpose.SEARCH, "scan", {"rows": "10"}, 2.0, samples(9.0), seconds=2.5, counter="callgrind"
    )
    reopened = Store(store.path)
    assert reopened.bisection(bisection).question == question()
    ((found, made),) = reopened.builds(bisection)
    assert made
    assert (found.sha, found.artifact, found.cache_misses) == ("c0ffee", "d1gest", 2)
    assert found.repairs[0].change == "#include <limits>"
    (probe,) = reopened.probes(bisection, found.id, Purpose.SEARCH)
    assert probe.values == {"instructions/query": (9.0,), "cpu us/query": (1.5, 1.25)}
    assert probe.profile == {"f(int)": 3.5}
    assert probe.attributed == {"f(int)": 4.5}
    assert probe.variables == {"a": "ON"}
    assert probe.note == "not steady"
    assert spent(reopened, [bisection])[bisection].probe_seconds == 2.5


def test_what_objects_were_made_from_comes_back(store: Store) -> None:
    bisection = begin(store)
    objects = {
        "build/a.o": ObjectFile("sql/a.cc", ("sql/a.cc", "include/b.h", "sql/a.h"), 2.5),
        "build/y.o": ObjectFile("build/y.cc", ("sql/y.yy",)),
        "build/none.o": ObjectFile("none.s", ()),
    }
    build = store.add_build(bisection, replace(build_result("c0ffee"), objects=objects), "d1gest", 1.0)
    other = store.add_build(bisection, build_result("decaf"), "d1gest", 1.0)
    back = Store(store.path).objects(build.id)
    assert back == {name: replace(one, files=tuple(sorted(one.files))) for name, one in objects.items()}
    assert list(back) == list(objects)
    assert store.objects(other.id) == {}


def test_builds_are_shared_between_bisections_by_recipe(store: Store) -> None:
    first, second = begin(store), begin(store)
    result = replace(build_result("c0ffee"), origin="c10ne")
    build = store.add_build(first, result, "d1gest", 1.0)
    assert [row.id for row in store.builds_of_recipe(second, result.recipe.key(), "c10ne")] == [build.id]
    store.use_build(second, build.id)
    store.use_build(second, build.id)
    assert [(row.id, made) for row, made in store.builds(second)] == [(build.id, False)]
    assert store.builds_of_recipe(first, "other", "c10ne") == []


def test_a_failed_probe_is_kept_with_its_reason(store: Store) -> None:
    bisection = begin(store)
    build = store.add_build(bisection, build_result("c0ffee"), "d", 1.0)
    store.add_probe(
        bisection, build.id, Purpose.SEARCH, "scan", {}, 2.0, None, seconds=1.0, counter="callgrind", error="crashed"
    )
    (probe,) = store.probes(bisection)
    assert probe.error == "crashed"
    assert probe.values == {}


def test_probes_of_several_tests_are_kept_apart(store: Store) -> None:
    bisection = begin(store)
    build = store.add_build(bisection, build_result("c0ffee"), "d", 1.0)
    for number, test in enumerate(("scan", "insert", "scan")):
        store.add_probe(
            bisection, build.id, Purpose.SEARCH, test, {}, 2.0, samples(number + 1.0), seconds=1.0, counter="callgrind"
        )
    assert [probe.test for probe in store.probes(bisection)] == ["scan", "insert", "scan"]
    found = store.probes(bisection, build.id, Purpose.SEARCH, "scan")
    assert [probe.values["instructions/query"] for probe in found] == [(1.0,), (3.0,)]


def test_probed_builds_come_in_the_order_of_their_first_probes(store: Store) -> None:
    bisection, other = begin(store), begin(store)
    results = [build_result("a"), replace(build_result("b"), code="equal"), replace(build_result("c"), code="equal")]
    builds = [store.add_build(bisection, result, f"digest-{result.recipe.commit}", 1.0) for result in results]
    for build in (builds[2], builds[0], builds[2]):
        found = samples(1.0)
        store.add_probe(bisection, build.id, Purpose.CLOCK, "scan", {}, 2.0, found, seconds=1.0, counter="callgrind")
    assert store.probed(bisection) == [ProbedBuild("c", "equal"), ProbedBuild("a", "digest-a")]
    assert store.probed(other) == []
    assert [build.same_as for build in builds] == ["digest-a", "equal", "equal"]


def test_a_store_of_the_first_version_is_led_on(store: Store) -> None:
    bisection = begin(store)
    store.add_build(bisection, build_result("c0ffee"), "d1gest", 1.0)
    store.close()
    with sqlite3.connect(store.path) as plain:
        plain.execute("ALTER TABLE builds DROP COLUMN code")
        plain.execute("PRAGMA user_version = 1")
    ((found, _),) = Store(store.path).builds(bisection)
    assert (found.sha, found.code, found.same_as) == ("c0ffee", "", "d1gest")


def test_artifacts_of_unfinished_bisections_are_in_use(store: Store) -> None:
    bisection = begin(store)
    build = store.add_build(bisection, build_result("a"), "digest-a", 1.0)
    assert store.artifacts_in_use() == {"digest-a"}
    store.set_links(build.id, {1: "link-1", 2: "link-2"})
    assert store.artifacts_in_use() == {"digest-a", "link-1", "link-2"}
    store.update_bisection(bisection, state="finished")
    assert store.artifacts_in_use() == set()


def test_redraws_are_known_by_their_build_and_number(store: Store) -> None:
    bisection = begin(store)
    builds = [store.add_build(bisection, build_result(sha), f"digest-{sha}", 1.0).id for sha in "ab"]
    store.set_links(builds[0], {1: "x", 2: "y"})
    store.set_links(builds[1], {1: "z"})
    store.set_links(builds[0], {2: "other", 3: "x"})
    store.set_links(builds[1], {})
    assert [store.links(build) for build in builds] == [{1: "x", 2: "other", 3: "x"}, {1: "z"}]


def test_the_journal_is_in_order_and_can_be_followed(store: Store) -> None:
    bisection, other = begin(store), begin(store)
    for number in range(3):
        store.add_event(bisection, Next(number=number))
        store.add_event(other, Notice())
    entries = store.events(bisection)
    assert [entry.event for entry in entries] == [Next(number=number) for number in range(3)]
    assert [entry.event for entry in store.events(bisection, after=entries[1].id)] == [Next(number=2)]


def test_it_is_a_write_ahead_log_and_two_processes_can_write(store: Store) -> None:
    with sqlite3.connect(store.path) as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    bisection, other = begin(store), Store(store.path)
    threads = [
        threading.Thread(target=lambda s=s: [s.add_event(bisection, Notice()) for _ in range(50)])
        for s in (store, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.events(bisection)) == 100


def test_a_store_from_the_future_is_refused(store: Store) -> None:
    with sqlite3.connect(store.path) as plain:
        plain.execute("PRAGMA user_version = 99")
    with pytest.raises(UserError, match="99"):
        Store(store.path)


def test_a_store_of_version_1_is_upgraded_and_keeps_what_it_held(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    asked = {**question().to_json(), "test": "scan", "parameters": {"rows": "10"}}
    del asked["tests"]
    with sqlite3.connect(path) as plain:
        plain.executescript(Path(__file__).with_name("store_version_1.sql").read_text())
        plain.execute(
            "INSERT INTO bisections (id, created, state, engine, question, host) "
            "VALUES (5, 1.0, 'finished', 'mysql', ?, '{}')",
            (json.dumps(asked),),
        )
        plain.execute(
            "INSERT INTO builds VALUES (3, 'key', 'mysql', 'c0ffee', 1.0, '{}', 'built', 'd1gest', '', '[]', '', "
            "1.0, 1.0, 0, 0, '[]', 'log')"
        )
        plain.execute(
            "INSERT INTO probes (id, bisection, build, purpose, test, parameters, counter, started, seconds, profile, "
            "variables, commands) VALUES (9, 5, 3, 'search', 'scan', '{}', 'callgrind', 1.0, 2.0, ?, '{}', '[]')",
            (pack({"f(int)": 3.5}),),
        )
        plain.execute("INSERT INTO samples VALUES (9, 'instructions/query', 0, 7.0)")
    plain.close()
    store = Store(path)
    row = store.bisection(5)
    assert (row.question.tests, row.question.parameters, row.verdict) == (("scan",), {"scan": {"rows": "10"}}, None)
    (old,) = store.probes(5)
    assert store.calls(5, "c0ffee", Purpose.SEARCH, "scan") is None
    assert (old.profile, old.attributed, old.values) == ({"f(int)": 3.5}, {}, {"instructions/query": (7.0,)})
    store.add_probe(5, 3, Purpose.SEARCH, "scan", {}, 3.0, samples(9.0), seconds=1.0, counter="callgrind")
    assert store.probes(5)[1].attributed == {"f(int)": 4.5}
    assert store.calls(5, "c0ffee", Purpose.SEARCH, "scan") == CallGraph({"f(int)": 3.5}, {("f(int)", "g"): 1.0})
    store.set_suspects(5, "main", [SuspectRow(1, "c0ffee", 1.0, {})])
    store.close()
    reopened = Store(path)
    assert [row.sha for row in reopened.suspects(5, "main")] == ["c0ffee"]
    Store(tmp_path / "new.sqlite").close()
    with sqlite3.connect(path) as plain, sqlite3.connect(tmp_path / "new.sqlite") as new:
        for table in ("probes", "suspects"):
            columns = [{row[1:4] for row in file.execute(f"PRAGMA table_info({table})")} for file in (plain, new)]
            assert columns[0] == columns[1]
        assert plain.execute("PRAGMA user_version").fetchone() == new.execute("PRAGMA user_version").fetchone()
        assert plain.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_a_ranking_replaces_the_one_before_and_comes_strongest_first(store: Store) -> None:
    bisection, other = begin(store), begin(store)
    store.set_suspects(bisection, "main", [SuspectRow(1, "a", 1.0, {})])
    rows = [SuspectRow(1, "a", 0.25, {}), SuspectRow(2, "b", 0.5, {"type X": 0.5}), SuspectRow(3, "c", 0.25, {})]
    store.set_suspects(bisection, "main", rows)
    store.set_suspects(bisection, "merge", rows[:1])
    store.set_suspects(other, "main", [])
    assert store.suspects(bisection, "main") == [rows[1], rows[0], rows[2]]
    assert store.suspects(bisection, "merge") == rows[:1]
    assert store.suspects(other, "main") == []


def test_the_newest_call_graph_of_a_commit_is_read_by_itself(store: Store) -> None:
    bisection, other = begin(store), begin(store)
    build = store.add_build(bisection, build_result("c0ffee"), "d1gest", 1.0)
    store.use_build(other, build.id)

    def add(purpose: Purpose, cost: float | None, *, of: int = bisection, error: str | None = None) -> None:
        calls = {("f(int)", "g"): cost} if cost is not None else {}
        found = None if error else replace(samples(9.0), calls=calls)
        store.add_probe(of, build.id, purpose, "scan", {}, 2.0, found, seconds=1.0, counter="x", error=error)

    add(Purpose.SEARCH, None)
    assert store.calls(bisection, "c0ffee", Purpose.SEARCH, "scan") is None, "counted by the hardware"
    for cost in (1.0, 2.0):
        add(Purpose.SEARCH, cost)
    add(Purpose.clock("c0ffee"), 3.0)
    add(Purpose.SEARCH, 4.0, of=other)
    add(Purpose.SEARCH, None, error="it crashed")
    found = store.calls(bisection, "c0ffee", Purpose.SEARCH, "scan")
    assert found == CallGraph({"f(int)": 3.5}, {("f(int)", "g"): 2.0})
    assert store.calls(bisection, "c0ffee", Purpose.SEARCH, "insert") is None
    assert store.calls(bisection, "beef", Purpose.SEARCH, "scan") is None
    assert "calls" not in ProbeRow.__dataclass_fields__, "lists of probes stay small"


@given(st.dictionaries(st.tuples(st.text(max_size=3), st.text(max_size=3)), st.floats(allow_nan=False)))
def test_calls_come_out_of_the_store_as_they_went_in(calls: dict[tuple[str, str], float]) -> None:
    assert unpack_calls(pack_calls(calls)) == calls


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").write_text("not a database, but long enough to be taken for one" * 50)
    with pytest.raises(UserError, match="not a database"):
        Store(tmp_path / "store.sqlite")


def test_an_unknown_bisection_is_a_user_error(store: Store) -> None:
    with pytest.raises(UserError, match="no bisection 7"):
        store.bisection(7)


def test_none_as_earlier_versions_wrote_it_is_none(store: Store) -> None:
    bisection = begin(store)
    with sqlite3.connect(store.path) as plain:
        plain.execute("UPDATE bisections SET owner = 'null', verdict = 'null'")
    assert (store.bisection(bisection).owner, store.bisection(bisection).verdict) == (None, None)
    ((kind, summary),) = ((line.kind, line.summary) for line in headlines(store))
    assert (kind, summary) == (None, "")
    store.update_bisection(bisection, owner=None, verdict=None)
    assert (store.bisection(bisection).owner, store.bisection(bisection).verdict) == (None, None)


def test_what_fails_is_undone_and_the_store_goes_on(store: Store) -> None:
    bisection = begin(store)
    store.set_candidates(bisection, "main", [("a", "a", "first")])
    with pytest.raises(UserError, match=r"cannot write to the store .*NOT NULL"):
        store.set_candidates(bisection, "main", [("b", "b", "second"), (None, "c", "third")])  # type: ignore[list-item]
    with contextlib.suppress(KeyboardInterrupt), store.writing() as connection:
        connection.execute("DELETE FROM candidates")
        raise KeyboardInterrupt
    assert store.candidates(bisection) == [("main", 0, "a", "a", "first")]
    store.set_candidates(bisection, "main", [])
    assert store.candidates(bisection) == []


def test_more_commits_can_be_asked_for_than_sqlite_has_parameters(store: Store) -> None:
    bisection = begin(store)
    shas = [f"{number:040x}" for number in range(40_000)]
    store.set_candidates(bisection, "main", [(shas[7], shas[7], "seventh"), ("0ther", "0ther", "other")])
    store.add_build(bisection, build_result(shas[7]), "d1gest", 1.0)
    assert places(store, bisection, shas) == {("main", shas[7]): (0, "seventh")}
    assert [sha for sha, _, _ in store.artifacts_of(bisection, "mysql", shas, "")] == [shas[7]]
    assert [build.sha for build, _ in store.builds(bisection, shas)] == [shas[7]]


def test_threads_share_a_store_which_can_be_closed_and_used_again(store: Store) -> None:
    bisection = begin(store)
    store.add_event(bisection, Notice())
    found: list[int] = []
    with store.connection():
        threads = [threading.Thread(target=lambda: found.append(len(store.events(bisection)))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    store.close()
    assert not store.path.with_name("store.sqlite-wal").exists(), "the last connection is closed"
    assert found == [1] * 5
    assert store.bisection(bisection).id == bisection


def test_a_variable_of_the_server_is_read_from_the_first_probe_that_counts(store: Store) -> None:
    bisection = begin(store)
    build = store.add_build(bisection, build_result("c0ffee"), "d1gest", 1.0)
    for purpose, value in (("with a=1", "1"), ("clock c0ffee", "2"), ("search", "3")):
        store.add_probe(
            bisection,
            build.id,
            Purpose.of(purpose),
            "scan",
            {},
            2.0,
            replace(samples(1.0), variables={"a": value}),
            seconds=1.0,
            counter="x",
        )
    assert store.variables(bisection, "c0ffee", "scan") == {"a": "2"}
    assert store.variables(bisection, "c0ffee", "insert") == {}
    assert store.first_probes(bisection) == {("c0ffee", "scan"): 2}
    assert [store.variables_in(probe) for probe in (1, 2, 4)] == [{"a": "1"}, {"a": "2"}, {}]


def test_a_new_store_may_be_opened_by_several_at_once(tmp_path: Path) -> None:
    opened: list[Store] = []
    threads = [threading.Thread(target=lambda: opened.append(Store(tmp_path / "store.sqlite"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    for number, one in enumerate(opened, start=1):
        assert begin(one) == number
        one.close()


def test_the_lists_load_neither_statistics_nor_models() -> None:
    heavy = "{'sqlalchemy', 'numpy', 'scipy', 'pydantic', 'rich', 'altair', 'yaml', 'git'}"
    modules = "cpubisect.records.registry, cpubisect.records.queries, cpubisect.views.totals"
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "[]"


def test_what_was_killed_while_it_made_a_store_leaves_nothing_behind(tmp_path: Path) -> None:
    left = [tmp_path / f".store.sqlite-7{end}" for end in ("", "-wal", "-shm")]
    for file in left:
        file.write_text("half made")
    Store(tmp_path / "store.sqlite").close()
    assert not any(file.exists() for file in left)


def test_samples_are_those_of_the_probes_and_metrics_that_are_asked_for(store: Store) -> None:
    bisection, other = begin(store), begin(store)
    for owner, test in ((bisection, "scan"), (other, "scan"), (bisection, "insert")):
        build = store.add_build(owner, build_result("c0ffee"), "d1gest", 1.0)
        store.add_probe(owner, build.id, Purpose.SEARCH, test, {}, 2.0, samples(9.0), seconds=1.0, counter="x")
    counts, clock = {"instructions/query": (9.0,)}, {"cpu us/query": (1.5, 1.25)}
    assert store.values("probes.bisection = ?", bisection) == {1: counts | clock, 3: counts | clock}
    assert store.values("probes.test = ?", "scan", metrics=list(clock)) == {1: clock, 2: clock}
    assert store.values("probes.id = ?", 7) == {}


def test_the_last_events_are_of_one_and_in_order(store: Store) -> None:
    bisection, other = begin(store), begin(store)
    for number in range(5):
        for owner in (bisection, other):
            store.add_event(owner, Notice(text=f"{number} of {owner}"))
    told = [entry.event for entry in store.last_events(bisection, 2)]
    assert told == [Notice(text=f"{number} of {bisection}") for number in (3, 4)]
    assert store.last_events(bisection, 9) == store.events(bisection)


def test_what_nobody_can_have_measured_is_damage(store: Store) -> None:
    bisection = begin(store)
    build = store.add_build(bisection, build_result("c0ffee"), "d1gest", 1.0)
    found = samples(9.0)
    store.add_probe(bisection, build.id, Purpose.SEARCH, "scan", {}, 2.0, found, seconds=1.0, counter="callgrind")
    with sqlite3.connect(store.path) as plain:
        plain.execute("UPDATE samples SET value = 9e999 WHERE metric = 'cpu us/query'")
    assert [problem.rpartition(": ")[2] for problem in problems(store.path)] == ["value is inf"] * 2
    with pytest.raises(UserError, match="a sample of probe 1 is inf"):
        store.probes(bisection)
