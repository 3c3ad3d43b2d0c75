"""The tables of the store, and the migrations that lead an older file to them."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BISECTIONS = """
CREATE TABLE IF NOT EXISTS bisections (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    created FLOAT NOT NULL,
    finished FLOAT,
    state VARCHAR NOT NULL,
    engine VARCHAR NOT NULL,
    question JSON NOT NULL,
    host JSON NOT NULL,
    owner JSON,
    counter VARCHAR,
    regime VARCHAR,
    verdict JSON
)
"""

CANDIDATES = """
CREATE TABLE IF NOT EXISTS candidates (
    bisection INTEGER NOT NULL,
    path VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    sha VARCHAR NOT NULL,
    same_binary_as VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    PRIMARY KEY (bisection, path, position),
    FOREIGN KEY (bisection) REFERENCES bisections (id) ON DELETE CASCADE
)
"""

BUILDS = """
CREATE TABLE IF NOT EXISTS builds (
    id INTEGER NOT NULL PRIMARY KEY,
    recipe_key VARCHAR NOT NULL,
    engine VARCHAR NOT NULL,
    sha VARCHAR NOT NULL,
    started FLOAT NOT NULL,
    recipe JSON NOT NULL,
    outcome VARCHAR NOT NULL,
    artifact VARCHAR,
    first_error VARCHAR NOT NULL,
    repairs JSON NOT NULL,
    diff VARCHAR NOT NULL,
    cpu_seconds FLOAT NOT NULL,
    wall_seconds FLOAT NOT NULL,
    cache_hits INTEGER NOT NULL,
    cache_misses INTEGER NOT NULL,
    compiled JSON NOT NULL,
    log VARCHAR NOT NULL,
    code VARCHAR NOT NULL DEFAULT '',
    objects BLOB,
    sandbox VARCHAR NOT NULL DEFAULT 'none',
    origin VARCHAR NOT NULL DEFAULT ''
)
"""

SUSPECTS = """
CREATE TABLE IF NOT EXISTS suspects (
    bisection INTEGER NOT NULL,
    path VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    sha VARCHAR NOT NULL,
    weight FLOAT NOT NULL,
    because JSON NOT NULL,
    PRIMARY KEY (bisection, path, position),
    FOREIGN KEY (bisection) REFERENCES bisections (id) ON DELETE CASCADE
)
"""

LINKS = """
CREATE TABLE IF NOT EXISTS links (
    build INTEGER NOT NULL,
    link INTEGER NOT NULL,
    artifact VARCHAR NOT NULL,
    PRIMARY KEY (build, link),
    FOREIGN KEY (build) REFERENCES builds (id)
)
"""

COMPARISONS = """
CREATE TABLE IF NOT EXISTS comparisons (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    created FLOAT NOT NULL,
    finished FLOAT,
    state VARCHAR NOT NULL,
    engine VARCHAR NOT NULL,
    asked JSON NOT NULL,
    host JSON NOT NULL,
    owner JSON,
    counter VARCHAR
)
"""

_OWN = (
    """
CREATE TABLE IF NOT EXISTS {uses} (
    {owner} INTEGER NOT NULL,
    build INTEGER NOT NULL,
    made INTEGER NOT NULL,
    PRIMARY KEY ({owner}, build),
    FOREIGN KEY ({owner}) REFERENCES {owners} (id) ON DELETE CASCADE,
    FOREIGN KEY (build) REFERENCES builds (id)
)
""",
    """
CREATE TABLE IF NOT EXISTS {probes} (
    id INTEGER NOT NULL PRIMARY KEY,
    {owner} INTEGER NOT NULL,
    build INTEGER NOT NULL,
    purpose VARCHAR NOT NULL,
    test VARCHAR NOT NULL,
    parameters JSON NOT NULL,
    counter VARCHAR NOT NULL,
    started FLOAT NOT NULL,
    seconds FLOAT NOT NULL,
    error VARCHAR,
    profile BLOB,
    variables JSON NOT NULL,
    commands JSON NOT NULL,
    attributed BLOB,
    calls BLOB,
    note VARCHAR NOT NULL DEFAULT '',
    FOREIGN KEY ({owner}) REFERENCES {owners} (id) ON DELETE CASCADE,
    FOREIGN KEY (build) REFERENCES builds (id)
)
""",
    """
