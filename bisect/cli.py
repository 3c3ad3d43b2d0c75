"""The command line: reads arguments, prints; decides nothing.

What a command needs is imported within it: most of it takes longer to load than `bisect list` may take.
"""

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpubisect.attach.command import AttachCommand
from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import COUNTERS, Counter, Simulation, digits
from cpubisect.base.sandbox.policy import Wish
from cpubisect.base.sandbox.secrets import environment
from cpubisect.command import INTERRUPTED, MOST_JOBS, Commands, on_cluster, pairs, something
from cpubisect.compare import compare_command
from cpubisect.hosts import cluster_group
from cpubisect.records.artifacts import DEFAULT_LIMIT_BYTES, Artifacts
from cpubisect.records.lifecycle import RESUMABLE
from cpubisect.records.registry import Registry
from cpubisect.records.store import LARGEST_ID
from cpubisect.report.form import Form
from cpubisect.search.question import Find, MetricChoice
from cpubisect.upkeep import store_group

if TYPE_CHECKING:
    from cpubisect.attach.ticket import Post
    from cpubisect.run.bench.orders import Executor

CANCELLED = 4
WISHES = [wish.value for wish in Wish]
WIDE = 200
"""Columns of a table that is not printed to a terminal."""


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """A range lets pass what is not a number, since no comparison with it is true."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cpubisect")
def main() -> None:
    """Find the commit that made a MySQL or RocksDB query cost more CPU.

    \b
    Examples:
      bisect doctor
      bisect start 5.6.51 5.7.44 --test point-query
      bisect start v8.5.3 v8.8.1 --test seekrandom --repo ~/rocksdb
      bisect report 1 --format markdown
      bisect compare 5.6.51 5.7.44 8.0.39 --test point-query

    Exit codes: 0 done (for start and resume: a verdict was reached), 2 bad input or an unfit host (one line says
    what to do), 4 cancelled, 130 interrupted (`bisect resume` goes on), 1 anything else.
    """


@main.command()
@click.argument("good")
@click.argument("bad")
@click.option("--test", "tests", required=True, multiple=True,
              help="What to run; `bisect tests` lists them. Repeat it for more: all builds are shared.")  # fmt: skip
@click.option(
    "--repo", callback=something, help="Path or URL of the repository [default: a public one per engine, cloned once]."
)
@click.option("--engine", help="mysql, rocksdb, … [default: told by the repository or the test].")
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
@click.option(
    "--unsafe-settings",
    is_flag=True,
    help="Let --set set what it refuses by name: options about network, files, plugins, logging, users and the like.",
)
@click.option("--rows", type=click.IntRange(1), help="Rows or keys of the data; same as --set rows=N.")
@click.option("--clients", type=click.IntRange(1), help="Concurrent clients; same as --set clients=N.")
@click.option("--defaults", type=click.Choice(["pinned", "server"]),
              help="MySQL: one set of settings for all servers, or each server's own [default: pinned].")  # fmt: skip
@click.option("--flags", type=click.Choice([f.value for f in Flags]), default="pinned", show_default=True,
              help="Compile all commits by one set of flags, or each as its own release build does.")  # fmt: skip
@click.option("--min-step", type=click.FloatRange(0.001, 1000.0), callback=_finite, metavar="PERCENT",
              help="Smallest step to look for [default: a tenth of the whole difference, at least 0.5, "
              "or more of what is simulated].")  # fmt: skip
@click.option("--first", is_flag=True, help="The largest step is enough: do not look for smaller ones after it.")
@click.option(
    "--both-sides", is_flag=True,
    help="Where GOOD is on a branch of its own: search also what that saved since the fork point.",
)  # fmt: skip
@click.option("--toolchain", help="Build everything with this one, e.g. gcc-12 [default: the matrix chooses].")
@click.option("--matrix", type=click.Path(path_type=Path), help="Your own compiler-matrix.yaml.")
@click.option(
    "--jobs", type=click.IntRange(1, MOST_JOBS), default=lambda: os.cpu_count() or 1, help="Compile so many at once."
)
@click.option(
    "--sandbox", type=click.Choice(WISHES), default="auto", show_default=True,
    help="Build and measure in a sandbox: where it works, or not without one, or without one.",
)  # fmt: skip
@on_cluster
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output, and only that.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def start(as_json: bool, quiet: bool, cluster: str | None, certificates: Path | None, **options: Any) -> None:
    """Find the commit between GOOD and BAD that made a query cost more CPU.

    GOOD and BAD are versions (5.6.51, v8.5.3), tags, branches or commits.

    \b
    Examples:
      bisect start 5.6.51 5.7.44 --test point-query
      bisect start v8.5.3 v8.8.1 --test seekrandom --repo ~/rocksdb --set value_size=100
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


