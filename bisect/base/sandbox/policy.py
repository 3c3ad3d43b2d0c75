"""PURE: what a command in a sandbox may see, write and use, and the arguments by which bubblewrap makes it so.

It has user, PID, IPC, UTS, cgroup and network namespaces of its own, no capability, a /tmp that ends with it, and of
the host's files only what builds and servers are made from and with, which it cannot write.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

TEMPORARY_BYTES = 1 << 30
"""The size of /tmp and of /dev/shm, which are in memory: what a build really needs goes where TMPDIR points to."""

ETC = (
    "alternatives", "centos-release", "debian_version", "fedora-release", "host.conf", "hosts", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "localtime", "lsb-release", "nsswitch.conf", "oracle-release", "os-release",
    "protocols", "redhat-release", "services", "ssl/openssl.cnf", "SuSE-release", "system-release", "timezone",
)  # fmt: skip
"""What is seen of /etc: how libraries and alternatives are found, which system it is, and how late it is there."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

SYS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
"""What is seen of /sys: servers ask how many CPUs and nodes of memory there are."""


class Wish(StrEnum):
    """What a user can ask: a sandbox where it works, a sandbox or nothing, or none."""

    AUTO = "auto"
    REQUIRE = "require"
    OFF = "off"


class Kind(StrEnum):
    """What a build was made in."""

    BUBBLEWRAP = "bubblewrap"
    NONE = "none"


@dataclass(frozen=True)
class Limits:
    """What one command may use: bytes of memory that a process of it may write to, processes with their threads, and
    bytes in a file. How long it may take is told where it is run."""

    memory_bytes: int
    processes: int = 4096
    file_bytes: int = 64 << 30


@dataclass(frozen=True)
class System:
    """What a host has for sandboxes: `links` are names such as /bin that lead into `directories`, which are shown
    whole; `controls` are parts of /proc that somebody may write to; `interpreter` are a Python and its library, for the
    guard; `guard` is its file; `hidden` are places that are not shown even if they are in a directory that is."""

    links: tuple[tuple[str, str], ...]
    directories: tuple[Path, ...]
    controls: tuple[str, ...]
    interpreter: tuple[Path, ...]
    guard: Path
    hidden: tuple[Path, ...]


@dataclass(frozen=True)
class Sandbox:
    """What is there for one command beside the system: `writable` and `readable` places by their own paths, and those
    of `named` by other paths, not to be written. Everything must exist."""

    limits: Limits
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    named: tuple[tuple[Path, Path], ...] = ()

    def arguments(self, system: System, directory: Path, *, joining: bool = False) -> list[str]:
        """For bubblewrap: the command begins in `directory`. One that is `joining` gets the user and PID namespaces
        that are named beside these arguments."""
        own = ("ipc", "net", "uts", *(() if joining else ("user", "pid")))
        words = [f"--unshare-{name}" for name in own]
        words += ["--unshare-cgroup-try", "--hostname", "sandbox", "--die-with-parent", "--cap-drop", "ALL"]
        words += [] if joining else ["--as-pid-1"]
        for place in system.directories:
            words += ["--ro-bind", str(place), str(place)]
        for name, target in system.links:
            words += ["--symlink", target, name]
        for name in ETC:
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        for name in SYS:
            words += ["--ro-bind-try", name, name]
        words += ["--proc", "/proc"]
        for name in system.controls:
            words += ["--ro-bind-try", name, name]
        # Not bubblewrap's own /dev: for its terminals it makes a second user namespace, which nobody can join.
        for name in DEVICES:
            words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
        for name, target in {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}.items():
            words += ["--symlink", f"/proc/self/fd{target}", f"/dev/{name}"]
        for name in ("/dev/shm", "/tmp"):
            words += ["--perms", "1777", "--size", str(TEMPORARY_BYTES), "--tmpfs", name]
        for place in system.hidden:
            if any(place.is_relative_to(shown) for shown in system.directories):
                words += ["--tmpfs", str(place)]
        for how, source, at in sorted(self._binds(system), key=lambda bind: len(bind[2].parts)):
            words += [how, str(source), str(at)]
        return [*words, "--remount-ro", "/", "--chdir", str(directory)]

    def _binds(self, system: System) -> Iterator[tuple[str, Path, Path]]:
        for place in dict.fromkeys((*system.interpreter, system.guard, *self.readable)):
            if place in system.interpreter or not is_shown(place, system):
                yield "--ro-bind", place, place
        for source, target in self.named:
            yield "--ro-bind", source, target
        for place in dict.fromkeys(self.writable):
            yield "--bind", place, place


def is_shown(place: Path, system: System) -> bool:
    """Whether a place is in every sandbox by itself."""
    below = any(
        place.is_relative_to(shown) for shown in (*system.directories, *(Path(name) for name, _ in system.links))
    )
    return below and not any(place.is_relative_to(hidden) for hidden in system.hidden)


def prefixes(programs: Sequence[Path], system: System, private: Sequence[Path]) -> tuple[Path, ...]:
    """What must be shown for some programs to run: of one outside the system the directory that it is installed below,
    PREFIX of PREFIX/bin/NAME, unless something `private` lies in there; then only the directory that it is in."""
    found = []
    for program in programs:
        if is_shown(program, system):
            continue
        prefix = program.parent.parent if program.parent.name in ("bin", "sbin") else program.parent
        if prefix == Path("/") or any(place.is_relative_to(prefix) for place in private):
            prefix = program.parent
        found.append(prefix)
    return tuple(dict.fromkeys(found))
