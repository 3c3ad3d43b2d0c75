"""The processes of a cluster, on this host: each with a home and temporary files of its own, and started again whenever
it is gone, as a service manager would."""

import os
import pickle
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.cluster.address import Address
from cpubisect.cluster.connection import Connection, HeadLost
from cpubisect.run.bench.orders import Built
from soaking.commands import Commands
from soaking.crowd.plan import HEAD, WORKERS, Part
from soaking.evidence import leftovers
from soaking.judgement import refusal
from soaking.processes import Process, below

SETTLED_S = 90.0
"""All hosts are there again and have nothing to do so long after a bisection: Dask forgets a host after 60 s."""

AGAIN_S = 1.0
"""What ended by itself, as a worker does whose head is not there, is started again after so long."""

_LOOK_S = 0.3
_DASKS = ("work/dask", "tmp/dask-scratch-space")
"""A worker's directory, which it has as long as it runs, and a head's, which has locks in it."""

_ROLES = {Part.BUILDER: "build", Part.PROBER: "probe"}


class Crowd:
    """A head, with options of its own, and `workers` below a directory."""

    def __init__(self, root: Path, workers: Mapping[str, Part] = WORKERS, head: Sequence[str] = ()) -> None:
        self.root = root
        self._workers = workers
        self.refused: list[str] = []
        self.wrong: list[str] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        worker = ("cluster", "worker", self.address)
        self._words: Mapping[str, tuple[str, ...]] = {
            HEAD: ("cluster", "head", "--port", str(port), *head),
            **{name: (*worker, "--role", _ROLES[part], "--name", name) for name, part in workers.items()},
        }
        self._due = dict.fromkeys(self._words, 0.0)
        for name in self._words:
            self.home(name).mkdir(parents=True)
            self.temporary(name).mkdir()
        self._commands = Commands(root)

    def home(self, name: str) -> Path:
        """Of a host."""
        return self.root / name / "home"

    def temporary(self, name: str) -> Path:
        """Where a host has its temporary files."""
        return self.root / name / "tmp"

    def running(self) -> list[str]:
        """The names of those that run."""
        return list(self._commands.running())

    def kill(self, name: str, away_s: float) -> bool:
        """Kill one, which is started again after so long; False if it does not run."""
        self._due[name] = time.monotonic() + away_s
        return self._commands.kill(name)

    def tend(self) -> None:
        """Look at those that have ended, and start those that are due."""
        for ending in self._commands.endings():
            if "Traceback (most recent call last)" in ending.said:
                self.wrong.append(f"{ending.name}: a traceback: {ending.said.splitlines()[-1]}")
            if ending.status < 0:
                continue
            if amiss := refusal(ending.status, ending.said):
                self.wrong.append(f"{ending.name}: {amiss}")
            self.refused.append(f"{ending.name}: {ending.said.strip().splitlines()[-1]}")
            self._due[ending.name] = time.monotonic() + AGAIN_S
        for name, words in self._words.items():
            if name not in self._commands and time.monotonic() >= self._due[name]:
                self._commands.spawn(name, words, self._environment(name))

    def settled(self) -> str:
        """Wait until all are there and have nothing to do; what is amiss if that does not come."""
        self._due = dict.fromkeys(self._words, 0.0)
        deadline, amiss = time.monotonic() + SETTLED_S, ""
        while time.monotonic() < deadline:
            self.tend()
            if not (amiss := self._amiss()):
                return ""
            time.sleep(_LOOK_S)
        return amiss

    def _amiss(self) -> str:
        if len(self.running()) < len(self._words):
            return f"only {', '.join(self.running())} run"
        connection = Connection(Address.read(self.address), None)
        try:
            connection.open()
            orders = {one.host.name: one.orders for one in connection.hosts()}
        except (UserError, HeadLost) as error:
            return str(error)
        finally:
            connection.close()
        if lost := set(self._workers) - set(orders):
            return f"{', '.join(sorted(lost))} is not there again"
        return "".join(f"{name} still has {number} orders" for name, number in orders.items() if number)

    def strays(self) -> list[Process]:
        """What runs below the directory beside the head and the workers."""
        own = set(self._commands.running().values())
        return [process for process in below(self.root) if process.pid not in own]

    def left(self) -> list[str]:
        """What is left of work in the hosts' directories."""
        found = []
        for name in self._words:
            kept = leftovers(self.home(name), self.temporary(name))
            found += [f"{name}: {one}" for one in kept if one not in _DASKS]
        return found

    def made(self, shas: Sequence[str]) -> list[Mapping[str, int]]:
        """For each builder, how often it ended a build well, of each of some commits."""
        return [self._made(name, shas) for name, part in self._workers.items() if part is Part.BUILDER]

    def _made(self, name: str, shas: Sequence[str]) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for file in (self.home(name) / "cluster" / "results").glob("*.result"):
            result = pickle.loads(file.read_bytes())
            if isinstance(result, Built) and result.result.recipe.commit in shas:
                found[result.result.recipe.commit] += 1
        return found

    def close(self) -> None:
        """End all; what Dask kept for a worker is gone with it."""
        self.wrong += [f"{name} did not end" for name in self._commands.close()]
        for name in self._words:
            kept = (self.home(name) / "work" / "dask").rglob("worker-*")
            self.wrong += [f"{name}: {place.name} is left of Dask's" for place in kept if place.is_dir()]

    def _environment(self, name: str) -> dict[str, str]:
        own = {key: value for key, value in os.environ.items() if not key.startswith(("CPUBISECT", "CCACHE"))}
        return {**own, "CPUBISECT_HOME": str(self.home(name)), "TMPDIR": str(self.temporary(name))}
