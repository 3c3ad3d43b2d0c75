"""Cases of the soak by seed, what is asked of them, and one that is really killed."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from itertools import islice
from pathlib import Path
from random import Random

import pytest
import soak
from hypothesis import given
from hypothesis import strategies as st
from small_bisections import QUICK, cost, history, tree

from cpubisect.base.errors import UserError
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.example.history import Generated
from cpubisect.records.care.health import problems
from cpubisect.records.schema import MIGRATIONS
from cpubisect.records.store import Store
from soaking import running, table
from soaking.drive import Place
from soaking.evidence import answer, leftovers, tracebacks
from soaking.faults import EditedMatrix, JumpingClock, RewrittenClone, ground_of
from soaking.judgement import Answer, Kept, Record, builds_repeated, probe_key, probes_repeated, refusal, totals
from soaking.older import OLDEST, undo_migrations
from soaking.page import written
from soaking.plan import KILLS_OF_A_CASE, Case, Fault, Kind, Way, cases, moments, victim
from soaking.processes import below, kill, kind_of, left_after

TESTS = ("readrandom", "seekrandom", "fillseq")


@given(st.integers())
def test_all_tests_and_faults_come_before_any_comes_again(seed: int) -> None:
    found = list(islice(cases(seed, TESTS), len(Fault) * len(TESTS)))
    assert [case.number for case in found] == list(range(1, len(found) + 1))
    assert {case.test for case in found[: len(TESTS)]} == set(TESTS)
    assert {case.fault for case in found[: len(Fault)]} == set(Fault)
    assert found == list(islice(cases(seed, TESTS), len(found)))
    assert all(case.way is Way.COMMAND for case in found if case.fault in (Fault.MATRIX, Fault.STORE))


@given(st.integers(), st.sampled_from(Way))
def test_moments_follow_from_the_seed_and_want_what_can_be_there(seed: int, way: Way) -> None:
    case = Case(3, seed, "readseq", way, Fault.NONE)
    found = list(moments(case))
    assert found == list(moments(case))
    assert len(found) == KILLS_OF_A_CASE
    assert all(moment.after_s >= 0 for moment in found)
    wanted = {moment.wanted for moment in found}
    assert way is not Way.COMMAND or not wanted & {Kind.SERVE, Kind.WORKER}
    assert way is Way.WORKER or Kind.WORKER not in wanted


def test_a_victim_is_of_the_wanted_kind() -> None:
    there = [Kind.COMMAND, Kind.GUARD, Kind.GUARD]
    assert {victim(Kind.GUARD, there, Random(number)) for number in range(20)} == {1, 2}
    assert victim(Kind.SERVE, there, Random(0)) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("python -m cpubisect.cli start a b --test worker", Kind.COMMAND),
        ("python -m cpubisect.cli resume --queued 1", Kind.COMMAND),
        ("python -m cpubisect.cli serve --port 0", Kind.SERVE),
        ("python -m cpubisect.cli worker", Kind.WORKER),
        ("python -I -S /base/guard.py 3 4 -- make db_bench", Kind.GUARD),
        ("ccache g++-12 -c x.cc", Kind.COMPILER),
        ("/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet x.cc", Kind.COMPILER),
        ("python -IS /trees/with_header.py g++ x.cc", Kind.COMPILER),
        ("g++-12 -o db_bench x.o", Kind.COMPILER),
        ("/usr/bin/valgrind.bin --tool=callgrind /a/db_bench --seed=1", Kind.PROGRAM),
        ("/artifacts/ab/db_bench --benchmarks=fillseq", Kind.PROGRAM),
        ("make -j2 db_bench", Kind.OTHER),
        ("", Kind.OTHER),
    ],
)
def test_kinds_are_told_by_the_command_line(line: str, kind: Kind) -> None:
    assert kind_of(line.split()) is kind


def test_a_process_is_found_by_what_it_knows_of_a_place_and_killed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    sleep = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    nameless = [sys.executable, "-c", f"import subprocess\nsubprocess.run({sleep!r}, cwd='/', env={{}})", f"{place}/x"]
    by_variable = {**os.environ, "HOME": f"{place}/home"}
    own = [
        subprocess.Popen(sleep, env=by_variable, stdout=subprocess.PIPE),
        subprocess.Popen(sleep, cwd=place, stdout=subprocess.PIPE),
        subprocess.Popen([*sleep, f"{place}/file"], stdout=subprocess.PIPE),
        subprocess.Popen(nameless, stdout=subprocess.PIPE),
    ]
    try:
        for process in own:
            assert process.stdout is not None
            process.stdout.readline()
        found = below(place)
        assert {process.pid for process in own} <= {process.pid for process in found}
        assert len(found) == len(own) + 1
        assert left_after(place, 0.0) == found
        assert all(kill(process) for process in found)
    finally:
        for process in own:
            process.kill()
            process.communicate()
    assert not left_after(place, 5.0)
    assert not any(kill(process) for process in found)


BUILDS = [
    (Kept(Answer(), recipes={"k": 1}, built={"a": 1}, told={"a": 1}), 0),
    (Kept(Answer(), recipes={"k": 1}, built={"a": 1}), 0),
    (Kept(Answer(), recipes={"k": 2}, built={"a": 2}, told={"a": 2}), 1),
    (Kept(Answer(), recipes={"k": 1, "l": 1}, built={"a": 2}, told={"a": 2}), 0),
    (Kept(Answer(), recipes={"k": 1}, built={"a": 1}, told={"a": 3}), 2),
    (Kept(Answer(), recipes={"k": 1}, built={"a": 1}, told={"a": 2}, damaged={"a": 1}), 0),
]


@pytest.mark.parametrize(("found", "repeated"), BUILDS)
def test_builds_are_repeated_by_rows_or_by_the_journal(found: Kept, repeated: int) -> None:
    assert builds_repeated(found) == repeated


@pytest.mark.parametrize(
    ("purpose", "made", "repeated"),
    [
        ("search", 1, 0),
        ("search", 2, 1),
        ("search a against b", 7, 0),
        ("search a against b", 9, 2),
        ("clock a against b", 10, 0),
        ("clock a against b", 11, 1),
    ],
)
def test_probes_are_repeated_beyond_what_their_purpose_asks_for(purpose: str, made: int, repeated: int) -> None:
    found = Kept(Answer(), probes={probe_key("recipe", "sha", purpose): made})
    assert probes_repeated(found, Kept(Answer())) == repeated
    undisturbed = Kept(Answer(), probes={probe_key("another", "sha", purpose): made})
    assert probes_repeated(found, undisturbed) == 0


@pytest.mark.parametrize(("made", "repeated"), [((3, 3, 3), 0), ((3, 3, 4), 1), ((2, 2, 1), 2), ((3, 1, 1), 2)])
def test_a_search_probes_each_commit_as_often_as_both_ends(made: tuple[int, ...], repeated: int) -> None:
    probes = {probe_key("recipe", f"sha{number}", "search"): count for number, count in enumerate(made)}
    assert probes_repeated(Kept(Answer(), probes=probes), Kept(Answer())) == repeated


@pytest.mark.parametrize(
    ("status", "said", "wrong"),
    [
        (0, "", ""),
        (2, "bisect: the disk is full: free it\n", ""),
        (2, "12:00:00 building\nbisect: no\n\n", ""),
        (2, "something else", "exit code 2 without a line that says why"),
        (2, "", "exit code 2 without a line that says why"),
        (1, "bisect: stopped", "exit code 1: bisect: stopped"),
        (1, "", "exit code 1: nothing said"),
        (0, "Traceback (most recent call last):\n  x\nKeyError: 1", "a traceback: KeyError: 1"),
    ],
)
def test_a_command_ends_with_a_verdict_or_one_line(status: int, said: str, wrong: str) -> None:
    assert refusal(status, said) == wrong


def record(**more: object) -> Record:
    about = {"number": 1, "seed": 1, "test": "readseq", "way": "serve", "fault": "none", "faults": 2, "seconds": 3.0}
    return Record.from_json({**about, "kills": {"serve": 2, "guard": 1}, "same": True, "builds": 4, **more})


@pytest.mark.parametrize(
    "amiss",
    [{"builds_repeated": 1}, {"probes_repeated": 1}, {"orphans": ["x"]}, {"leftovers": ["x"]}, {"wrong": ["x"]},
     {"same": False}],
)  # fmt: skip
def test_one_thing_amiss_makes_a_case_bad(amiss: dict[str, object]) -> None:
    assert record().good
    assert not record(**amiss).good
    assert Record.from_json(json.loads(json.dumps(record(**amiss).to_json()))) == record(**amiss)


def test_the_table_has_sums_and_what_is_wrong() -> None:
    records = [record(), record(number=2, orphans=["guard | x"], same=False), record(number=3, skipped="no root")]
    lines = table.lines(records)
    assert [line.count("|") for line in lines[:5]] == [lines[0].count("|")] * 5
    assert lines[2].startswith("| 1 | readseq | serve | none | 2 |")
    assert "all: 6 kills" in lines[4]
    assert "1 of 2" in lines[4]
    assert lines[5:] == [
        "",
        "- Case 2: its answer is none",
        "- Case 2: orphan: guard | x",
        "- Case 3 was left out: no root.",
    ]
    assert totals(records[:2]) == {"serve": 4, "guard": 2}


def test_the_page_keeps_its_text() -> None:
    text = f"Before\n\n{soak.MARKS[0]}\nold\n{soak.MARKS[1]}\nafter\n"
    found = written(text, ["a", "b"], soak.MARKS)
    assert found == f"Before\n\n{soak.MARKS[0]}\n\na\nb\n\n{soak.MARKS[1]}\nafter\n"
    assert written(found, ["a", "b"], soak.MARKS) == found


@pytest.mark.parametrize("words", [["--kills", "0"], ["--minutes", "x"], ["--test", "no-such"], ["--seed", "a"], ["x"]])
def test_bad_input_is_refused_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        soak.arguments(words)
    assert ended.value.code == 2
    assert " error: " in capsys.readouterr().err.splitlines()[-1]


def test_an_answer_is_the_kind_and_the_culprits() -> None:
    found = {"kind": "culprit", "culprits": [{"sha": "b"}, {"sha": "a"}], "groups": [{"shas": ["c"]}]}
    assert answer({"tests": {"scan": found}}) == Answer("culprit", ("b", "a"))
    assert answer(None) == Answer()


def test_tracebacks_are_found_in_the_logs_of_workers(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    said = "a\nTraceback (most recent call last):\n  File x\nKeyError: 1\nb\n"
    (tmp_path / "logs" / "worker-1.log").write_text(2 * said)
    (tmp_path / "logs" / "build-1.log").write_text(said)
    assert tracebacks(tmp_path) == ["KeyError: 1", "KeyError: 1"]


def test_leftovers_are_half_made_files_and_places_of_nobody(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    for directory in (home / "work", home / "artifacts" / "ab", home / "running", temporary / "cpubisect-git-0"):
        directory.mkdir(parents=True)
    (home / "store.sqlite").touch()
    assert leftovers(home, temporary) == []
    for name in ("home/.writable-7", "home/work/s1", "home/artifacts/ab/.c-7", "tmp/x", "tmp/cpubisect-git-0/s2"):
        (tmp_path / name).touch()
    found = {"home/.writable-7", "work/s1", "artifacts/ab/.c-7", "tmp/x", "tmp/cpubisect-git-0/s2"}
    assert {*leftovers(home, temporary)} == found


@pytest.mark.parametrize("version", range(OLDEST, len(MIGRATIONS)))
def test_a_store_is_led_back_and_forth_again(version: int, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    undo_migrations(path, version)
    with sqlite3.connect(path) as plain:
        assert plain.execute("PRAGMA user_version").fetchone() == (version,)
    plain.close()
    Store(path).close()
    assert problems(path) == []
    with pytest.raises(ValueError, match="version 0"):
        undo_migrations(path, 0)


def test_a_clone_is_rewritten_and_mended(tmp_path: Path, example: Generated) -> None:
    shutil.copytree(example.path, tmp_path / "minikv")
    case = Case(1, 0, "seekrandom", Way.COMMAND, Fault.CLONE)
    ground = ground_of(case, tmp_path / "cases" / "1", tmp_path / "minikv")
    assert isinstance(ground, RewrittenClone)
    ask = ["git", "cat-file", "-e", f"{example.culprit}^{{commit}}"]
    for _ in range(6):
        words = ground.stopped()
        assert (subprocess.run(ask, cwd=ground.clone, capture_output=True).returncode != 0) == bool(words)
        ground.mend()
        assert subprocess.run(ask, cwd=ground.clone, capture_output=True).returncode == 0
    assert ground.applied == 6


def test_a_matrix_is_edited_torn_and_mended(tmp_path: Path, example: Generated) -> None:
    ground = ground_of(Case(1, 0, "seekrandom", Way.COMMAND, Fault.MATRIX), tmp_path / "1", example.path)
    assert isinstance(ground, EditedMatrix)
    ground.begin()
    file = Path(ground.words[1])
    texts = set()
    for _ in range(12):
        if ground.stopped():
            with pytest.raises(UserError):
                Matrix.load(file)
        else:
            Matrix.load(file)
        ground.mend()
        Matrix.load(file)
        texts.add(file.read_text())
    assert any("-DSOAKED=" in text for text in texts)
    assert any("# Looked at" in text for text in texts)


def test_the_clock_jumps_for_the_program_alone(tmp_path: Path, example: Generated) -> None:
    ground = ground_of(Case(1, 0, "seekrandom", Way.COMMAND, Fault.CLOCK), tmp_path / "1", example.path)
    assert isinstance(ground, JumpingClock)
    ground.begin()
    words = [sys.executable, "-c", "import time; input(); print(time.time(), flush=True)"]
    asked = {**os.environ, **ground.environment}
    with subprocess.Popen(words, env=asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        (ground.root / "clock").write_bytes((10**8).to_bytes(8, sys.byteorder))
        said, _ = process.communicate("\n")
    now = float(subprocess.check_output([sys.executable, "-c", "import time; print(time.time())"]))
    assert 10**8 - 60 < float(said) - now < 10**8 + 60


@pytest.mark.long
def test_one_that_is_killed_on_its_way_has_the_same_verdict(
    tmp_path: Path, compiler_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "place")
    place.root.mkdir()
    place.cache = compiler_cache
    shas = history(tree(1000), cost(1400)).write(place.example)
    monkeypatch.setattr(running, "SETTINGS", dict(pair.split("=", 1) for pair in QUICK[1::2]))
    monkeypatch.setattr(running, "ENDS", {"readrandom": (shas[1], "main")})
    # What another run of it would leave: its answer, and that ends are probed twice.
    before = Kept(Answer("culprit", (shas[2],)), probes={f"recipe {sha} search": 2 for sha in (shas[1], shas[2])})
    (place.root / "undisturbed-readrandom.json").write_text(json.dumps(before.to_json()))
    case = Case(1, 1, "readrandom", Way.COMMAND, Fault.STORE, kills=2)
    found = place.run(case)
    place.add(found)
    assert place.records() == [found]
    assert found.good, found
    assert found.killed in (1, 2)
    assert found.same
    assert not (place.root / "cases" / "1-001").exists()
