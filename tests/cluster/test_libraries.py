"""Libraries that a tree does not carry, on a worker that has not got them: they are sent by whoever asks."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from cluster_orders import hosts_of, order_of
from file_server import tarball
from small_cluster import SmallCluster
from small_trees import GOOD, commit

from cpubisect.base.errors import UserError
from cpubisect.base.sandbox.policy import Kind
from cpubisect.builders.build import Library, Outcome
from cpubisect.records.artifacts import Artifacts
from cpubisect.service import sandboxing

pytestmark = pytest.mark.xdist_group("cluster")

NAME = "boost_1_59_0"
HEADER = {f"{NAME}/boost/version.hpp": '#define BOOST_LIB_VERSION "1_59"\n'}
MAKEFILE = "db_bench: main.cc\n\t$(CXX) $(EXTRA_CXXFLAGS) -I$(BOOST) -o $@ main.cc\n"
MAIN = '#include <boost/version.hpp>\n#include <cstdio>\nint main() {{ puts(BOOST_LIB_VERSION "{}"); }}\n'


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCluster]:
    """A head and a builder."""
    with SmallCluster(tmp_path_factory.mktemp("cluster")) as made:
        made.start("b1", "build")
        made.ready("b1")
        yield made


def wanting(place: Path, text: str) -> tuple[Path, str]:
    """A clone whose tree wants the library, and its commit."""
    clone = place / "clone"
    return clone, commit(clone, {**GOOD, "Makefile": MAKEFILE, "main.cc": MAIN.format(text)})


@pytest.mark.parametrize("kind", list(Kind))
def test_a_library_that_only_the_asker_has_is_sent_and_stays_there(
    cluster: SmallCluster, tmp_path: Path, kind: Kind
) -> None:
    if kind is Kind.BUBBLEWRAP and (lacking := sandboxing.problem()):
        pytest.skip(lacking.why)
    # One of its own each time: what was sent once is there.
    content = tarball({**HEADER, f"{NAME}/boost/{kind}.hpp": "// another\n"})
    library = Library(NAME, "BOOST={path}", sha256=hashlib.sha256(content).hexdigest(), part="boost")
    home, shelf = tmp_path / "mine", cluster.place / "b1" / "libraries"
    (home / "libraries").mkdir(parents=True)
    (home / "libraries" / f"{NAME}.tar.gz").write_bytes(content)
    clone, sha = wanting(tmp_path, str(kind))
    told: list[str] = []
    with hosts_of(cluster, home) as hosts:
        order = order_of(clone, sha, tmp_path, sandbox=kind, libraries=(library,))
        built = hosts.build(order, lambda event: told.append(event.sentence)).result()
        assert (built.result.outcome, built.result.first_error, built.host) == (Outcome.BUILT, "", "b1")
        assert built.artifact is not None
        assert Artifacts(home / "artifacts").sound(built.artifact)
        assert (shelf / f"{NAME}.tar.gz").read_bytes() == content
        assert len([text for text in told if text.endswith("is done by b1")]) == 1
        clone, sha = wanting(tmp_path, f"{kind} again")
        order = order_of(clone, sha, tmp_path, sandbox=kind, libraries=(library,))
        assert hosts.build(order, lambda event: None).result().result.outcome is Outcome.BUILT


@pytest.mark.parametrize(
    ("own", "why"),
    [(None, "boost_1_58_0 is not here and cannot be fetched"), (b"another", "is not the file that is meant")],
)
def test_one_that_nobody_has_is_one_line_that_says_where_it_belongs(
    cluster: SmallCluster, tmp_path: Path, own: bytes | None, why: str
) -> None:
    missing = Library("boost_1_58_0", "BOOST={path}", sha256="5" * 64, part="boost")
    home = tmp_path / "mine"
    (home / "libraries").mkdir(parents=True)
    if own is not None:
        (home / "libraries" / "boost_1_58_0.tar.gz").write_bytes(own)
    clone, sha = wanting(tmp_path, "never built")
    with hosts_of(cluster, home) as hosts, pytest.raises(UserError, match=why) as caught:
        hosts.build(order_of(clone, sha, tmp_path, libraries=(missing,)), lambda event: None).result()
    assert str(home / "libraries") in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
