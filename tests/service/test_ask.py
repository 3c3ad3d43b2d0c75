"""From what was typed to a question: what the clone, the network and the host have to do with it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from repositories import git
from small_bisections import begun, cost, history, tree

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.builders.build import SCREENING
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.service.ask import opened
from cpubisect.service.doctor import diagnose
from cpubisect.workloads.catalog import workload_of


def test_a_branch_is_taken_as_it_is_today_or_as_it_was_if_nothing_can_be_fetched(home: Path, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    shas = history(tree(1000), cost(1100)).write(origin)
    told: list[str] = []

    def asked() -> str:
        registry, bisection = begun(
            *(origin.as_uri(), shas[1]), engine="minikv", watch=lambda event: told.append(event.text)
        )
        return str(registry.store.bisection(bisection).question.bad_sha)

    assert asked() == shas[2]
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    git(origin, *who, "commit", "--quiet", "--allow-empty", "--message", "Go on")
    newest = git(origin, "rev-parse", "main")
    assert asked() == newest
    shutil.rmtree(origin)
    assert asked() == newest
    assert "branches are taken as they were when they were fetched last" in told[-1]


def test_tests_that_a_fork_has_too_are_taken_to_what_it_is_a_fork_of(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloned: list[str] = []

    def refuse(home: Home, url: str, progress: Callable[[str], None]) -> Path:
        cloned.append(url)
        raise UserError("no network", "")

    monkeypatch.setattr("cpubisect.service.ask.mirror_of", refuse)
    for named in (None, "mariadb"):
        with pytest.raises(UserError, match="no network"):
            opened(Home.open(), Matrix.load(), None, named, ["point-query", "scan"], lambda event: None)
    assert cloned == [Matrix.load().engine(name).repository for name in ("mysql", "mariadb")]
    with pytest.raises(UserError, match="no engine has a test"):
        opened(Home.open(), Matrix.load(), None, None, ["point-query", "seekrandom"], lambda event: None)


def test_a_program_that_every_build_runs_is_missed_before_the_first(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    tools = tmp_path / "bin"
    tools.mkdir()
    for program in ("git", "ccache", "gcc-12", "g++-12"):
        (tools / program).symlink_to(str(shutil.which(program)))
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(UserError, match="make is not installed; needed for building: apt-get install -y make"):
        begun(tmp_path / "kv", shas[1])


def test_the_doctor_looks_for_all_that_is_needed(home: Path) -> None:
    names = [check.name for check in diagnose(home)]
    assert len(names) == len(set(names))
    for engine in Matrix.load().engines():
        builder = builder_of(engine)
        tools = (*workload_of(engine).programs, *chain.from_iterable(builder.systems.values()))
        assert {tool.program for tool in tools} | {header.path for header in builder.headers} <= set(names)
        assert all(tool.package for tool in tools)
    assert {"git", "ccache", "perf", "valgrind", "hardware counters", "callgrind"} <= set(names)


@pytest.mark.parametrize(
    ("look_up", "key", "there"),
    [
        (builder_of, "builder", {"mysql", "rocksdb"}),
        (workload_of, "workload", {"db_bench", "sysbench"}),
        (
            lambda engine: builder_of(replace(engine, screening=engine.builder), SCREENING),
            "screening builder",
            {"rocksdb_screening"},
        ),
    ],
)
@pytest.mark.parametrize("name", ["matrix", "probe", "no_such_module", "sys"])
def test_a_module_that_serves_no_engine_is_refused(
    look_up: Callable[[Engine], object], key: str, there: set[str], name: str
) -> None:
    engine = replace(Matrix.load().engine("minikv"), builder=name, workload=name)
    with pytest.raises(UserError) as caught:
        look_up(engine)
    assert caught.value.problem == f"the matrix gives minikv the {key} {name!r}, which does not exist"
    assert there <= set(caught.value.hint.removeprefix("use ").split(", "))


def test_defaults_are_refused_before_the_first_build_where_there_is_no_server(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    with pytest.raises(UserError, match="minikv has no defaults that could be pinned"):
        begun(tmp_path / "kv", shas[1], "defaults=server")
