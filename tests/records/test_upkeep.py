"""A store that is damaged, and what is done about it: told in one line by every command, saved as far as it can be."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from questions import question

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import hold
from cpubisect.cli import main
from cpubisect.records import backups, database
from cpubisect.records.care import salvage
from cpubisect.records.care.health import MOST_PROBLEMS, problems
from cpubisect.records.schema import MIGRATIONS
from cpubisect.records.store import Store
from cpubisect.search.events import Notice

PAGE = 4096
BISECTIONS, EVENTS = 12, 400


def bisect(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def one_line(result: Result) -> str:
    """What a command that is refused says."""
    assert result.exit_code == 2, (result.output, result.exception)
    (line,) = result.stderr.splitlines()
    assert line.startswith("bisect: ")
    return line


@pytest.fixture
def full(home: Path) -> Path:
    """The store of a home directory, with so much in it that its tables have several pages, all in one file."""
    path = Home.open().store
    store = Store(path)
    for _ in range(BISECTIONS):
        number = store.create_bisection(question(), {"cpu": "x"}, "interrupted")
        store.set_candidates(number, "main", [(f"{n:040x}", f"{n:040x}", f"Subject {n}") for n in range(30)])
    with store.writing() as connection:
        rows = [(1 + n % BISECTIONS, float(n), "notice", json.dumps({"text": "t" * 50})) for n in range(EVENTS)]
        connection.executemany("INSERT INTO events (bisection, at, kind, data) VALUES (?, ?, ?, ?)", rows)
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


def scribble(path: Path, start: int, length: int, seed: int = 1) -> None:
    """Random bytes in the middle of a file."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(random.Random(seed).randbytes(length))


def pages_of(path: Path, table: str) -> list[int]:
    """The offsets of a table's pages that hold rows, its root being another one."""
    connection = sqlite3.connect(path)
    root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    connection.close()
    content = path.read_bytes()
    leaves = []
    for child in range(int.from_bytes(content[(root - 1) * PAGE + 3 : (root - 1) * PAGE + 5], "big")):
        at = (root - 1) * PAGE + 12 + 2 * child
        cell = (root - 1) * PAGE + int.from_bytes(content[at : at + 2], "big")
        leaves.append((int.from_bytes(content[cell : cell + 4], "big") - 1) * PAGE)
    return leaves


def header(path: Path) -> None:
    scribble(path, 0, 100)


def first_page(path: Path) -> None:
    scribble(path, 0, PAGE)


def all_of_it(path: Path) -> None:
    scribble(path, 0, path.stat().st_size)


def events_page(path: Path) -> None:
    scribble(path, pages_of(path, "events")[1], PAGE)


def root_of_bisections(path: Path) -> None:
    scribble(path, pages_of(path, "bisections")[0], PAGE)


def text_of_a_question(path: Path) -> None:
    content = path.read_bytes()
    scribble(path, content.index(b'"good_sha": "1111') - 20, 60)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def no_database(path: Path) -> None:
    path.write_text("scribble" * 1000)


DAMAGES = [header, first_page, all_of_it, root_of_bisections, text_of_a_question, empty, half, directory, no_database]
READERS = [
    ["list"],
    ["list", "--json"],
    ["status", "3"],
    ["log", "3"],
    ["report", "3"],
    ["suspects", "3"],
    ["resume", "3"],
    ["cancel", "3"],
    ["attach", "3", "--to", "files", "--dry-run"],
    ["compare", "--list"],
    ["compare", "--show", "1"],
    ["artifacts", "prune"],
    ["store", "check"],
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_every_command_says_it_in_one_line_and_never_with_a_traceback(
    full: Path, damage: Callable[[Path], None]
) -> None:
    damage(full)
    for words in READERS:
        result = bisect(*words)
        assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exception)
        if result.exit_code:
            line = one_line(result)
            told = any(word in line for word in ("store check", "store repair", "make it a file"))
            # What one command reads may be whole: then it says what it always says.
            assert told or "store" not in line
    assert "bisect store repair" in one_line(bisect("store", "check"))
    told = json.loads(bisect("store", "check", "--json").stdout)
    assert not told["sound"]
    assert 1 <= len(told["problems"]) <= MOST_PROBLEMS


