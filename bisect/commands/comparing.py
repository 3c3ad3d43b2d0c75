"""The command that measures versions side by side."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import COUNTERS, Counter
from cpubisect.base.sandbox.policy import Wish
from cpubisect.commands import option
from cpubisect.commands.shared import CANCELLED, INTERRUPTED, check_writable, on_cluster, pairs, put
from cpubisect.report.comparing.form import TableForm
from cpubisect.search.comparing.question import (
    ALL,
    GROUP_WORDS,
    LEAST_SIDES,
    MOST_ROUNDS,
    ROUNDS,
    numbers_of_clients,
)

if TYPE_CHECKING:
    from cpubisect.run.bench.orders import Executor
    from cpubisect.views.comparison import SideBySide

ASKED = ("tests", "groups", "clients", "rounds", "repo", "engine", "given", "rows", "defaults", "counter", "toolchain",
         "flags", "matrix", "jobs", "unsafe_settings")  # fmt: skip
"""Options that only a new comparison takes."""


def _clients(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    try:
        return numbers_of_clients(value) if value is not None else ()
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a list of numbers like 1,4") from error


@click.command("compare")
@click.argument("versions", nargs=-1)
@click.option("--test", "tests", multiple=True, help="A test; `bisect tests` lists them. Repeat it for more.")
@click.option("--tests", "groups", multiple=True, metavar="GROUP|all",
              help=f"All tests of a group ({', '.join(GROUP_WORDS)}), or {ALL}. Repeat it for more.")  # fmt: skip
@click.option("--clients", callback=_clients, metavar="N,N,…", help="Concurrent clients; a row for each number.")
@click.option("--rounds", type=click.IntRange(2, MOST_ROUNDS), default=ROUNDS, show_default=True,
              help="Probes of each version and test; more make intervals of CPU time and QPS narrower.")  # fmt: skip
@option.repository
@option.engine
@click.option("--set", "given", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Any parameter of a test.")
@option.unsafe_settings
@option.rows
@option.defaults
@click.option("--counter", type=click.Choice([c.value for c in COUNTERS]), help="How to count instructions.")
@option.toolchain
@click.option("--flags", type=click.Choice([f.value for f in Flags]), default="pinned", show_default=True,
              help="Compile all versions by one set of flags, or each as its own release build does.")  # fmt: skip
@option.matrix
@option.jobs
@option.sandbox
@on_cluster
@click.option("--resume", type=int, metavar="ID", help="Go on with comparison ID; nothing finished is done again.")
@click.option("--queued", is_flag=True, hidden=True, help="Only if it is still queued: how a worker begins one.")
@click.option("--show", type=int, metavar="ID", help="Print what comparison ID has so far, and measure nothing.")
@click.option("--list", "listing", is_flag=True, help="List all comparisons, newest first.")
@click.option("--format", "form", type=click.Choice([form.value for form in TableForm]), default="text",
              show_default=True, help="How to print it; svg and png are a heat map.")  # fmt: skip
@option.output
@option.quiet
@click.pass_context
def compare_command(
    context: click.Context,
    /,
    versions: tuple[str, ...],
    resume: int | None,
    queued: bool,
    show: int | None,
    listing: bool,
    form: str,
    output: Path | None,
    quiet: bool,
    sandbox: str,
    cluster: str | None,
    certificates: Path | None,
    **options: Any,
) -> None:
    """Build and measure VERSIONS, and print what each is relative to the first one.

    Versions are named as for `bisect start`. All are probed in turns, round by round, so that drift of the host hits
    all alike. In every table below 1.00 is worse: QPS is the version's over the base's, and instructions, CPU time
    and context switches per query are the base's over the version's. Yellow (or -) is below 0.95, blue (or +) above
    1.05, if the 99 % interval does not hold 1.

    \b
    Examples:
      bisect compare 5.6.51 5.7.44 8.0.39 --test point-query
      bisect compare 5.6.51 5.7.44 8.0.39 --engine mysql --tests all --clients 1,4
      bisect compare v8.5.3 v8.8.1 --tests range --repo ~/rocksdb --rounds 5
      bisect compare --resume 2
      bisect compare --show 2 --format html --output .
      bisect compare --show 2 --format png > map.png
    """
    ways = [bool(versions), resume is not None, show is not None, listing]
    if sum(ways) != 1:
        raise UserError(
            "name versions, or give one of --resume, --show and --list", "`bisect compare --help` has examples"
        )
    if not versions and (wrong := _typed(context, ASKED)):
        raise UserError(f"{wrong} is for a new comparison", "leave it out: the comparison keeps what it was asked with")
    if listing and (wrong := _typed(context, ("form", "output"))):
        raise UserError(f"{wrong} is for a comparison, not for the list of them", "leave it out")
    wanted = TableForm(form)
    if wanted.binary and output is None and sys.stdout.isatty():
        raise UserError(f"a terminal cannot show the form {wanted}", "add --output FILE, or send it to a file with >")
    if listing:
        _list()
        return
    if show is None:
        check_writable(output)
        given = context.get_parameter_source("sandbox") is click.core.ParameterSource.COMMANDLINE
        wish = Wish(sandbox) if given or resume is None else None
        from cpubisect.base.home import Home
        from cpubisect.service.executors import executor_at

        with executor_at(Home.open(), cluster, certificates) as executor:
            show = _measure(versions, resume, options, executor, queued=queued, quiet=quiet, sandbox=wish)
        _check_compared(_print(show, wanted, output))
    else:
        _print(show, wanted, output)


def _typed(context: click.Context, names: Sequence[str]) -> str:
    """The first of some options that was typed, as it is typed; empty if none was."""
    for own in context.command.params:
        if own.name in names and context.get_parameter_source(own.name or "") is click.core.ParameterSource.COMMANDLINE:
            return own.opts[0]
    return ""


def _measure(
    versions: tuple[str, ...],
    resume: int | None,
    options: dict[str, Any],
    executor: "Executor",
    *,
    queued: bool,
    quiet: bool,
    sandbox: Wish | None,
) -> int:
    """Measure a new comparison, or go on with one; its id. Ends the program if it was interrupted or cancelled."""
    from cpubisect.records.comparisons import Comparisons
    from cpubisect.records.lifecycle import RESUMABLE
    from cpubisect.service.compare import Compare, begin, check, run
    from cpubisect.service.launch import Stopped
    from cpubisect.views.live import Display

    comparisons = Comparisons.open()
    if resume is None:
        for name in ("rows", "defaults"):
            value = options.pop(name)
            if value is not None:
                options["given"] = {**options["given"], name: str(value)}
        options["counter"] = Counter(options["counter"]) if options["counter"] else None
        options["flags"] = Flags(options["flags"])
        options["sandbox"] = sandbox
        with Display(quiet=quiet) as display:
            asked = check(comparisons, Compare(versions=versions, **options), display, executor)
        number = begin(comparisons, asked, executor=executor)
    else:
        number = resume
        if comparisons.row(number).state == "finished":
            return number
    try:
        with Display(quiet=quiet) as display:
            among = ("queued",) if queued else RESUMABLE
            done = run(comparisons, number, display, among=among, sandbox=sandbox, executor=executor)
    except (KeyboardInterrupt, Stopped):
        click.echo(
            f"bisect: interrupted; `bisect compare --resume {number}` goes on, nothing finished is lost", err=True
        )
        sys.exit(INTERRUPTED)
    except Exception as error:
        if not isinstance(error, UserError):
            click.echo(f"bisect: comparison {number} stopped; `bisect compare --resume {number}` goes on", err=True)
        raise
    if not done:
        click.echo(f"bisect: comparison {number} was cancelled", err=True)
        sys.exit(CANCELLED)
    return number


def _print(number: int, form: TableForm, output: Path | None) -> "SideBySide":
    """Print a comparison, or write it; what is known of it."""
    from cpubisect.records.comparisons import Comparisons
    from cpubisect.report.comparing.form import file_name, written
    from cpubisect.views.comparison import gather_comparison

    told = gather_comparison(Comparisons.open(), number)
    content = written(told, form, coloured=output is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    put(content, output, lambda: file_name(told, form))
    return told


def _check_compared(told: "SideBySide") -> None:
    """Ends the program with 1 if there was nothing to compare."""
    from cpubisect.views.comparison import BUILT

    built = [version.name for version in told.versions if version.outcome == BUILT]
    if len(built) < LEAST_SIDES:
        which = f"only {built[0]}" if built else "no version"
        click.echo(f"bisect: nothing could be compared: {which} was built, of {len(told.versions)}", err=True)
        sys.exit(1)


def _list() -> None:
    from cpubisect.records.comparisons import Comparisons

    comparisons = Comparisons.open()
    rows = comparisons.all()
    if not rows:
        click.echo("no comparisons yet; `bisect compare --help` shows how to begin")
    for row in rows:
        names = " ".join(side.name for side in row.asked.sides)
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.created))
        tests = ", ".join(row.asked.tests)
        click.echo(
            f"{row.id:>4}  {comparisons.state(row.id, row.state):<11}  {row.engine:<8}  {when}  {names}: {tests}"
        )
