"""The commands that look after the store."""

import json
import os
import sqlite3
from pathlib import Path

import click

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import is_held
from cpubisect.commands.shared import file


@click.group("store")
def store_group() -> None:
    """Look after the store, the one file with all that was found.

    \b
    Examples:
      bisect store check
      bisect store backup --output ~/store-of-today.sqlite
      bisect store repair
    """


@store_group.command()
@click.option("--json", "as_json", is_flag=True, help="What is wrong as JSON on standard output, and only that.")
def check(as_json: bool) -> None:
    """Read all of the store and tell what is wrong with it; exit code 2 if anything is.

    \b
    Examples:
      bisect store check
      bisect store check --json
    """
    from cpubisect.records.care.health import problems

    store = Home.locate().store
    found = problems(store)
    if as_json:
        click.echo(json.dumps({"store": str(store), "sound": not found, "problems": found}, indent=2))
    else:
        for problem in found:
            click.echo(problem)
    if found:
        raise UserError(f"the store {store} is damaged", "`bisect store repair` saves what can be read")
    if not as_json:
        click.echo(f"{store} is sound" if store.exists() else f"there is no store at {store} yet")


@store_group.command()
@click.option("--output", callback=file, metavar="FILE",
              help="Write it there [default: a name with the time, below backups/ in the home directory].")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Where it is as JSON on standard output, and only that.")
def backup(output: Path | None, as_json: bool) -> None:
    """Copy the store while it is in use. The copy is one file, which can be put in the store's place.

    Before a newer program changes the form of the store it makes such a copy by itself; the last three of those stay.

    \b
    Examples:
      bisect store backup
      bisect store backup --output ~/store-of-today.sqlite
    """
    from cpubisect.records import backups
    from cpubisect.records.database import unfit

    home = Home.locate()
    if not home.store.exists():
        raise UserError(f"there is no store at {home.store} yet", "`bisect start --help` shows how to begin")
    if output is not None and output.exists():
        raise UserError(f"{output} is there already", "name another file with --output")
    target = output or backups.free_name(home.backups, "store")
    try:
        backups.copy(home.store, target)
    except sqlite3.Error as error:
        raise unfit(f"cannot copy the store {home.store}", error) from error
    except OSError as error:
        raise UserError(f"cannot write {target} ({error.strerror})", "name another file with --output") from error
    told = json.dumps({"store": str(home.store), "backup": str(target)}, indent=2) if as_json else f"wrote {target}"
    click.echo(told)


@store_group.command()
@click.option("--json", "as_json", is_flag=True, help="What was saved as JSON on standard output, and only that.")
def repair(as_json: bool) -> None:
    """Save what can be read of a damaged store into a new one; the damaged file is kept beside the backups.

    Nothing may be running; end `bisect serve` as well. `bisect resume` measures again what was lost of a bisection.

    \b
    Examples:
      bisect store repair
      bisect store repair --json
    """
    from cpubisect.records.care import salvage

    home = Home.locate()
    if not home.store.exists():
        raise UserError(f"there is no store at {home.store} yet", "`bisect start --help` shows how to begin")
    busy = [lock.stem for lock in sorted(home.running.glob("*.lock")) if is_held(lock)]
    if busy:
        raise UserError(f"the store is in use ({', '.join(busy)})", "end what is running first, with Ctrl-C or SIGTERM")
    try:
        done = salvage.repair(home.store, home.backups)
    except sqlite3.Error as error:
        raise UserError(f"cannot repair {home.store} ({error})", f"copies of it are in {home.backups}") from error
    if as_json:
        plain = {"store": str(home.store), **(done.to_json() if done else {"damaged": None, "tables": []})}
        click.echo(json.dumps(plain, indent=2))
        return
    if done is None:
        click.echo(f"{home.store} is sound: nothing to repair")
        return
    for one in done.tables:
        lost = [f"{one.dropped} lost"] if one.dropped else []
        lost += ["more could not be read"] if one.unread else []
        click.echo(f"{one.table:<20}{one.saved:>9} rows saved{''.join(f', {words}' for words in lost)}")
    click.echo(f"the damaged store is kept as {os.path.relpath(done.damaged, home.root)} in {home.root}")
