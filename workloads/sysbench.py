"""Probing a MySQL or MariaDB server with sysbench: cost per statement that the client sends.

Every metric is per *query*: one SQL statement as sysbench counts them. Where an event is a transaction, its BEGIN,
COMMIT and each statement between count one each.

**The data.** Each artifact makes its own data directory and loads its own tables, then shuts down completely (purge
done, nothing dirty). The two parts below each start from that state, so neither depends on how far the other got.

**Instructions.** With a counter that slows the server (callgrind), a second server start on a copy of the data counts
only inside the function that dispatches a statement, after every page was read and some queries were made. A run of one
event is subtracted from a long one, so preparing the statements does not count. Such counts are made until `repeats` of
them in a row agree: what the server builds up while it runs, an adaptive hash index say, makes the first ones dearer.
With one that does not (perf), all of the server's user-mode instructions during the runs of the clock count, its
background threads included; so do other events of the hardware, with any counter.

**Clock.** The ordinary server's own CPU clock and context switches over several short sysbench runs. With `pin`, server
and client share one CPU: handing a query from one to the other is then cheapest and varies least.

**Writers in the background** are there while the clock runs, and what they cost the server is part of what a query
costs. They are not while a counter slows the server: at a given rate, a query would then have many times as many writes
beside it. If they miss their rate, the `note` says so.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeVar

from cpubisect.base.metrics import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS
from cpubisect.base.tools import Tool
from cpubisect.workloads.addresses import OWN_HEAPS, fixed_addresses
from cpubisect.workloads.counters import clock
from cpubisect.workloads.counters.choice import counter_for
from cpubisect.workloads.counters.counting import (
    STEADY_PERCENT,
    STEADY_WRITES_PERCENT,
    Companion,
    HeavyCounter,
    LightCounter,
    PerOperation,
    slope,
    until_steady,
)
from cpubisect.workloads.counters.hardware import recorder
from cpubisect.workloads.mysql.background import Pace, writers
from cpubisect.workloads.mysql.client import Client, Report
from cpubisect.workloads.mysql.insert_benchmark import ROWS_PER_COMMIT
from cpubisect.workloads.mysql.installation import Installation, Place, initialise, short_directory
from cpubisect.workloads.mysql.options import is_dangerous, refusal
from cpubisect.workloads.mysql.plan import FIRST_SEED, SERVER_PREFIX, Plan, check_values, events_for
from cpubisect.workloads.mysql.script import WRITES_PER_SECOND, Script
from cpubisect.workloads.mysql.server import DATABASE, Server
from cpubisect.workloads.mysql.settings import option_words, pinned, sizes
from cpubisect.workloads.mysql.tests import SCRIPTS, TESTS
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Samples, SettingRefused, Test, Workload

DISPATCH = "dispatch_command*"
"""The function that runs one statement after it was read from the connection: so named in every MySQL and MariaDB."""

# With one rollback segment a new undo page is due every so many changes; with 128 they are all due at the same time.
_EVEN_UNDO = ("--loose-innodb_undo_logs=1", "--loose-innodb_rollback_segments=1")
_RUN_TIMEOUT_S = 3600.0
_OWN_VARIABLES = frozenset({"server_uuid", "server_uid", "timestamp"})
_REFUSES = re.compile(
    r"unknown (variable|option|suffix)|ambiguous option|cannot take an argument|requires an argument|"
    r"(error|failed) .*sett?ing|(wrong|incorrect|invalid|unknown) .*value",
    re.IGNORECASE,
)
_SERVER_OPTION = re.compile(rf"{re.escape(SERVER_PREFIX)}[a-z][\w-]*")

_Name = TypeVar("_Name", str, tuple[str, str])


class Sysbench:
    """The tests of MySQL, run by sysbench; its parameters are said in `mysql/script.py`."""

    tests: Sequence[Test] = TESTS
    programs: Sequence[Tool] = (Tool("sysbench", "sysbench", "MySQL tests"),)

    def accepts(self, test: Test, name: str) -> bool:
        """True for a parameter of the test or an option of the server, `mysqld.NAME`."""
        return name in test.parameters or _SERVER_OPTION.fullmatch(name) is not None

    def refusal(self, test: Test, name: str) -> str:
        """What speaks against a user's setting an option of the server; empty for what is known to be harmless."""
        return "" if name in test.parameters else refusal(name.removeprefix(SERVER_PREFIX))

    def flag(self, test: Test, name: str) -> str:
        """None is known before a server was asked: plugins declare their own, by names that are put together."""
        return ""

    def declares(self, path: str) -> bool:
        """No file is looked at."""
        return False

    def check(self, test: Test, parameters: Mapping[str, str]) -> None:
        """Raises UserError if a parameter of a test has a value that makes no sense, or leaves it too few rows."""
        script = SCRIPTS[test.name]
        check_values(script, parameters)
        Plan.read(parameters).check(script)

    def variable(self, name: str, *, lenient: bool = False) -> str:
        """`mysqld.NAME`; if `lenient`, `mysqld.loose_NAME`, which a server without that variable only warns of; empty
        for one that no user might set."""
        if is_dangerous(name):
            return ""
        return f"{SERVER_PREFIX}{'loose_' if lenient else ''}{name}"

    def variables(self, request: ProbeRequest) -> Mapping[str, str]:
        """Those of a server on an empty data directory; takes some seconds. Raises ProbeError if it does not start,
        UserError for an unfit parameter."""
        with short_directory(request.scratch) as sockets, _telling_refusals(request):
            servers = _Servers.of(request, sockets)
            # Where a probe's server has its files, so that variables with paths are the same.
            place = servers.place("clock")
            initialise(servers.installation, place, servers.options)
            with Server(servers.installation, place, servers.options) as server:
                return _comparable(server.variables(), servers)

    def probe(self, request: ProbeRequest) -> Samples:
        """Run one test against one server; takes 10–40 s. Raises ProbeError, or UserError for an unfit parameter."""
        started = time.monotonic()
        values: dict[str, tuple[float, ...]] = {}
        counted = _Counted()
        commands: list[str] = []
        notes: list[str] = []
        counter = counter_for(request)
        with short_directory(request.scratch) as sockets, _telling_refusals(request):
            servers = _Servers.of(request, sockets)
            loaded, variables = _load(servers)
            if isinstance(counter, HeavyCounter):
                counted = _count(servers, loaded, commands, counter)
                values |= counted.costs
                notes.append(counted.note)
            light = counter if isinstance(counter, LightCounter) else None
            if request.clock or light:
                timed, missed = _time(servers, loaded, commands, light or recorder())
                values |= timed
                notes.append(missed)
        return Samples(
            values=values,
            counter=request.counter,
            parameters=request.parameters,
            seconds=time.monotonic() - started,
            profile=counted.profile,
            variables=variables,
            commands=tuple(commands),
            attributed=counted.attributed,
            calls=counted.calls,
            note="; ".join(filter(None, notes)),
        )


