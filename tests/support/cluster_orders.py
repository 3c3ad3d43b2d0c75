"""Builds that are ordered of a cluster without a bisection."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from repositories import ROCKSDB
from small_cluster import SmallCluster
from small_trees import recipe_for

from cpubisect.base.home import Home
from cpubisect.base.sandbox.policy import Kind
from cpubisect.cluster.address import Address
from cpubisect.cluster.connection import Connection
from cpubisect.cluster.executor import Hosts
from cpubisect.run.bench.orders import BuildOrder


@contextlib.contextmanager
def hosts_of(cluster: SmallCluster, home: Path) -> Iterator[Hosts]:
    """The hosts of a cluster, for whoever has that home directory."""
    connection = Connection(Address.read(cluster.address), None)
    connection.open()
    hosts = Hosts(connection, Home(home))
    try:
        yield hosts
    finally:
        hosts.close()


def order_of(clone: Path, sha: str, logs: Path, *, sandbox: Kind = Kind.NONE, **recipe: Any) -> BuildOrder:
    """A build of a commit of a small clone; `recipe` is as in `recipe_for`."""
    own = recipe_for(sha, **recipe)
    return BuildOrder(own, ROCKSDB, clone, logs / "patches", logs / f"{sha}-{sandbox}.log", sandbox=sandbox)
