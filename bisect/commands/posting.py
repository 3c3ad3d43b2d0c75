"""The command that posts a report to a ticket; it asks before it does."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from cpubisect.attach.command import AttachCommand
from cpubisect.base.errors import UserError
from cpubisect.base.sandbox.secrets import environment
from cpubisect.records.registry import Registry

if TYPE_CHECKING:
    from cpubisect.attach.ticket import Post


@click.command("attach", cls=AttachCommand)
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
