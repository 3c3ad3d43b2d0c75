"""Whether a store is what it should be: SQLite's own check of the file, and whether every row can be read."""

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cpubisect.records.database import UNREADABLE, connect
from cpubisect.records.lifecycle import STATES
from cpubisect.records.packing import unpack, unpack_calls, unpack_objects
from cpubisect.records.schema import MIGRATIONS, OF_A_COMPARISON, TABLES, version_of
from cpubisect.search import events
from cpubisect.search.comparing.question import Asked
from cpubisect.search.question import Question
from cpubisect.search.verdict import Answer

MOST_PROBLEMS = 20
"""So many are told; more say nothing more."""

NOT_ROWS = (*UNREADABLE, KeyError, TypeError, AttributeError, IndexError)
"""What making something of a row can raise that holds other data than it should."""

BLOBS: Mapping[str, Callable[[bytes], object]] = {
    "profile": unpack,
    "attributed": unpack,
    "calls": unpack_calls,
    "objects": unpack_objects,
}
"""What the packed columns are read with."""

PLAIN: Mapping[tuple[str, str], Callable[[Any], object]] = {
    ("bisections", "question"): Question.from_json,
    ("bisections", "verdict"): Answer.from_json,
    ("comparisons", "asked"): Asked.from_json,
}
"""What is made of columns of JSON, in a store of the newest version."""


KINDS: Mapping[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "FLOAT": (int, float),
    "VARCHAR": (str,),
    "BLOB": (bytes,),
}
"""What a column of each type may hold."""


SHAPES: Mapping[str, type] = {
    **dict.fromkeys(("host", "question", "asked", "owner", "verdict", "recipe", "parameters", "variables"), dict),
    **dict.fromkeys(("because", "data"), dict),
    **dict.fromkeys(("repairs", "compiled", "commands"), list),
}
"""What columns of JSON hold."""


def problems(path: Path) -> list[str]:
    """What is wrong with a store, one line each and the first few only; nothing if it is sound or not there."""
    if not path.exists():
        return []
    if not path.is_file():
        return ["it is no file"]
    if not path.stat().st_size:
        return ["the file is empty"]
    found = []
    try:
        connection = connect(path)
        try:
            for problem in _all_of(connection):
                found.append(problem)
                if len(found) == MOST_PROBLEMS:
                    break
        finally:
            connection.close()
    except UNREADABLE as error:
        found.append(str(error))
    return list(dict.fromkeys(found))


def _all_of(connection: sqlite3.Connection) -> Iterator[str]:
    version = version_of(connection)
    if version > len(MIGRATIONS):
        yield f"it has version {version}, this program knows {len(MIGRATIONS)}"
        return
    for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})"):
        if line != "ok":
            yield from str(line).splitlines()
    for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"{table}: row {rowid} belongs to a row of {parent} that is not there"
    for table in tables(connection):
        types = column_types(connection, table)
        rows = connection.execute(f"SELECT rowid AS number, * FROM {table}")
        while True:
            try:
                if (row := rows.fetchone()) is None:
                    break
                number, values = row["number"], {name: row[name] for name in types}
                why = why_not(table, values, types, newest=version == len(MIGRATIONS))
            except UNREADABLE as error:
                yield f"{table}: {error}"
                break
            if why:
                yield f"{table}: row {number}: {why}"


def tables(connection: sqlite3.Connection) -> list[str]:
    """The tables of a store, each after those that it refers to."""
    order = [statement.split("(")[0].split()[-1] for statement in (*TABLES, *OF_A_COMPARISON)]
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return [name for name in order if name in there]


def column_types(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    """The columns of a table in their order, with their types."""
    return {row[0]: row[1] for row in connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,))}


def why_not(table: str, row: Mapping[str, Any], types: Mapping[str, str], *, newest: bool) -> str:
    """Why a row, whose JSON is decoded, is none that we wrote; empty if it may be."""
    for name, value in row.items():
        wanted = (SHAPES[name],) if types[name] == "JSON" and name in SHAPES else KINDS.get(types[name])
        if wanted and value is not None and not isinstance(value, wanted):
            return f"{name} holds {type(value).__name__}, not {wanted[-1].__name__}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} is {value}"
        if name == "state" and value not in STATES:
            return f"state is {value!r}"
        try:
            if value is None:
                continue
            if name in BLOBS:
                BLOBS[name](value)
            elif newest and (table, name) in PLAIN:
                PLAIN[table, name](value)
        except NOT_ROWS as error:
            return f"{name} cannot be read ({type(error).__name__})"
    if table.endswith("events"):
        try:
            _ = events.read(row["kind"], row["data"]).sentence
        except NOT_ROWS as error:
            return f"data cannot be read ({type(error).__name__})"
    return ""
