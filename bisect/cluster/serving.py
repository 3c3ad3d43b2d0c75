"""A head and its workers: Dask's own scheduler and worker, with the resources by which orders find them."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

from distributed import Scheduler, Worker

from cpubisect.base.disk.scratch import remove_leftovers
from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.cluster.address import Address, listening
from cpubisect.cluster.certificates import Pair
from cpubisect.cluster.connection import SETTINGS, TOLD, Connection, HeadLost, Present, configure, security
from cpubisect.cluster.hosts import Host
from cpubisect.cluster.parcels import Carrier

RETRY_S = 2.0
"""A worker that lost its head looks for it so often."""

ENDING_S = 20.0
"""What a worker still does when it is asked to end has ended by then, on a busy host too."""

_PRIVATE = "127.0.0.1:0"
"""Dask's pages listen on this host alone: they know no certificates."""

Say = Callable[[str], None]


def serve_head(port: int, host: str | None, pair: Pair | None, artifacts: str, cache: str, say: Say) -> None:
    """Run a head until SIGINT or SIGTERM; raises UserError if it cannot listen, or an address that hosts are to share
    cannot be written."""
    configure()
    own = listening(host, encrypted=pair is not None)
    Carrier(artifacts).check()
    settings = {"artifacts": artifacts, "cache": cache}
    asyncio.run(_head(port, own, pair, settings, say))


async def _head(port: int, host: str, pair: Pair | None, settings: dict[str, str], say: Say) -> None:
    stop = _stopping()
    scheduler = Scheduler(
        host=host,
        port=port,
        protocol="tls" if pair else "tcp",
        security=security(pair),
        dashboard=False,
        dashboard_address=_PRIVATE,
    )
    try:
        await scheduler
    except Exception as error:
        raise UserError(f"nothing can listen on {host}, port {port} ({error})", "choose another --port") from error
    async with scheduler:
        scheduler.task_metadata[SETTINGS] = settings
        say(f"the head listens at {scheduler.address}")
        await stop.wait()
    say("the head ended")


def serve_worker(address: Address, listens: str | None, pair: Pair | None, host: Host, home: Home, say: Say) -> None:
    """Run a worker until SIGINT or SIGTERM, also where its head goes and comes back; raises UserError if nobody answers
    at the address, or has a host of that name."""
    configure()
    own = listening(listens, encrypted=address.encrypted)
    connection = Connection(address, pair)
    connection.open()
    try:
        present = _present(connection)
        Carrier(connection.settings().get("artifacts", "")).check()
    finally:
        connection.close()
    taken = [one.host for one in present if one.host.name == host.name]
    if taken:
        raise UserError(
            f"{host.name} is there already, to {taken[0].role}",
            "a host has one role; --name gives it another name if it is another one",
        )
    remove_leftovers(home.work)
    asyncio.run(_worker(address, own, pair, host, home, say))


def _present(connection: Connection) -> list[Present]:
    try:
        return connection.hosts()
    except HeadLost as error:
        raise UserError(str(error), "is `bisect cluster head` still running there?") from error


async def _worker(address: Address, listens: str, pair: Pair | None, host: Host, home: Home, say: Say) -> None:
    stop = _stopping()
    lost = False
    while not stop.is_set():
        worker = Worker(
            str(address),
            host=None if listens == "0.0.0.0" else listens,
            protocol="tls" if pair else "tcp",
            name=host.name,
            nthreads=host.slots,
            resources=host.resources(),
            security=security(pair),
            dashboard=False,
            dashboard_address=_PRIVATE,
            memory_limit=0,
            local_directory=str(home.work / "dask"),
            startup_information={TOLD: lambda _: host.to_json()},
            death_timeout=RETRY_S * 5,
        )
        try:
            await worker
        except Exception:
            lost = _lost(address, say, already=lost)
            await _until(stop, RETRY_S)
            continue
        lost = False
        say(f"{host.name} waits for what there is to {host.role}, {host.slots} at once")
        ended = asyncio.ensure_future(worker.finished())
        asked = asyncio.ensure_future(stop.wait())
        await asyncio.wait([ended, asked], return_when=asyncio.FIRST_COMPLETED)
        for waiting in (ended, asked):
            waiting.cancel()
        with suppress(Exception):
            # Orders that are carried out notice it, end what they started and remove what they had here.
            await worker.close(timeout=ENDING_S, executor_wait=True)
        if not stop.is_set():
            lost = _lost(address, say, already=False)
            await _until(stop, RETRY_S)
    say(f"{host.name} ended")


def _lost(address: Address, say: Say, *, already: bool) -> bool:
    if not already:
        say(f"the head {address} is lost: looking for it")
    return True


async def _until(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def _stopping() -> asyncio.Event:
    """Set by the signals that end a program."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