CREATE TABLE IF NOT EXISTS {samples} (
    probe INTEGER NOT NULL,
    metric VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    value FLOAT NOT NULL,
    PRIMARY KEY (probe, metric, number),
    FOREIGN KEY (probe) REFERENCES {probes} (id) ON DELETE CASCADE
)
""",
    """
CREATE TABLE IF NOT EXISTS {events} (
    id INTEGER NOT NULL PRIMARY KEY,
    {owner} INTEGER NOT NULL,
    at FLOAT NOT NULL,
    kind VARCHAR NOT NULL,
    data JSON NOT NULL,
    FOREIGN KEY ({owner}) REFERENCES {owners} (id) ON DELETE CASCADE
)
""",
)


@dataclass(frozen=True)
class Tables:
    """Where builds, probes and journals of one kind of owner are. All owners are in the table `owners`; `owner` is the
    column that says whose a row is."""

    owner: str
    owners: str
    uses: str
    probes: str
    samples: str
    events: str

    def statements(self) -> tuple[str, ...]:
        """What makes them."""
        return tuple(statement.format_map(vars(self)) for statement in _OWN)


VARIANT = "coalesce(json_extract(builds.recipe, '$.variant'), '')"
"""The kind of a build, empty for an ordinary one."""

OF_BISECTIONS = Tables("bisection", "bisections", "uses", "probes", "samples", "events")
OF_COMPARISONS = Tables(
    "comparison",
    "comparisons",
    "comparison_uses",
    "comparison_probes",
    "comparison_samples",
    "comparison_events",
)

OF_A_COMPARISON = (COMPARISONS, *OF_COMPARISONS.statements())

TABLES = (BISECTIONS, CANDIDATES, BUILDS, *OF_BISECTIONS.statements(), SUSPECTS, LINKS)
"""Each after those that it refers to. Columns of type JSON hold text, those of type BLOB what `packing` makes."""

PROBES_OF_BUILD = "CREATE INDEX IF NOT EXISTS probes_of_build ON probes (build)"

INDEXES = (
    "CREATE INDEX IF NOT EXISTS ix_builds_recipe_key ON builds (recipe_key)",
    "CREATE INDEX IF NOT EXISTS ix_builds_sha ON builds (sha)",
    "CREATE INDEX IF NOT EXISTS probes_by_build ON probes (bisection, build, purpose)",
    PROBES_OF_BUILD,
    "CREATE INDEX IF NOT EXISTS ix_events_bisection ON events (bisection)",
)


def _create_all(connection: sqlite3.Connection) -> None:
    for statement in (*TABLES, *INDEXES):
        connection.execute(statement)


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def _attributed_and_suspects(connection: sqlite3.Connection) -> None:
    # A new file has both already: it was made from today's tables.
    if "attributed" not in _columns(connection, "probes"):
        connection.execute("ALTER TABLE probes ADD COLUMN attributed BLOB")
    connection.execute(SUSPECTS)


def _add_code(connection: sqlite3.Connection) -> None:
    if "code" not in _columns(connection, "builds"):
        connection.execute("ALTER TABLE builds ADD COLUMN code VARCHAR NOT NULL DEFAULT ''")


def _add_calls(connection: sqlite3.Connection) -> None:
    if "calls" not in _columns(connection, "probes"):
        connection.execute("ALTER TABLE probes ADD COLUMN calls BLOB")


def _add_note(connection: sqlite3.Connection) -> None:
    if "note" not in _columns(connection, "probes"):
        connection.execute("ALTER TABLE probes ADD COLUMN note VARCHAR NOT NULL DEFAULT ''")


def _index_probes_of_build(connection: sqlite3.Connection) -> None:
    connection.execute(PROBES_OF_BUILD)


def _always_several_tests(connection: sqlite3.Connection) -> None:
    """A question of one test had no list of tests but its name, settings that were not by test, and a plain verdict."""
    # As text, whatever the connection makes of columns of type JSON.
    rows = connection.execute("SELECT id, question || '', coalesce(verdict, 'null') FROM bisections").fetchall()
    for number, question, verdict in rows:
        asked, answer = json.loads(question), json.loads(verdict)
        test = asked.pop("test", None)
        if test is None:
            continue
        if "tests" not in asked:
            asked |= {"tests": [test], "parameters": {test: asked.get("parameters", {})}}
            answer = answer and {"kind": answer["kind"], "summary": answer["summary"], "tests": {test: answer}}
        connection.execute(
            "UPDATE bisections SET question = ?, verdict = ? WHERE id = ?",
            (json.dumps(asked), answer and json.dumps(answer), number),
        )


def _add_links(connection: sqlite3.Connection) -> None:
    connection.execute(LINKS)


def _add_objects(connection: sqlite3.Connection) -> None:
    if "objects" not in _columns(connection, "builds"):
        connection.execute("ALTER TABLE builds ADD COLUMN objects BLOB")


def _add_comparisons(connection: sqlite3.Connection) -> None:
    for statement in (
        *OF_A_COMPARISON,
        "CREATE INDEX IF NOT EXISTS comparison_probes_by_build ON comparison_probes (comparison, build)",
        "CREATE INDEX IF NOT EXISTS ix_comparison_events ON comparison_events (comparison)",
    ):
        connection.execute(statement)


def _add_sandbox(connection: sqlite3.Connection) -> None:
    if "sandbox" not in _columns(connection, "builds"):
        connection.execute("ALTER TABLE builds ADD COLUMN sandbox VARCHAR NOT NULL DEFAULT 'none'")


_MADE = """
SELECT json_extract(bisections.question, '$.repository') AS repository, uses.build
FROM uses JOIN bisections ON bisections.id = uses.bisection WHERE uses.made
UNION ALL SELECT json_extract(comparisons.asked, '$.repository'), used.build
FROM comparison_uses AS used JOIN comparisons ON comparisons.id = used.comparison WHERE used.made
"""


def _add_origin(connection: sqlite3.Connection) -> None:
    """A build's origin is the clone of whoever had it made, if that is still where it was; else it stays unknown."""
    if "origin" not in _columns(connection, "builds"):
        connection.execute("ALTER TABLE builds ADD COLUMN origin VARCHAR NOT NULL DEFAULT ''")
    known: dict[str, str] = {}
    for repository, build in connection.execute(_MADE).fetchall():
        if repository not in known:
            known[repository] = _identity_at(repository)
        connection.execute("UPDATE builds SET origin = ? WHERE id = ?", (known[repository], build))


