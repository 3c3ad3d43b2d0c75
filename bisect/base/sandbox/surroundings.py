"""What this host shows in every sandbox, looked up once."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from shutil import which

from cpubisect.base.home import home_directory
from cpubisect.base.sandbox.groups import groups
from cpubisect.base.sandbox.policy import Limits, Sandbox, System, is_shown, prefixes

PROGRAM = "bwrap"
SYSTEMD = Path("/run/systemd/system")
"""A directory that is there as long as systemd runs."""

_SCOPE = ("systemd-run", "--scope", "--quiet", "--collect")
_ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_GUARD = Path(__file__).resolve().parent.with_name("guard.py")


def system() -> System:
    """The directories of the system, and the Python that guards the command in a sandbox."""
    return replace(_system(), hidden=_private())


@cache
def _system() -> System:
    roots = [Path(name) for name in _ROOTS]
    # The interpreter may be below somebody's home: it and its library are shown, not what is beside them.
    python = Path(os.path.realpath(sys.executable))
    library = Path(sys.base_prefix).resolve() / sys.platlibdir
    directories = tuple(place for place in roots if place.is_dir() and not place.is_symlink())
    outside = tuple(
        place for place in (python, library) if not any(place.is_relative_to(shown) for shown in directories)
    )
    return System(
        links=tuple((str(place), str(place.readlink())) for place in roots if place.is_symlink()),
        directories=directories,
        controls=tuple(sorted(_controls(Path("/proc")))),
        interpreter=outside,
        guard=_GUARD,
        hidden=(),
    )


def _controls(proc: Path) -> Iterator[str]:
    """The parts of /proc by which the whole host can be changed: root is their owner even where it has no capability,
    and may write to /proc/sys/kernel/core_pattern, say."""
    for place in proc.iterdir():
        if place.is_symlink() or place.name.isdigit():
            continue
        if place.is_dir() or place.stat().st_mode & 0o222:
            yield str(place)


def _private() -> tuple[Path, ...]:
    """The user's home directory and ours, unless they are so high that everything is in them."""
    places = (Path.home().resolve(), home_directory().resolve())
    return tuple(place for place in dict.fromkeys(places) if len(place.parts) > 1)


def confined(
    writable: Iterable[Path] = (),
    readable: Iterable[Path] = (),
    named: Iterable[tuple[Path, Path]] = (),
    *,
    programs: Iterable[str] = (),
    path: str | None = None,
) -> Sandbox:
    """A sandbox on this host in which some places can be written and read, and some programs of a search path run;
    libraries are found where LD_LIBRARY_PATH says."""
    found = (which(program, path=path) for program in programs)
    real = [place for program in found if program for place in (Path(program).absolute(), Path(program).resolve())]
    shown = prefixes(real, system(), _private())
    libraries = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if entry]
    private = _private()
    shown += tuple(
        place for place in libraries if place.is_dir() and not any(one.is_relative_to(place) for one in private)
    )
    # An eighth is left to the host.
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 7 // 8
    return Sandbox(
        Limits(memory),
        tuple(place.resolve() for place in writable),
        tuple(dict.fromkeys((*(place.absolute() for place in readable), *shown))),
        tuple(named),
    )


def bubblewrap() -> str:
    """The program, wherever the command in the sandbox looks for its own."""
    return which(PROGRAM) or PROGRAM


def scope(limits: Limits) -> tuple[str, ...]:
    """What stands before bubblewrap so that systemd holds the limits, of all processes of a command together; nothing
    where it cannot. It is for root: the kernel limits the number of processes of any other user by itself."""
    if os.geteuid() != 0 or not _has_scopes():
        return ()
    limited = ("-p", f"TasksMax={limits.processes}", "-p", f"MemoryMax={limits.memory_bytes}")
    return (which(_SCOPE[0]) or _SCOPE[0], *_SCOPE[1:], *limited, "--")


def grouped() -> str:
    """The directory in which the guard of a command makes a control group that holds its limits; empty where systemd
    does, where it cannot, and for other users than root."""
    if os.geteuid() != 0 or _has_scopes():
        return ""
    found = groups()
    return str(found.parent) if found else ""


class Held(StrEnum):
    """Who holds the limits of all processes of a command together, in words for `bisect doctor`."""

    KERNEL = "the kernel limits the number of processes, and the memory of each"
    SYSTEMD = "systemd limits the memory and the number of processes of each command"
    GROUP = "a control group limits the memory and the number of processes of each command"
    PROCESSES = "a control group limits the number of processes of each command, the kernel the memory of each process"
    NOTHING = "nothing limits the number of processes, which root runs"


def held() -> Held:
    """Who holds the limits here."""
    if os.geteuid() != 0:
        return Held.KERNEL
    if _has_scopes():
        return Held.SYSTEMD
    found = groups()
    return (Held.GROUP if found.memory else Held.PROCESSES) if found else Held.NOTHING


@cache
def _has_scopes() -> bool:
    """Whether systemd runs here and makes a scope; it is tried once."""
    if not SYSTEMD.is_dir() or which(_SCOPE[0]) is None:
        return False
    try:
        tried = subprocess.run([*_SCOPE, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        return False
    return tried.returncode == 0


def visible_path(path: str, sandbox: Sandbox) -> str:
    """A search path without what is not there in a sandbox."""
    entries = [Path(entry) for entry in path.split(os.pathsep) if entry]
    seen = (
        entry
        for entry in entries
        if is_shown(entry, system()) or any(entry.is_relative_to(place) for place in sandbox.readable)
    )
    return os.pathsep.join(dict.fromkeys(map(str, seen)))
