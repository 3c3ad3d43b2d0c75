"""One function per property of this host that decides how well it measures."""

import os
import shutil
from pathlib import Path

from cpubisect.workloads.addresses import fixed_addresses
from cpubisect.workloads.check import Check, Files, Status

_CPU = "sys/devices/system/cpu"
_GIB = 1 << 30
# A RocksDB or MySQL build tree takes 1–3 GB, and several are alive at once beside the kept artifacts.
_DISK_OK, _DISK_LEAST = 20 * _GIB, 5 * _GIB
# One compiler needs up to 2 GiB on the largest files, and a server under valgrind about as much.
_MEMORY_OK, _MEMORY_LEAST = 4 * _GIB, 2 * _GIB


def governor(files: Files) -> Check:
    """The CPU frequency governor; anything but `performance` lets the clock wander with load."""
    name, found = "CPU governor", files.text(f"{_CPU}/cpu0/cpufreq/scaling_governor")
    if found is None:
        return Check(name, Status.OK, "not under this system's control")
    if found == "performance":
        return Check(name, Status.OK, found)
    return Check(name, Status.WARN, f"{found}: the clock follows load", "cpupower frequency-set -g performance")


def turbo(files: Files) -> Check:
    """Turbo or boost; on, the clock depends on heat and on what the other cores do."""
    name = "turbo"
    for path, on, off in (
        (f"{_CPU}/intel_pstate/no_turbo", "0", "1"),
        (f"{_CPU}/cpufreq/boost", "1", "0"),
    ):
        found = files.text(path)
        if found == on:
            fix = f"sh -c 'echo {off} > /{path}'"
            return Check(name, Status.WARN, "on: the clock depends on heat and on neighbours", fix)
        if found is not None:
            return Check(name, Status.OK, "off")
    return Check(name, Status.OK, "not under this system's control")


def smt(files: Files) -> Check:
    """Simultaneous multithreading; a busy sibling slows a measured thread."""
    if files.text(f"{_CPU}/smt/active") == "1":
        fix = f"sh -c 'echo off > /{_CPU}/smt/control'"
        return Check("SMT", Status.WARN, "on: a busy sibling slows a measured thread", fix)
    return Check("SMT", Status.OK, "off")


def aslr(files: Files) -> Check:
    """Address randomisation; each probe switches it off for itself, which needs setarch."""
    name, found = "ASLR", files.text("proc/sys/kernel/randomize_va_space")
    if found == "0":
        return Check(name, Status.OK, "off")
    if shutil.which("setarch") is None:
        return Check(name, Status.MISSING, "on, and no setarch to switch it off", "apt-get install -y util-linux")
    if not fixed_addresses():
        return Check(name, Status.WARN, "on, and this host forbids to switch it off: counts vary a little")
    return Check(name, Status.OK, "on, switched off for each probe by setarch")


def load(files: Files) -> Check:
    """Load of the last minute, per core; other work takes cache and clock from the measured process."""
    name, cores = "load", len(os.sched_getaffinity(0))
    one_minute = float((files.text("proc/loadavg") or "0").split()[0])
    found = f"{one_minute:.2f} on {cores} cores"
    if one_minute > 0.5 * cores:
        return Check(name, Status.WARN, f"{found}: CPU time will be noisy", "ps -eo pcpu,pid,args --sort=-pcpu | head")
    return Check(name, Status.OK, found)


def disk(root: Path) -> Check:
    """Free space where trees, builds and databases go."""
    place = root
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    status = _graded(free, _DISK_OK, _DISK_LEAST)
    fix = "" if status is Status.OK else "bisect artifacts prune"
    return Check("free disk", status, f"{free / _GIB:.0f} GiB at {place}", fix)


def memory(files: Files) -> Check:
    """Memory that is available without swapping."""
    available = meminfo_bytes(files.text("proc/meminfo") or "", "MemAvailable")
    status = _graded(available, _MEMORY_OK, _MEMORY_LEAST)
    fix = "" if status is Status.OK else "ps -eo rss,pid,args --sort=-rss | head"
    return Check("free memory", status, f"{available / _GIB:.1f} GiB", fix)


def pinning(_: Files) -> Check:
    """Whether a process may be tied to cores, and how many there are to choose from."""
    name = "CPU pinning"
    if shutil.which("taskset") is None:
        return Check(name, Status.MISSING, "no taskset", "apt-get install -y util-linux")
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        return Check(name, Status.WARN, "one core only: client and server share it")
    return Check(name, Status.OK, f"{len(allowed)} cores to choose from")


def meminfo_bytes(meminfo: str, key: str) -> int:
    """One line of /proc/meminfo, in bytes; 0 if it is not there."""
    for line in meminfo.splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0


def _graded(amount: int, ok: int, least: int) -> Status:
    if amount >= ok:
        return Status.OK
    return Status.WARN if amount >= least else Status.MISSING
