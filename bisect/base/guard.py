"""Runs one command so that it cannot outlive whoever asked for it; started by `process.py`, never imported.

Protocol: argv is `control_fd result_fd -- command…`. The asker holds the other end of the control pipe; when it
closes, by intent or because the asker was killed, every process descended from the command is killed. On the result
pipe go two lines of names and numbers: `pid …` after the start, and the exit status with resource use at the end.
It is started for every command, so it imports little before it must.
"""

import ctypes
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def descendants() -> list[int]:
    """Process ids of all descendants; orphans count, for this process is their subreaper, and so do zombies: one may be
    a process whose other threads still run."""
    from pathlib import Path

    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def kill_descendants() -> None:
    """Kill and reap until nothing is left: a process may fork between the listing and the kill."""
    while reap():
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.002)


def reap() -> bool:
    """Collect whatever has ended, so that its resource use counts and no zombie stays; False if nothing is left, for
    every orphan below becomes our child."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def line(**numbers: float) -> bytes:
    """A line for the result pipe."""
    return " ".join(f"{name} {number!r}" for name, number in numbers.items()).encode() + b"\n"


def main() -> int:
    control, result = int(sys.argv[1]), int(sys.argv[2])
    command = sys.argv[4:]
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    started = time.monotonic()
    guard = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            # A guard that was killed before that sends no signal.
            if os.getppid() != guard:
                os._exit(127)
            for restored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(restored, signal.SIG_DFL)
            os.close(control)
            os.close(result)
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(127)
    os.write(result, line(pid=pid))
    child = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(child, select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLHUP)
    if child not in dict(poll.poll()):
        # Nobody waits for a report any more.
        kill_descendants()
        return 0
    _, status, own = os.wait4(pid, 0)
    wall = time.monotonic() - started
    kill_descendants()
    report = line(
        returncode=os.waitstatus_to_exitcode(status),
        cpu_seconds=own.ru_utime + own.ru_stime,
        wall_seconds=wall,
        max_rss_kib=own.ru_maxrss,
        context_switches=own.ru_nvcsw + own.ru_nivcsw,
    )
    try:
        os.write(result, report)
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
