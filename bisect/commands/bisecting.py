"""The commands that begin a bisection, go on with one, and end one."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import COUNTERS, Counter, Simulation
from cpubisect.base.sandbox.policy import Wish
from cpubisect.commands import option
from cpubisect.commands.shared import CANCELLED, INTERRUPTED, WISHES, finite, on_cluster, pairs
from cpubisect.records.lifecycle import RESUMABLE
from cpubisect.records.registry import Registry
from cpubisect.report.form import Form
from cpubisect.search.question import Find, MetricChoice

if TYPE_CHECKING:
    from cpubisect.run.bench.orders import Executor


@click.command()
@click.argument("good")
@click.argument("bad")
@click.option("--test", "tests", required=True, multiple=True,
              help="What to run; `bisect tests` lists them. Repeat it for more: all builds are shared.")  # fmt: skip
@option.repository
@option.engine
@click.option(
    "--metric", type=click.Choice([m.value for m in MetricChoice]), default="auto", show_default=True,
    help="What to search on: auto takes instructions where the ends differ in them, else CPU time; misses and "
    "mispredictions are those that callgrind simulates.",
)  # fmt: skip
@click.option(
    "--counter", type=click.Choice([c.value for c in COUNTERS]),
    help=f"How to count instructions; only {' or '.join(c for c in COUNTERS if c.tells_functions)} tells functions "
    f"[default: {' where it works, else '.join(COUNTERS)}].",
)  # fmt: skip
@click.option(
    "--cache-sim", is_flag=True, help="Let callgrind simulate caches, and record their misses with each count."
)
@click.option("--branch-sim", is_flag=True, help="Let callgrind predict branches, and record how often that is wrong.")
@click.option("--find", type=click.Choice([f.value for f in Find]), default="regression", show_default=True)
@click.option("--set", "given", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Any parameter of the test.")
@option.unsafe_settings
@option.rows
@click.option("--clients", type=click.IntRange(1), help="Concurrent clients; same as --set clients=N.")
@option.defaults
@click.option("--flags", type=click.Choice([f.value for f in Flags]), default="pinned", show_default=True,
              help="Compile all commits by one set of flags, or each as its own release build does.")  # fmt: skip
@click.option("--min-step", type=click.FloatRange(0.001, 1000.0), callback=finite, metavar="PERCENT",
              help="Smallest step to look for [default: a tenth of the whole difference, at least 0.5, "
              "or more of what is simulated].")  # fmt: skip
@click.option("--first", is_flag=True, help="The largest step is enough: do not look for smaller ones after it.")
@click.option(
    "--both-sides", is_flag=True,
    help="Where GOOD is on a branch of its own: search also what that saved since the fork point.",
)  # fmt: skip
@click.option(
    "--screen", is_flag=True,
    help="Search by cheaper builds, where the engine has such, and confirm what is found by ordinary ones.",
)  # fmt: skip
@option.toolchain
@option.matrix
@option.jobs
@option.sandbox
@on_cluster
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output, and only that.")
@option.quiet
def start(as_json: bool, quiet: bool, cluster: str | None, certificates: Path | None, **options: Any) -> None:
    """Find the commit between GOOD and BAD that made a query cost more CPU.

    GOOD and BAD are versions (5.6.51, v8.5.3), tags, branches or commits.

    \b
    Examples:
      bisect start 5.6.51 5.7.44 --test point-query
      bisect start v8.5.3 v8.8.1 --test seekrandom --repo ~/rocksdb --set value_size=100
      bisect start v8.5.3 v8.8.1 --test seekrandom --repo ~/rocksdb --screen
      bisect start 5.5.8 5.6.10 --test read-only --rows 10000 --find improvement
      bisect start 5.6.21 5.6.27 --test point-query --test insert
      bisect start 5.5.8 5.6.10 --test point-query --defaults server --first
      bisect start 5.6.51 5.7.44 --test point-query --flags release
      bisect start 5.6.51 5.7.44 --test point-query --both-sides
      bisect start 5.6.51 5.7.44 --test point-query --cluster tls://head:8786
    """
    from cpubisect.service.ask import Ask, ask
    from cpubisect.service.executors import executor_at
    from cpubisect.service.launch import begin
    from cpubisect.views.live import Display

    for name in ("rows", "clients", "defaults"):
        value = options.pop(name)
        if value is not None:
            options["given"] = {**options["given"], name: str(value)}
    registry = Registry.open()
    options["metric"], options["find"] = MetricChoice(options["metric"]), Find(options["find"])
    options["counter"] = Counter(options["counter"]) if options["counter"] else None
    options["flags"], options["sandbox"] = Flags(options["flags"]), Wish(options["sandbox"])
    asked_for = {one: options.pop(one.replace("-", "_")) for one in Simulation}
    options["simulations"] = tuple(one for one in Simulation if asked_for[one])
    with executor_at(registry.home, cluster, certificates) as executor:
        with Display(quiet=quiet) as display:
            question = ask(registry.home, Ask(**options), display, executor)
        bisection = begin(registry, question, executor=executor)
        _run(registry, bisection, executor, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output, and only that.")
@option.quiet
@click.option("--sandbox", type=click.Choice(WISHES), help="As for start [default: as it was started].")
@on_cluster
@click.option("--queued", is_flag=True, hidden=True, help="Only if it is still queued: how a worker begins one.")
def resume(
    bisection: int | None,
    as_json: bool,
    quiet: bool,
    sandbox: str | None,
    queued: bool,
    cluster: str | None,
    certificates: Path | None,
) -> None:
    """Go on with bisection ID (default: the latest interrupted one); nothing finished is done again."""
    from cpubisect.records import queries
    from cpubisect.service.executors import executor_at

    registry = Registry.open()
    if bisection is None:
        states = queries.states(registry.store)
        unfinished = [number for number, state in states if registry.state(number, state) == "interrupted"]
        if not unfinished:
            raise UserError("there is no interrupted bisection", "`bisect list` shows them all")
        bisection = max(unfinished)
    wish = Wish(sandbox) if sandbox else None
    among = ("queued",) if queued else RESUMABLE
    with executor_at(registry.home, cluster, certificates) as executor:
        _run(registry, bisection, executor, as_json=as_json, quiet=quiet, among=among, sandbox=wish)


@click.command()
@click.argument("bisection", metavar="ID", type=int)
def cancel(bisection: int) -> None:
    """End bisection ID; what it measured is kept, and `bisect resume` would go on with it."""
    Registry.open().cancel(bisection)
    click.echo(f"bisection {bisection} is cancelled")


def _run(
    registry: Registry,
    bisection: int,
    executor: "Executor",
    *,
    as_json: bool,
    quiet: bool,
    among: Sequence[str] = RESUMABLE,
    sandbox: Wish | None = None,
) -> None:
    from cpubisect.report import render as report
    from cpubisect.service.launch import Stopped, run
    from cpubisect.views.live import Display

    try:
        with Display(quiet=quiet) as display:
            verdict = run(registry, bisection, display, among=among, sandbox=sandbox, executor=executor)
    except (KeyboardInterrupt, Stopped):
        click.echo(f"bisect: interrupted; `bisect resume {bisection}` goes on, nothing finished is lost", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if not isinstance(error, UserError):
            click.echo(f"bisect: bisection {bisection} stopped; `bisect resume {bisection}` goes on", err=True)
        raise
    if verdict is None:
        click.echo(f"bisect: bisection {bisection} was cancelled", err=True)
        sys.exit(CANCELLED)
    form = Form.JSON if as_json else Form.TEXT
    click.echo(report.render(registry, bisection, form), nl=False)
