"""From the versions that the user names to a comparison that is measured: checked first, resumable, never twice."""

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cpubisect.base.disk.scratch import tidied
from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import Counter
from cpubisect.base.sandbox.policy import Wish
from cpubisect.builders.build import NoRecipe
from cpubisect.builders.recipes.matrix import Matrix, locate_matrix
from cpubisect.builders.recipes.toolchain import find_ccache
from cpubisect.history.history import History
from cpubisect.history.repository import checked_name
from cpubisect.records.comparisons import Comparisons
from cpubisect.records.lifecycle import RESUMABLE
from cpubisect.run.bench.making import Bench
from cpubisect.run.bench.orders import Executor
from cpubisect.run.bench.rounds import measure_rounds
from cpubisect.search import events
from cpubisect.search.comparing.question import LEAST_SIDES, MOST_SIDES, ROUNDS, Asked, Row, Side, in_groups
from cpubisect.search.events import Event, Watch
from cpubisect.service.ask import (
    check_compiler,
    check_flags,
    look_for_libraries,
    look_for_programs,
    opened,
    resolved,
)
from cpubisect.service.executors import in_process
from cpubisect.service.launch import stoppable
from cpubisect.workloads.catalog import find_test, settings, tests_of
from cpubisect.workloads.counters.choice import choose
from cpubisect.workloads.probe import Test


@dataclass(frozen=True)
class Compare:
    """The arguments of `bisect compare` as typed; `groups` are words for groups of tests."""

    versions: tuple[str, ...]
    tests: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    clients: tuple[int, ...] = ()
    repo: str | None = None
    engine: str | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    rounds: int = ROUNDS
    toolchain: str | None = None
    matrix: Path | None = None
    jobs: int = 2
    counter: Counter | None = None
    flags: Flags = Flags.PINNED
    unsafe_settings: bool = False
    sandbox: Wish = Wish.AUTO


def check(comparisons: Comparisons, wanted: Compare, watch: Watch, executor: Executor | None = None) -> Asked:
    """Check everything that can be checked before the first build by the `executor`, or here; raises UserError with the
    next step."""
    executor = executor or in_process(comparisons.home)
    _check_names(wanted)
    if wanted.sandbox is Wish.REQUIRE:
        executor.sandbox(wanted.sandbox, watch)
    if wanted.counter is not None:
        choose(executor.counters(), wanted.counter, ())
    matrix = Matrix.load(wanted.matrix)
    if not wanted.repo and not wanted.engine and not wanted.tests:
        raise UserError("groups of tests do not tell the engine", "name it with --engine, or a clone with --repo")
    history, engine, url = opened(comparisons.home, matrix, wanted.repo, wanted.engine, wanted.tests, watch)
    tests = _tests(engine, wanted)
    if "defaults" in wanted.given and not any("defaults" in test.parameters for test in tests):
        raise UserError(f"{engine.name} has no defaults that could be pinned", "leave out --defaults")
    rows = _rows(engine, tests, wanted)
    commits = resolved(comparisons.home, history, url, wanted.versions, watch)
    sides = tuple(Side(name, commit.sha) for name, commit in zip(wanted.versions, commits, strict=True))
    _check_apart(sides)
    check_flags(engine, history, tests, wanted.given, [(side.name, side.sha) for side in sides[:1]])
    toolchain = _toolchain(matrix, engine, history, sides, wanted, executor)
    look_for_libraries(comparisons.home, matrix, engine, history, [side.sha for side in sides], executor)
    return Asked(
        engine=engine.name,
        repository=str(history.path),
        sides=sides,
        rows=rows,
        matrix=str((wanted.matrix or locate_matrix()).resolve()),
        rounds=wanted.rounds,
        given=dict(wanted.given),
        toolchain=toolchain,
        jobs=wanted.jobs,
        counter=wanted.counter,
        flags=wanted.flags,
        unsafe_settings=wanted.unsafe_settings,
        sandbox=wanted.sandbox,
    )


def _check_names(wanted: Compare) -> None:
    for name in wanted.versions:
        if name.startswith("-") or not name.strip():
            raise UserError(f"{name!r} is not a commit", "give versions, tags, branches or commits")
        checked_name(name)
    if not LEAST_SIDES <= len(wanted.versions) <= MOST_SIDES:
        raise UserError(
            f"{len(wanted.versions)} versions cannot be compared",
            f"name {LEAST_SIDES} to {MOST_SIDES}, the base first: bisect compare 5.6.51 5.7.44 8.0.39 --tests point",
        )
    if not wanted.tests and not wanted.groups:
        raise UserError("what to run is not said", "name tests with --test, or groups of them with --tests, e.g. all")


def _tests(engine: Engine, wanted: Compare) -> list[Test]:
    """Those that were named and those of the groups, in the order of the catalogue."""
    named = {find_test(engine, name).name for name in wanted.tests}
    known = tests_of(engine)
    named |= set(in_groups(wanted.groups, {test.name: test.group for test in known}))
    return [test for test in known if test.name in named]


def _rows(engine: Engine, tests: Sequence[Test], wanted: Compare) -> tuple[Row, ...]:
    """A row for each test and number of clients; raises UserError for settings that make no sense."""
    if "clients" in wanted.given and wanted.clients:
        raise UserError("clients are given twice", "leave out --set clients=N")
    chosen = [
        settings(
            engine,
            tests,
            {**wanted.given, **({"clients": str(count)} if count else {})},
            unsafe=wanted.unsafe_settings,
        )
        for count in wanted.clients or (0,)
    ]
    return tuple(
        Row(test.name, test.group, int(own[test.name].get("clients", "1")), own[test.name], test.spread_percent or 0.0)
        for test in tests
        for own in chosen
    )


