"""A real finished bisection whose culprit has a hostile subject, made once per worker and copied for each test."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_bisections import ask, cost, history, tree

from cpubisect.base.home import Home
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.search.verdict import Answer, Verdict

SUBJECT = "Cost more @everyone {noformat} (#7) \x1b[31mred <!-- it\u202e"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Path:
    """The home directory it is in, as bisection 1; to be copied."""
    folder = tmp_path_factory.mktemp("finished")
    story = history(tree(1000))
    story.commit(cost(1300), message=SUBJECT)
    shas = story.write(folder / "kv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPUBISECT_HOME", str(folder / "home"))
        patch.setenv("CCACHE_DIR", str(compiler_cache))
        ask(folder / "kv", shas[1], shas[2], home=folder / "home")
    return folder / "home"


@pytest.fixture
def registry(made: Path, home: Path) -> Registry:
    """A home of the test's own with it."""
    shutil.copytree(made, home)
    opened = Home.open()
    return Registry(opened, Store(opened.store))


def verdict_of(registry: Registry) -> Verdict:
    """The verdict of the finished bisection."""
    answer = registry.store.bisection(1).verdict
    assert answer
    (verdict,) = answer.tests.values()
    return verdict


def change_verdict(registry: Registry, **fields: Any) -> None:
    """Have it say something else."""
    (test,) = registry.store.bisection(1).question.tests
    answer = Answer.of({test: replace(verdict_of(registry), **fields)}, (test,))
    registry.store.update_bisection(1, verdict=answer)
