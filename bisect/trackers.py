"""Which ticket is meant, and the token for it from the environment."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cpubisect import github, jira
from cpubisect.errors import UserError
from cpubisect.folder import Folder, mysql_bug
from cpubisect.github import GitHub, Issue
from cpubisect.jira import Jira
from cpubisect.remote import Login, Patience, base_url, checked_token
from cpubisect.tracker import Tracker


@dataclass(frozen=True)
class Ticket:
    """What the user gave: `github` as owner/repo#N; `jira` as an address, with `key`; the number of a `mysql_bug`; `to`
    is the folder for files, which alone is a target too."""

    github: str | None = None
    jira: str | None = None
    key: str | None = None
    mysql_bug: int | None = None
    to: Path | None = None


def tracker_of(
    ticket: Ticket, bisection: int, environment: Mapping[str, str], patience: Patience | None = None
) -> Tracker:
    """The tracker of a ticket; raises UserError for anything but exactly one target, or one that is malformed.

    A missing token is told only when it is needed.
    """
    patience = patience or Patience()
    named = [ticket.github is not None, ticket.jira is not None, ticket.mysql_bug is not None]
    if sum(named) > 1:
        raise UserError("--github, --jira and --mysql-bug are different trackers", "give one of them at a time")
    if (ticket.jira is None) != (ticket.key is None):
        raise UserError("--jira and --key belong together", "for example --jira https://example.org --key PROJECT-123")
    folder = (ticket.to or Path(f"bisection-{bisection}")).absolute()
    if ticket.github is not None:
        api = base_url(environment.get("GITHUB_API_URL") or github.PUBLIC_API, "$GITHUB_API_URL")
        return GitHub(Issue.parse(ticket.github), api, _github_login(environment), folder, patience)
    if ticket.jira is not None:
        if ticket.to is not None:
            raise UserError("Jira takes the files itself", "leave out --to")
        base = base_url(ticket.jira, "the address of Jira")
        if "/browse/" in base:
            raise UserError("--jira is the address of an issue", f"give {base.partition('/browse/')[0]} and --key")
        return Jira(base, jira.parse_key(ticket.key or ""), _jira_login(environment), patience)
    if ticket.mysql_bug is not None:
        return mysql_bug(ticket.mysql_bug, folder)
    if ticket.to is None:
        raise UserError("nothing says where to attach it", "give --github, --jira with --key, --mysql-bug or --to")
    return Folder(folder)


def _github_login(environment: Mapping[str, str]) -> Login | None:
    for variable in ("GITHUB_TOKEN", "GH_TOKEN"):
        if environment.get(variable):
            token = checked_token(environment[variable], variable)
            return Login(f"Bearer {token}", (token,), github.NEEDS)
    return None


def _jira_login(environment: Mapping[str, str]) -> Login | None:
    if not environment.get("JIRA_TOKEN"):
        return None
    token = checked_token(environment["JIRA_TOKEN"], "JIRA_TOKEN")
    user = environment.get("JIRA_USER", "").strip()
    if not user:
        return Login(f"Bearer {token}", (token,), jira.NEEDS)
    pair = b64encode(f"{user}:{token}".encode()).decode()
    return Login(f"Basic {pair}", (pair, token), jira.NEEDS)