def _check_apart(sides: Sequence[Side]) -> None:
    """Raises UserError if two names mean the same commit."""
    first: dict[str, str] = {}
    for side in sides:
        if side.sha in first:
            raise UserError(
                f"{first[side.sha]} and {side.name} are the same commit {side.sha[:12]}", "name each version once"
            )
        first[side.sha] = side.name


def _toolchain(
    matrix: Matrix,
    engine: Engine,
    history: History,
    sides: Sequence[Side],
    wanted: Compare,
    executor: Executor,
) -> str | None:
    """The compiler for all versions where the matrix allows one; a version without a recipe is left out later, but
    raises UserError if too few to be compared have one.

    A step between compilers would look like one between versions.
    """
    toolchains, named = executor.toolchains, wanted.toolchain
    check_compiler(named, executor)
    versions, systems, lacking = [], [], None
    for side in sides:
        version = history.version_at(side.sha)
        if version is None:
            raise UserError(f"commit {side.sha[:12]} has no version file of {engine.name}", "is --engine right?")
        try:
            recipe = matrix.recipe(engine, side.sha, version, toolchains, prefer=named, flags=wanted.flags)
            systems.append(recipe.system)
            versions.append(version)
        except NoRecipe as reason:
            lacking = reason
    if lacking and len(versions) < LEAST_SIDES:
        raise lacking
    if executor.here:
        find_ccache()
        look_for_programs(engine, systems)
    return named or matrix.shared_toolchain(engine, versions, toolchains)


def begin(comparisons: Comparisons, asked: Asked, *, queued: bool = False, executor: Executor | None = None) -> int:
    """Record a new comparison on this host, or that of the `executor`, to be measured by the caller or, if `queued`, by
    a worker; its id."""
    return comparisons.add(asked, (executor or in_process(comparisons.home)).fingerprint, queued=queued)


def run(
    comparisons: Comparisons,
    comparison: int,
    watch: Watch,
    *,
    among: Sequence[str] = RESUMABLE,
    sandbox: Wish | None = None,
    executor: Executor | None = None,
) -> bool:
    """Measure or go on with a comparison to its end, with another wish for a `sandbox` than it was asked with if one is
    given; builds and probes are carried out by the `executor`, or here. False if it was cancelled meanwhile.

    Raises UserError if its state is not `among` some, it is being measured by another process, or the host can't go
    on; KeyboardInterrupt or Stopped when interrupted. In every case all that was finished is kept.
    """
    with comparisons.alone(comparison), stoppable(), tidied(comparisons.home.work):
        owner = {"pid": os.getpid(), "since": time.time()}
        comparisons.store.must_be_sound()
        row = comparisons.row(comparison)
        if not comparisons.change_state(comparison, among, "running", owner=owner):
            raise UserError(f"comparison {comparison} is {row.state}", f"`bisect compare --show {comparison}` shows it")
        try:
            bench, tests = bench_of(comparisons, comparison, watch, sandbox, executor)
            measure_rounds(bench, comparisons, row.asked, tests)
        except BaseException as error:
            if comparisons.row(comparison).state == "cancelled":
                return False
            with contextlib.suppress(UserError):
                comparisons.change_state(comparison, ("running",), "interrupted", owner=None)
                if isinstance(error, Exception):
                    comparisons.store.add_event(comparison, events.Stopped(why=str(error)))
            raise
        comparisons.update(comparison, state="finished", finished=time.time(), owner=None)
        return True


def bench_of(
    comparisons: Comparisons,
    comparison: int,
    watch: Watch,
    sandbox: Wish | None = None,
    executor: Executor | None = None,
) -> tuple[Bench, dict[str, Test]]:
    """Where a comparison's builds and probes are made, and its tests by name; raises UserError if the host lacks the
    counter that it began with, or the sandbox that it asks for or must have."""
    row = comparisons.row(comparison)
    executor = (executor or in_process(comparisons.home)).at(row.host)
    asked = row.asked
    matrix = Matrix.load(Path(asked.matrix))
    engine = matrix.engine(asked.engine)
    counter = (
        Counter(row.counter) if row.counter else choose(executor.counters(), asked.counter, asked.simulations).counter
    )
    if row.counter is None:
        comparisons.update(comparison, counter=counter.value)

    def journal(event: Event) -> None:
        if event.kept:
            comparisons.store.add_event(comparison, event)
        watch(event)

    bench = Bench(
        owner=comparison,
        store=comparisons.store,
        engine=engine,
        matrix=matrix,
        toolchains=tuple(executor.toolchains),
        counter=counter,
        history=History(Path(asked.repository), engine),
        home=comparisons.home,
        tell=journal,
        again=f"bisect compare --resume {comparison}",
        executor=executor,
        toolchain=asked.toolchain,
        jobs=asked.jobs,
        simulations=asked.simulations,
        flags=asked.flags,
        ends=frozenset((asked.sides[0].sha,)),
        sandbox=executor.sandbox(sandbox or asked.sandbox, journal),
    )
    return bench, {name: find_test(engine, name) for name in asked.tests}
