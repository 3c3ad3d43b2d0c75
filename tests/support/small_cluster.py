"""A head and workers as real processes on this host, each with a home of its own and nothing shared but the address."""

import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

PATIENCE_S = 180.0
"""What has not been said for so long is not said any more, however busy the host is."""


class Process:
    """One command of ours; what it says on standard error can be waited for."""

    def __init__(self, words: Sequence[str], home: Path, environment: dict[str, str]) -> None:
        own = {**os.environ, "CPUBISECT_HOME": str(home), "CCACHE_DIR": str(home / "ccache"), **environment}
        home.mkdir(parents=True, exist_ok=True)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "cpubisect.cli", *words],
            env=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._output: list[str] = []
        assert self._child.stderr is not None
        assert self._child.stdout is not None
        self._readers = [
            threading.Thread(target=self._read, args=(self._child.stderr, self._lines.put), daemon=True),
            threading.Thread(target=self._read, args=(self._child.stdout, self._keep), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[str], take: Callable[[str | None], None]) -> None:
        for line in stream:
            take(line.rstrip("\n"))
        take(None)

    def _keep(self, line: str | None) -> None:
        self._output += [line] if line is not None else []

    def until(self, words: str) -> str:
        """The next line with some words; fails if it ends before it says them."""
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(f"it never said {words!r}: {self.said}")

    def ended(self) -> tuple[int, str]:
        """Its exit code and what it wrote on standard output, once it has ended."""
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            self.said.append(line)
        code = self._child.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join(PATIENCE_S)
        return code, "\n".join(self._output)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    def end(self) -> None:
        """As by Ctrl-C."""
        self._child.terminate()
        self._child.wait(PATIENCE_S)

    def kill(self) -> None:
        """At once."""
        self._child.kill()
        self._child.wait(PATIENCE_S)


class SmallCluster:
    """A head on a free port with the homes of its hosts below a directory; all end with it."""

    def __init__(self, place: Path, *head: str, scheme: str = "tcp") -> None:
        self.place = place
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.address = f"{scheme}://127.0.0.1:{self.port}"
        self._head_words = head
        self.hosts: dict[str, Process] = {}
        self.start_head()

    def start_head(self) -> Process:
        """Start the head, also once more; it listens."""
        words = ["cluster", "head", "--port", str(self.port), *self._head_words]
        if self.address.startswith("tls"):
            words += ["--host", "127.0.0.1"]
        self.hosts["head"] = Process(words, self.place / "head", {})
        self.hosts["head"].until("listens at")
        return self.hosts["head"]

    def start(self, name: str, role: str, *more: str, environment: dict[str, str] | None = None) -> Process:
        """Start a worker; it is there when `ready` is asked."""
        words = ["cluster", "worker", self.address, "--role", role, "--name", name, *more]
        self.hosts[name] = Process(words, self.place / name, environment or {})
        return self.hosts[name]

    def ready(self, *names: str) -> None:
        """Wait until some workers wait for work."""
        for name in names:
            self.hosts[name].until("waits for what there is")

    def settled(self) -> None:
        """Wait until no worker has anything below its `work` but what Dask has there; fails if that does not come."""
        deadline = time.monotonic() + PATIENCE_S
        while left := [place for name in self.hosts for place in (self.place / name / "work").glob("s*")]:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)

    def run(self, *words: str, home: str = "mine") -> Process:
        """A command on this cluster."""
        return Process(words, self.place / home, {"CPUBISECT_CLUSTER": self.address})

    def __enter__(self) -> "SmallCluster":
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.hosts.values()):
            process.kill()


def journal(home: Path, bisection: int) -> list[dict[str, Any]]:
    """The journal of a bisection of a home directory."""
    code, output = Process(["log", str(bisection), "--json"], home, {}).ended()
    assert code == 0
    return [json.loads(line) for line in output.splitlines()]