@main.command()
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output, and only that.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
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


@main.command("list")
@click.option("--json", "as_json", is_flag=True)
def list_bisections(as_json: bool) -> None:
    """Show all bisections, newest first."""
    from cpubisect.records import queries

    registry = Registry.open()
    rows = queries.headlines(registry.store)
    if as_json:
        plain = [
            {"id": row.id, "state": registry.state(row.id, row.state), "engine": row.engine, "good": row.good,
             "bad": row.bad, "tests": row.tests, "created": row.created,
             "verdict": {"kind": row.kind, "summary": row.summary} if row.kind else None}
            for row in rows
        ]  # fmt: skip
        click.echo(json.dumps(plain, indent=2))
        return
    if not rows:
        click.echo("no bisections yet; `bisect start --help` shows how to begin")
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from cpubisect.report.words import joined

    table = Table(box=None, pad_edge=False, expand=True)
    for column in ("ID", "state", "engine", "range", "test", "started", "answer"):
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=1 if column == "answer" else None)
    for row in rows:
        table.add_row(
            str(row.id),
            registry.state(row.id, row.state),
            row.engine,
            escape(f"{row.good} → {row.bad}"),
            joined(row.tests),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(row.created)),
            escape(row.summary),
        )
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)


@main.command()
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--json", "as_json", is_flag=True)
def status(bisection: int | None, as_json: bool) -> None:
    """Show how far bisection ID is (default: the latest), and on a cluster what each host does for it."""
    from cpubisect.report.words import joined
    from cpubisect.search.events import CulpritFound, Latest, Next, Posterior, Price
    from cpubisect.search.verdict import prefix
    from cpubisect.views.totals import totals
    from cpubisect.views.under_way import KINDS, under_way

    registry = Registry.open()
    number = _latest(registry) if bisection is None else bisection
    if as_json:
        from cpubisect.views.gather import gather

        click.echo(json.dumps(gather(registry, number).to_json(), indent=2))
        return
    row = registry.store.bisection(number)
    question, state, used = row.question, registry.state(row.id, row.state), totals(registry.store, row)
    click.echo(f"bisection {number}: {state}")
    click.echo(f"  {row.engine} {question.good} → {question.bad}, test {joined(question.tests)}")
    click.echo(f"  {used.candidates} candidates, {used.builds} builds, {used.probes} probes so far")
    click.echo(f"  {used.build_seconds:,.0f} s of builds, {used.probe_seconds:,.0f} s of probes")
    answered = row.verdict.tests if row.verdict else {}
    for test, verdict in answered.items():
        click.echo(f"  {prefix(test, question.tests)}{verdict.kind}: {verdict.summary}")
    if state != "finished":
        entries = [entry for entry in registry.store.events(number) if entry.event.test not in answered]
        latest = Latest(entries)
        thoughts = [event.sentence for kind in (Price, Posterior, Next) if (event := latest[kind])]
        said = [entry.event.sentence for entry in entries if entry.event.sentence]
        found = [entry.event.sentence for entry in entries if isinstance(entry.event, CulpritFound)]
        for line in [*found, *thoughts, *said[-1:]]:
            click.echo(f"  {line}")
    if state == "running":
        for line in under_way(registry.store.events(number, kinds=KINDS)).lines(time.time()):
            click.echo(f"  {line}")
    if state == "interrupted":
        click.echo(f"  `bisect resume {number}` goes on")


def _latest(registry: Registry) -> int:
    from cpubisect.records import queries

    newest = queries.newest(registry.store)
    if newest is None:
        raise UserError("there are no bisections yet", "`bisect start --help` shows how to begin")
    return newest


@main.command()
@click.argument("bisection", metavar="ID", type=int)
@click.option("--build", "sha", metavar="COMMIT", help="Print the build log of a commit instead.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def log(bisection: int, sha: str | None, as_json: bool) -> None:
    """Show everything that happened in bisection ID, in order."""
    registry = Registry.open()
    registry.store.bisection(bisection)
    if sha:
        logs = [Path(build.log) for build, _ in registry.store.builds(bisection) if build.sha.startswith(sha)]
        if not logs or not logs[-1].is_file():
            raise UserError(f"there is no build log of {sha} in bisection {bisection}", "see `bisect report`")
        click.echo(logs[-1].read_text(errors="replace"), nl=False)
        return
    for entry in registry.store.events(bisection):
        if as_json:
            told = {"id": entry.id, "at": entry.at, "kind": entry.event.kind, "data": entry.event.to_json()}
            click.echo(json.dumps(told))
        elif line := entry.event.sentence:
            click.echo(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(entry.at))}  {line}")


