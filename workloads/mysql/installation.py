"""A built server as found on disk, the places its files go to, and the making of its data directory."""

import mmap
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cpubisect.base.disk.scratch import temporary
from cpubisect.base.process import run
from cpubisect.base.sandbox import inside
from cpubisect.base.sandbox.policy import Kind, Sandbox
from cpubisect.base.sandbox.surroundings import confined
from cpubisect.base.version import Version
from cpubisect.workloads.mysql.settings import Flavour, own_words
from cpubisect.workloads.probe import ProbeError

_SOCKET_PATH_LIMIT = 108
_LONGEST_NAME = 32
_INITIALIZES = b"initialize-insecure"
_LC_MESSAGES_SINCE = Version((5, 5))
_HARMLESS = re.compile(r"\[(?:Warning|Note|System)\]")
_TELLING = re.compile(
    r"got (?:signal|exception)|assertion|unknown (?:option|variable|suffix)|ambiguous|\[ERROR\]|\bfatal\b|"
    r"error while loading shared libraries|cannot execute|no such file|not permitted",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Installation:
    """A built server: `artifact` holds `mysqld`, `share/` (messages and character sets) and `scripts/` (system tables).

    `flavour` is what the binary says of itself, `version` what its source tree says; `modern` if the server makes its
    data directory itself. That came while trees said 5.7.6, so it is the binary that is asked. `kind` is what it and
    its clients run in.
    """

    artifact: Path
    version: Version
    flavour: Flavour
    modern: bool
    kind: Kind = Kind.NONE

    @classmethod
    def find(cls, artifact: Path, version: Version, kind: Kind = Kind.NONE) -> Self:
        """Look at an artifact; raises ProbeError if its server does not even tell its version."""
        sandbox = confined(readable=(artifact,)) if kind is Kind.BUBBLEWRAP else None
        command = (str(artifact / "mysqld"), "--no-defaults", "--version")
        finished = run(command, env=environment(Path("/tmp")), timeout_s=60, sandbox=sandbox)
        if not finished.ok:
            raise ProbeError(f"mysqld --version fails: {telling_line(finished.output)}")
        flavour = Flavour.MARIADB if "MariaDB" in finished.output else Flavour.MYSQL
        with (artifact / "mysqld").open("rb") as binary, mmap.mmap(binary.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return cls(artifact, version, flavour, modern=text.find(_INITIALIZES) >= 0, kind=kind)

    def sandbox(self, place: "Place", *readable: Path) -> Sandbox | None:
        """What a server at a place runs in: it sees itself and writes to its own files and to those by which it is
        reached; None if it is to run without. `readable` is what it is fed with."""
        if self.kind is not Kind.BUBBLEWRAP:
            return None
        return confined(writable=(place.own, place.socket.parent), readable=(self.artifact, *readable))

    def client_sandbox(self, place: "Place", *readable: Path) -> Sandbox | None:
        """What a client of the server at a place runs in: it only reaches the server; None as above."""
        if self.kind is not Kind.BUBBLEWRAP:
            return None
        return confined(writable=(place.socket.parent,), readable=readable)

    def command(self, data: Path, temporary: Path, options: Sequence[str]) -> tuple[str, ...]:
        """The command line, which reads no configuration file: `options`, and then what must be so whatever they say,
        since a server takes the last of several: where its files are and that it listens on no port."""
        share = self.artifact / "share"
        messages = f"--lc-messages-dir={share}"
        if self.version < _LC_MESSAGES_SINCE:
            messages = f"--language={share / 'english'}"
        words = [
            str(self.artifact / "mysqld"),
            "--no-defaults",
            *options,
            f"--basedir={self.artifact}",
            f"--datadir={data}",
            f"--tmpdir={temporary}",
            f"--loose-secure-file-priv={temporary}",
            f"--loose-plugin-dir={self.artifact / 'lib' / 'plugin'}",
            messages,
            f"--character-sets-dir={share / 'charsets'}",
            "--skip-networking",
            *own_words(self.flavour, self.version),
        ]
        if os.geteuid() == 0:
            words.append("--user=root")
        return tuple(words)


@dataclass(frozen=True)
class Place:
    """Where one server lives: `data` and `temporary` are directories in one that it may write to, `socket` is short
    enough for the kernel, `log` takes what the server prints."""

    data: Path
    temporary: Path
    socket: Path
    log: Path

    @classmethod
    def below(cls, directory: Path, sockets: Path, name: str) -> Self:
        """A place for the server `name` below `directory`, its socket in `sockets`; makes what is missing."""
        home = directory / name
        own = home / "own"
        temporary = own / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        return cls(own / "data", temporary, sockets / f"{name}.sock", home / "server.log")

    @property
    def own(self) -> Path:
        """The directory that the server may write to; our logs are not in there."""
        return self.data.parent

    def copy_data(self, other: "Place") -> None:
        """Copy the data directory of `other`, whose server must have stopped; links stay what they are. Raises
        ProbeError if that left something else."""
        try:
            inside.copy_tree(other.data, self.data)
        except inside.Outside as refused:
            raise ProbeError(f"the data cannot be copied: {refused}", other.log) from refused


@contextmanager
def short_directory(scratch: Path) -> Iterator[Path]:
    """A directory for sockets and pipes: in `scratch` if the paths stay under the kernel's 108 bytes, else a temporary
    one that is removed at the end."""
    inside = scratch / "run"
    if len(os.fsencode(inside)) + _LONGEST_NAME < _SOCKET_PATH_LIMIT:
        inside.mkdir(parents=True, exist_ok=True)
        yield inside
        return
    with temporary(directory=Path("/tmp")) as outside:
        yield outside


def environment(temporary: Path) -> dict[str, str]:
    """The environment of servers and clients: nothing of the user's that could change what they do or print."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD")}
    return {**kept, "LC_ALL": "C", "TZ": "UTC", "HOME": str(temporary), "TMPDIR": str(temporary)}


def telling_line(text: str) -> str:
    """The line of a server's output that says why it failed: the first that looks like an error, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _HARMLESS.search(line)]
    return next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else "it printed nothing")


def initialise(installation: Installation, place: Place, options: Sequence[str], timeout_s: float = 300.0) -> None:
    """Make the data directory of `place`, with system tables; raises ProbeError if the server cannot."""
    log, fed = place.log.with_name("initialise.log"), tuple[Path, ...]()
    command = installation.command(place.data, place.temporary, options)
    if installation.modern:
        argv: tuple[str, ...] = (*command, "--initialize-insecure")
    else:
        statements = _bootstrap_file(installation, place)
        fed = (statements,)
        (place.data / "mysql").mkdir(parents=True)
        feed = 'input=$1; shift; exec "$@" <"$input"'
        argv = ("/bin/sh", "-c", feed, "bootstrap", str(statements), *command, "--skip-grant-tables", "--bootstrap")
    sandbox = installation.sandbox(place, *fed)
    finished = run(argv, env=environment(place.temporary), timeout_s=timeout_s, log=log, sandbox=sandbox)
    if finished.timed_out:
        raise ProbeError(f"the server made no data directory within {timeout_s:.0f} s", log)
    if not finished.ok:
        raise ProbeError(f"the server makes no data directory: {telling_line(finished.output)}", log)


def _bootstrap_file(installation: Installation, place: Place) -> Path:
    scripts = installation.artifact / "scripts"
    path = place.log.with_name("bootstrap.sql")
    try:
        parts = [(scripts / f"mysql_system_tables{part}.sql").read_bytes() for part in ("", "_data")]
    except OSError as error:
        raise ProbeError(f"the artifact has no bootstrap script {error.filename}") from error
    path.write_bytes(b"\n".join([b"use mysql;", *parts, b""]))
    return path
