"""From what the user typed to a question: finds the repository and engine, resolves names, checks everything first."""

import difflib
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.home import Home
from cpubisect.base.metrics import Counter, Simulation
from cpubisect.base.sandbox.policy import Wish
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.libraries import HOST, libraries
from cpubisect.builders.recipes.matrix import Matrix, locate_matrix
from cpubisect.builders.recipes.toolchain import find_ccache
from cpubisect.builders.shelf import Shelf
from cpubisect.history.history import History
from cpubisect.history.mirrors import is_url, mirror_of, refresh
from cpubisect.history.names import MOVING, Commit
from cpubisect.history.repository import checked_name
from cpubisect.run.bench.orders import Executor
from cpubisect.search import events
from cpubisect.search.events import Watch
from cpubisect.search.question import Find, MetricChoice, Question
from cpubisect.service.executors import in_process
from cpubisect.workloads.catalog import engines_with, find_test, flags_of, settings, workload_of
from cpubisect.workloads.counters.choice import choose
from cpubisect.workloads.host import tools
from cpubisect.workloads.probe import Test

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Ask:
    """The arguments of `bisect start` as typed."""

    good: str
    bad: str
    tests: tuple[str, ...]
    repo: str | None
    engine: str | None
    metric: MetricChoice
    find: Find
    given: Mapping[str, str]
    min_step: float | None
    toolchain: str | None
    matrix: Path | None
    jobs: int
    counter: Counter | None = None
    first: bool = False
    simulations: tuple[Simulation, ...] = ()
    flags: Flags = Flags.PINNED
    both_sides: bool = False
    screen: bool = False
    unsafe_settings: bool = False
    sandbox: Wish = Wish.AUTO


def ask(home: Home, asked: Ask, watch: Watch, executor: Executor | None = None) -> Question:
    """Check everything that can be checked before the first build by the `executor`, or here; raises UserError with the
    next step."""
    executor = executor or in_process(home)
    for name in (asked.good, asked.bad):
        if name.startswith("-") or not name.strip():
            raise UserError(f"{name!r} is not a commit", "give a version, tag, branch or commit")
        checked_name(name)
    if asked.sandbox is Wish.REQUIRE:
        executor.sandbox(asked.sandbox, watch)
    simulations = asked.metric.simulations(asked.simulations)
    if asked.counter is not None or simulations:
        choose(executor.counters(), asked.counter, simulations)
    matrix = Matrix.load(asked.matrix)
    history, engine, url = opened(home, matrix, asked.repo, asked.engine, asked.tests, watch)
    if asked.screen:
        _check_screening(engine, asked)
    tests = [find_test(engine, name) for name in dict.fromkeys(asked.tests)]
    if "defaults" in asked.given and not any("defaults" in test.parameters for test in tests):
        raise UserError(f"{engine.name} has no defaults that could be pinned", "leave out --defaults")
    parameters = settings(engine, tests, asked.given, unsafe=asked.unsafe_settings)
    ends = resolved(home, history, url, (asked.good, asked.bad), watch)
    good, bad = (commit.sha for commit in ends)
    check_flags(engine, history, tests, asked.given, [(asked.good, good), (asked.bad, bad)])
    if history.candidates(good, bad).fork is None and asked.both_sides:
        raise UserError(
            f"{asked.good} lies on the way to {asked.bad}: there is no other side to search", "leave out --both-sides"
        )
    toolchain, systems = _recipes(matrix, engine, history, (good, bad), asked, executor)
    look_for_libraries(home, matrix, engine, history, (good, bad), executor)
    if executor.here:
        find_ccache()
        look_for_programs(engine, systems)
    return Question(
        engine=engine.name,
        repository=str(history.path),
        good=asked.good,
        bad=asked.bad,
        good_sha=good,
        bad_sha=bad,
        tests=tuple(test.name for test in tests),
        matrix=str((asked.matrix or locate_matrix()).resolve()),
        parameters=parameters,
        given=dict(asked.given),
        metric=MetricChoice.INSTRUCTIONS if asked.screen else asked.metric,
        find=asked.find,
        min_step=asked.min_step,
        toolchain=toolchain,
        jobs=asked.jobs,
        counter=asked.counter,
        first=asked.first,
        simulations=simulations,
        flags=asked.flags,
        both_sides=asked.both_sides,
        screen=asked.screen,
        unsafe_settings=asked.unsafe_settings,
        sandbox=asked.sandbox,
    )


def _check_screening(engine: Engine, asked: Ask) -> None:
    """Raises UserError if screening builds cannot answer what is asked."""
    if not engine.screening:
        raise UserError(f"there are no screening builds of {engine.name}", "leave out --screen")
    if asked.metric not in (MetricChoice.AUTO, MetricChoice.INSTRUCTIONS):
        raise UserError("screening builds are only compared by instructions", "leave out --screen, or --metric")
    if asked.both_sides:
        raise UserError("screening builds are searched on the way to bad only", "leave out --screen, or --both-sides")
    if asked.flags is not Flags.PINNED:
        raise UserError("screening builds have flags of their own", "leave out --screen, or --flags")


