"""A real finished bisection whose culprit has a hostile subject, made once per worker and copied for each test."""

import shutil
from pathlib import Path

import pytest
from small_bisections import ask, cost, history, tree

from cpubisect.paths import Home
from cpubisect.session import Session
from cpubisect.store import Store

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
def session(made: Path, home: Path) -> Session:
    """A home of the test's own with it."""
    shutil.copytree(made, home)
    opened = Home.open()
    return Session(opened, Store(opened.store))
