"""One finished bisection and one comparison for all tests of the pages, and browsers without JavaScript."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from small_bisections import ask, cost, history, tree, verdict_of
from web_home import HOSTILE, Compared, Known, application, comparison_form

from cpubisect.base.home import Home
from cpubisect.records.comparisons import Comparisons
from cpubisect.service.compare import run


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


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[Compared]:
    """A home with one comparison that was asked for by the form, and measured."""
    root = tmp_path_factory.mktemp("comparing")
    shas = history(tree(1000), cost(3000), cost(1, "#error <b>not today</b>\n")).write(root / "kv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPUBISECT_HOME", str(root / "home"))
        patch.setenv("CCACHE_DIR", str(compiler_cache))
        home = Home.open()
        client = application(root / "home", repositories=(f"kv={root / 'kv'}",)).test_client()
        asked = comparison_form(client, versions=" ".join(shas.values()))
        answer = client.post("/comparisons/new", data=asked)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/comparisons/1"), answer.text
        comparisons = Comparisons.of(home)
        assert comparisons.queued() == [1]
        assert "queued" in client.get("/comparisons/1").text
        assert run(comparisons, 1, lambda event: None)
        yield Compared(root / "home", root / "kv", list(shas.values()))


@pytest.fixture
def browser(compared: Compared) -> FlaskClient:
    """A browser without JavaScript on the host of the comparison."""
    return application(compared.home, repositories=(f"kv={compared.clone}",)).test_client()
