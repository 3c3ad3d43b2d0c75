"""Who carries out builds and probes: this host alone, or the hosts of a cluster."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.sandbox.secrets import environment
from cpubisect.run.bench.here import InProcess
from cpubisect.run.bench.orders import Executor
from cpubisect.service.sandboxing import settled

CLUSTER, CERTIFICATES = "CPUBISECT_CLUSTER", "CPUBISECT_CERTIFICATES"
"""The environment variables with the address of a head, and the directory of this host's certificates."""

INSTALL = "pip install 'cpubisect[cluster]'"


def in_process(home: Home) -> Executor:
    """This host alone, one at a time."""
    return InProcess(home, settled)


@contextlib.contextmanager
def executor_at(home: Home, cluster: str | None = None, certificates: Path | None = None) -> Iterator[Executor]:
    """The hosts of the head at an address, by default that of the environment; without one this host alone. What was
    ordered and has not ended is cancelled in the end. Raises UserError if nobody answers there."""
    named = named_cluster() if cluster is None else cluster
    if not named:
        yield in_process(home)
        return
    needs_cluster()
    from cpubisect.cluster.address import Address
    from cpubisect.cluster.certificates import Pair
    from cpubisect.cluster.connection import Connection
    from cpubisect.cluster.executor import Hosts

    address = Address.read(named)
    pair = Pair.of(certificates_at(certificates), home) if address.encrypted else None
    executor = Hosts(Connection(address, pair), home)
    executor.connection.open()
    try:
        yield executor
    finally:
        executor.close()


def named_cluster() -> str:
    """The address of a head that the environment names; empty if it names none."""
    return environment().get(CLUSTER, "")


def certificates_at(given: Path | None) -> Path | None:
    """Where certificates are, as given or in the environment; None for the place in the home directory."""
    named = environment().get(CERTIFICATES, "")
    return given or (Path(named) if named else None)


def needs_cluster() -> None:
    """Raises UserError if what a cluster needs is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise UserError(f"a cluster needs Dask.distributed ({error})", INSTALL) from error
