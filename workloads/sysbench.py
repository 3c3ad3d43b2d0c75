"""Probing a MySQL or MariaDB server with sysbench: cost per statement that the client sends.

Every metric is per *query*: one SQL statement as sysbench counts them. Where an event is a transaction, its BEGIN,
COMMIT and each statement between count one each.

**The data.** Each artifact makes its own data directory and loads its own tables, then shuts down completely (purge
done, nothing dirty). The two parts below each start from that state, so neither depends on how far the other got.

**Instructions.** With callgrind, a second server start on a copy of the data counts only inside the function that
dispatches a statement, after every page was read and some queries were made. A run of one event is subtracted from a
long one, so preparing the statements does not count. With hardware counters, all of the server's user-mode
instructions during the runs of the clock count, its background threads included.

**Clock.** The ordinary server's own CPU clock and context switches over several short sysbench runs. With `pin`, server
and client share one CPU: handing a query from one to the other is then cheapest and varies least.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cpubisect.workloads import callgrind, clock
from cpubisect.workloads.addresses import fixed_addresses
from cpubisect.workloads.counters import Counting
from cpubisect.workloads.installation import Installation, Place, initialise, short_directory
from cpubisect.workloads.mysql_plan import FIRST_SEED, Plan, events_for
from cpubisect.workloads.mysql_tests import SERVER_PREFIX, TESTS, WORKLOADS, Workload
from cpubisect.workloads.probe import (
    CONTEXT_SWITCHES,
    CPU,
    INSTRUCTIONS,
    QPS,
    Counter,
    ProbeError,
    ProbeRequest,
    Samples,
    Test,
)
from cpubisect.workloads.server import DATABASE, Server
from cpubisect.workloads.settings import option_words, pinned, sizes
from cpubisect.workloads.steering import Steering
from cpubisect.workloads.sysbench_client import Client, Report

__all__ = ["PROGRAMS", "TESTS", "accepts", "check", "probe"]

PROGRAMS = ("sysbench",)
"""What every probe runs."""

DISPATCH = "dispatch_command*"
"""The function that runs one statement after it was read from the connection: so named in every MySQL and MariaDB."""

# With one rollback segment a new undo page is due every so many changes; with 128 they are all due at the same time.
_EVEN_UNDO = ("--loose-innodb_undo_logs=1", "--loose-innodb_rollback_segments=1")
_RUN_TIMEOUT_S = 3600.0
_OWN_VARIABLES = frozenset({"server_uuid", "server_uid", "timestamp"})
_SERVER_OPTION = re.compile(rf"{re.escape(SERVER_PREFIX)}[a-z][\w-]*")

_Name = TypeVar("_Name", str, tuple[str, str])


@dataclass(frozen=True)
class _Bench:
    """What both parts of a probe share."""

    request: ProbeRequest
    plan: Plan
    workload: Workload
    installation: Installation
    options: tuple[str, ...]
    sockets: Path

    def place(self, name: str) -> Place:
        return Place.below(self.request.scratch, self.sockets, name)

    def client(self, server: Server) -> Client:
        return Client(server, self.workload, self.request.parameters, self.pinning())

    def pinning(self) -> tuple[str, ...]:
        return ("taskset", "-c", str(max(os.sched_getaffinity(0)))) if self.plan.pin else ()


def accepts(test: Test, name: str) -> bool:
    """True for a parameter of the test or an option of the server, `mysqld.NAME`."""
    return name in test.parameters or _SERVER_OPTION.fullmatch(name) is not None


def check(test: Test, parameters: Mapping[str, str]) -> None:
    """Raises UserError if a parameter of a test has a value that makes no sense, or leaves it too few rows."""
    Plan.read(parameters).check(WORKLOADS[test.name])


def probe(request: ProbeRequest) -> Samples:
    """Run one test against one server; takes 10–40 s. Raises ProbeError, or UserError for an unfit parameter."""
    started = time.monotonic()
    plan = Plan.read(request.parameters)
    installation = Installation.find(request.artifact.resolve(), request.version)
    settings = pinned(installation.flavour, request.version, fair=plan.fair)
    settings |= sizes(installation.flavour, plan.rows, plan.tables)
    values: dict[str, tuple[float, ...]] = {}
    profile: dict[str, float] = {}
    attributed: dict[str, float] = {}
    calls: dict[tuple[str, str], float] = {}
    commands: list[str] = []
    with short_directory(request.scratch) as sockets:
        bench = _Bench(
            request,
            plan,
            WORKLOADS[request.test.name],
            installation,
            option_words(settings, plan.overrides),
            sockets,
        )
        loaded, variables = _load(bench)
        if request.instructions and request.counter is Counter.CALLGRIND:
            values[INSTRUCTIONS], profile, attributed, calls = _count(bench, loaded, commands)
        hardware = request.instructions and request.counter is Counter.HARDWARE
        if request.clock or hardware:
            values |= _time(bench, loaded, commands, hardware=hardware)
    return Samples(
        values=values,
        counter=request.counter,
        parameters=request.parameters,
        seconds=time.monotonic() - started,
        profile=profile,
        variables=variables,
        commands=tuple(commands),
        attributed=attributed,
        calls=calls,
    )


def _load(bench: _Bench) -> tuple[Place, dict[str, str]]:
    """Make and fill the data directory; returns where it is and the server's variables."""
    place = bench.place("clock")
    initialise(bench.installation, place, bench.options)
    with Server(bench.installation, place, bench.options) as server:
        variables = _comparable(server.variables(), bench)
        server.execute([f"CREATE DATABASE IF NOT EXISTS {DATABASE}"], database=None)
        bench.client(server).load()
        # Statistics must not depend on when a background thread finds the time.
        server.execute([f"ANALYZE TABLE {table}" for table in bench.plan.table_names])
        # A slow shutdown leaves nothing to purge.
        server.execute(["SET GLOBAL innodb_fast_shutdown=0"])
        server.stop()
    return place, variables


