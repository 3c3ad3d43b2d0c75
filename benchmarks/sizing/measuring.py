"""Figures of a lab that are measured: of kept builds and trees, of probes that were made, of Dask's scheduler."""

import os
import socket
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from cpubisect.base.errors import UserError
from cpubisect.base.git import parcel
from cpubisect.base.home import Home
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.cluster.parcels import packed, unpacked
from cpubisect.records.artifacts import Artifacts
from cpubisect.records.purpose import Purpose
from cpubisect.records.store import Store
from sizing.units import Program, series

COLD = 0.05
"""A build with at most this part of its compilations from the cache counts as a whole one."""

_SERIES = "builds.engine, json_extract(builds.recipe, '$.version') AS version"


def programs(store: Store, home: Path, place: Path) -> dict[str, Program]:
    """What a home's builds and probes say of each series; what is sent is packed now, of the newest build of each that
    is kept, and of its clone if that is still there."""
    builds, counted, clocked = _cold(store), _probed(store, clock=False), _probed(store, clock=True)
    sent = {name: _sent(home, place, *newest) for name, newest in _kept(store, home).items()}
    found = {}
    for name in {*builds, *counted, *clocked, *sent}:
        own = Program(builds.get(name, 0.0), counted.get(name, 0.0), clocked.get(name, 0.0))
        found[name] = own.or_else(sent.get(name, Program()))
    return found


def _cold(store: Store) -> dict[str, float]:
    """CPU seconds of the cheapest whole build of each series, built with optimisation: other work beside builds makes
    them dearer."""
    least: dict[str, float] = {}
    rows = store.read(
        f"SELECT {_SERIES}, cpu_seconds FROM builds WHERE outcome = 'built' AND cache_hits <= ? * cache_misses "
        "AND recipe NOT LIKE '%-O0%'",
        COLD,
    )
    for row in rows:
        name = series(row["engine"], row["version"])
        least[name] = min(row["cpu_seconds"], least.get(name, row["cpu_seconds"]))
    return least


def _probed(store: Store, *, clock: bool) -> dict[str, float]:
    """Median seconds of the probes of each series that were made for the search, or that only read the clock."""
    found = defaultdict(list)
    for table in ("probes", "comparison_probes"):
        for row in store.read(
            f"SELECT {_SERIES}, {table}.purpose, {table}.seconds FROM {table} JOIN builds ON builds.id = {table}.build "
            f"WHERE {table}.error IS NULL"
        ):
            purpose = Purpose.of(row["purpose"])
            if purpose.only_clock if clock else purpose == Purpose.SEARCH:
                found[series(row["engine"], row["version"])].append(row["seconds"])
    return {name: median(seconds) for name, seconds in found.items()}


def _kept(store: Store, home: Path) -> dict[str, tuple[Path, str, str]]:
    """Of each series the newest build that is kept: its directory, digest and commit."""
    artifacts, found = Artifacts(Home(home).artifacts), {}
    for row in store.read(f"SELECT {_SERIES}, sha, artifact FROM builds WHERE artifact IS NOT NULL ORDER BY id"):
        place = artifacts.root / row["artifact"][:2] / row["artifact"]
        if place.is_dir():
            found[series(row["engine"], row["version"])] = (place, row["artifact"], row["sha"])
    return found


def _sent(home: Path, place: Path, artifact: Path, digest: str, sha: str) -> Program:
    """Bytes and CPU seconds of a kept build as it goes from host to host."""
    size = sum(file.stat().st_size for file in artifact.rglob("*") if file.is_file() and not file.is_symlink())
    content, pack_s = _cpu(lambda: packed(artifact))
    with TemporaryDirectory(dir=place) as target:
        _, unpack_s = _cpu(lambda: unpacked(content, Path(target) / "artifact", digest))
    return Program(artifact_bytes=size, sent_bytes=len(content), pack_s=pack_s, unpack_s=unpack_s)


def tree(repository: Path, engine: str, commit: str, place: Path) -> Program:
    """Bytes and CPU seconds of a commit's tree as it is sent; nothing if it cannot be packed."""
    unread = Matrix.load().engine(engine).unread
    target = place / "pack"
    try:
        _, tree_s = _cpu(lambda: parcel.pack(repository, commit, target, unread))
    except UserError:
        return Program()
    return Program(tree_bytes=target.stat().st_size, tree_s=tree_s)


def _cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """What came of some work, and the CPU seconds of it and of its children."""
    before = os.times()
    result = work()
    after = os.times()
    return result, sum(after[:4]) - sum(before[:4])


def scheduler(tasks: int, parcels: int, parcel_bytes: int) -> tuple[float, float]:
    """CPU seconds of a head's scheduler for a task that does nothing, and for each byte within its messages beside
    that: with a worker and a client of other processes, as many tasks under way as there are hosts in a large lab."""
    from distributed import Client

    with _head() as (process, address), _worker(address), Client(address) as client:
        client.wait_for_workers(1)
        given = {"pure": False, "resources": {"build": 1}}

        def carried(content: Sequence[bytes]) -> float:
            before = _seconds(process)
            with warnings.catch_warnings():
                # That an order is large is what is measured.
                warnings.simplefilter("ignore", UserWarning)
                client.gather([client.submit(len, one, **given) for one in content])
            return _seconds(process) - before

        carried([b"first"] * 20)
        task_s = sum(carried([b"task"] * 100) for _ in range(tasks // 100)) / tasks
        sent_s = sum(carried([os.urandom(parcel_bytes)]) for _ in range(parcels)) / (parcels * parcel_bytes)
        return task_s, sent_s


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def _head() -> Iterator[tuple[psutil.Process, str]]:
    """`bisect cluster head` on a free port of this host, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with TemporaryDirectory() as home:
        words = ["-m", "cpubisect.cli", "cluster", "head", "--port", str(port)]
        environment = {**os.environ, "CPUBISECT_HOME": home}
        with _running(words, environment) as child:
            address = f"tcp://127.0.0.1:{port}"
            _until_it_listens(port)
            yield psutil.Process(child.pid), address


@contextmanager
def _worker(address: str) -> Iterator[None]:
    words = ["-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "4", "--no-dashboard"]
    with (
        TemporaryDirectory() as place,
        _running([*words, "--resources", "build=100", "--local-directory", place], os.environ),
    ):
        yield


@contextmanager
def _running(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program, which ends with the block."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, *words], env=dict(environment), **quiet) as child:  # type: ignore[call-overload]
        try:
            yield child
        finally:
            child.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.wait(10)
            child.kill()


def _until_it_listens(port: int, patience_s: float = 60.0) -> None:
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise TimeoutError("the head does not listen")


_LOADED = (
    "import distributed, scipy.stats, numpy, psutil, cpubisect.service.launch, cpubisect.service.executors, "
    "cpubisect.cluster.executor, cpubisect.run.chase; print(psutil.Process().memory_info().rss)"
)


def process_bytes() -> float:
    """Memory of a process that has loaded what a bisection on a cluster loads, and nothing of its history yet."""
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    return float(done.stdout)