def refused_option(message: str, given: Mapping[str, str]) -> str:
    """The name among the options `given` to a server by the user that its message says it does not take, or not with
    that value; empty if it says that of none."""
    if not _REFUSES.search(message):
        return ""
    said = message.replace("-", "_")
    return next((name for name in given if re.search(rf"(?<![a-z0-9]){name.replace('-', '_')}(?![a-z0-9_])", said)), "")


@contextmanager
def _telling_refusals(request: ProbeRequest) -> Iterator[None]:
    """A server that does not start for an option of the user's is told as that: raises SettingRefused."""
    try:
        yield
    except ProbeError as failure:
        given = Plan.read(request.parameters).overrides
        if name := refused_option(str(failure), given):
            raise SettingRefused(
                f"the server refuses {SERVER_PREFIX}{name}={given[name]}: {failure}", failure.log
            ) from failure
        raise


@dataclass(frozen=True)
class _Servers:
    """The servers of one probe: what is started, with which options, where, and what is sent to it."""

    request: ProbeRequest
    plan: Plan
    script: Script
    installation: Installation
    options: tuple[str, ...]
    sockets: Path

    @classmethod
    def of(cls, request: ProbeRequest, sockets: Path) -> Self:
        plan = Plan.read(request.parameters)
        installation = Installation.find(request.artifact.resolve(), request.version, request.sandbox)
        settings = pinned(installation.flavour, request.version, fair=plan.fair)
        settings |= sizes(installation.flavour, plan.rows, plan.tables)
        options = option_words(settings, plan.overrides)
        return cls(request, plan, SCRIPTS[request.test.name], installation, options, sockets)

    def place(self, name: str) -> Place:
        return Place.below(self.request.scratch, self.sockets, name)

    @property
    def tables(self) -> tuple[str, ...]:
        return self.script.data.names(self.plan.tables)

    @property
    def pace(self) -> Pace | None:
        """Of the writers in the background, if the test has any."""
        if not self.script.background:
            return None
        return Pace(int(self.request.parameters[WRITES_PER_SECOND]), self.plan.clients, ROWS_PER_COMMIT)

    def client(self, server: Server, *, timed: bool = False) -> Client:
        return Client(server, self.script, self.request.parameters, self.pinning(timed=timed))

    def pinning(self, *, timed: bool = False) -> tuple[str, ...]:
        return ("taskset", "-c", str(max(os.sched_getaffinity(0)))) if self.plan.pinned(timed=timed) else ()