def check_flags(
    engine: Engine,
    history: History,
    tests: Sequence[Test],
    given: Mapping[str, str],
    commits: Sequence[tuple[str, str]],
) -> None:
    """Raises UserError for a setting that the program of one of some commits, given with their names, does not declare:
    its probes would fail, which says nothing of the commit. Only what can be read in the tree is known."""
    flags = flags_of(engine, tests, given)
    declares = workload_of(engine).declares
    for name, sha in commits if flags else ():
        tree = history.tree(sha)
        sources = [tree.text(path) or "" for path, plain in history.files(sha).items() if plain and declares(path)]
        known = {word for text in sources for word in _WORD.findall(text)}
        for setting, flag in flags.items() if sources else ():
            if flag not in known:
                near = difflib.get_close_matches(flag, known, n=3)
                hint = f"did you mean {', '.join(near)}?" if near else "leave it out"
                raise UserError(f"{name} has no flag {flag!r}, which --set {setting}={given[setting]} would give", hint)


def _tell_progress(watch: Watch, text: str) -> None:
    watch(events.Progress(text=text))


def opened(
    home: Home, matrix: Matrix, repo: str | None, named: str | None, tests: Sequence[str], watch: Watch
) -> tuple[History, Engine, str | None]:
    """The history, the engine, and the URL of the former if it is a clone of ours, made now if it is not there: of the
    repository and the engine that are `named`, or else of the one that has the tests. Raises UserError."""
    url = _url(matrix, repo, named, tests)
    told = partial(_tell_progress, watch)
    path = mirror_of(home, url, told) if url else Path(repo or ".").expanduser().resolve()
    history, engine = _open(path, matrix, named)
    if history.is_dirty():
        watch(events.Notice(text=f"{path} has uncommitted changes: they are left alone and not built"))
    return history, engine, url


def _url(matrix: Matrix, repo: str | None, named: str | None, tests: Sequence[str]) -> str | None:
    """The URL to clone: the one given, or the engine's where no repository was named."""
    if repo:
        return repo if is_url(repo) else None
    if named:
        engine = matrix.engine(named)
    else:
        engines, names = matrix.engines(), " and ".join(repr(name) for name in tests)
        for name in tests:
            engines = engines_with(name, engines)
        if not engines:
            raise UserError(f"no engine has a test {names}", "`bisect tests` lists them all")
        # Forks have the tests of what they are forks of, which stands first.
        if len({engine.workload for engine in engines}) > 1:
            raise UserError(f"{' and '.join(e.name for e in engines)} have a test {names}", "say which with --engine")
        engine = engines[0]
    if not engine.repository:
        raise UserError(f"no public repository of {engine.name} is known", "name one with --repo")
    return engine.repository


def resolved(home: Home, history: History, url: str | None, names: Sequence[str], watch: Watch) -> list[Commit]:
    """The commits of some names; in a clone of ours after a fetch, if one is not there or may have moved."""
    if not url:
        return history.resolve_all(names)
    try:
        found = history.resolve_all(names)
    except UserError:
        found = []
    if found and not any(commit.source in MOVING for commit in found):
        return found
    watch(events.Progress(text=f"fetching what is new from {url}"))
    try:
        refresh(home, url)
    except UserError as reason:
        if not found:
            raise
        watch(events.Notice(text=f"{reason.problem}: branches are taken as they were when they were fetched last"))
    return history.resolve_all(names)


def look_for_libraries(
    home: Home, matrix: Matrix, engine: Engine, history: History, commits: Iterable[str], executor: Executor
) -> None:
    """Raises LibraryMissing if one of some commits wants a library that can be had nowhere."""
    places = HOST if executor.here else ()
    for sha in commits:
        libraries(matrix.libraries(engine), history.tree(sha), Shelf(home.libraries), places)


def look_for_programs(engine: Engine, systems: Iterable[str]) -> None:
    """Raises UserError if a program is missing that a build by one of the systems, or every probe, needs."""
    programs = builder_of(engine).systems
    needed = [*workload_of(engine).programs, *(tool for system in systems for tool in programs[system])]
    for tool in needed:
        if shutil.which(tool.program) is None:
            lacking = tools.tool(tool)
            raise UserError(f"{tool.program} is {lacking.found}", lacking.fix)


def _open(path: Path, matrix: Matrix, named: str | None) -> tuple[History, Engine]:
    if named:
        engine = matrix.engine(named)
        return History(path, engine), engine
    history = History(path)
    return history, history.detect_engine(matrix.engines())


def check_compiler(wanted: str | None, executor: Executor) -> None:
    """Raises UserError if a compiler is wanted that nobody has; of none at all the recipes say what to install."""
    there = [toolchain.name for toolchain in executor.toolchains]
    if wanted and there and wanted not in there:
        place = "this host" if executor.here else "any builder"
        raise UserError(f"no compiler {wanted!r} on {place}", f"use {', '.join(there)}, or install it")


def _recipes(
    matrix: Matrix, engine: Engine, history: History, ends: tuple[str, str], asked: Ask, executor: Executor
) -> tuple[str | None, list[str]]:
    """The compiler for the whole range and the build systems of its ends; raises UserError if an end has no recipe on
    this host.

    One compiler for all commits where the matrix allows it: a step between compilers would look like a regression.
    """
    toolchains, wanted = executor.toolchains, asked.toolchain
    check_compiler(wanted, executor)
    versions, systems = [], []
    for sha in ends:
        version = history.version_at(sha)
        if version is None:
            raise UserError(f"commit {sha[:12]} has no version file of {engine.name}", "is --engine right?")
        versions.append(version)
        recipe = matrix.recipe(engine, sha, version, toolchains, prefer=wanted, flags=asked.flags)
        systems.append(recipe.system)
    return wanted or matrix.shared_toolchain(engine, versions, toolchains), systems