def _comparable(variables: Mapping[str, str], bench: _Bench) -> dict[str, str]:
    """The variables without what differs between any two probes: this server's identity and where its files are."""
    places = {str(bench.request.scratch): "<scratch>", str(bench.sockets): "<run>"}
    places[str(bench.installation.artifact)] = "<artifact>"
    kept = {name: value for name, value in variables.items() if name not in _OWN_VARIABLES}
    for path in sorted(places, key=len, reverse=True):
        kept = {name: value.replace(path, places[path]) for name, value in kept.items()}
    return kept


def _count(
    bench: _Bench, loaded: Place, commands: list[str]
) -> tuple[tuple[float, ...], dict[str, float], dict[str, float], dict[tuple[str, str], float]]:
    """Instructions per query by callgrind, with the mean profiles: self cost, with what libraries did, and by call."""
    place = bench.place("count")
    place.copy_data(loaded)
    out = place.log.with_name("callgrind.out")
    pipes = bench.sockets / "vgdb"
    launcher = (*bench.pinning(), *callgrind.command([], out, toggle=DISPATCH, instrument=False))
    options = (*bench.options, *_EVEN_UNDO)
    steered = {"VALGRIND_OPTS": Steering.options(pipes)}
    plan = bench.plan
    deck = plan.deck(bench.workload)
    with ExitStack() as stack:
        server = stack.enter_context(
            Server(bench.installation, place, options, launcher=launcher, variables=steered, patience_s=600.0)
        )
        if bench.workload.test.writes:
            stack.enter_context(server.old_snapshot())
        client = bench.client(server)
        _read_every_page(server, plan)

        def send(events: int) -> Report:
            return client.run(seed=deck.next_seed(), events=events, first=deck.take(events), timeout_s=_RUN_TIMEOUT_S)

        first = send(plan.clients)
        queries_per_event = max(1, first.queries // first.events)
        send(events_for(plan.warm_queries, queries_per_event))
        steering = Steering(server.pid, out, pipes)
        steering.instrument()
        counted: list[callgrind.PerOperation] = []
        for _ in range(plan.repeats):
            few = send(plan.clients)
            low = steering.profile()
            if low.total == 0:
                raise ProbeError(f"the server has no function {DISPATCH.rstrip('*')}: was it stripped?", place.log)
            many = send(plan.clients + events_for(plan.queries, queries_per_event))
            high = steering.profile()
            counted.append(callgrind.slope(low, high, many.queries - few.queries))
        words = client.run_command(seed=FIRST_SEED, events=events_for(plan.queries, queries_per_event), seconds=0)
        commands += [" ".join(server.command), " ".join(words)]
    costs = tuple(one.total for one in counted)
    profile, attributed = _mean([one.functions for one in counted]), _mean([one.attributed for one in counted])
    return costs, profile, attributed, _mean([one.calls for one in counted])


def _mean(profiles: Sequence[Mapping[_Name, float]]) -> dict[_Name, float]:
    names = sorted({name for one in profiles for name in one})
    return {name: sum(one.get(name, 0.0) for one in profiles) / len(profiles) for name in names}


def _time(bench: _Bench, loaded: Place, commands: list[str], *, hardware: bool) -> dict[str, tuple[float, ...]]:
    """CPU time, context switches and rate of several runs, and instructions where the hardware counts them."""
    plan = bench.plan
    deck = plan.deck(bench.workload)
    launcher = (*bench.pinning(), *fixed_addresses())
    # A draining test must find the same rows however fast the server is, so its runs end by number as well.
    limit = max(1, plan.rows * plan.tables // (plan.samples + 1)) if bench.workload.draining else 0
    samples: dict[str, list[float]] = {CPU: [], CONTEXT_SWITCHES: [], QPS: []}
    if hardware:
        samples[INSTRUCTIONS] = []
    with Server(bench.installation, loaded, bench.options, launcher=launcher) as server:
        client = bench.client(server)
        _read_every_page(server, plan)

        def send() -> Report:
            return client.run(
                seed=deck.next_seed(),
                events=limit,
                seconds=plan.slice_s,
                first=deck.take(limit),
                timeout_s=_RUN_TIMEOUT_S,
            )

        send()
        for _ in range(plan.samples):
            counting = Counting(server.pid, bench.sockets) if hardware else None
            before = clock.read(server.pid)
            with counting or nullcontext():
                report = send()
            spent = clock.between(before, clock.read(server.pid))
            samples[CPU].append(spent.cpu_ns / 1000 / report.queries)
            samples[CONTEXT_SWITCHES].append(spent.switches / report.queries)
            samples[QPS].append(report.qps)
            if counting is not None:
                samples[INSTRUCTIONS].append(counting.value / report.queries)
        words = client.run_command(seed=FIRST_SEED, events=limit, seconds=plan.slice_s)
        commands += [" ".join(server.command), " ".join(words)]
    return {metric: tuple(taken) for metric, taken in samples.items()}


def _read_every_page(server: Server, plan: Plan) -> None:
    """Bring both indexes into memory: a page's first read verifies its checksum, which costs more than most queries."""
    for table in plan.table_names:
        server.execute(
            [
                f"SELECT COUNT(*), SUM(LENGTH(pad)) FROM {table} FORCE INDEX (PRIMARY)",
                f"SELECT COUNT(*), SUM(k) FROM {table} FORCE INDEX (k_{table}) WHERE k >= 0",
            ]
        )
