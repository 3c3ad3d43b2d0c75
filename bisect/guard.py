"""Runs one command so that it cannot outlive whoever asked for it; started by `process.py`, never imported.

Protocol: argv is `control_fd result_fd -- command…`. The asker holds the other end of the control pipe; when it
closes, by intent or because the asker was killed, every process descended from the command is killed. On the result
pipe go two JSON lines: `{"pid": …}` after the start, and the exit status with resource use at the end.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def descendants() -> list[int]:
    """Process ids of all living descendants; orphans count, for this process is their subreaper."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def kill_descendants() -> None:
    """Kill until nothing is left: a process may fork between the listing and the kill."""
    while alive := descendants():
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        reap()
        time.sleep(0.002)
    reap()


def reap() -> None:
    """Collect whatever has ended, so that its resource use counts and no zombie stays."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def main() -> int:
    control, result = int(sys.argv[1]), int(sys.argv[2])
    command = sys.argv[4:]
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            for restored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(restored, signal.SIG_DFL)
            os.close(control)
            os.close(result)
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(127)
    os.write(result, json.dumps({"pid": pid}).encode() + b"\n")
    child = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(child, select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLHUP)
    abandoned = False
    while True:
        events = dict(poll.poll())
        if child in events:
            break
        if control in events:
            abandoned = True
            kill_descendants_except_zombie(pid)
            break
    _, status, own = os.wait4(pid, 0)
    wall = time.monotonic() - started
    kill_descendants()
    code = os.waitstatus_to_exitcode(status)
    report = {
        "returncode": code,
        "cpu_seconds": own.ru_utime + own.ru_stime,
        "wall_seconds": wall,
        "max_rss_kib": own.ru_maxrss,
        "context_switches": own.ru_nvcsw + own.ru_nivcsw,
    }
    if not abandoned:
        try:
            os.write(result, json.dumps(report).encode() + b"\n")
        except BrokenPipeError:
            return 1
    return 0


def kill_descendants_except_zombie(main_pid: int) -> None:
    """Kill everything but leave the command itself to be reaped by its own wait."""
    while True:
        alive = descendants()
        if not alive:
            return
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if alive == [main_pid]:
            return
        time.sleep(0.002)


if __name__ == "__main__":
    sys.exit(main())