@main.command()
@click.argument("bisection", metavar="ID", type=int)
def cancel(bisection: int) -> None:
    """End bisection ID; what it measured is kept, and `bisect resume` would go on with it."""
    Registry.open().cancel(bisection)
    click.echo(f"bisection {bisection} is cancelled")


@main.command("report")
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--format", "form", type=click.Choice([form.value for form in Form]), default="text",
              show_default=True, help="text for bugs.mysql.com (76 columns), markdown for GitHub, html in one file, "
              "svg or png of the chart, bundle for a tar.gz with everything and a reproduce.sh.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE",
              help="Write there instead of to standard output; below a directory, a name is chosen.")  # fmt: skip
def report_command(bisection: int | None, form: str, as_json: bool, output: Path | None) -> None:
    """Print the answer of bisection ID (default: the latest), ready for a bug report.

    \b
    Examples:
      bisect report
      bisect report 3 --format markdown
      bisect report 3 --format html --output report.html
      bisect report 3 --format png > chart.png
      bisect report 3 --format bundle --output .
    """
    from cpubisect.report import render as report

    registry = Registry.open()
    wanted = Form(Form.JSON if as_json else form)
    number = _latest(registry) if bisection is None else bisection
    if wanted.binary and output is None and sys.stdout.isatty():
        raise UserError(f"a terminal cannot show the form {wanted}", "add --output FILE, or send it to a file with >")
    content = report.render(registry, number, wanted)
    if output is None:
        click.echo(content, nl=False)
        return
    target = output / report.file_name(registry, number, wanted) if output.is_dir() else output
    try:
        target.write_bytes(content)
    except OSError as error:
        raise UserError(f"cannot write {target} ({error.strerror})", "name another file with --output") from error
    click.echo(f"wrote {target}", err=True)


@main.command("attach", cls=AttachCommand)
@click.argument("bisection", metavar="ID", type=int)
@click.option("--no-files", is_flag=True, help="Only the text.")
@click.option("--dry-run", is_flag=True, help="Show what would be posted; send and write nothing.")
@click.option("--again", is_flag=True, help="Post even if it was posted before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="How it ended as JSON on standard output, and only that.")
def attach_command(
    bisection: int, no_files: bool, dry_run: bool, again: bool, yes: bool, as_json: bool, **given: Any
) -> None:
    """Post the report of bisection ID to a ticket, once.

    It is shown before, and you are asked. Running it again is safe: it looks at the ticket first.
    """
    from cpubisect.attach.attach import State, Wish, attach, ending, preview
    from cpubisect.attach.registered import ticket_of

    ticket = ticket_of(given, bisection, environment())

    def confirm(post: "Post") -> bool:
        if not (yes or sys.stdin.isatty()):
            raise UserError("there is no terminal to ask at", "--yes posts without asking, --dry-run only shows")
        if not (as_json and yes):
            click.echo(preview(post), err=as_json)
        return yes or click.confirm("Post this?", err=True)

    outcome = attach(
        Registry.open(), bisection, ticket, confirm, Wish(dry_run=dry_run, again=again, files=not no_files)
    )
    click.echo(json.dumps(outcome.to_json(), indent=2) if as_json else ending(outcome))
    if outcome.state is State.DECLINED:
        sys.exit(1)


@main.command()
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--inside", default="", metavar="MERGE", help="The commits that this merge brought.")
@click.option(
    "--limit", type=click.IntRange(1, LARGEST_ID), default=20, show_default=True, metavar="N", help="Show so many."
)
@click.option("--json", "as_json", is_flag=True)
def suspects(bisection: int | None, inside: str, limit: int, as_json: bool) -> None:
    """Show the candidates of bisection ID (default: the latest) by suspicion, and why.

    The order comes from the profiles of good and bad and from the diffs; it only says where to look first.
    """
    from cpubisect.report.words import short
    from cpubisect.views.suspects import ranking

    registry = Registry.open()
    found = ranking(registry, _latest(registry) if bisection is None else bisection, inside, limit)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, expand=True)
    for column, right in (("rank", True), ("weight", True), ("commit", False), (short(found.counted), True)):
        table.add_column(column, no_wrap=True, justify="right" if right else "left")
    for column, ratio in (("found", 2), ("subject", 3), ("why", 3)):
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for one in found.suspects:
        table.add_row(
            str(one.rank),
            f"{one.weight:.2%}",
            one.sha[:12],
            "-" if one.cost is None else f"{one.cost:,.{digits(found.counted)}f}",
            escape(one.found),
            escape(one.subject),
            escape(", ".join(list(one.because)[:3])),
        )
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)
    if len(found.suspects) < found.candidates:
        click.echo(f"{found.candidates - len(found.suspects)} more; --limit {found.candidates} shows all")


