"""The commands about this host: what it can build and measure, and the kept builds."""

import json
import time
from pathlib import Path

import click

from cpubisect.commands import option
from cpubisect.commands.shared import finite
from cpubisect.records.artifacts import DEFAULT_LIMIT_BYTES, Artifacts
from cpubisect.records.registry import Registry


@click.command()
@click.option("--engine", help="Only the tests of this engine.")
@option.matrix
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
    alike: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for name, listed in found.items():
        alike.setdefault(tuple((test.group, test.name, test.summary) for test in listed), []).append(name)
    for names in alike.values():
        listed = found[names[0]]
        click.echo(", ".join(names))
        for group in dict.fromkeys(test.group for test in listed):
            click.echo(f"  {group}")
            for test in (t for t in listed if t.group == group):
                click.echo(f"    {test.name:<24}{test.summary}")


@click.command()
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


@click.group()
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
@click.option("--limit", "limit_gib", type=click.FloatRange(0, 1e9), callback=finite, metavar="GIB",
              default=DEFAULT_LIMIT_BYTES / 2**30, show_default=True, help="Keep at most this much.")  # fmt: skip
def prune(limit_gib: float) -> None:
    """Remove the least recently used builds over the limit; those of unfinished bisections stay."""
    registry = Registry.open()
    kept = registry.store.artifacts_in_use()
    removed = Artifacts(registry.home.artifacts).prune(int(limit_gib * 2**30), kept)
    click.echo(f"removed {len(removed)} artifacts, {sum(a.size for a in removed) / 2**20:.1f} MiB")