@dataclass(frozen=True)
class _Counted:
    """What the counts that agree say: instructions per query and what was simulated, by metric, and mean profiles: self
    cost, with what libraries did, by call; `note` says it if they do not agree."""

    costs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    profile: Mapping[str, float] = field(default_factory=dict)
    attributed: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[tuple[str, str], float] = field(default_factory=dict)
    note: str = ""


def _load(servers: _Servers) -> tuple[Place, dict[str, str]]:
    """Make and fill the data directory; returns where it is and the server's variables."""
    place = servers.place("clock")
    initialise(servers.installation, place, servers.options)
    with Server(servers.installation, place, servers.options) as server:
        variables = _comparable(server.variables(), servers)
        server.execute([f"CREATE DATABASE IF NOT EXISTS {DATABASE}"], database=None)
        servers.client(server).load()
        # Statistics must not depend on when a background thread finds the time.
        server.execute([f"ANALYZE TABLE {table}" for table in servers.tables])
        # A slow shutdown leaves nothing to purge.
        server.execute(["SET GLOBAL innodb_fast_shutdown=0"])
        server.stop()
    return place, variables


def _comparable(variables: Mapping[str, str], servers: _Servers) -> dict[str, str]:
    """The variables without what differs between any two probes: this server's identity and where its files are."""
    places = {str(servers.request.scratch): "<scratch>", str(servers.sockets): "<run>"}
    places[str(servers.installation.artifact)] = "<artifact>"
    kept = {name: value for name, value in variables.items() if name not in _OWN_VARIABLES}
    for path in sorted(places, key=len, reverse=True):
        kept = {name: value.replace(path, places[path]) for name, value in kept.items()}
    return kept


