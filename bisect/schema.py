"""The tables of the store, and the migrations that lead an older file to them."""

from collections.abc import Callable

from sqlalchemy import (
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    inspect,
    text,
)
from sqlalchemy.types import JSON

metadata = MetaData()

bisections = Table(
    "bisections",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("created", Float, nullable=False),
    Column("finished", Float),
    Column("state", String, nullable=False),
    Column("engine", String, nullable=False),
    Column("question", JSON, nullable=False),
    Column("host", JSON, nullable=False),
    Column("owner", JSON),
    Column("counter", String),
    Column("regime", String),
    Column("verdict", JSON),
    sqlite_autoincrement=True,
)

candidates = Table(
    "candidates",
    metadata,
    Column("bisection", ForeignKey("bisections.id", ondelete="CASCADE"), primary_key=True),
    Column("path", String, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("sha", String, nullable=False),
    Column("same_binary_as", String, nullable=False),
    Column("subject", String, nullable=False),
)

builds = Table(
    "builds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("recipe_key", String, nullable=False, index=True),
    Column("engine", String, nullable=False),
    Column("sha", String, nullable=False, index=True),
    Column("started", Float, nullable=False),
    Column("recipe", JSON, nullable=False),
    Column("outcome", String, nullable=False),
    Column("artifact", String),
    Column("first_error", String, nullable=False),
    Column("repairs", JSON, nullable=False),
    Column("diff", String, nullable=False),
    Column("cpu_seconds", Float, nullable=False),
    Column("wall_seconds", Float, nullable=False),
    Column("cache_hits", Integer, nullable=False),
    Column("cache_misses", Integer, nullable=False),
    Column("compiled", JSON, nullable=False),
    Column("log", String, nullable=False),
    Column("code", String, nullable=False, server_default=""),
)

uses = Table(
    "uses",
    metadata,
    Column("bisection", ForeignKey("bisections.id", ondelete="CASCADE"), primary_key=True),
    Column("build", ForeignKey("builds.id"), primary_key=True),
    Column("made", Integer, nullable=False),
)

probes = Table(
    "probes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bisection", ForeignKey("bisections.id", ondelete="CASCADE"), nullable=False),
    Column("build", ForeignKey("builds.id"), nullable=False),
    Column("purpose", String, nullable=False),
    Column("test", String, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("counter", String, nullable=False),
    Column("started", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("error", String),
    Column("profile", LargeBinary),
    Column("variables", JSON, nullable=False),
    Column("commands", JSON, nullable=False),
    Column("attributed", LargeBinary),
    Column("calls", LargeBinary),
    Index("probes_by_build", "bisection", "build", "purpose"),
    Index("probes_of_build", "build"),
)

suspects = Table(
    "suspects",
    metadata,
    Column("bisection", ForeignKey("bisections.id", ondelete="CASCADE"), primary_key=True),
    Column("path", String, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("sha", String, nullable=False),
    Column("weight", Float, nullable=False),
    Column("because", JSON, nullable=False),
)

samples = Table(
    "samples",
    metadata,
    Column("probe", ForeignKey("probes.id", ondelete="CASCADE"), primary_key=True),
    Column("metric", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("value", Float, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bisection", ForeignKey("bisections.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("at", Float, nullable=False),
    Column("kind", String, nullable=False),
    Column("data", JSON, nullable=False),
)


def _create_all(connection: Connection) -> None:
    metadata.create_all(connection)


def _attributed_and_suspects(connection: Connection) -> None:
    # A new file has both already: it was made from today's tables.
    if "attributed" not in {column["name"] for column in inspect(connection).get_columns("probes")}:
        connection.execute(text("ALTER TABLE probes ADD COLUMN attributed BLOB"))
    suspects.create(connection, checkfirst=True)


def _add_code(connection: Connection) -> None:
    if "code" not in {column["name"] for column in inspect(connection).get_columns("builds")}:
        connection.execute(text("ALTER TABLE builds ADD COLUMN code VARCHAR NOT NULL DEFAULT ''"))


def _add_calls(connection: Connection) -> None:
    if "calls" not in {column["name"] for column in inspect(connection).get_columns("probes")}:
        connection.execute(text("ALTER TABLE probes ADD COLUMN calls BLOB"))


def _index_probes_of_build(connection: Connection) -> None:
    connection.execute(text("CREATE INDEX IF NOT EXISTS probes_of_build ON probes (build)"))


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    _create_all,
    _attributed_and_suspects,
    _add_code,
    _add_calls,
    _index_probes_of_build,
)
"""Applied in order, each once; the count of those applied is SQLite's `user_version`. Append, never edit."""


def migrate(connection: Connection) -> None:
    """Bring the file to the newest version, one transaction per step; raises ValueError for a file from the future."""
    version = int(connection.execute(text("PRAGMA user_version")).scalar_one())
    if version > len(MIGRATIONS):
        raise ValueError(f"the store has version {version}, this program knows {len(MIGRATIONS)}")
    for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
        migration(connection)
        connection.execute(text(f"PRAGMA user_version = {number}"))
