"""Child processes that end when we end: every command runs under `guard.py`, with its resource use reported."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cpubisect.base.errors import UserError
from cpubisect.base.sandbox.policy import Sandbox
from cpubisect.base.sandbox.surroundings import bubblewrap, grouped, scope, system

_GUARD = Path(__file__).with_name("guard.py")

MOST_OUTPUT_BYTES = 64 << 20
"""So much is read of what a command prints: all of a build of MySQL, which has some 10 MB, and not what has no end."""


class SandboxFailed(UserError):
    """The sandbox for a command could not be made: the host's fault, which says nothing of the command."""


@dataclass(frozen=True)
class Finished:
    """How a command ended.

    `returncode` is negative for a signal, 127 for a program that is not there; `cpu_seconds` (user + system),
    `max_rss_kib` and `context_switches` (both kinds) include all its waited-for children; `timed_out` says that we
    killed it at its limit.
    """

    argv: tuple[str, ...]
    returncode: int
    cpu_seconds: float
    wall_seconds: float
    max_rss_kib: int
    timed_out: bool
    output: str
    context_switches: int = 0

    @property
    def ok(self) -> bool:
        """True if the command ended by itself with status 0."""
        return self.returncode == 0 and not self.timed_out

    @property
    def first_line(self) -> str:
        """The first line that it printed, or with what status it ended if it printed none."""
        lines = (line.strip() for line in self.output.splitlines())
        return next((line for line in lines if line), f"{self.argv[0]} ended with {self.returncode}")


class Guarded:
    """A running command with its process id; leaving the `with` block kills it and all its descendants.

    `output` is a file the command's stdout and stderr go to (default: discarded). In a `sandbox` the command sees
    nothing else of the host; with `beside`, the id of a process in another one, it shares that one's processes. `pid`
    is the host's in any case. Raises SandboxFailed.
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        output: IO[bytes] | int = subprocess.DEVNULL,
        stderr: IO[bytes] | int | None = None,
        sandbox: Sandbox | None = None,
        beside: int | None = None,
    ) -> None:
        self.argv = tuple(os.fspath(word) for word in argv)
        control_read, self._control = os.pipe()
        self._result, result_write = os.pipe()
        with ExitStack() as handed:
            for descriptor in (control_read, result_write):
                handed.callback(os.close, descriptor)
            joined = _namespaces(beside, handed) if beside else {}
            arguments, limits, launcher, groups = -1, tuple[int, ...](), tuple[str, ...](), ""
            if sandbox:
                arguments = _arguments(sandbox, cwd, joined)
                handed.callback(os.close, arguments)
                launcher, groups = (*scope(sandbox.limits), bubblewrap()), grouped()
                limits = (sandbox.limits.memory_bytes, sandbox.limits.processes, sandbox.limits.file_bytes)
            self._guard = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(_GUARD),
                    *map(str, (control_read, result_write, arguments, groups, len(launcher))),
                    *launcher,
                    "--",
                    *map(str, limits),
                    *self.argv,
                ],
                cwd=cwd,
                env=None if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if stderr is None else stderr,
                pass_fds=(control_read, result_write, *joined.values(), *((arguments,) if sandbox else ())),
                start_new_session=True,
            )
        self._reports = os.fdopen(self._result, "rb")
        self._readable = select.poll()
        self._readable.register(self._reports, select.POLLIN)
        self.pid = int(self._next_report().get("pid", 0))
        self._end: dict[str, float] | None = None
        if sandbox and not self.pid:
            self.__exit__(None, None, None)
            raise SandboxFailed(
                f"no sandbox could be made for {self.argv[0]}", "`bisect doctor` tries it; --sandbox off does without"
            )

    def _next_report(self) -> dict[str, float]:
        words = self._reports.readline().decode().split()
        return {name: float(number) for name, number in zip(words[::2], words[1::2], strict=True)}

    def poll(self) -> bool:
        """True while the command runs."""
        return self._guard.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command itself; nothing happens if it has ended."""
        if self.poll():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; False if `timeout_s` passed first."""
        if self._end is None:
            # A wait for the guard itself would look only every 50 ms. A report that was read with the one before is
            # noticed when the guard ends and closes the pipe.
            if not self._readable.poll(None if timeout_s is None else timeout_s * 1000):
                return False
            self._end = self._next_report()
        self._guard.wait()
        return True

    def kill(self) -> None:
        """End the command and every descendant now; safe to call twice."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1
        self._guard.wait()

    def finished(self, *, timed_out: bool = False, output: str = "") -> Finished:
        """The result after `wait` or `kill`; resource use is 0 if it was killed."""
        end = self._end or {}
        return Finished(
            argv=self.argv,
            returncode=int(end.get("returncode", -signal.SIGKILL)),
            cpu_seconds=end.get("cpu_seconds", 0.0),
            wall_seconds=end.get("wall_seconds", 0.0),
            max_rss_kib=int(end.get("max_rss_kib", 0)),
            timed_out=timed_out,
            output=output,
            context_switches=int(end.get("context_switches", 0)),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._reports.close()


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 3600.0,
    log: Path | None = None,
    sandbox: Sandbox | None = None,
    beside: int | None = None,
) -> Finished:
    """Run a command to its end and return how it went, with its combined output; `sandbox` and `beside` are as in
    Guarded.

    With `log`, the output is appended to that file and `output` holds what this command added. A command still
    running after `timeout_s` is killed with all its descendants and `timed_out` is set. Never raises for a command
    that fails or does not exist; SandboxFailed if its sandbox could not be made.
    """
    started = time.monotonic()
    with _open_output(log) as sink:
        offset = sink.seek(0, os.SEEK_END)
        with Guarded(argv, cwd=cwd, env=env, output=sink, sandbox=sandbox, beside=beside) as child:
            in_time = child.wait(timeout_s)
            if not in_time:
                child.kill()
        text = printed(sink, offset)
    result = child.finished(timed_out=not in_time, output=text)
    if in_time:
        return result
    return replace(result, wall_seconds=time.monotonic() - started)


def printed(file: IO[bytes], offset: int = 0) -> str:
    """What a command printed into a file from an offset on; of more than MOST_OUTPUT_BYTES the beginning and the end,
    as much of each."""
    size = file.seek(0, os.SEEK_END) - offset
    file.seek(offset)
    if size <= MOST_OUTPUT_BYTES:
        return file.read().decode(errors="replace")
    half = MOST_OUTPUT_BYTES // 2
    head = file.read(half)
    file.seek(offset + size - half)
    left_out = f"\n({size - 2 * half:,} bytes are left out here)\n"
    return head.decode(errors="replace") + left_out + file.read(half).decode(errors="replace")


def _arguments(sandbox: Sandbox, cwd: Path | None, joined: Mapping[str, int]) -> int:
    """A file with the arguments for bubblewrap: the command line of a guard should not have hundreds of them."""
    words = [word for name, descriptor in joined.items() for word in (f"--{name}", str(descriptor))]
    words += sandbox.arguments(system(), cwd or Path("/"), joining=bool(joined))
    file = os.memfd_create("arguments")
    os.write(file, b"\0".join(map(os.fsencode, words)) + b"\0")
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _namespaces(pid: int, handed: ExitStack) -> dict[str, int]:
    """Those of a process that another one can join, open until what is `handed` is closed."""
    found = {}
    for option, name in (("userns", "user"), ("pidns", "pid")):
        found[option] = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        handed.callback(os.close, found[option])
    return found


def _open_output(path: Path | None) -> IO[bytes]:
    if path is None:
        return tempfile.TemporaryFile()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+b")
