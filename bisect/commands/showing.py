"""The commands that show what is known of bisections."""

import json
import sys
import time
from pathlib import Path

import click

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import digits
from cpubisect.commands import option
from cpubisect.commands.shared import put
from cpubisect.records.registry import Registry
from cpubisect.records.store import LARGEST_ID
from cpubisect.report.form import Form

WIDE = 200
"""Columns of a table that is not printed to a terminal."""


@click.command("list")
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


@click.command()
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
    number = newest(registry) if bisection is None else bisection
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


@click.command()
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


@click.command("report")
@click.argument("bisection", metavar="[ID]", type=int, required=False)
@click.option("--format", "form", type=click.Choice([form.value for form in Form]), default="text",
              show_default=True, help="text for bugs.mysql.com (76 columns), markdown for GitHub, html in one file, "
              "svg or png of the chart, bundle for a tar.gz with everything and a reproduce.sh.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@option.output
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
    number = newest(registry) if bisection is None else bisection
    if wanted.binary and output is None and sys.stdout.isatty():
        raise UserError(f"a terminal cannot show the form {wanted}", "add --output FILE, or send it to a file with >")
    content = report.render(registry, number, wanted)
    put(content, output, lambda: report.file_name(registry, number, wanted))


@click.command()
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
    found = ranking(registry, newest(registry) if bisection is None else bisection, inside, limit)
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


def newest(registry: Registry) -> int:
    """The newest bisection; UserError if there is none."""
    from cpubisect.records import queries

    found = queries.newest(registry.store)
    if found is None:
        raise UserError("there are no bisections yet", "`bisect start --help` shows how to begin")
    return found
