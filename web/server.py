"""Serves the application until told to stop, and runs what is queued meanwhile."""

import resource
import signal
import threading
from collections.abc import Callable, Sequence
from types import FrameType

from flask import Flask
from waitress.server import BaseWSGIServer, MultiSocketServer, create_server

from cpubisect.base.errors import UserError
from cpubisect.base.sandbox.policy import Wish
from cpubisect.records.registry import Registry
from cpubisect.service.worker import Worker
from cpubisect.web.app import create_app
from cpubisect.web.context import Context
from cpubisect.web.live import MOST_STREAMS
from cpubisect.web.security import Access
from cpubisect.web.service.catalog import sources
from cpubisect.web.service.clones import Clones

THREADS = MOST_STREAMS + 8
"""Each live page holds one, asleep; the rest answer requests."""

MOST_CONNECTIONS = 4096
"""Connections at once. What is idle or has sent half of a request holds no thread, only a place among these."""

SILENCE_S = 60
"""A connection that sends nothing for so long, and waits for no answer, is closed."""

_OTHER_FILES = 256
"""Files that the server opens for anything but connections, at most."""

RETRY_S = 5.0
"""While another worker is at work, ours asks so often whether it has gone."""


def serve(
    registry: Registry,
    say: Callable[[str], None],
    *,
    host: str,
    port: int,
    token: str,
    repositories: Sequence[str],
    working: bool,
    sandbox: Wish = Wish.REQUIRE,
) -> None:
    """Listen until SIGINT or SIGTERM; `say` is told the address and what the worker does, which runs things in a
    `sandbox` as that says.

    Raises UserError if the address is not this host's or taken, needs a token, or a repository is wrong.
    """
    before, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections = _room_for_connections()
    context = Context(registry, Access(host, token), sources(repositories), Clones(registry.home))
    app = create_app(context)
    try:
        server = listen(app, host, port, connections)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot listen on {host} port {port} ({error})", "choose another --host or --port") from error
    shown = f"[{host}]" if ":" in host else host
    say(f"serving on http://{shown}:{_port(server)}/ (Ctrl-C ends it)")
    launcher = with_files(before, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    worker = threading.Thread(target=_work, args=(registry, say, context.closing, launcher, sandbox), daemon=True)
    if working:
        worker.start()

    def end(_number: int, _frame: FrameType | None) -> None:
        context.closing.set()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    # Returns on KeyboardInterrupt, after its threads have ended.
    server.run()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    say("stopping; what is running goes back to the queue")
    server.close()
    if working:
        worker.join()


def listen(app: Flask, host: str, port: int, connections: int = MOST_CONNECTIONS) -> BaseWSGIServer | MultiSocketServer:
    """The server of an application, listening; raises OSError or ValueError for an address that cannot be had."""
    return create_server(
        app,
        host=host,
        port=port,
        threads=THREADS,
        ident=None,
        clear_untrusted_proxy_headers=True,
        connection_limit=connections,
        # `select` knows no file above 1023.
        asyncore_use_poll=True,
        backlog=MOST_CONNECTIONS,
        channel_timeout=SILENCE_S,
        cleanup_interval=10,
    )


def with_files(before: int, now: int) -> tuple[str, ...]:
    """What starts a command with the limit of open files that was there before, if it is another one now: servers that
    are measured choose some of their sizes by it."""
    return () if before == now else ("prlimit", f"--nofile={before}:")


def _room_for_connections() -> int:
    """How many connections there may be, after raising this process's limit of open files as far as that needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(MOST_CONNECTIONS, soft - _OTHER_FILES))


def _port(server: BaseWSGIServer | MultiSocketServer) -> int:
    """Where it listens; a name may stand for several addresses."""
    listening = [(server.effective_host, server.effective_port)] if isinstance(server, BaseWSGIServer) else None
    return int((listening or server.effective_listen)[0][1])


def _work(
    registry: Registry, say: Callable[[str], None], stop: threading.Event, launcher: Sequence[str], sandbox: Wish
) -> None:
    told = ""
    while not stop.is_set():
        try:
            Worker(registry, say, launcher=launcher, sandbox=sandbox).run(stop)
        except Exception as error:
            # Whatever it is, a full disk say, may pass; the queue must not stand still for ever.
            if str(error) != told:
                say(f"the worker waits: {error}")
            told = str(error)
            stop.wait(RETRY_S)
