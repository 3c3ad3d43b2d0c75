"""The hosts of a cluster, for whoever asks."""

from pathlib import Path
from typing import TYPE_CHECKING

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.service.executors import CLUSTER, certificates_at, named_cluster, needs_cluster

if TYPE_CHECKING:
    from cpubisect.cluster.connection import Present


def present_at(home: Home, cluster: str | None, certificates: Path | None) -> "list[Present]":
    """Those of the head at an address, by default that of the environment; raises UserError if nobody answers there."""
    needs_cluster()
    from cpubisect.cluster.address import Address
    from cpubisect.cluster.certificates import Pair
    from cpubisect.cluster.connection import Connection, HeadLost

    named = cluster or named_cluster()
    if not named:
        raise UserError("which cluster is not said", f"give the address of its head, or set {CLUSTER}")
    address = Address.read(named)
    connection = Connection(address, Pair.of(certificates_at(certificates), home) if address.encrypted else None)
    connection.open()
    try:
        return connection.hosts()
    except HeadLost as error:
        raise UserError(str(error), "is `bisect cluster head` still running there?") from error
    finally:
        connection.close()
