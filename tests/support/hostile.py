"""Commits that try to get out of their build, and what there is to be reached: each attempt says what it got."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from small_trees import commit

TOKEN = "s3cret-of-an-ancestor"
OWNED = "taken over"

SANDBOX, NONE = "bubblewrap", "none"

MAKEFILE = "EVIL := $(shell sh tools/evil.sh)\n\ndb_bench:\n\tcp reached db_bench\n"
LISTS = """\
cmake_minimum_required(VERSION 3.17)
project(toy C)
execute_process(COMMAND sh tools/evil.sh WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_custom_target(db_bench COMMAND cp ${CMAKE_SOURCE_DIR}/reached ${CMAKE_BINARY_DIR}/db_bench)
"""
BUILDERS = {"make": "cpubisect.builders.rocksdb:BUILDER", "cmake": "cmake_builder:BUILDER"}


@dataclass(frozen=True)
class World:
    """A host as a build meets it: everything in `root` belongs to the user, `clone` has the hostile commit."""

    root: Path
    port: int
    abstract: str
    victim: int

    @property
    def clone(self) -> Path:
        return self.root / "clone"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def store(self) -> Path:
        return self.home / "store.sqlite"

    @property
    def artifact(self) -> Path:
        return self.home / "artifacts" / "ab" / "db_bench"

    @property
    def other_tree(self) -> Path:
        return self.home / "work" / "other" / "tree" / "main.cc"

    @property
    def key(self) -> Path:
        return self.root / "user" / ".ssh" / "id"

    @property
    def cache(self) -> Path:
        return self.home / "ccache" / "entry"

    @property
    def marker(self) -> Path:
        return self.root / "marker"

    def attempts(self) -> dict[str, str]:
        """What is tried, by name: a shell script that prints what it got."""
        connect = "import socket; s = socket.socket(%s); s.connect(%s); print(s.recv(9).decode())"
        network = connect % ("socket.AF_INET", f"('127.0.0.1', {self.port})")
        local = connect % ("socket.AF_UNIX", f"'\\0{self.abstract}'")
        return {
            "environment of ancestors": f"cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a '{TOKEN}'",
            "environment of its own": f"env | grep '{TOKEN}'",
            "clone by alternates": "alternate=$(cat .git/objects/info/alternates ../git/objects/info/alternates | "
            'head -n 1); [ -d "$alternate" ] && echo >"$alternate/../evil" && echo written',
            "clone by its path": f"echo >'{self.clone}/.git/evil' && echo written",
            "history of the clone": f"git -C '{self.clone}' log --format=%s",
            "store": f"cat '{self.store}'",
            "artifact of another commit": f"echo {OWNED} >'{self.artifact}' && echo written",
            "tree of another build": f"echo {OWNED} >>'{self.other_tree}' && echo written",
            "key in the home directory": f"cat '{self.key}'",
            "entry of the compiler cache": f"echo {OWNED} >'{self.cache}' && echo written",
            "network": f'python3 -c "{network}"',
            "socket without a name": f'python3 -c "{local}"',
            "another process": f"kill -KILL {self.victim} && echo killed",
            "a place outside": f"[ -d '{self.artifact.parent}' ] && echo >'{self.marker}' && echo written",
        }

    def state(self) -> dict[str, object]:
        """What must not change."""
        files = sorted(path for path in self.clone.joinpath(".git").rglob("*") if path.is_file())
        stat = Path(f"/proc/{self.victim}/stat").read_text().rpartition(")")[2].split()[0]
        return {
            "clone": [(str(path), path.stat().st_mtime_ns) for path in files],
            "store": self.store.read_text(),
            "artifact": self.artifact.read_text(),
            "tree": self.other_tree.read_text(),
            "cache": self.cache.read_text(),
            "marker": self.marker.exists(),
            "victim": stat in "SD",
        }


@contextmanager
def world(root: Path) -> Iterator[World]:
    """A host with everything that is tried to be reached."""
    with socket.socket() as server, socket.socket(socket.AF_UNIX) as unix:
        server.bind(("127.0.0.1", 0))
        abstract = f"cpubisect-{os.getpid()}-{root.name}"
        unix.bind(f"\0{abstract}")
        for one in (server, unix):
            one.listen(16)
        greet = (
            "import select, socket\n"
            f"both = [socket.socket(fileno=n) for n in ({server.fileno()}, {unix.fileno()})]\n"
            "while True:\n    for one in select.select(both, [], [])[0]:\n"
            "        found, _ = one.accept()\n        found.sendall(b'reached')\n        found.close()\n"
        )
        greeter = subprocess.Popen([sys.executable, "-c", greet], pass_fds=(server.fileno(), unix.fileno()))
        victim = subprocess.Popen(["sleep", "1000"])
        try:
            made = World(root, server.getsockname()[1], abstract, victim.pid)
            for path, text in (
                (made.store, "bisections\n"),
                (made.artifact, "the program\n"),
                (made.other_tree, "int main() {}\n"),
                (made.key, "private key\n"),
                (made.cache, "object\n"),
            ):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            yield made
        finally:
            for process in (greeter, victim):
                process.kill()
                process.wait()


def script(attempts: dict[str, str]) -> str:
    """A shell script that makes all attempts and leaves, in `reached`, a line for each that got something."""
    lines = ["#!/bin/sh", ": >reached"]
    for name, attempt in attempts.items():
        lines.append(f"got=$( ( {attempt} ) 2>/dev/null | head -c 200 | tr '\\n' ' ')")
        lines.append(f'[ -z "$got" ] || echo "{name}: $got" >>reached')
    return "\n".join(lines) + "\n"


def reached(text: str) -> dict[str, str]:
    """What a script's report says, by attempt."""
    return dict(line.split(": ", 1) for line in text.splitlines())


ASKER = """
import json, sys
from dataclasses import replace
from pathlib import Path
from cpubisect.base.sandbox.policy import Kind
from cpubisect.builders.build import BuildSettings, Recipe, Toolchain
from cpubisect.builders.carry import carry_out
from cpubisect.builders.recipes.toolchain import installed_toolchains
sys.path.insert(0, sys.argv[2])
from {module} import {builder} as builder
asked = json.loads(sys.argv[1])
root = Path(asked["root"])
recipe = Recipe("toy", asked["sha"], "1.0", installed_toolchains()[0], asked["system"])
settings = BuildSettings(
    ccache_dir=root / "home/ccache", patches_dir=root, sandbox=Kind(asked["kind"]), silence_s=60.0, timeout_s=300.0
)
done = carry_out(recipe, builder, root / "clone", root / "home/work" / asked["kind"], settings)
said = (done.output / "db_bench").read_text(errors="replace") if done.output else ""
print(json.dumps([done.outcome, said, done.first_error, done.log.read_text(errors="replace")[-3000:]]))
"""
"""Who asks for a build, in a process of its own with a token in its environment."""


@dataclass(frozen=True)
class Built:
    """How a build of a hostile commit ended: `said` is what became of its `db_bench`."""

    outcome: str
    said: str
    error: str
    log: str


def build(
    root: Path, sha: str, kind: str, *, system: str = "make", builder: str = "cpubisect.builders.rocksdb:BUILDER"
) -> Built:
    """Have a commit of the clone in `root` built, with a token in the environment of who asks."""
    asked = {"root": str(root), "sha": sha, "kind": kind, "system": system}
    module, _, name = builder.partition(":")
    code = ASKER.format(module=module, builder=name)
    homes = {"CPUBISECT_HOME": str(root / "home"), "HOME": str(root / "user")}
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(asked), str(Path(__file__).parent)],
        env={**os.environ, **homes, "GITHUB_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Built(*json.loads(done.stdout.splitlines()[-1]))


class Tried:
    """A hostile commit built by one system in both ways, each in a world of its own: what was `reached`, and whether
    anything of the host was `changed`, by kind."""

    def __init__(self, directory: Path, system: str) -> None:
        self.reached: dict[str, dict[str, str]] = {}
        self.changed: dict[str, bool] = {}
        for kind in (SANDBOX, NONE):
            root = directory / kind
            root.mkdir()
            with world(root) as there:
                files = {"Makefile": MAKEFILE, "CMakeLists.txt": LISTS, "tools/evil.sh": script(there.attempts())}
                sha = commit(there.clone, files)
                before = there.state()
                built = build(root, sha, kind, system=system, builder=BUILDERS[system])
                assert built.outcome == "built", built
                self.reached[kind] = reached(built.said)
                self.changed[kind] = there.state() != before
