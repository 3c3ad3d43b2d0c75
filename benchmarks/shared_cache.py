"""How much a builder gets of the compiler cache that hosts share: one build on each of two hosts with empty caches.

    python benchmarks/shared_cache.py CLONE COMMIT [--engine NAME] [--jobs N] [--sandbox off] [--place DIRECTORY]

Starts Debian's redis-server, and one after another two clusters of a head and a builder, with homes of their own, that
share it by `--cache`. Each builds the commit, by today's recipe, as a bisection would order it. Prints how many of the
compilations of each came from the cache, and what the builds took; then one JSON object. Ends with 1 if the second
got less than 95 %.
"""

import argparse
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.sandbox.policy import Kind
from cpubisect.builders.build import Outcome
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.cluster.address import Address
from cpubisect.cluster.connection import Connection
from cpubisect.cluster.executor import Hosts
from cpubisect.history.history import History
from cpubisect.run.bench.orders import BuildOrder
from cpubisect.search.events import Event
from cpubisect.service import sandboxing
from soaking.crowd.members import Crowd
from soaking.crowd.plan import Part
from soaking.page import positive, say

LEAST = 0.95
"""So much of its compilations a second host is to get."""


@dataclass(frozen=True)
class Row:
    """One build: of its compilations those that came from a cache and those that were made, and its seconds."""

    host: str
    hits: int
    misses: int
    cpu_seconds: float
    wall_seconds: float

    @property
    def share(self) -> float:
        """The part that came from a cache; nothing if nothing was compiled."""
        return self.hits / max(1, self.hits + self.misses)


def table(rows: Sequence[Row]) -> list[str]:
    """As Markdown."""
    lines = ["| host | compilations | from the cache | share | CPU s | s |", "|---|--:|--:|--:|--:|--:|"]
    for row in rows:
        figures = (f"{row.hits + row.misses:,}", f"{row.hits:,}", f"{row.share:.1%}")
        lines.append(f"| {row.host} | {' | '.join(figures)} | {row.cpu_seconds:,.0f} | {row.wall_seconds:,.0f} |")
    return lines


@dataclass(frozen=True)
class Subject:
    """What is built of which clone."""

    history: History
    commit: str
    matrix: Matrix
    engine: str
    jobs: int
    sandbox: Kind

    @classmethod
    def of(cls, clone: Path, name: str, engine: str | None, jobs: int, sandbox: Kind) -> "Subject":
        """A commit of a clone, by its name; raises UserError if there is no such thing."""
        matrix = Matrix.load()
        found = matrix.engine(engine) if engine else History(clone).detect_engine(matrix.engines())
        history = History(clone, found)
        (commit,) = history.resolve_all([name])
        return cls(history, commit.sha, matrix, found.name, jobs, sandbox)

    def order(self, hosts: Hosts, log: Path) -> BuildOrder:
        """Its build on some hosts, as a bisection orders it; raises UserError if there is no way."""
        engine, version = self.matrix.engine(self.engine), self.history.version_at(self.commit)
        if version is None:
            raise UserError(f"{self.commit[:12]} has no version file of {engine.name}", "name another commit")
        recipe = self.matrix.recipe(engine, self.commit, version, hosts.toolchains)
        patches = self.matrix.patches_dir
        return BuildOrder(recipe, engine, self.history.path, patches, log, self.jobs, sandbox=self.sandbox)


def built(subject: Subject, place: Path, name: str, cache: str) -> Row:
    """A build by a cluster of one host, which ends with it; raises UserError if it fails."""
    crowd = Crowd(place / name, {name: Part.BUILDER}, ("--cache", cache))
    try:
        if amiss := crowd.settled():
            raise UserError(f"the cluster is not there ({amiss})", f"see {crowd.root}")
        connection = Connection(Address.read(crowd.address), None)
        connection.open()
        hosts = Hosts(connection, Home(place / f"{name}-asker"))
        try:
            order = subject.order(hosts, place / f"{name}.log")
            result = hosts.build(order, _told).result().result
        finally:
            hosts.close()
    finally:
        crowd.close()
    if result.outcome is not Outcome.BUILT:
        raise UserError(f"the build on {name} {result.outcome}: {result.first_error}", f"see {order.log}")
    return Row(name, result.cache_hits, result.cache_misses, result.cpu_seconds, result.wall_seconds)


def _told(event: Event) -> None:
    if event.kept:
        say(event.sentence)


@contextlib.contextmanager
def redis(place: Path) -> Iterator[str]:
    """The address of a redis-server that keeps nothing; raises UserError if there is none."""
    program = shutil.which("redis-server")
    if program is None:
        raise UserError("redis-server is not installed", "apt install redis-server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(place)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            if not any("Ready to accept connections" in line for line in server.stdout):
                raise UserError("redis-server does not start", f"try `{' '.join(words)}`")
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.terminate()


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What was asked for; exits with 2 for what cannot be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("commit", help="a release or a commit")
    parser.add_argument("--engine", help="what of it is built [default: as the clone tells]")
    parser.add_argument("--jobs", type=positive, default=2, help="compilations at once")
    parser.add_argument("--sandbox", choices=["auto", "off"], default="auto")
    parser.add_argument("--place", type=Path, help="a new directory [default: a temporary one that goes]")
    asked = parser.parse_args(words)
    if asked.place and asked.place.exists():
        parser.error(f"{asked.place} is there already")
    return asked


def main(words: list[str] | None = None) -> int:
    """Build twice and print; 1 if the second got too little, 2 with one line for what cannot be done."""
    asked = arguments(words)
    confined = asked.sandbox == "auto" and sandboxing.problem() is None
    try:
        kind = Kind.BUBBLEWRAP if confined else Kind.NONE
        subject = Subject.of(asked.clone, asked.commit, asked.engine, asked.jobs, kind)
        with tempfile.TemporaryDirectory(prefix="shared-cache-") as temporary:
            place = (asked.place or Path(temporary)).resolve()
            place.mkdir(parents=True, exist_ok=True)
            with redis(place) as cache:
                rows = [built(subject, place, name, cache) for name in ("first", "second")]
    except UserError as error:
        print(f"shared_cache: {error}", file=sys.stderr)
        return 2
    print("\n".join(table(rows)))
    about = {"commit": subject.commit, "engine": subject.engine, "sandbox": kind.value}
    print(json.dumps({**about, "builds": [asdict(row) for row in rows], "share": rows[-1].share}))
    return 0 if rows[-1].share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
