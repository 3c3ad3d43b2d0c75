"""Commands of ours that run beside each other, each with a log of its own."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

END_S = 40.0
"""A command that was asked to end has done so by then, on a busy host too."""


@dataclass(frozen=True)
class Ending:
    """How a command ended: its exit code, negative for a signal, and what it said since it was started."""

    name: str
    status: int
    said: str


class Commands:
    """By names of ours; their logs are in a directory."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._offsets: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        """Whether one was started whose end was not looked at yet."""
        return name in self._started

    def spawn(self, name: str, words: tuple[str, ...], environment: Mapping[str, str]) -> None:
        """Start one."""
        with self._log(name).open("ab") as output:
            self._offsets[name] = output.tell()
            output.write(f"$ {' '.join(words)}\n".encode())
            output.flush()
            command = [sys.executable, "-m", "cpubisect.cli", *words]
            self._started[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment,
                start_new_session=True,
            )  # fmt: skip

    def running(self) -> dict[str, int]:
        """Those that run, with their process ids."""
        return {name: process.pid for name, process in self._started.items() if process.poll() is None}

    def kill(self, name: str) -> bool:
        """Kill one at once, it alone; False if it does not run."""
        process = self._started.get(name)
        if process is None or process.poll() is not None:
            return False
        process.kill()
        process.wait()
        return True

    def said(self, name: str) -> str:
        """What one printed since it was started."""
        with self._log(name).open("rb") as file:
            file.seek(self._offsets[name])
            return file.read().decode(errors="replace")

    def endings(self) -> list[Ending]:
        """Of those that have ended since this was last asked."""
        found = []
        for name, process in list(self._started.items()):
            if process.poll() is not None:
                found.append(Ending(name, process.returncode, self.said(name)))
                del self._started[name]
        return found

    def close(self) -> list[str]:
        """Ask all to end; those that had to be killed."""
        for process in self._started.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        stubborn = []
        for name, process in self._started.items():
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                stubborn.append(name)
        return stubborn

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"
