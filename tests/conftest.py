"""What many tests need: the embedded example's repository, made once, and a home directory of their own."""

import os
import pickle
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Two workers that each solve small systems with several threads get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from cpubisect.base.locks import wait_for
from cpubisect.example.history import Generated, generate

# What a test finds must not depend on how fast the machine is just now.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Whoever runs the tests in the background may have Ctrl-C ignored; what they start would ignore it too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that all workers of the run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def example(together: Path) -> Generated:
    """The example's repository; read only. All workers have the same one: compiler caches of builds in a sandbox are
    known by the repository's place."""
    made = together / "example.pickle"
    with wait_for(together / "example.lock"):
        if not made.exists():
            made.write_bytes(pickle.dumps(generate(together / "example" / "minikv")))
    found: Generated = pickle.loads(made.read_bytes())
    return found


@pytest.fixture(scope="session")
def compiler_cache(together: Path) -> Path:
    """One compiler cache for all tests of all workers, so that a commit is compiled once."""
    named = os.environ.get("CCACHE_DIR")
    return Path(named) if named else together / "ccache"


@pytest.fixture
def home(tmp_path: Path, compiler_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory that cpubisect uses during the test."""
    root = tmp_path / "home"
    monkeypatch.setenv("CPUBISECT_HOME", str(root))
    monkeypatch.setenv("CCACHE_DIR", str(compiler_cache))
    return root
