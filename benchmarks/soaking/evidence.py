"""What a bisection left behind: read from its store and its home directory, without the program's own help."""

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cpubisect.base.locks import is_held
from cpubisect.search.events import ArtifactDamaged, BuildFinished
from soaking.judgement import Answer, Kept, probe_key

BISECTION = 1
"""The only one of its home directory."""

_OF_A_HOME = {
    *("store.sqlite", "repositories", "artifacts", "libraries", "logs", "work", "running", "backups", "ccache"),
    *("probe.lock", ".store.sqlite.lock", "store.sqlite-wal", "store.sqlite-shm", "web-key"),
    *("cluster", "ccache-apart"),
}
_OURS = "cpubisect-*"


@contextlib.contextmanager
def reading(store: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads; raises sqlite3.Error."""
    connection = sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True, timeout=20)
    try:
        yield connection
    finally:
        connection.close()


def state(store: Path) -> str:
    """The state of the bisection as it is stored; empty as long as there is none."""
    try:
        with reading(store) as connection:
            found = connection.execute("SELECT state FROM bisections WHERE id = ?", (BISECTION,)).fetchone()
    except sqlite3.Error:
        return ""
    return found[0] if found else ""


def kept(store: Path) -> Kept:
    """What the store holds of the bisection; raises sqlite3.Error."""
    with reading(store) as connection:
        ask = connection.execute
        (verdict,) = ask("SELECT verdict FROM bisections WHERE id = ?", (BISECTION,)).fetchone()
        built = ask("SELECT recipe_key, sha FROM builds WHERE outcome = 'built'").fetchall()
        events = ask("SELECT kind, data FROM events WHERE bisection = ?", (BISECTION,)).fetchall()
        probes = ask(
            "SELECT recipe_key, sha, purpose FROM probes JOIN builds ON builds.id = build "
            "WHERE bisection = ? AND error IS NULL",
            (BISECTION,),
        ).fetchall()
    journal = [(kind, json.loads(data)) for kind, data in events]
    told = (data["sha"] for kind, data in journal if kind == BuildFinished.kind and data["outcome"] == "built")
    return Kept(
        answer=answer(json.loads(verdict) if verdict else None),
        recipes=Counter(key for key, _ in built),
        built=Counter(sha for _, sha in built),
        told=Counter(told),
        damaged=Counter(data["sha"] for kind, data in journal if kind == ArtifactDamaged.kind),
        probes=Counter(probe_key(*row) for row in probes),
    )


def answer(verdict: dict[str, object] | None) -> Answer:
    """What a stored verdict says about its only test."""
    tests = (verdict or {}).get("tests")
    if not isinstance(tests, dict) or not tests:
        return Answer()
    (found,) = tests.values()
    return Answer(found["kind"], tuple(culprit["sha"] for culprit in found["culprits"]))


def tracebacks(home: Path) -> list[str]:
    """The last lines of tracebacks that a worker's commands printed."""
    found = []
    for log in (home / "logs").glob("worker-*.log"):
        parts = log.read_text(errors="replace").split("Traceback (most recent call last):\n")[1:]
        found += [next(line for line in part.splitlines() if not line.startswith(" ")) for part in parts]
    return found


def leftovers(home: Path, temporary: Path) -> list[str]:
    """What nobody uses any more, and locks that somebody still holds."""
    found = [f"home/{entry.name}" for entry in home.iterdir() if entry.name not in _OF_A_HOME]
    found += [f"work/{entry.name}" for entry in (home / "work").glob("*")]
    found += [f"artifacts/{entry.relative_to(home / 'artifacts')}" for entry in (home / "artifacts").glob("**/.*")]
    found += [f"backups/{entry.name}" for entry in (home / "backups").glob(".*") if entry.name != ".lock"]
    found += [f"{lock.name} is held" for lock in (home / "running").glob("*.lock") if is_held(lock)]
    found += ["probe.lock is held"] if is_held(home / "probe.lock") else []
    for entry in temporary.iterdir():
        # The directories for temporary files stay; what is in them does not.
        inside = list(entry.iterdir()) if entry.match(_OURS) else [entry]
        found += [f"tmp/{one.relative_to(temporary)}" for one in inside]
    return found
