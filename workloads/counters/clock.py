"""What another process has used so far: CPU time and context switches of all its threads."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_PROCESS_CPU_CLOCK = 2


@dataclass(frozen=True)
class Clocks:
    """The clocks of a process at one moment: `cpu_ns` is user plus system time of all threads since its start,
    `switches` maps a living thread's id to its context switches, voluntary and forced, since that thread's start."""

    cpu_ns: int
    switches: Mapping[int, int]


@dataclass(frozen=True)
class Spent:
    """What a process used between two readings: CPU time in ns, and context switches.

    The switches of a thread that ended in between are not known and count as none.
    """

    cpu_ns: int
    switches: int


def cpu_ns(pid: int) -> int:
    """CPU time of a process in ns, all threads, ended ones included; raises ProcessLookupError if it is gone.

    Exact while the process waits. The kernel moves the clock of a running thread with its ticks, so each of those may
    be a tick (1 to 10 ms) behind. The clock's id is that of clock_getcpuclockid(3) on Linux: the complement of the pid
    shifted left by three, with the kind of clock in the low bits.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | _PROCESS_CPU_CLOCK)
    except OSError as error:
        raise ProcessLookupError(f"no process {pid}") from error


def context_switches(pid: int) -> dict[int, int]:
    """Context switches of every living thread of a process; raises ProcessLookupError if it is gone."""
    counts: dict[int, int] = {}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                counts[int(task.name)] = _switches((task / "status").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue  # the thread ended while we looked
    except FileNotFoundError as error:
        raise ProcessLookupError(f"no process {pid}") from error
    return counts


def read(pid: int) -> Clocks:
    """Read both clocks now; raises ProcessLookupError if the process is gone."""
    return Clocks(cpu_ns(pid), context_switches(pid))


def between(before: Clocks, after: Clocks) -> Spent:
    """What was used from `before` to `after`, two readings of one process."""
    switches = sum(count - before.switches.get(thread, 0) for thread, count in after.switches.items())
    return Spent(after.cpu_ns - before.cpu_ns, switches)


def _switches(status: str) -> int:
    return sum(
        int(line.partition(":")[2])
        for line in status.splitlines()
        if line.startswith(("voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"))
    )
