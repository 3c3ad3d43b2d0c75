"""The trackers there are, and which of them is meant: a new one is added to `TRACKERS`."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cpubisect.attach import folder, github, jira, mysql_bug
from cpubisect.attach.access import Patience
from cpubisect.attach.ticket import Ticket
from cpubisect.attach.tracker import Asked, Tracker
from cpubisect.base.errors import UserError

TRACKERS: tuple[Tracker, ...] = (github.TRACKER, jira.TRACKER, mysql_bug.TRACKER)
"""In the order in which `bisect attach --help` shows them."""


def options() -> list[click.Option]:
    """All that says where to attach a report."""
    return [*(option for tracker in TRACKERS for option in tracker.options), folder.TO]


def examples() -> list[str]:
    """Arguments that may follow `bisect attach ID`."""
    return [example for tracker in TRACKERS for example in tracker.examples]


def ticket_of(
    given: Mapping[str, Any], bisection: int, environment: Mapping[str, str], patience: Patience | None = None
) -> Ticket:
    """The ticket that the values `given` to `options` name, None or nothing where there is none.

    Raises UserError for anything but exactly one target, or one that is malformed.
    """
    named = [tracker for tracker in TRACKERS if tracker.given(given)[0]]
    if len(named) > 1:
        targets = _listed([tracker.flags[0] for tracker in TRACKERS], "and")
        raise UserError(f"{targets} are different trackers", "give one of them at a time")
    for tracker in TRACKERS:
        if any(tracker.given(given)) and not all(tracker.given(given)):
            raise UserError(f"{_listed(tracker.flags, 'and')} belong together", tracker.together)
    asked = Asked(given, given.get("to"), bisection, environment, patience or Patience())
    if named:
        return named[0].ticket(asked)
    if asked.to is None:
        targets = _listed([*(" with ".join(tracker.flags) for tracker in TRACKERS), *folder.TO.opts], "or")
        raise UserError("nothing says where to attach it", f"give {targets}")
    return folder.Folder(asked.folder)


def _listed(words: Sequence[str], last: str) -> str:
    """Words as one enumerates them in a sentence."""
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end
