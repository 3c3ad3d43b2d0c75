"""The connection to a head: which hosts it has, what it was started with, and what workers tell meanwhile."""

import contextlib
import logging
import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client, Future, Security

from cpubisect.base.errors import UserError
from cpubisect.cluster.address import Address
from cpubisect.cluster.certificates import Pair
from cpubisect.cluster.hosts import Host
from cpubisect.cluster.parcels import Carrier

CONNECT_S = 10.0
"""A head that has not answered for so long is not there."""

TOLD, SETTINGS = "cpubisect", "cpubisect"
"""What workers tell of themselves goes by this name, and so does what a head was started with."""

CONFIGURATION = {
    # An order goes to one host and waits there: what Dask would gain by moving it is less than a tree sent twice.
    "distributed.scheduler.work-stealing": False,
    # A build may take so many hosts with it, one after the other; then it is given up.
    "distributed.scheduler.allowed-failures": 3,
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
    # Trees go with their orders.
    "distributed.admin.large-graph-warning-threshold": "1TB",
    "distributed.worker.profile.enabled": False,
    "distributed.diagnostics.nvml": False,
}


def configure() -> None:
    """Set Dask up for orders that are few and long, and keep it quiet: what matters is told by us."""
    dask.config.set(CONFIGURATION)
    for name in [*logging.root.manager.loggerDict, "distributed", "tornado", "asyncio"]:
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def security(pair: Pair | None) -> Security | None:
    """TLS for every connection, or None without certificates."""
    if pair is None:
        return None
    own = {"cert": str(pair.certificate), "key": str(pair.key)}
    roles = {f"tls_{role}_{kind}": file for role in ("client", "scheduler", "worker") for kind, file in own.items()}
    return Security(tls_ca_file=str(pair.authority), require_encryption=True, **roles)


class HeadLost(Exception):
    """The head does not answer any more."""


@dataclass(frozen=True)
class Present:
    """A host that is there: the address of its worker, and how many orders it has."""

    host: Host
    address: str
    orders: int


class Connection:
    """To the head at an address, with the certificates of this host."""

    def __init__(self, address: Address, pair: Pair | None) -> None:
        self.address = address
        self._security = security(pair)
        self.topic = f"cpubisect-{uuid.uuid4().hex}"
        self.woken = threading.Event()
        self._told: dict[str, deque[Mapping[str, Any]]] = defaultdict(deque)
        self._client: Client | None = None
        self._lost = False
        self._settings: Mapping[str, str] = {}

    def open(self) -> None:
        """Connect, also anew; raises UserError if nobody answers, or not with these certificates."""
        configure()
        self.close()
        try:
            client = Client(
                str(self.address), security=self._security, timeout=CONNECT_S, set_as_default=False, name="bisect"
            )
        except Exception as error:
            why = _why(error)
            raise UserError(
                f"no head answers at {self.address} ({why})",
                f"start one there with `bisect cluster head --port {self.address.port}`, with certificates of the "
                "same authority",
            ) from error
        client.subscribe_topic(self.topic, self._take)
        self._client, self._lost = client, False
        with contextlib.suppress(HeadLost):
            self._settings = self._asked(lambda ours: ours.get_metadata([SETTINGS], default={}))

    def close(self) -> None:
        """Let go of the head: what was ordered and has not ended is cancelled there."""
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=2)
            self._client = None

    @property
    def is_open(self) -> bool:
        """Whether the head answers."""
        return self._client is not None and not self._lost and self._client.status == "running"

    def hosts(self) -> list[Present]:
        """Those that are there now, by their names; raises HeadLost."""
        workers: Mapping[str, Any] = self._asked(lambda ours: ours.scheduler_info())["workers"]
        orders: Mapping[str, Any] = self._asked(lambda ours: ours.processing())
        found = []
        for address, told in workers.items():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                found.append(Present(Host.from_json(told[TOLD]), address, len(orders.get(address, ()))))
        return sorted(found, key=lambda one: one.host.name)

    def settings(self) -> Mapping[str, str]:
        """What the head was started with: `artifacts` and `cache`, the addresses that all hosts share."""
        return self._settings

    def carrier(self) -> Carrier:
        """How parcels go."""
        return Carrier(self.settings().get("artifacts", ""))

    def submit(self, name: str, ticket: str, packed: bytes, resources: Mapping[str, float], **where: Any) -> Future:
        """Have an order carried out by a host with some resources; raises HeadLost."""
        from cpubisect.cluster.tasks import carry

        key = f"{name}-{ticket}-{uuid.uuid4().hex[:8]}"
        given = {"key": key, "pure": False, "resources": dict(resources), **where}
        future: Future = self._asked(lambda ours: ours.submit(carry, self.topic, ticket, packed, **given))
        future.add_done_callback(lambda _: self.woken.set())
        return future

    def told(self, ticket: str) -> list[Mapping[str, Any]]:
        """What was told of an order since this was asked last."""
        waiting = self._told[ticket]
        return [waiting.popleft() for _ in range(len(waiting))]

    def forget(self, ticket: str) -> None:
        """Nothing more will be asked about an order."""
        self._told.pop(ticket, None)

    def _take(self, event: tuple[float, Mapping[str, Any]]) -> None:
        _, message = event
        self._told[message["ticket"]].append(message)
        self.woken.set()

    def _asked(self, ask: Callable[[Client], Any]) -> Any:
        """What the head answers. That it is gone is often found out by asking it."""
        if self._client is None or not self.is_open:
            raise HeadLost(f"the head {self.address} is lost")
        try:
            return ask(self._client)
        except (OSError, RuntimeError, TimeoutError) as error:
            self._lost = True
            raise HeadLost(f"the head {self.address} is lost ({_why(error)})") from error

    def wait(self, seconds: float) -> None:
        """Until something was told or has ended, but no longer than that."""
        self.woken.wait(seconds)
        self.woken.clear()

    def patiently(self, pause_s: float = 2.0) -> bool:
        """Try once to open it anew, after a pause; whether that worked."""
        time.sleep(pause_s)
        try:
            self.open()
        except UserError:
            return False
        return True


def _why(error: BaseException) -> str:
    """The innermost reason, in a few words."""
    while error.__cause__ is not None:
        error = error.__cause__
    words = str(error).splitlines()
    return words[0][:160] if words and words[0] else type(error).__name__
