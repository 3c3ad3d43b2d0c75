"""A store as an earlier version of the program would have left it: migrations undone, the newest first."""

import json
import sqlite3
from pathlib import Path

from cpubisect.records.schema import MIGRATIONS, OF_A_COMPARISON

OLDEST = 1
_SEVERAL_TESTS = 6
_BACK = {
    12: ("ALTER TABLE builds DROP COLUMN origin",),
    10: tuple(f"DROP TABLE {statement.split('(')[0].split()[-1]}" for statement in reversed(OF_A_COMPARISON)),
    9: ("ALTER TABLE builds DROP COLUMN objects",),
    8: ("ALTER TABLE probes DROP COLUMN note",),
    7: ("DROP TABLE links",),
    5: ("DROP INDEX probes_of_build",),
    4: ("ALTER TABLE probes DROP COLUMN calls",),
    3: ("ALTER TABLE builds DROP COLUMN code",),
    2: ("ALTER TABLE probes DROP COLUMN attributed", "DROP TABLE suspects"),
}
"""What undoes the migration that leads to each version."""


def undo_migrations(store: Path, version: int) -> None:
    """Lead a store that nobody has open back to a version; what that could not hold is lost. Raises sqlite3.Error, and
    ValueError if the version is none of those."""
    if not OLDEST <= version < len(MIGRATIONS):
        raise ValueError(f"no store is led back to version {version}")
    connection = sqlite3.connect(store, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        (now,) = connection.execute("PRAGMA user_version").fetchone()
        for step in range(now, version, -1):
            for statement in _BACK.get(step, ()):
                connection.execute(statement)
            if step == _SEVERAL_TESTS:
                _one_test(connection)
        connection.execute(f"PRAGMA user_version = {min(now, version)}")
        connection.execute("COMMIT")
    finally:
        connection.close()


def _one_test(connection: sqlite3.Connection) -> None:
    for number, question, verdict in connection.execute("SELECT id, question, verdict FROM bisections").fetchall():
        asked, answer = json.loads(question), json.loads(verdict or "null")
        if len(asked["tests"]) != 1:
            continue
        ((test, parameters),) = asked["parameters"].items()
        del asked["tests"]
        plain = answer["tests"].get(test) if answer else None
        connection.execute(
            "UPDATE bisections SET question = ?, verdict = ? WHERE id = ?",
            (
                json.dumps({**asked, "test": test, "parameters": parameters}),
                json.dumps(plain) if plain else None,
                number,
            ),
        )
