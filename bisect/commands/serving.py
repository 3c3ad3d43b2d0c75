"""The commands that run what is queued: the pages with their worker, and a worker alone."""

import signal
import threading

import click

from cpubisect.base.sandbox.policy import Wish
from cpubisect.base.sandbox.secrets import environment
from cpubisect.commands.shared import WISHES, say
from cpubisect.records.registry import Registry


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Any other needs a token in CPUBISECT_TOKEN.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--repo", "repositories", multiple=True, metavar="[NAME=]PATH|URL",
              help="A repository that the form offers, beside the engines' public ones; repeat it.")  # fmt: skip
@click.option("--no-worker", is_flag=True, help="Only show; `bisect worker` runs what is queued.")
@click.option("--sandbox", type=click.Choice(WISHES), default="require", show_default=True,
              help="Run what is queued in a sandbox, whatever it asks for; or where that works; or never.")  # fmt: skip
def serve(host: str, port: int, repositories: tuple[str, ...], no_worker: bool, sandbox: str) -> None:
    """Watch, start and read bisections in a browser; runs what is queued.

    \b
    Examples:
      bisect serve
      bisect serve --repo ~/rocksdb --repo server=https://example.org/mysql.git
      CPUBISECT_TOKEN=$(openssl rand -hex 24) bisect serve --host 0.0.0.0

    A change from elsewhere than a page on this host needs the token: `Authorization: Bearer TOKEN`, or Sign in.
    """
    from cpubisect.web import server

    token = environment().get("CPUBISECT_TOKEN", "")
    server.serve(
        Registry.open(),
        say,
        host=host,
        port=port,
        token=token,
        repositories=repositories,
        working=not no_worker,
        sandbox=Wish(sandbox),
    )


@click.command()
@click.option("--sandbox", type=click.Choice(WISHES), default="require", show_default=True,
              help="Run what is queued in a sandbox, whatever it asks for; or where that works; or never.")  # fmt: skip
def worker(sandbox: str) -> None:
    """Run queued bisections, one after another, until Ctrl-C; what is running then goes back to the queue."""
    from cpubisect.service.worker import Worker

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    say("waiting for queued bisections (Ctrl-C ends it)")
    Worker(Registry.open(), say, sandbox=Wish(sandbox)).run(stop)
