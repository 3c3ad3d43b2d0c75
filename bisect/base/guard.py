"""Runs one command so that it cannot outlive whoever asked for it; started by `process.py`, never imported.

Protocol: argv is `control_fd result_fd arguments_fd COUNT launcher… -- command…`. The asker holds the other end of the
control pipe; when it closes, by intent or because the asker was killed, every process descended from the command is
killed. On the result pipe go two lines of names and numbers: `pid …` after the start, and the exit status with resource
use at the end. It is started for every command, so it imports little before it must.

With arguments for bubblewrap, in the file of that descriptor (-1: none), and three limits before the command, that runs
in a sandbox, which the COUNT words of the launcher make, as the child of a second guard that is the first process in
there: it alone can wait for the command and so knows its status and resource use. It starts the command when this one,
which sees all from outside, has found the command's process id.
Nothing in the sandbox can reach either: the second one cannot be killed or traced from below. A pid of 0 says that
there was no sandbox.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
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


def prctl(option: int, value: int) -> None:
    """One of the calls by which a process sets what it is to the kernel."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def ignore_signals() -> None:
    """A guard ends with its command, not by what is sent to a whole terminal."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)


def heed_signals() -> None:
    """What a command begins with."""
    for restored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(restored, signal.SIG_DFL)


def become(command: list[str], *closing: int) -> None:
    """In a child: run the command in place of this program, with nothing of ours; never returns."""
    try:
        heed_signals()
        for descriptor in closing:
            os.close(descriptor)
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
    finally:
        os._exit(127)


def ending(status: int, started: float, own: resource.struct_rusage) -> bytes:
    """The line that says how the command ended."""
    return line(
        returncode=os.waitstatus_to_exitcode(status),
        cpu_seconds=own.ru_utime + own.ru_stime,
        wall_seconds=time.monotonic() - started,
        max_rss_kib=own.ru_maxrss,
        context_switches=own.ru_nvcsw + own.ru_nivcsw,
    )


class Inside:
    """The guard in the sandbox, as the one outside sees it: `told` is what it says, `gate` lets the command begin."""

    def __init__(self) -> None:
        self.told, self.tells = os.pipe()
        self.waits, self.gate = os.pipe()

    def command(self, arguments: int, command: list[str]) -> list[str]:
        """What it is started by, behind the launcher, in the child that becomes bubblewrap."""
        for handed in (arguments, self.tells, self.waits):
            os.set_inheritable(handed, True)
        python = os.path.realpath(sys.executable)
        own = [python, "-I", "-S", os.path.realpath(__file__), "inside", str(self.tells), str(self.waits)]
        return ["--args", str(arguments), "--", *own, *command]

    def begun(self) -> int:
        """The command's process id, now that it is about to begin; 0 if there is no sandbox."""
        os.close(self.tells)
        os.close(self.waits)
        if not os.read(self.told, 1):
            return 0
        # So far each process has one child: bubblewrap, the other guard, the command.
        pid = descendants()[-1]
        os.write(self.gate, b"!")
        return pid

    def ended(self) -> bytes:
        """The line that says how the command ended; empty if the whole sandbox was killed."""
        text = b""
        while piece := os.read(self.told, 4096):
            text += piece
        return text


def inside() -> int:
    """The guard in the sandbox; argv is `inside told_fd gate_fd memory processes file_size command…`."""
    tells, waits, memory, processes, file_size = map(int, sys.argv[2:7])
    # Nobody in here may look into this process, or at the pipe that it reports by.
    prctl(PR_SET_DUMPABLE, 0)
    ignore_signals()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        limits = {"DATA": memory, "NPROC": processes, "FSIZE": file_size, "CORE": 0}
        for name, most in limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            allowed = [most, *(one for one in resource.getrlimit(kind) if one != resource.RLIM_INFINITY)]
            resource.setrlimit(kind, (min(allowed), min(allowed)))
        # Once its process id is known, it may be sent a signal.
        heed_signals()
        if not os.read(waits, 1):
            os._exit(127)
        become(sys.argv[7:], tells, waits)
    os.close(waits)
    os.write(tells, b"!")
    while True:
        ended, status, own = os.wait4(-1, 0)
        if ended == pid:
            break
    os.write(tells, ending(status, started, own))
    return 0


def main() -> int:
    control, result, arguments, count = map(int, sys.argv[1:5])
    launcher, command = sys.argv[5 : 5 + count], sys.argv[6 + count :]
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    ignore_signals()
    started = time.monotonic()
    guard = os.getpid()
    within = Inside() if arguments >= 0 else None
    pid = os.fork()
    if pid == 0:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # A guard that was killed before that sends no signal.
        if os.getppid() != guard:
            os._exit(127)
        if within:
            os.close(within.told)
            os.close(within.gate)
            command = [*launcher, *within.command(arguments, command)]
        become(command, control, result)
    told = within.begun() if within else pid
    os.write(result, line(pid=told))
    child = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(child, select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLHUP)
    if child not in dict(poll.poll()):
        # Nobody waits for a report any more.
        kill_descendants()
        return 0
    _, status, own = os.wait4(pid, 0)
    report = ending(status, started, own)
    kill_descendants()
    if within and told:
        report = within.ended() or line(returncode=-signal.SIGKILL)
    try:
        os.write(result, report)
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(inside() if sys.argv[1] == "inside" else main())
