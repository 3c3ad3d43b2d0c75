"""The processes below a bisection: found in /proc by a directory that only they know, and killed one at a time."""

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from soaking.plan import Kind

_COMPILERS = ("cc1", "cc1plus", "as", "ld", "collect2", "ccache", "lto1")
_DRIVERS = ("gcc", "g++", "clang", "cc", "c++")
_LOOK_S = 0.02
_PARENT, _STARTED = 1, 19


@dataclass(frozen=True)
class Process:
    """One that runs: `started` tells it from another one with its id, in clock ticks since the boot."""

    pid: int
    started: int
    kind: Kind
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} ({' '.join(self.words)[:120]})"


def kind_of(words: Sequence[str]) -> Kind:
    """What a process is, by its command line."""
    names = [word.rpartition("/")[2] for word in words]
    if "cpubisect.cli" in words:
        asked = words[words.index("cpubisect.cli") + 1 :][:1]
        return {"serve": Kind.SERVE, "worker": Kind.WORKER}.get("".join(asked), Kind.COMMAND)
    if "guard.py" in names:
        return Kind.GUARD
    first = names[0] if names else ""
    if first in _COMPILERS or first.startswith(_DRIVERS) or "with_header.py" in names:
        return Kind.COMPILER
    if first == "db_bench" or (first.startswith(("valgrind", "callgrind")) and "db_bench" in names):
        return Kind.PROGRAM
    return Kind.OTHER


def below(place: Path) -> list[Process]:
    """All that run with something of a directory in their environment, command line or working directory, and what
    they started, which may know nothing of it; but us."""
    mark = os.fsencode(f"{place}/")
    seen: dict[int, tuple[int, Process]] = {}
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError, ValueError):
            line = (entry / "cmdline").read_bytes()
            words = tuple(os.fsdecode(word) for word in line.split(b"\0")[:-1])
            stat = _stat(entry)
            if not line:
                continue
            process = Process(int(entry.name), int(stat[_STARTED]), kind_of(words), words)
            seen[process.pid] = int(stat[_PARENT]), process
            known = (line, (entry / "environ").read_bytes(), os.fsencode(f"{(entry / 'cwd').readlink()}/"))
            if any(mark in text for text in known):
                found.add(process.pid)
    while more := {pid for pid, (parent, _) in seen.items() if parent in found} - found:
        found |= more
    return sorted((seen[pid][1] for pid in found), key=lambda process: (process.started, process.pid))


def kill(process: Process) -> bool:
    """Kill it at once; False if it has ended by itself."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        entry = Path(f"/proc/{process.pid}")
        if not (entry / "cmdline").read_bytes() or int(_stat(entry)[_STARTED]) != process.started:
            return False  # without a command line it is about to end, or has
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def left_after(place: Path, patience_s: float) -> list[Process]:
    """What is still there so many seconds later, when whoever asked for it is gone; none as soon as there is none."""
    deadline = time.monotonic() + patience_s
    while (found := below(place)) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return found


def _stat(entry: Path) -> list[str]:
    """The fields of a process from its state on; raises OSError if there is none."""
    return (entry / "stat").read_text().rpartition(")")[2].split()
