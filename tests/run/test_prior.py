"""Prior weights over real histories, kept in a real store."""

import dataclasses
from pathlib import Path

import pytest
from repositories import ROCKSDB, Story, rocksdb_version

from cpubisect.base.home import Home
from cpubisect.base.metrics import Counter
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.example.history import Generated
from cpubisect.history.history import History
from cpubisect.records.store import Store
from cpubisect.run.classes import main_line
from cpubisect.run.lab import HostLab
from cpubisect.run.prior import Prior
from cpubisect.search.costs import Cost
from cpubisect.search.events import Event, Suspects
from cpubisect.search.question import Find, MetricChoice, Question
from cpubisect.service.executors import in_process
from cpubisect.workloads.probe import Test

TABLE = "class TableIterator {};\nvoid TableIterator::Seek() {\n  int a;\n}\n"
BEFORE = Cost(100.0, {"kv::TableIterator::Seek()": 90.0, "malloc": 10.0})
AFTER = Cost(140.0, {"kv::TableIterator::Seek()": 90.0, "malloc": 40.0, "std::deque<kv::BlockHandle>::push(int)": 10.0})


def story() -> Story:
    """Numbers 1 to 6 of the line: notes only, another file, the culprit, its file, its fix, another file."""
    written = Story()
    written.commit({**rocksdb_version("8.5.0"), "table.cc": TABLE, "other.cc": "int Other() {\n}\n", "a.md": ""})
    written.commit({"a.md": "read me\n", "Makefile": "all:\n"})
    written.commit({"other.cc": "int Other() {\n  int b;\n}\n"})
    written.commit({"table.cc": TABLE.replace("int a;", "std::deque<BlockHandle> a;")})
    written.commit({"table.cc": f"// {TABLE}".replace("int a;", "std::deque<BlockHandle> a;")})
    written.commit({"table.cc": TABLE.replace("int a;", "std::deque<BlockHandle> a; a.clear();")})
    written.commit({"other.cc": "int Other() {\n  int c;\n}\n"})
    return written


@pytest.fixture
def lab(tmp_path: Path, home: Path) -> HostLab:
    shas = story().write(tmp_path / "kv")
    return made(History(tmp_path / "kv", ROCKSDB), shas[1], shas[7])


def made(history: History, good: str, bad: str) -> HostLab:
    assert history.engine is not None
    home = Home.open()
    store = Store(home.store)
    question = Question(
        engine=history.engine.name,
        repository=str(history.path),
        good=good,
        bad=bad,
        good_sha=good,
        bad_sha=bad,
        tests=("seekrandom",),
        matrix="",
        parameters={},
        given={},
        metric=MetricChoice.AUTO,
        find=Find.REGRESSION,
        min_step=None,
        toolchain=None,
        jobs=1,
    )
    bisection = store.create_bisection(question, {})

    def watch(event: Event) -> None:
        store.add_event(bisection, event)

    test = Test("seekrandom", "rocksdb", "", "", False, {})
    return HostLab(
        bisection, question, history.engine, test, (test,), Matrix.load(), (),
        Counter.CALLGRIND, history, home, store, watch, in_process(home),
    )  # fmt: skip


def test_the_order_of_suspicion_and_its_record(lab: HostLab) -> None:
    line = main_line(lab, lab.history.candidates(lab.question.good_sha, lab.question.bad_sha))
    assert line.size == 7
    lab.record_line(line)
    prior = Prior(lab, line, {})
    notes, other, culprit, same_file, fix, last = prior.weights(0, 6, BEFORE, AFTER)
    assert culprit > fix > same_file > other == pytest.approx(last)
    assert other == pytest.approx(notes)
    assert notes > 0
    prior.record(BEFORE, AFTER)
    prior.record(BEFORE, AFTER)
    ranked = lab.store.suspects(lab.bisection, "main")
    assert [row.position for row in ranked] == [3, 5, 4, 1, 2, 6]
    assert ranked[0].sha == line.built(3)
    assert sum(row.weight for row in ranked) == pytest.approx(1.0)
    assert max(ranked[0].because, key=lambda reason: ranked[0].because[reason]) == "type BlockHandle"
    assert any(reason in ranked[0].because for reason in ("executed", "file of executed code"))
    told = lab.store.events(lab.bisection)[0].event
    assert isinstance(told, Suspects)
    assert told.top[0].sha == line.built(3)
    assert told.top[0].because[0] == "type BlockHandle"


def test_any_interval_has_weights_of_its_own(lab: HostLab) -> None:
    line = main_line(lab, lab.history.candidates(lab.question.good_sha, lab.question.bad_sha))
    prior = Prior(lab, line, {})
    inner = prior.weights(3, 6, BEFORE, AFTER)
    assert len(inner) == 3
    assert sum(inner) == pytest.approx(1.0)
    assert inner.index(max(inner)) == 1, "the fix is the first within to touch the type"
    assert prior.weights(5, 6, BEFORE, AFTER) == (1.0,)


def test_a_line_that_is_not_in_the_store_leaves_its_ranking_alone(lab: HostLab) -> None:
    line = main_line(lab, lab.history.candidates(lab.question.good_sha, lab.question.bad_sha))
    single = dataclasses.replace(line, classes=line.classes[:4])
    lab.store.set_candidates(lab.bisection, "main", [(sha, sha, "") for sha in line.commits()])
    Prior(lab, single, {}).record(BEFORE, AFTER)
    assert lab.store.suspects(lab.bisection, "main") == []


def test_the_planted_culprits_merge_is_among_the_first(home: Path, example: Generated) -> None:
    engine = next(engine for engine in Matrix.load().engines() if engine.name == "minikv")
    history = History(example.path, engine)
    lab = made(history, history.resolve(example.good).sha, history.resolve(example.bad).sha)
    line = main_line(lab, history.candidates(lab.question.good_sha, lab.question.bad_sha))
    after = {"minikv::TableIterator::Seek(int)": 50.0, "minikv::Block::KeyAt(unsigned int) const": 20.0}
    before = {"minikv::TableIterator::Seek(int)": 20.0, "minikv::Block::KeyAt(unsigned int) const": 20.0}
    weights = Prior(lab, line, {}).weights(0, line.size - 1, Cost(40.0, before), Cost(70.0, after))
    ranked = sorted(range(1, line.size), key=lambda number: -weights[number - 1])
    assert example.merge in {line.built(number) for number in ranked[:4]}
