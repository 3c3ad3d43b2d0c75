"""One SQLite file (WAL): whoever reads gets rows, whoever writes is alone for the length of a transaction."""

import contextlib
import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cpubisect.base.errors import UserError
from cpubisect.base.locks import wait_for
from cpubisect.records import backups, schema
from cpubisect.records.purpose import Purpose

PATIENCE_S = 60.0
"""How long one waits for a lock that another process holds."""

PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON")

UNREADABLE = (sqlite3.Error, ValueError, RecursionError, zlib.error)
"""What reading a row can raise whose bytes are not what was written."""

# Columns of this type are read as what their text says; the text `null`, written by earlier versions, is None.
sqlite3.register_converter("JSON", json.loads)
sqlite3.register_adapter(Purpose, str)


class Database:
    """For any number of threads: each has a connection for itself as long as it reads or writes. There is one writer
    at a time among all processes (SQLite's own lock)."""

    def __init__(self, path: Path) -> None:
        """Open and migrate, an older file after a backup; raises UserError if the file cannot be used."""
        self.path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        try:
            _make(path)
            with self.connection() as connection:
                if 0 < schema.version_of(connection) < len(schema.MIGRATIONS):
                    backups.keep_one_of(path, before=len(schema.MIGRATIONS))
                schema.migrate(connection)
        except (*UNREADABLE, OSError) as error:
            raise unfit(f"cannot use the store {path}", error) from error

    def close(self) -> None:
        """Close all connections that are not in use."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for the caller alone; an error undoes what was not committed, for it closes the connection."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = connect(self.path)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, committed at the end; raises UserError if the file cannot be written."""
        try:
            with self._lock, self.connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.commit()
        except sqlite3.Error as error:
            raise unfit(f"cannot write to the store {self.path}", error) from error

    def read(self, sql: str, *parameters: Any) -> list[sqlite3.Row]:
        """The rows of one SELECT over `schema`'s tables, all of one moment; JSON columns are decoded. Raises UserError
        if the file is damaged."""
        try:
            with self.connection() as connection:
                return connection.execute(sql, parameters).fetchall()
        except UNREADABLE as error:
            raise unfit(f"cannot read the store {self.path}", error) from error

    def each(self, sql: str, *parameters: Any) -> Iterator[sqlite3.Row]:
        """As `read`, but one row after the other: for so many that to hold them all takes longer than to read them."""
        try:
            with self.connection() as connection:
                yield from connection.execute(sql, parameters)
        except UNREADABLE as error:
            raise unfit(f"cannot read the store {self.path}", error) from error

    def must_be_sound(self) -> None:
        """Raise UserError if SQLite finds the file damaged: before hours of work is better than after."""
        told = self.read("PRAGMA quick_check(1)")[0][0]
        if told != "ok":
            problem = ValueError(str(told).splitlines()[-1])
            raise unfit(f"the store {self.path} is damaged", problem)


def unfit(problem: str, error: BaseException) -> UserError:
    """What to do about a store that failed in some way."""
    name = str(getattr(error, "sqlite_errorname", ""))
    if isinstance(error, schema.FromFuture):
        hint = "use the program that wrote it, or set CPUBISECT_HOME elsewhere"
    elif name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        hint = "another process holds it: wait for that, or end it, and try again"
    elif name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")) or isinstance(error, OSError):
        hint = "make it a file that can be written, or set CPUBISECT_HOME elsewhere"
    elif name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        hint = "free space there and run `bisect resume`; everything finished before is kept"
    else:
        hint = "`bisect store check` says what is wrong, `bisect store repair` saves what can be read"
    return UserError(f"{problem} ({error})", hint)


def _make(path: Path) -> None:
    """A new store where there is no file, in one step: one that is empty was not left by us. Raises ValueError."""
    if path.exists() and path.stat().st_size:
        return
    if path.is_dir():
        raise IsADirectoryError("it is a directory")
    with wait_for(path.with_name(f".{path.name}.lock")):
        if path.exists():
            if not path.stat().st_size:
                raise ValueError("the file is empty")
            return
        # Nobody else makes one now: these are of killed ones.
        for left in path.parent.glob(f".{path.name}-*"):
            left.unlink(missing_ok=True)
        fresh = path.with_name(f".{path.name}-{os.getpid()}")
        connection = connect(fresh)
        try:
            schema.migrate(connection)
            connection.close()
            fresh.rename(path)
        finally:
            connection.close()
            fresh.unlink(missing_ok=True)


def listed(values: Iterable[int | str]) -> str:
    """The parameter of `IN (SELECT value FROM json_each(?))`: any number of values, where SQLite limits parameters."""
    return json.dumps(list(values))


def equal(wanted: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The condition that columns have certain values, without those whose value is None, and its parameters."""
    given = {column: value for column, value in wanted.items() if value is not None}
    return " AND ".join(f"{column} = ?" for column in given), list(given.values())


def insert(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    """Add one row, given by columns, and return its id; lists and mappings become JSON."""
    return connection.execute(_insertion(table, row), _stored(row)).lastrowid or 0


def insert_all(connection: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows, each given by the same columns in the same order; lists and mappings become JSON."""
    if rows:
        connection.executemany(_insertion(table, rows[0]), map(_stored, rows))


def update(connection: sqlite3.Connection, table: str, row: Mapping[str, Any], condition: str, *parameters: Any) -> int:
    """Set columns of the rows that fulfil a condition, and return how many they are; lists and mappings become JSON."""
    columns = ", ".join(f"{column} = ?" for column in row)
    return connection.execute(f"UPDATE {table} SET {columns} WHERE {condition}", (*_stored(row), *parameters)).rowcount


def _insertion(table: str, row: Mapping[str, Any]) -> str:
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"


def _stored(row: Mapping[str, Any]) -> list[Any]:
    return [json.dumps(value) if isinstance(value, Mapping | list | tuple) else value for value in row.values()]


def connect(path: Path) -> sqlite3.Connection:
    """A connection that begins no transaction by itself, and that threads may use one after another."""
    connection = sqlite3.connect(
        path,
        timeout=PATIENCE_S,
        isolation_level=None,
        check_same_thread=False,
        detect_types=sqlite3.PARSE_DECLTYPES,
    )
    try:
        connection.row_factory = sqlite3.Row
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection
