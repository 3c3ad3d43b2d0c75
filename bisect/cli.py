"""The command line: reads arguments, prints; decides nothing."""

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cpubisect import report, suspect_list
from cpubisect.artifacts import DEFAULT_LIMIT_BYTES, Artifacts
from cpubisect.ask import Ask, ask
from cpubisect.attach import State, Wish, attach, ending, preview
from cpubisect.builders.matrix import Matrix
from cpubisect.command import Commands
from cpubisect.display import Display, describe, latest
from cpubisect.errors import UserError
from cpubisect.paths import Home
from cpubisect.question import Find, MetricChoice
from cpubisect.report_words import verdicts
from cpubisect.session import RESUMABLE, Session, Stopped, engine_named
from cpubisect.store import LARGEST_ID, Store
from cpubisect.tracker import Post
from cpubisect.trackers import Ticket, tracker_of
from cpubisect.worker import Worker
from cpubisect.workloads.catalog import tests_of
from cpubisect.workloads.host import Status, examine
from cpubisect.workloads.probe import Counter

CANCELLED = 4
INTERRUPTED = 130
WIDE = 200
"""Columns of a table that is not printed to a terminal."""


def _session() -> Session:
    home = Home.open()
    return Session(home, Store(home.store))


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        name, equals, setting = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
        pairs[name] = setting
    return pairs


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

    Exit codes: 0 done (for start and resume: a verdict was reached), 2 bad input or an unfit host (one line says
    what to do), 4 cancelled, 130 interrupted (`bisect resume` goes on), 1 anything else.
    """


@main.command()
@click.argument("good")
@click.argument("bad")
@click.option("--test", "tests", required=True, multiple=True,
              help="What to run; `bisect tests` lists them. Repeat it for more: all builds are shared.")  # fmt: skip
@click.option("--repo", help="Path or URL of the repository [default: a public one per engine, cloned once].")
@click.option("--engine", help="mysql, rocksdb, … [default: told by the repository or the test].")
@click.option(
    "--metric", type=click.Choice([m.value for m in MetricChoice]), default="auto", show_default=True,
    help="What to search on: auto takes instructions where the ends differ in them, else CPU time.",
)  # fmt: skip
@click.option(
    "--counter", type=click.Choice([Counter.HARDWARE.value, Counter.CALLGRIND.value]),
    help="How to count instructions; only callgrind tells functions [default: perf where it works, else callgrind].",
)  # fmt: skip
@click.option("--find", type=click.Choice([f.value for f in Find]), default="regression", show_default=True)
@click.option("--set", "given", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="Any parameter of the test.")
@click.option("--rows", type=click.IntRange(1), help="Rows or keys of the data; same as --set rows=N.")
@click.option("--clients", type=click.IntRange(1), help="Concurrent clients; same as --set clients=N.")
@click.option("--min-step", type=click.FloatRange(0.001, 1000.0), callback=_finite, metavar="PERCENT",
              help="Smallest step to look for [default: a tenth of the whole difference, at least 0.5].")  # fmt: skip
@click.option("--toolchain", help="Build everything with this one, e.g. gcc-12 [default: the matrix chooses].")
@click.option("--matrix", type=click.Path(path_type=Path), help="Your own compiler-matrix.yaml.")
@click.option("--jobs", type=click.IntRange(1), default=lambda: os.cpu_count() or 1, help="Compile so many at once.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output, and only that.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def start(as_json: bool, quiet: bool, **options: Any) -> None:
    """Find the commit between GOOD and BAD that made a query cost more CPU.

    GOOD and BAD are versions (5.6.51, v8.5.3), tags, branches or commits.

    \b
    Examples:
      bisect start 5.6.51 5.7.44 --test point-query
      bisect start v8.5.3 v8.8.1 --test seekrandom --repo ~/rocksdb --set value_size=100
      bisect start 5.5.8 5.6.10 --test read-only --rows 10000 --find improvement
      bisect start 5.6.21 5.6.27 --test point-query --test insert
    """
    for name in ("rows", "clients"):
        value = options.pop(name)
        if value is not None:
            options["given"] = {**options["given"], name: str(value)}
    session = _session()
    options["metric"], options["find"] = MetricChoice(options["metric"]), Find(options["find"])
    options["counter"] = Counter(options["counter"]) if options["counter"] else None
    with Display(quiet=quiet) as display:
        question = ask(session.home, Ask(**options), display)
    bisection = session.begin(question)
    _run(session, bisection, as_json=as_json, quiet=quiet)


@main.command()
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output, and only that.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@click.option("--queued", is_flag=True, hidden=True, help="Only if it is still queued: how a worker begins one.")
def resume(bisection: int | None, as_json: bool, quiet: bool, queued: bool) -> None:
    """Go on with bisection ID (default: the latest interrupted one); nothing finished is done again."""
    session = _session()
    if bisection is None:
        unfinished = [row.id for row in session.store.bisections() if session.state(row.id, row.state) == "interrupted"]
        if not unfinished:
            raise UserError("there is no interrupted bisection", "`bisect list` shows them all")
        bisection = unfinished[0]
    _run(session, bisection, as_json=as_json, quiet=quiet, among=("queued",) if queued else RESUMABLE)


def _run(session: Session, bisection: int, *, as_json: bool, quiet: bool, among: Sequence[str] = RESUMABLE) -> None:
    try:
        with Display(quiet=quiet) as display:
            display("begun", id=bisection)
            verdict = session.run(bisection, display, among=among)
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
    form = report.Form.JSON if as_json else report.Form.TEXT
    click.echo(report.render(session, bisection, form), nl=False)


@main.command("list")
@click.option("--json", "as_json", is_flag=True)
def list_bisections(as_json: bool) -> None:
    """Show all bisections, newest first."""
    session = _session()
    rows = session.store.bisections()
    if as_json:
        plain = [
            {"id": r.id, "state": session.state(r.id, r.state), "engine": r.engine, "good": r.question["good"],
             "bad": r.question["bad"], "test": r.question["test"], "created": r.created,
             "verdict": r.verdict and {"kind": r.verdict["kind"], "summary": r.verdict["summary"]}}
            for r in rows
        ]  # fmt: skip
        click.echo(json.dumps(plain, indent=2))
        return
    if not rows:
        click.echo("no bisections yet; `bisect start --help` shows how to begin")
        return
    table = Table(box=None, pad_edge=False, expand=True)
    for column in ("ID", "state", "engine", "range", "test", "started", "answer"):
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=1 if column == "answer" else None)
    for row in rows:
        question, verdict = row.question, row.verdict or {}
        table.add_row(
            str(row.id),
            session.state(row.id, row.state),
            row.engine,
            escape(f"{question['good']} → {question['bad']}"),
            question["test"],
            time.strftime("%Y-%m-%d %H:%M", time.localtime(row.created)),
            escape(verdict.get("summary", "")),
        )
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)


@main.command()
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--json", "as_json", is_flag=True)
def status(bisection: int | None, as_json: bool) -> None:
    """Show how far bisection ID is (default: the latest)."""
    session = _session()
    data = report.gather(session, _latest(session) if bisection is None else bisection)
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    totals = data["totals"]
    click.echo(f"bisection {data['id']}: {data['state']}")
    click.echo(f"  {data['engine']} {data['good']['name']} → {data['bad']['name']}, test {data['test']}")
    click.echo(f"  {totals['candidates']} candidates, {totals['builds']} builds, {totals['probes']} probes so far")
    click.echo(f"  {totals['build_seconds']:,.0f} s of builds, {totals['probe_seconds']:,.0f} s of probes")
    if data["verdict"]:
        for name, verdict in verdicts(data).items():
            click.echo(f"  {name}{verdict['kind']}: {verdict['summary']}")
    if data["state"] != "finished":
        answered = (data["verdict"] or {}).get("tests", {})
        events = [event for event in session.store.events(data["id"]) if event[3].get("test") not in answered]
        said = [line for _, _, kind, found in events if (line := describe(kind, found))]
        for line in [*latest(events, ("price", "posterior", "next")), *said[-1:]]:
            click.echo(f"  {line}")
    if data["state"] == "interrupted":
        click.echo(f"  `bisect resume {data['id']}` goes on")


def _latest(session: Session) -> int:
    rows = session.store.bisections()
    if not rows:
        raise UserError("there are no bisections yet", "`bisect start --help` shows how to begin")
    return rows[0].id


@main.command()
@click.argument("bisection", metavar="ID", type=int)
@click.option("--build", "sha", metavar="COMMIT", help="Print the build log of a commit instead.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def log(bisection: int, sha: str | None, as_json: bool) -> None:
    """Show everything that happened in bisection ID, in order."""
    session = _session()
    session.store.bisection(bisection)
    if sha:
        logs = [Path(build.log) for build, _ in session.store.builds(bisection) if build.sha.startswith(sha)]
        if not logs or not logs[-1].is_file():
            raise UserError(f"there is no build log of {sha} in bisection {bisection}", "see `bisect report`")
        click.echo(logs[-1].read_text(errors="replace"), nl=False)
        return
    for number, at, kind, data in session.store.events(bisection):
        if as_json:
            click.echo(json.dumps({"id": number, "at": at, "kind": kind, "data": data}))
        elif line := describe(kind, data):
            click.echo(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(at))}  {line}")


@main.command()
@click.argument("bisection", metavar="ID", type=int)
def cancel(bisection: int) -> None:
    """End bisection ID; what it measured is kept, and `bisect resume` would go on with it."""
    _session().cancel(bisection)
    click.echo(f"bisection {bisection} is cancelled")


@main.command("report")
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--format", "form", type=click.Choice([form.value for form in report.Form]), default="text",
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
    session = _session()
    wanted = report.Form(report.Form.JSON if as_json else form)
    number = _latest(session) if bisection is None else bisection
    if wanted.binary and output is None and sys.stdout.isatty():
        raise UserError(f"a terminal cannot show the form {wanted}", "add --output FILE, or send it to a file with >")
    content = report.render(session, number, wanted)
    if output is None:
        click.echo(content, nl=False)
        return
    target = output / report.file_name(session, number, wanted) if output.is_dir() else output
    try:
        target.write_bytes(content)
    except OSError as error:
        raise UserError(f"cannot write {target} ({error.strerror})", "name another file with --output") from error
    click.echo(f"wrote {target}", err=True)


@main.command("attach")
@click.argument("bisection", metavar="ID", type=int)
@click.option("--github", metavar="OWNER/REPO#N", help="Comment on this issue or pull request; token: $GITHUB_TOKEN.")
@click.option("--jira", metavar="URL", help="Comment on issue --key of this Jira; token: $JIRA_TOKEN, and on Cloud "
              "$JIRA_USER.")  # fmt: skip
@click.option("--key", metavar="KEY", help="The Jira issue, e.g. PROJECT-123.")
@click.option("--mysql-bug", type=click.IntRange(1), metavar="N", help="Write the files for bug N of bugs.mysql.com.")
@click.option("--to", type=click.Path(path_type=Path), metavar="DIRECTORY",
              help="Where to write files [default: bisection-ID]; alone: post nothing.")  # fmt: skip
@click.option("--no-files", is_flag=True, help="Only the text.")
@click.option("--dry-run", is_flag=True, help="Show what would be posted; send and write nothing.")
@click.option("--again", is_flag=True, help="Post even if it was posted before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="How it ended as JSON on standard output, and only that.")
def attach_command(
    bisection: int, no_files: bool, dry_run: bool, again: bool, yes: bool, as_json: bool, **ticket: Any
) -> None:
    """Post the report of bisection ID to a ticket, once.

    It is shown before, and you are asked. Running it again is safe: it looks at the ticket first.

    \b
    Examples:
      bisect attach 3 --github me/rocksdb#12
      bisect attach 3 --jira https://jira.example.org --key DB-42 --yes
      bisect attach 3 --mysql-bug 99999 --to ~/bug-99999
    """
    tracker = tracker_of(Ticket(**ticket), bisection, os.environ)

    def confirm(post: Post) -> bool:
        if not (yes or sys.stdin.isatty()):
            raise UserError("there is no terminal to ask at", "--yes posts without asking, --dry-run only shows")
        if not (as_json and yes):
            click.echo(preview(post), err=as_json)
        return yes or click.confirm("Post this?", err=True)

    outcome = attach(_session(), bisection, tracker, confirm, Wish(dry_run=dry_run, again=again, files=not no_files))
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
    session = _session()
    data = suspect_list.gather(session, _latest(session) if bisection is None else bisection, inside, limit)
    shown = data["suspects"]
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    table = Table(box=None, pad_edge=False, expand=True)
    for column, right in (("rank", True), ("weight", True), ("commit", False), ("instr/query", True)):
        table.add_column(column, no_wrap=True, justify="right" if right else "left")
    for column, ratio in (("found", 2), ("subject", 3), ("why", 3)):
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for found in shown:
        table.add_row(
            str(found["rank"]),
            f"{found['weight']:.2%}",
            found["sha"][:12],
            "-" if found["cost"] is None else f"{found['cost']:,.0f}",
            escape(found["found"]),
            escape(found["subject"]),
            escape(", ".join(list(found["because"])[:3])),
        )
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)
    if len(shown) < data["candidates"]:
        click.echo(f"{data['candidates'] - len(shown)} more; --limit {data['candidates']} shows all")


@main.command()
@click.option("--engine", help="Only the tests of this engine.")
@click.option("--matrix", type=click.Path(path_type=Path), help="Your own compiler-matrix.yaml.")
@click.option("--json", "as_json", is_flag=True)
def tests(engine: str | None, matrix: Path | None, as_json: bool) -> None:
    """List the named tests per engine, by group; with --json also their parameters, which `start --set` takes."""
    loaded = Matrix.load(matrix)
    engines = [engine_named(loaded, engine)] if engine else loaded.engines()
    found = {e.name: tests_of(e) for e in engines}
    if as_json:
        plain = {
            name: [{"name": t.name, "group": t.group, "summary": t.summary, "writes": t.writes,
                    "parameters": dict(t.parameters)} for t in listed]
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
    home = Home.open()
    checks = examine(home.root, Matrix.load().preferences())
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
    for artifact in Artifacts(Home.open().artifacts).all():
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(artifact.used))
        click.echo(f"{artifact.digest[:16]}  {artifact.size / 2**20:8.1f} MiB  {used}")


@artifacts.command()
@click.option("--limit", "limit_gib", type=click.FloatRange(0, 1e9), callback=_finite, metavar="GIB",
              default=DEFAULT_LIMIT_BYTES / 2**30, show_default=True, help="Keep at most this much.")  # fmt: skip
def prune(limit_gib: float) -> None:
    """Remove the least recently used builds over the limit; those of unfinished bisections stay."""
    session = _session()
    kept = session.store.artifacts_in_use()
    removed = Artifacts(session.home.artifacts).prune(int(limit_gib * 2**30), kept)
    click.echo(f"removed {len(removed)} artifacts, {sum(a.size for a in removed) / 2**20:.1f} MiB")


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Any other needs a token in CPUBISECT_TOKEN.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--repo", "repositories", multiple=True, metavar="[NAME=]PATH|URL",
              help="A repository that the form offers, beside the engines' public ones; repeat it.")  # fmt: skip
@click.option("--no-worker", is_flag=True, help="Only show; `bisect worker` runs what is queued.")
def serve(host: str, port: int, repositories: tuple[str, ...], no_worker: bool) -> None:
    """Watch, start and read bisections in a browser; runs what is queued.

    \b
    Examples:
      bisect serve
      bisect serve --repo ~/rocksdb --repo server=https://example.org/mysql.git
      CPUBISECT_TOKEN=$(openssl rand -hex 24) bisect serve --host 0.0.0.0

    A change from elsewhere than a page on this host needs the token: `Authorization: Bearer TOKEN`, or Sign in.
    """
    from cpubisect.web import server

    token = os.environ.get("CPUBISECT_TOKEN", "")
    server.serve(_session(), _say, host=host, port=port, token=token, repositories=repositories, working=not no_worker)


@main.command()
def worker() -> None:
    """Run queued bisections, one after another, until Ctrl-C; what is running then goes back to the queue."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    _say("waiting for queued bisections (Ctrl-C ends it)")
    Worker(_session(), _say).run(stop)


def _say(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {text}", err=True)


if __name__ == "__main__":
    main()