main.add_command(compare_command)
main.add_command(cluster_group)
main.add_command(store_group)


@main.command()
@click.option("--engine", help="Only the tests of this engine.")
@click.option("--matrix", type=click.Path(path_type=Path), help="Your own compiler-matrix.yaml.")
@click.option("--json", "as_json", is_flag=True)
def tests(engine: str | None, matrix: Path | None, as_json: bool) -> None:
    """List the named tests per engine, by group; with --json also their parameters, which `start --set` takes."""
    from cpubisect.builders.recipes.matrix import Matrix
    from cpubisect.workloads.catalog import tests_of

    loaded = Matrix.load(matrix)
    engines = [loaded.engine(engine)] if engine else loaded.engines()
    found = {e.name: tests_of(e) for e in engines}
    if as_json:
        plain = {
            name: [{"name": t.name, "group": t.group, "summary": t.summary, "writes": t.writes,
                    "spread_percent": t.spread_percent, "parameters": dict(t.parameters)} for t in listed]
            for name, listed in found.items()
        }  # fmt: skip
        click.echo(json.dumps(plain, indent=2))
        return
    for name, listed in found.items():
        click.echo(name)
        for group in dict.fromkeys(test.group for test in listed):
            click.echo(f"  {group}")
            for test in (t for t in listed if t.group == group):
                click.echo(f"    {test.name:<24}{test.summary}")


@main.command()
@click.option("--json", "as_json", is_flag=True)
def doctor(as_json: bool) -> None:
    """Tell what this host can build and how well it can measure, with the fix for each gap."""
    from rich.console import Console
    from rich.markup import escape

    from cpubisect.base.home import Home
    from cpubisect.service.doctor import diagnose
    from cpubisect.workloads.check import Status

    home = Home.open()
    checks = diagnose(home.root)
    if as_json:
        plain = [{"name": c.name, "status": c.status.value, "found": c.found, "fix": c.fix} for c in checks]
        click.echo(json.dumps(plain, indent=2))
        return
    console = Console(highlight=False)
    marks = {Status.OK: "[green]ok[/green]  ", Status.WARN: "[yellow]warn[/yellow]", Status.MISSING: "[red]miss[/red]"}
    for check in checks:
        console.print(f"{marks[check.status]}  {escape(check.name)}: {escape(check.found)}", soft_wrap=True)
        if check.fix and check.status is not Status.OK:
            console.print(f"      fix: {escape(check.fix)}", soft_wrap=True)


@main.group()
def artifacts() -> None:
    """Look after the kept builds."""


@artifacts.command("list")
def artifacts_list() -> None:
    """List the kept builds, least recently used first."""
    from cpubisect.base.home import Home

    for artifact in Artifacts(Home.open().artifacts).all():
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(artifact.used))
        click.echo(f"{artifact.digest[:16]}  {artifact.size / 2**20:8.1f} MiB  {used}")


@artifacts.command()
@click.option("--limit", "limit_gib", type=click.FloatRange(0, 1e9), callback=_finite, metavar="GIB",
              default=DEFAULT_LIMIT_BYTES / 2**30, show_default=True, help="Keep at most this much.")  # fmt: skip
def prune(limit_gib: float) -> None:
    """Remove the least recently used builds over the limit; those of unfinished bisections stay."""
    registry = Registry.open()
    kept = registry.store.artifacts_in_use()
    removed = Artifacts(registry.home.artifacts).prune(int(limit_gib * 2**30), kept)
    click.echo(f"removed {len(removed)} artifacts, {sum(a.size for a in removed) / 2**20:.1f} MiB")


@main.command()
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
        _say,
        host=host,
        port=port,
        token=token,
        repositories=repositories,
        working=not no_worker,
        sandbox=Wish(sandbox),
    )


@main.command()
@click.option("--sandbox", type=click.Choice(WISHES), default="require", show_default=True,
              help="Run what is queued in a sandbox, whatever it asks for; or where that works; or never.")  # fmt: skip
def worker(sandbox: str) -> None:
    """Run queued bisections, one after another, until Ctrl-C; what is running then goes back to the queue."""
    from cpubisect.service.worker import Worker

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    _say("waiting for queued bisections (Ctrl-C ends it)")
    Worker(Registry.open(), _say, sandbox=Wish(sandbox)).run(stop)


def _say(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {text}", err=True)


if __name__ == "__main__":
    main()
