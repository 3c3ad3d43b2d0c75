"""Real small bisections: what a commit calls against its parent."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_bisections import ask, cost, history, tree, verdict_of

from cpubisect.base.home import Home
from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.draw.calltree import Frame
from cpubisect.records.store import Store
from cpubisect.search.verdict import Answer, Verdict
from cpubisect.views.calls import frames_of, has_frames

COMMITS = (
    tree(1000),
    cost(1000, "/* the same code */\n"),
    cost(1000, "#define EXTRA\n"),
    cost(1001, "#define EXTRA\n"),
)


def called(frame: Frame, name: str) -> Iterator[Frame]:
    if frame.name == name:
        yield frame
    for child in frame.children:
        yield from called(child, name)


def test_a_culprit_shows_what_it_added_and_its_parents_twin_stands_in(home: Path, tmp_path: Path) -> None:
    shas = history(*COMMITS).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], shas[4], home=home)
    (culprit,) = Verdict.from_json(verdict_of(data)).culprits
    assert (culprit.sha, culprit.parent) == (shas[3], shas[2])
    assert [commit["equal_to"] for commit in data["commits"] if commit["sha"] == shas[2]] == [shas[1]]
    store = Store(Home.open().store)
    root = frames_of(store, data["id"], culprit, "readrandom")
    assert root is not None
    assert has_frames(store, data["id"], culprit, "readrandom")
    assert not has_frames(store, data["id"], culprit, "overwrite")
    assert root.change / root.before * 100 == pytest.approx(culprit.steps[INSTRUCTIONS].percent, rel=0.01)
    (added,), (lookup,) = called(root, "added_function"), called(root, "lookup")
    assert added.before == 0
    assert added.change == pytest.approx(root.change, rel=0.1)
    assert lookup.before == pytest.approx(lookup.after, rel=1e-3)
    with sqlite3.connect(store.path) as plain:
        plain.execute("UPDATE probes SET calls = NULL")
    assert frames_of(store, data["id"], culprit, "readrandom") is None
    assert not has_frames(store, data["id"], culprit, "readrandom")


def test_each_of_several_tests_has_its_own(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1200)).write(tmp_path / "kv")
    counts_only = ("--metric", "instructions")
    data = ask(tmp_path / "kv", shas[1], shas[2], *counts_only, home=home, tests=("readrandom", "overwrite"))
    (culprit,) = Answer.from_json(data["verdict"]).tests["readrandom"].culprits
    store = Store(Home.open().store)
    reading, writing = (frames_of(store, data["id"], culprit, test) for test in ("readrandom", "overwrite"))
    assert reading is not None
    assert writing is not None
    assert next(called(reading, "lookup")).change > 0
    assert not list(called(writing, "lookup"))
