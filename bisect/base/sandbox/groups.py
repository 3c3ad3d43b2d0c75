"""Control groups: where no systemd does, they hold the limits of all processes of a command together.

They are for root, whose processes RLIMIT_NPROC does not limit, in a user namespace of whatever ids neither. A group is
made by the guard of a command, below a directory that is found and tried here once, and removed by it; what a guard
that was killed left is removed with the next look.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PREFIX = "cpubisect-"
"""Groups are called so, with the id of a process behind."""

PROCESSES, MEMORY = "pids.max", "memory.max"
"""The files of a group that hold its limits; the second is only in those of the second version."""

_TRIAL_S = 10.0
_JOIN = 'echo $$ >"$1/cgroup.procs"'
_MOUNT = re.compile(r"\S+ \S+ \S+ (?P<root>\S+) (?P<at>\S+) .*? - (?P<kind>\S+) \S+ (?P<options>\S+)")


@dataclass(frozen=True)
class Groups:
    """Where groups can be made: `parent` is their directory; `memory` tells whether they hold that limit too."""

    parent: Path
    memory: bool


@cache
def groups() -> Groups | None:
    """Where groups for commands can be made here; None if nowhere. It is tried once."""
    try:
        places = candidates(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    except OSError:
        return None
    return next((found for place in places if (found := _tried(place))), None)


def candidates(mounts: str, own: str) -> Iterator[Path]:
    """PURE: the directories in which a group with a limit of processes might be made, by the texts of
    /proc/self/mountinfo and /proc/self/cgroup: beside our own group and above, in the second version, where a group
    with processes has no groups below, and below it in the first."""
    memberships = [line.split(":", 2) for line in own.splitlines() if line.count(":") >= 2]
    paths = {name: path for _, names, path in memberships for name in names.split(",")}
    found = [match for line in mounts.splitlines() if (match := _MOUNT.match(line))]
    for mount in found:
        if mount["kind"] == "cgroup2" and (place := _below(mount, paths.get(""))):
            top = Path(_unescaped(mount["at"]))
            yield from [above for above in place.parents if above.is_relative_to(top)] or [top]
    for mount in found:
        known = mount["kind"] == "cgroup" and "pids" in mount["options"].split(",")
        if known and (place := _below(mount, paths.get("pids"))):
            yield place


def _below(mount: re.Match[str], path: str | None) -> Path | None:
    """Where a group is in a mount; None if it is not in there."""
    root = _unescaped(mount["root"])
    if path is None or ".." in Path(path).parts or not Path(path).is_relative_to(root):
        return None
    return Path(_unescaped(mount["at"])) / Path(path).relative_to(root)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _tried(place: Path) -> Groups | None:
    """Make a group with a limit in a directory, have a process join it, and remove it."""
    _remove_leftovers(place)
    trial = place / f"{PREFIX}{os.getpid()}"
    try:
        trial.mkdir(exist_ok=True)
        try:
            # Opened as it is there: a file that is not would be made where this is no control group.
            descriptor = os.open(trial / PROCESSES, os.O_WRONLY)
            os.write(descriptor, b"16")
            os.close(descriptor)
            words = ["sh", "-c", _JOIN, "sh", str(trial)]
            joined = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_S)
            return Groups(place, (trial / MEMORY).exists()) if joined.returncode == 0 else None
        finally:
            trial.rmdir()
    except (OSError, subprocess.TimeoutExpired):
        return None


def _remove_leftovers(place: Path) -> None:
    """Remove the groups of processes that are gone; one in which any is left stays by itself."""
    for group in place.glob(f"{PREFIX}*"):
        if not Path("/proc", group.name.removeprefix(PREFIX)).exists():
            with contextlib.suppress(OSError):
                group.rmdir()
