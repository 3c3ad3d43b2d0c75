"""From what the user typed to a question: finds the repository and engine, resolves names, checks everything first."""

import importlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cpubisect.bench import Watch
from cpubisect.builders.matrix import Matrix, locate_matrix
from cpubisect.builders.toolchain import find_ccache, installed_toolchains
from cpubisect.engine import Engine
from cpubisect.errors import UserError
from cpubisect.history import History
from cpubisect.names import MOVING, Commit
from cpubisect.paths import Home
from cpubisect.question import Find, MetricChoice, Question
from cpubisect.repositories import is_url, local_clone, refresh
from cpubisect.session import engine_named
from cpubisect.workloads.catalog import engines_with, find_test, settings


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


def ask(home: Home, asked: Ask, watch: Watch) -> Question:
    """Check everything that can be checked before the first build; raises UserError with the next step."""
    for name in (asked.good, asked.bad):
        if name.startswith("-") or not name.strip():
            raise UserError(f"{name!r} is not a commit", "give a version, tag, branch or commit")
    matrix = Matrix.load(asked.matrix)
    url = _url(matrix, asked)
    path = local_clone(home, url) if url else Path(asked.repo or ".").expanduser().resolve()
    history, engine = _open(path, matrix, asked)
    if history.is_dirty():
        watch("notice", text=f"{path} has uncommitted changes: they are left alone and not built")
    tests = [find_test(engine, name) for name in dict.fromkeys(asked.tests)]
    parameters = settings(engine, tests, asked.given)
    ends = _ends(home, history, url, asked, watch)
    good, bad = (commit.sha for commit in ends)
    history.candidates(good, bad)
    toolchain = _toolchain(matrix, engine, history, (good, bad), asked.toolchain)
    find_ccache()
    _look_for_programs(engine)
    return Question(
        engine=engine.name,
        repository=str(path),
        good=asked.good,
        bad=asked.bad,
        good_sha=good,
        bad_sha=bad,
        tests=tuple(test.name for test in tests),
        matrix=str((asked.matrix or locate_matrix()).resolve()),
        parameters=parameters,
        given=dict(asked.given),
        metric=asked.metric,
        find=asked.find,
        min_step=asked.min_step,
        toolchain=toolchain,
        jobs=asked.jobs,
    )


def _url(matrix: Matrix, asked: Ask) -> str | None:
    """The URL to clone: the one given, or the engine's where no repository was named."""
    if asked.repo:
        return asked.repo if is_url(asked.repo) else None
    if asked.engine:
        engine = engine_named(matrix, asked.engine)
    else:
        engines, names = matrix.engines(), " and ".join(repr(name) for name in asked.tests)
        for name in asked.tests:
            engines = engines_with(name, engines)
        if not engines:
            raise UserError(f"no engine has a test {names}", "`bisect tests` lists them all")
        if len(engines) > 1:
            raise UserError(f"{' and '.join(e.name for e in engines)} have a test {names}", "say which with --engine")
        engine = engines[0]
    if not engine.repository:
        raise UserError(f"no public repository of {engine.name} is known", "name one with --repo")
    return engine.repository


def _ends(home: Home, history: History, url: str | None, asked: Ask, watch: Watch) -> tuple[Commit, Commit]:
    """The commits that good and bad name; in a clone of ours after a fetch, if one is not there or may have moved."""
    if not url:
        return history.resolve_pair(asked.good, asked.bad)
    try:
        ends = history.resolve_pair(asked.good, asked.bad)
    except UserError:
        ends = None
    if ends and not any(end.source in MOVING for end in ends):
        return ends
    watch("progress", text=f"fetching what is new from {url}")
    try:
        refresh(home, url)
    except UserError as reason:
        if not ends:
            raise
        watch("notice", text=f"{reason.problem}: branches are taken as they were when they were fetched last")
    return history.resolve_pair(asked.good, asked.bad)


def _look_for_programs(engine: Engine) -> None:
    """Raises UserError if a program is missing that every build or probe of an engine needs."""
    for room, module in (("builders", engine.builder), ("workloads", engine.workload)):
        for program in importlib.import_module(f"cpubisect.{room}.{module}").PROGRAMS:
            if shutil.which(program) is None:
                raise UserError(f"{engine.name} needs {program}, which is not installed", "see `bisect doctor`")


def _open(path: Path, matrix: Matrix, asked: Ask) -> tuple[History, Engine]:
    if asked.engine:
        engine = engine_named(matrix, asked.engine)
        return History(path, engine), engine
    history = History(path)
    return history, history.detect_engine(matrix.engines())


def _toolchain(
    matrix: Matrix, engine: Engine, history: History, ends: tuple[str, str], wanted: str | None
) -> str | None:
    """The compiler for the whole range; raises UserError if an end has no recipe on this host.

    One compiler for all commits where the matrix allows it: a step between compilers would look like a regression.
    """
    toolchains = installed_toolchains()
    versions = []
    for sha in ends:
        version = history.version_at(sha)
        if version is None:
            raise UserError(f"commit {sha[:12]} has no version file of {engine.name}", "is --engine right?")
        versions.append(version)
        matrix.recipe(engine, sha, version, toolchains, prefer=wanted)
    return wanted or matrix.shared_toolchain(engine, versions, toolchains)
