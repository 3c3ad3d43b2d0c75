"""A damaged store is read as far as it can be, table by table and row by row, into a new file."""

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cpubisect.base.errors import UserError
from cpubisect.base.plain import Plain
from cpubisect.records import backups, schema
from cpubisect.records.care.health import column_types, problems, tables, why_not
from cpubisect.records.database import UNREADABLE, connect
from cpubisect.records.lifecycle import STATES

MOST_READS = 50_000
"""So often a table is asked for a part of its rows: what lies in a damaged page is narrowed down to single rows."""

_HEADER = 100
_PAGES_AT, _FREE_AT = slice(28, 32), slice(32, 40)
_LEAST_ROW = 8


@dataclass(frozen=True)
class Salvaged(Plain):
    """Of one table: how many rows were saved, how many were found and are none that we wrote, and whether there were
    parts that could not be read at all."""

    table: str
    saved: int
    dropped: int
    unread: bool


@dataclass(frozen=True)
class Repair(Plain):
    """What became of a store: where the `damaged` one is now, and what was saved of it."""

    damaged: str
    tables: tuple[Salvaged, ...]


def repair(path: Path, folder: Path) -> Repair | None:
    """Put what can be read of a damaged store in its place, and keep it as it was in `folder`; None, and no change, if
    it is sound. Nobody may be using it. Raises UserError if nothing can be read, or it is not to be repaired."""
    wrong = problems(path)
    if not wrong:
        return None
    if not path.is_file():
        raise UserError(f"{path} is no file", "move it away: the next command begins a new store")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = backups.free_name(folder, "damaged")
        _copy_with_log(path, kept)
        work, fresh = (folder / f".{name}-{os.getpid()}.sqlite" for name in ("reading", "fresh"))
        with _removed(work), _removed(fresh):
            _copy_with_log(kept, work)
            saved = salvage(work, fresh)
            if not any(one.saved for one in saved):
                raise UserError(f"nothing can be read of {path} ({wrong[0]})", _what_now(path, folder))
            with contextlib.closing(connect(fresh)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            # A log that is left would be taken for that of the new file.
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
            fresh.replace(path)
    except OSError as error:
        raise UserError(
            f"cannot repair {path} ({error.strerror or error})", "free space there and try again"
        ) from error
    return Repair(str(kept), tuple(saved))


def _what_now(path: Path, folder: Path) -> str:
    copies = [
        file for file in folder.glob("[!.]*.sqlite") if not file.name.startswith("damaged") and not problems(file)
    ]
    newest = max(copies, key=lambda file: file.stat().st_mtime_ns, default=None)
    return f"put a copy there: cp {newest} {path}" if newest else "move it away: the next command begins a new store"


def salvage(damaged: Path, target: Path) -> list[Salvaged]:
    """Fill a new store with what can be read of a damaged one, which may be changed; raises sqlite3.Error, OSError."""
    with contextlib.closing(connect(target)) as made:
        schema.migrate(made)
        _mend_header(damaged, target)
        made.execute("PRAGMA foreign_keys = OFF")
        found = []
        version = len(schema.MIGRATIONS)
        _mend_statements(made, damaged)
        with contextlib.suppress(*UNREADABLE), contextlib.closing(_tolerant(damaged)) as source:
            if 0 < schema.version_of(source) < version:
                version = schema.version_of(source)
            there = set(tables(source))
            for table in tables(made):
                if table in there:
                    found.append(_saved(source, made, table, newest=version == len(schema.MIGRATIONS)))
        lonely = _without_the_lonely(made)
        made.execute(f"PRAGMA user_version = {version}")
    return [
        Salvaged(one.table, one.saved - lonely.get(one.table, 0), one.dropped + lonely.get(one.table, 0), one.unread)
        for one in found
    ]


def _mend_header(damaged: Path, like: Path) -> None:
    """Give a file whose first bytes are none of a store's those of a new one, if that lets its tables be seen: what
    they say is the same in all but the number of pages."""
    if _is_seen(damaged):
        return
    before, size = damaged.read_bytes()[:_HEADER], damaged.stat().st_size
    header = bytearray(like.read_bytes()[:_HEADER])
    page = int.from_bytes(header[16:18], "big")
    if size < page:
        return
    header[_PAGES_AT] = (size // page).to_bytes(4, "big")
    header[_FREE_AT] = bytes(8)
    with damaged.open("r+b") as file:
        file.write(header)
    if not _is_seen(damaged):
        with damaged.open("r+b") as file:
            file.write(before)


def _tolerant(path: Path) -> sqlite3.Connection:
    """A connection to which one statement that cannot be read does not hide all tables."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    return connection


def _mend_statements(made: sqlite3.Connection, damaged: Path) -> None:
    """Give tables of a damaged store whose statements cannot be read those of a new one."""
    with contextlib.suppress(*UNREADABLE), contextlib.closing(sqlite3.connect(damaged)) as source:
        source.execute("SELECT name FROM sqlite_master")
        return
    with contextlib.suppress(*UNREADABLE), contextlib.closing(_tolerant(damaged)) as source:
        for name, statement in made.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            source.execute("UPDATE sqlite_master SET tbl_name = name, sql = ? WHERE name = ?", (statement, name))
        source.commit()


def _is_seen(path: Path) -> bool:
    try:
        with contextlib.closing(_tolerant(path)) as connection:
            return "bisections" in tables(connection)
    except UNREADABLE:
        return False


def _saved(source: sqlite3.Connection, made: sqlite3.Connection, table: str, *, newest: bool) -> Salvaged:
    """Copy the rows of a table, in one transaction."""
    types = column_types(made, table)
    names = [name for name in column_types(source, table) if name in types]
    marks = ", ".join("?" * len(names))
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
    saved = dropped = 0
    unread = False
    made.execute("BEGIN")
    for row in _rows(source, table, names):
        if row is None:
            unread = True
            continue
        try:
            kept = {name: _resumable(name, value) for name, value in zip(names, row, strict=True)}
            values = {name: _decoded(value, types[name]) for name, value in kept.items()}
            if why_not(table, values, types, newest=newest):
                raise ValueError(table)
            made.execute(statement, list(kept.values()))
            saved += 1
        except UNREADABLE:
            dropped += 1
    made.commit()
    return Salvaged(table, saved, dropped, unread)


def _resumable(name: str, value: Any) -> Any:
    """The value of a column, but for a state that there is not: what was measured is worth more than where it stood."""
    return "interrupted" if name == "state" and value not in STATES else value


def _decoded(value: Any, kind: str) -> Any:
    return json.loads(value) if kind == "JSON" and value is not None else value


def _rows(source: sqlite3.Connection, table: str, names: list[str]) -> Iterator[tuple[Any, ...] | None]:
    """The rows of a table that can be read, and None for each part that cannot: a part that fails is halved."""
    statement = f"SELECT rowid, {', '.join(names)} FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    waiting = [(1, _highest(source, table))]
    for _ in range(MOST_READS):
        if not waiting:
            return
        low, high = waiting.pop()
        try:
            for number, *values in source.execute(statement, (low, high)):
                yield tuple(values)
                low = number + 1
        except UNREADABLE:
            if low >= high:
                yield None
                continue
            middle = (low + high) // 2
            waiting += [(middle + 1, high), (low, middle)]
    yield None


def _highest(source: sqlite3.Connection, table: str) -> int:
    """No row has a larger number; where the last one cannot be read, as many as could be in the file."""
    try:
        return int(source.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0)
    except UNREADABLE:
        (pages,), (size,) = (source.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        return int(pages) * int(size) // _LEAST_ROW


def _without_the_lonely(made: sqlite3.Connection) -> dict[str, int]:
    """Remove rows that belong to rows that were lost; how many there were, by table."""
    removed: dict[str, int] = {}
    while lonely := {(row[0], row[1]) for row in made.execute("PRAGMA foreign_key_check")}:
        for table, number in lonely:
            made.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
            removed[table] = removed.get(table, 0) + 1
    return removed


def _copy_with_log(path: Path, target: Path) -> None:
    """The file as it is, with the log of what was not written into it yet."""
    shutil.copyfile(path, target)
    log = path.with_name(f"{path.name}-wal")
    if log.is_file():
        shutil.copyfile(log, target.with_name(f"{target.name}-wal"))


@contextlib.contextmanager
def _removed(path: Path) -> Iterator[None]:
    """Whatever becomes of it, a file and what belongs to it is gone afterwards."""
    try:
        yield
    finally:
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