def _identity_at(repository: str) -> str:
    # Only a store that is migrated needs it, and every command loads this module.
    from cpubisect.base.errors import UserError
    from cpubisect.base.git.clone import find_clone

    try:
        return find_clone(Path(repository)).identity
    except (UserError, OSError, ValueError):
        return ""


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _create_all,
    _attributed_and_suspects,
    _add_code,
    _add_calls,
    _index_probes_of_build,
    _always_several_tests,
    _add_links,
    _add_note,
    _add_objects,
    _add_comparisons,
    _add_sandbox,
    _add_origin,
)
"""Applied in order, each once; the count of those applied is SQLite's `user_version`. Append, never edit."""


class FromFuture(ValueError):
    """A newer program has migrated the file."""


def version_of(connection: sqlite3.Connection) -> int:
    """How many migrations were applied to a file, 0 if it is new."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest version, one transaction per step, on a connection that begins none by itself;
    raises FromFuture for a file from the future."""
    while True:
        # Another process may have made the same step until the lock is had.
        connection.execute("BEGIN IMMEDIATE")
        version = version_of(connection)
        if version > len(MIGRATIONS):
            raise FromFuture(f"the store has version {version}, this program knows {len(MIGRATIONS)}")
        if version < len(MIGRATIONS):
            MIGRATIONS[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.commit()
        if version == len(MIGRATIONS):
            return
