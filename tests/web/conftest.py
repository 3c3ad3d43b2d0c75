"""One finished bisection for all tests of the pages, and a browser without JavaScript."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from small_bisections import ask, cost, history, tree, verdict_of
from web_home import HOSTILE, Known, application


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[Known]:
    """Asked once; tests only read it, or take a copy."""
    root = tmp_path_factory.mktemp("web")
    story = history(tree(1000), *(cost(1000, f"int marker = {n};") for n in (2, 3)))
    story.commit(cost(1300), message=HOSTILE)
    for n in (5, 6):
        story.commit(cost(1300, f"int marker = {n};"))
    shas = story.write(root / "kv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPUBISECT_HOME", str(root / "home"))
        patch.setenv("CCACHE_DIR", str(compiler_cache))
        data = ask(root / "kv", shas[1], shas[6], home=root / "home")
        assert [culprit["sha"] for culprit in verdict_of(data)["culprits"]] == [shas[4]]
        yield Known(root / "home", root / "kv", shas, shas[4])


@pytest.fixture
def client(known: Known) -> FlaskClient:
    """A browser without JavaScript on the same host."""
    return application(known.home, repositories=(f"kv={known.clone}",)).test_client()
