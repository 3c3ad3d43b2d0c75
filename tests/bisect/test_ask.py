"""From what was typed to a question: what the clone, the network and the host have to do with it."""

import shutil
from itertools import chain
from pathlib import Path

import pytest
from repositories import git
from small_bisections import begun, cost, history, tree

from cpubisect.builders.matrix import Matrix
from cpubisect.engine import Engine, module_of
from cpubisect.errors import UserError
from cpubisect.workloads import host_tools


def test_a_branch_is_taken_as_it_is_today_or_as_it_was_if_nothing_can_be_fetched(home: Path, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    shas = history(tree(1000), cost(1100)).write(origin)
    told: list[str] = []

    def asked() -> str:
        session, bisection = begun(
            *(origin.as_uri(), shas[1]), engine="minikv", watch=lambda kind, **data: told.append(data["text"])
        )
        return str(session.store.bisection(bisection).question["bad_sha"])

    assert asked() == shas[2]
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    git(origin, *who, "commit", "--quiet", "--allow-empty", "--message", "Go on")
    newest = git(origin, "rev-parse", "main")
    assert asked() == newest
    shutil.rmtree(origin)
    assert asked() == newest
    assert "branches are taken as they were when they were fetched last" in told[-1]


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


@pytest.mark.parametrize("engine", Matrix.load().engines(), ids=lambda engine: engine.name)
def test_the_doctor_knows_every_program_that_is_needed(engine: Engine) -> None:
    by_system = module_of(engine, "builders").PROGRAMS
    for program in (*module_of(engine, "workloads").PROGRAMS, *chain.from_iterable(by_system.values())):
        assert host_tools.named(program).package
