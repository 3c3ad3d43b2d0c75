"""Runs one command so that it cannot outlive whoever asked for it; started by `process.py`, never imported.

Protocol: argv is `control_fd result_fd arguments_fd groups COUNT launcher… -- command…`. The asker holds the other end
of the control pipe; when it closes, by intent or because the asker was killed, every process descended from the command
is killed. On the result pipe go two lines of names and numbers: `pid …` after the start, and the exit status with
resource use at the end. It is started for every command, so it imports little before it must.

With arguments for bubblewrap, in the file of that descriptor (-1: none), and three limits before the command, that runs
in a sandbox, which the COUNT words of the launcher make, as the child of a second guard that is the first process in
there: it alone can wait for the command and so knows its status and resource use. It starts the command when this one,
which sees all from outside, has found the command's process id.
Nothing in the sandbox can reach either: the second one cannot be killed or traced from below. (That of a command which
joins another one's sandbox can be by what runs there, which sees its processes.) A pid of 0 says that
there was no sandbox. Where `groups` is a directory, the sandbox is in a control group of its own in there, which holds
the limits of memory, if it can, and processes of all of it together.
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

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What is sent to a process that shall end."""


def descendants() -> list[int]:
    """Process ids of all descendants; orphans count, for this process is their subreaper, and so do zombies: one may be
    a process whose other threads still run."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(name))
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


def tell(pipe: int, text: bytes) -> bool:
    """Write into a pipe; False if whoever reads it was killed."""
    try:
        os.write(pipe, text)
    except BrokenPipeError:
        return False
    return True


def prctl(option: int, value: int) -> None:
    """One of the calls by which a process sets what it is to the kernel."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def ignore_signals() -> None:
    """A guard ends with its command, not by what is sent to a whole terminal."""
    for ignored in ENDING:
        signal.signal(ignored, signal.SIG_IGN)


def heed_signals() -> None:
    """What a command begins with."""
    for restored in (*ENDING, signal.SIGPIPE):
        signal.signal(restored, signal.SIG_DFL)


def fork() -> int:
    """Fork as the system does, the child in a session of its own and with what a command begins with. Nothing that is
    sent to the child is lost: a signal that is blocked waits, even where it is ignored."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        heed_signals()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def become(command: list[str], *closing: int) -> None:
    """In a child: run the command in place of this program, with nothing of ours; never returns."""
    try:
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


def group_of(groups: str, pid: int) -> str:
    """The control group of a launcher; `sandbox/groups.py` knows such names too."""
    return f"{groups}/cpubisect-{pid}"


def join_group(group: str, memory: str, processes: str) -> None:
    """Make the control group and have this process in it; raises OSError."""
    # One that is there was left by a process that had this id.
    if not os.path.isdir(group):
        os.mkdir(group)
    wanted = {"pids.max": processes, "memory.max": memory, "cgroup.procs": str(os.getpid())}
    for name, value in wanted.items():
        if name != "memory.max" or os.path.exists(f"{group}/{name}"):
            with open(f"{group}/{name}", "w") as file:
                file.write(value)


def remove_group(group: str) -> None:
    """Remove a control group, all of whose processes have ended; the kernel may need a moment to see that."""
    for _ in range(50 if group else 0):
        try:
            os.rmdir(group)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.002)


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
        *_, pid = (0, *descendants())
        tell(self.gate, b"!")
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
    pid = fork()
    if pid == 0:
        limits = {"DATA": memory, "NPROC": processes, "FSIZE": file_size, "CORE": 0}
        for name, most in limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            allowed = [most, *(one for one in resource.getrlimit(kind) if one != resource.RLIM_INFINITY)]
            resource.setrlimit(kind, (min(allowed), min(allowed)))
        if not os.read(waits, 1):
            os._exit(127)
        become(sys.argv[7:], tells, waits)
    os.close(waits)
    tell(tells, b"!")
    while True:
        ended, status, own = os.wait4(-1, 0)
        if ended == pid:
            break
    return 0 if tell(tells, ending(status, started, own)) else 1


def main() -> int:
    control, result, arguments = map(int, sys.argv[1:4])
    groups, count = sys.argv[4], int(sys.argv[5])
    launcher, command = sys.argv[6 : 6 + count], sys.argv[7 + count :]
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    ignore_signals()
    started = time.monotonic()
    guard = os.getpid()
    within = Inside() if arguments >= 0 else None
    pid = fork()
    if pid == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # A guard that was killed before that sends no signal.
        if os.getppid() != guard:
            os._exit(127)
        if within:
            os.close(within.told)
            os.close(within.gate)
            if groups:
                try:
                    join_group(group_of(groups, os.getpid()), *command[:2])
                except OSError as error:
                    print(f"{groups}: {error.strerror}", file=sys.stderr, flush=True)
                    os._exit(127)
            command = [*launcher, *within.command(arguments, command)]
        become(command, control, result)
    told = within.begun() if within else pid
    # Whoever asked may be gone by now; then the end of the control pipe says so.
    tell(result, line(pid=told))
    child = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(child, select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLHUP)
    group = groups and group_of(groups, pid)
    if child not in dict(poll.poll()):
        # Nobody waits for a report any more.
        kill_descendants()
        remove_group(group)
        return 0
    _, status, own = os.wait4(pid, 0)
    report = ending(status, started, own)
    kill_descendants()
    remove_group(group)
    if within and told:
        report = within.ended() or line(returncode=-signal.SIGKILL)
    return 0 if tell(result, report) else 1


if __name__ == "__main__":
    sys.exit(inside() if sys.argv[1] == "inside" else main())
