"""Serves the application until told to stop, and runs what is queued meanwhile."""

import signal
import threading
from collections.abc import Callable, Sequence
from types import FrameType

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
"""Each live page holds one; the rest answer requests."""

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
    context = Context(registry, Access(host, token), sources(repositories), Clones(registry.home))
    app = create_app(context)
    try:
        server = create_server(
            app, host=host, port=port, threads=THREADS, ident=None, clear_untrusted_proxy_headers=True
        )
    except (OSError, ValueError) as error:
        raise UserError(f"cannot listen on {host} port {port} ({error})", "choose another --host or --port") from error
    shown = f"[{host}]" if ":" in host else host
    say(f"serving on http://{shown}:{_port(server)}/ (Ctrl-C ends it)")
    worker = threading.Thread(target=_work, args=(registry, say, context.closing, sandbox), daemon=True)
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


def _port(server: BaseWSGIServer | MultiSocketServer) -> int:
    """Where it listens; a name may stand for several addresses."""
    listening = [(server.effective_host, server.effective_port)] if isinstance(server, BaseWSGIServer) else None
    return int((listening or server.effective_listen)[0][1])


def _work(registry: Registry, say: Callable[[str], None], stop: threading.Event, sandbox: Wish) -> None:
    told = ""
    while not stop.is_set():
        try:
            Worker(registry, say, sandbox).run(stop)
        except Exception as error:
            # Whatever it is, a full disk say, may pass; the queue must not stand still for ever.
            if str(error) != told:
                say(f"the worker waits: {error}")
            told = str(error)
            stop.wait(RETRY_S)