def _count(servers: _Servers, loaded: Place, commands: list[str], counter: HeavyCounter) -> _Counted:
    """What statements cost in a server that is started for the counter alone, on a copy of the data."""
    place = servers.place("count")
    place.copy_data(loaded)
    steered = counter.steered(place.own / f"{counter.name}.out", servers.sockets, DISPATCH)
    launcher = (*servers.pinning(), *steered.launcher)
    options = (*servers.options, *_EVEN_UNDO)
    plan = servers.plan
    deck = plan.deck(servers.script)
    with ExitStack() as stack:
        server = stack.enter_context(
            Server(
                servers.installation,
                place,
                options,
                launcher=launcher,
                variables={**steered.environment, **OWN_HEAPS},
                patience_s=600.0,
            )
        )
        server.rest()
        if servers.script.test.writes:
            stack.enter_context(server.old_snapshot())
        client = servers.client(server)
        _read_every_page(server, servers)

        def send(events: int) -> Report:
            server.rest()
            return client.run(seed=deck.next_seed(), events=events, first=deck.take(events), timeout_s=_RUN_TIMEOUT_S)

        first = send(plan.clients)
        queries_per_event = max(1, first.queries // max(1, first.events))
        send(events_for(plan.warm_queries, queries_per_event))
        steered.begin(server.pid, server.sandbox)

        def count() -> PerOperation:
            few = send(plan.clients)
            low = steered.profile()
            if low.total == 0:
                raise ProbeError(f"the server has no function {DISPATCH.rstrip('*')}: was it stripped?", place.log)
            many = send(plan.clients + events_for(plan.queries, queries_per_event))
            high = steered.profile()
            return slope(low, high, many.queries - few.queries)

        percent = STEADY_WRITES_PERCENT if servers.script.test.writes else STEADY_PERCENT
        steady = until_steady(count, plan.repeats, plan.most_counts(servers.script), percent)
        words = client.run_command(seed=FIRST_SEED, events=events_for(plan.queries, queries_per_event), seconds=0)
        commands += [" ".join(server.command), " ".join(words)]
    counted = steady.counts
    simulated = {metric: tuple(one.others[metric] for one in counted) for metric in counted[0].others}
    return _Counted(
        {INSTRUCTIONS: tuple(one.total for one in counted), **simulated},
        _mean([one.functions for one in counted]),
        _mean([one.attributed for one in counted]),
        _mean([one.calls for one in counted]),
        steady.note,
    )


def _mean(profiles: Sequence[Mapping[_Name, float]]) -> dict[_Name, float]:
    names = sorted({name for one in profiles for name in one})
    return {name: sum(one.get(name, 0.0) for one in profiles) / len(profiles) for name in names}


def _time(
    servers: _Servers, loaded: Place, commands: list[str], companion: Companion | None
) -> tuple[dict[str, tuple[float, ...]], str]:
    """CPU time, context switches and rate of several runs, and what a companion counts meanwhile; it is said if writers
    in the background were too slow."""
    plan = servers.plan
    deck = plan.deck(servers.script)
    launcher = (*servers.pinning(timed=True), *fixed_addresses())
    limit = plan.clock_limit(servers.script)
    samples: dict[str, list[float]] = {CPU: [], CONTEXT_SWITCHES: [], QPS: []}
    with Server(servers.installation, loaded, servers.options, launcher=launcher) as server:
        client = servers.client(server, timed=True)
        _read_every_page(server, servers)

        def send() -> Report:
            return client.run(
                seed=deck.next_seed(),
                events=limit,
                seconds=plan.slice_s,
                first=deck.take(limit),
                timeout_s=_RUN_TIMEOUT_S,
            )

        with writers(client, servers.pace) as background:
            send()
            background.begin()
            for _ in range(plan.samples):
                before = clock.read(server.pid)
                with companion.watch(server.pid, servers.request.scratch) if companion else nullcontext() as count:
                    report = send()
                spent = clock.between(before, clock.read(server.pid))
                samples[CPU].append(spent.cpu_ns / 1000 / report.queries)
                samples[CONTEXT_SWITCHES].append(spent.switches / report.queries)
                samples[QPS].append(report.qps)
                for metric, counted in count.values.items() if count else ():
                    samples.setdefault(metric, []).append(counted / report.queries)
            missed = background.missed()
        words = client.run_command(seed=FIRST_SEED, events=limit, seconds=plan.slice_s)
        commands += [" ".join(server.command), " ".join(words), *background.command]
    return {metric: tuple(taken) for metric, taken in samples.items()}, missed


def _read_every_page(server: Server, servers: _Servers) -> None:
    """Bring all indexes into memory: a page's first read verifies its checksum, which costs more than most queries."""
    for table in servers.tables:
        server.rest()
        server.execute([statement.format(table=table) for statement in servers.script.data.reads])


WORKLOAD: Workload = Sysbench()