@pytest.mark.parametrize(
    ("damage", "bisections", "events"),
    [
        (header, BISECTIONS, EVENTS),
        (events_page, BISECTIONS, None),
        (text_of_a_question, BISECTIONS - 1, EVENTS - EVENTS // BISECTIONS),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_can_be_read_is_saved_and_the_damaged_one_is_kept(
    full: Path, damage: Callable[[Path], None], bisections: int, events: int | None
) -> None:
    damage(full)
    before = full.read_bytes()
    told = json.loads(bisect("store", "repair", "--json").stdout)
    saved = {one["table"]: one for one in told["tables"]}
    assert saved["bisections"]["saved"] == bisections
    if events is None:
        assert saved["events"]["unread"] or saved["events"]["dropped"]
        assert EVENTS - 60 < saved["events"]["saved"] < EVENTS
    else:
        assert saved["events"]["saved"] == pytest.approx(events, abs=1)
    assert Path(told["damaged"]).read_bytes() == before
    assert problems(full) == []
    assert "is sound" in bisect("store", "check").output
    assert len(json.loads(bisect("list", "--json").stdout)) == bisections
    assert "nothing to repair" in bisect("store", "repair").output
    assert {file.name for file in full.parent.glob(".*sqlite*")} <= {".store.sqlite.lock"}


@pytest.mark.parametrize("damage", [first_page, all_of_it, empty, no_database, directory], ids=lambda one: one.__name__)
def test_where_nothing_can_be_read_a_copy_is_named(full: Path, damage: Callable[[Path], None]) -> None:
    assert bisect("store", "backup").exit_code == 0
    damage(full)
    line = one_line(bisect("store", "repair"))
    if full.is_dir():
        assert "move it away" in line
        return
    (copy,) = (file for file in Home.open().backups.glob("store-*.sqlite"))
    assert f"cp {copy} {full}" in line
    shutil.copy(copy, full)
    assert len(json.loads(bisect("list", "--json").stdout)) == BISECTIONS


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 3000), st.integers(0, 999)), min_size=1, max_size=3))
def test_random_bytes_anywhere_end_in_a_sound_store_or_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[float, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path = folder / "store.sqlite"
    store = Store(path)
    for _ in range(3):
        number = store.create_bisection(question(), {})
        for _ in range(5):
            store.add_event(number, Notice(text="said"))
    store.close()
    size = path.stat().st_size
    for where, length, seed in damages:
        start = int(where * (size - 1))
        scribble(path, start, min(length, size - start), seed)
    try:
        salvage.repair(path, folder / "backups")
    except UserError as refusal:
        assert "nothing can be read" in refusal.problem  # noqa: PT017
        return
    assert problems(path) == []
    Store(path).read("SELECT * FROM bisections")


def test_a_store_in_use_is_not_repaired(full: Path) -> None:
    header(full)
    running = Home.open().running
    with hold(running / "3.lock", UserError("held")):
        assert "in use (3)" in one_line(bisect("store", "repair"))


def test_a_copy_is_made_while_the_store_is_written(full: Path, tmp_path: Path) -> None:
    store = Store(full)
    with store.writing() as connection:
        connection.execute("DELETE FROM events")
        told = json.loads(bisect("store", "backup", "--output", str(tmp_path / "copy.sqlite"), "--json").stdout)
    assert told["backup"] == str(tmp_path / "copy.sqlite")
    with sqlite3.connect(tmp_path / "copy.sqlite") as copy:
        assert copy.execute("SELECT count(*) FROM events").fetchone() == (EVENTS,)
    assert [file.name for file in tmp_path.glob("copy*")] == ["copy.sqlite"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("backup --output {home}/store.sqlite", "is there already"),
        ("backup --output {home}/store.sqlite/x", "name another file with --output"),
        ("check now", "unexpected extra argument"),
        ("nosuch", "No such command"),
    ],
)
def test_what_makes_no_sense_is_one_line(full: Path, words: str, says: str) -> None:
    assert says in one_line(bisect("store", *words.format(home=full.parent).split()))


@pytest.mark.parametrize("command", ["backup", "repair"])
def test_without_a_store_there_is_nothing_to_do(home: Path, command: str) -> None:
    assert "there is no store" in one_line(bisect("store", command))
    assert "there is no store" in bisect("store", "check").output
    assert not (home / "store.sqlite").exists()


@pytest.mark.parametrize("command", ["check", "backup", "repair"])
def test_each_has_help_with_examples(command: str) -> None:
    output = bisect("store", command, "--help").output
    assert f"bisect store {command}" in output
    assert "--json" in output


def test_an_older_store_is_copied_before_it_is_migrated_and_the_last_few_copies_stay(full: Path) -> None:
    for version in range(len(MIGRATIONS) - 5, len(MIGRATIONS)):
        with sqlite3.connect(full) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
        Store(full).close()
        newest = max(Home.open().backups.glob("before-version-*.sqlite"), key=lambda file: file.stat().st_mtime_ns)
        with sqlite3.connect(newest) as copy:
            assert copy.execute("PRAGMA user_version").fetchone() == (version,)
            assert copy.execute("SELECT count(*) FROM bisections").fetchone() == (BISECTIONS,)
        copy.close()
    assert len([*Home.open().backups.glob("before-version-*.sqlite")]) == backups.KEPT
    Store(full).close()
    assert len([*Home.open().backups.glob("before-version-*.sqlite")]) == backups.KEPT


def test_a_store_that_another_process_holds_says_so(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE_S", 0.05)
    holder = sqlite3.connect(full, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "another process holds it" in one_line(bisect("cancel", "3"))
    holder.close()


def test_a_store_of_tomorrow_is_not_called_damaged(full: Path) -> None:
    with sqlite3.connect(full) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert "use the program that wrote it" in one_line(bisect("list"))


def test_one_statement_that_cannot_be_read_hides_nothing(full: Path) -> None:
    content = full.read_bytes()
    at = content.index(b"CREATE TABLE candidates") + len("CREATE TABLE can")
    full.write_bytes(content[:at] + b"\\" + content[at + 1 :])
    assert "malformed" in one_line(bisect("list"))
    told = json.loads(bisect("store", "repair", "--json").stdout)
    saved = {one["table"]: one["saved"] for one in told["tables"]}
    assert (saved["bisections"], saved["events"]) == (BISECTIONS, EVENTS)
    assert problems(full) == []


def test_a_state_that_there_is_not_is_told_and_mended(full: Path) -> None:
    with sqlite3.connect(full) as plain:
        plain.execute("UPDATE bisections SET state = 'nonsense' WHERE id = 3")
    plain.close()
    assert problems(full) == ["bisections: row 3: state is 'nonsense'"]
    told = json.loads(bisect("store", "repair", "--json").stdout)
    (saved,) = (one for one in told["tables"] if one["table"] == "bisections")
    assert (saved["saved"], saved["dropped"]) == (BISECTIONS, 0)
    assert Store(full).bisection(3).state == "interrupted"
    assert problems(full) == []


def test_a_damaged_store_is_seen_before_any_work(full: Path) -> None:
    events_page(full)
    assert "`bisect store check`" in one_line(bisect("resume", "3")).replace("bisect: ", "", 1)
    assert Store(full).bisection(3).state == "interrupted"
