"""Comments and attachments of Jira issues (Cloud, Data Center), through version 2 of its REST API."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import click

from cpubisect.attach.access import Login, Patience, base_url, checked_token
from cpubisect.attach.ticket import Post
from cpubisect.attach.tracker import Asked, Tracker
from cpubisect.base.errors import UserError

if TYPE_CHECKING:
    from cpubisect.attach.remote import Remote
    from cpubisect.report.documents import Report

LONGEST_COMMENT = 32_767
"""Characters; the default of Data Center's `jira.text.field.character.limit`, and Cloud's limit."""
PAGE = 100
MOST_PAGES = 1000
NEEDS = (
    "set JIRA_TOKEN to a personal access token, or on Jira Cloud to an API token and JIRA_USER to your e-mail address"
)

BREAK = "\u200b"
"""A zero-width space: not seen, and what it parts is no macro any more."""

_NOFORMAT = re.compile(r"\{(?=noformat)", re.IGNORECASE)
_ID = re.compile("[0-9]+")
_KEY = re.compile(r"[A-Z][A-Z0-9_]{0,99}-[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class _Comment:
    id: str
    body: str | None = None

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError("the id of a comment is a number")


@dataclass(frozen=True)
class _Comments:
    comments: list[_Comment]
    total: int = 0


@dataclass(frozen=True)
class _Attachment:
    filename: str
    size: int = -1


@dataclass(frozen=True)
class _Fields:
    attachment: list[_Attachment] = field(default_factory=list)


@dataclass(frozen=True)
class _Issue:
    fields: _Fields


def parse_key(text: str) -> str:
    """The key of an issue as it is; raises UserError if it is none."""
    if not _KEY.fullmatch(text):
        raise UserError(f"{text!a} is not the key of a Jira issue", "write it as PROJECT-123, in capital letters")
    return text


def unbroken(text: str) -> str:
    """Text that nothing in can end a {noformat} block of Jira's wiki markup."""
    return _NOFORMAT.sub("{" + BREAK, text)


@dataclass(frozen=True)
class Jira:
    """One issue of the Jira at `base`. Without a `login` texts can be composed, but nothing can be read or posted."""

    base: str
    key: str
    login: Login | None
    patience: Patience

    @property
    def target(self) -> str:
        """The address of the issue."""
        return f"{self.base}/browse/{self.key}"

    @property
    def where(self) -> str:
        """The issue and the address of its Jira."""
        return f"a comment on {self.key} at {self.base}"

    def compose(self, report: "Report", marker: str) -> Post:
        """The plain text as a block without formatting, and the files with names that hold the marker's beginning.

        Jira has no Markdown, and nothing that it does not show survives Cloud's conversion: the marker is a last line.
        """

        def comment(text: str) -> str:
            return f"{{noformat}}\n{unbroken(text).rstrip()}\n\nReference: {marker}\n{{noformat}}"

        prefix = marker.replace(":", "-")[:18]
        return Post(
            where=self.where,
            text=report.text(LONGEST_COMMENT, comment),
            uploads=tuple(replace(document, name=f"{prefix}-{document.name}") for document in report.documents),
        )

    def find(self, marker: str) -> list[str]:
        """The addresses of the issue's comments with the marker, of all pages."""
        found: list[str] = []
        seen = 0
        for _ in range(MOST_PAGES):
            page = self._remote.get(f"{self._path}/comment", _Comments, startAt=seen, maxResults=PAGE).data
            found += [self._address(comment) for comment in page.comments if marker in (comment.body or "")]
            seen += len(page.comments)
            if not page.comments or seen >= page.total:
                return found
        raise UserError(f"{self.key} has more than {MOST_PAGES * PAGE:,} comments", "take another issue")

    def send(self, post: Post) -> str:
        """Upload the files that are not there yet, then make the comment and return its address."""
        if post.uploads:
            fields = self._remote.get(self._path, _Issue, fields="attachment").data.fields
            there = {(attachment.filename, attachment.size) for attachment in fields.attachment}
            for document in post.uploads:
                if (document.name, len(document.content)) not in there:
                    self._remote.post(
                        f"{self._path}/attachments",
                        list[_Attachment],
                        files={"file": (document.name, document.content, document.content_type)},
                        headers={"X-Atlassian-Token": "no-check"},
                    )
        return self._address(self._remote.post(f"{self._path}/comment", _Comment, json={"body": post.text}))

    def _address(self, comment: _Comment) -> str:
        return f"{self.target}?focusedCommentId={comment.id}"

    @property
    def _path(self) -> str:
        return f"/rest/api/2/issue/{self.key}"

    @cached_property
    def _remote(self) -> "Remote":
        from cpubisect.attach.remote import Remote

        if self.login is None:
            raise UserError("there is no token for Jira", NEEDS)
        return Remote(self.base, self.login, {}, self.patience)


def ticket(asked: Asked) -> Jira:
    """The issue with the key at the address that were given."""
    if asked.to is not None:
        raise UserError("Jira takes the files itself", "leave out --to")
    base = base_url(asked.options["jira"], "the address of Jira")
    if "/browse/" in base:
        raise UserError("--jira is the address of an issue", f"give {base.partition('/browse/')[0]} and --key")
    return Jira(base, parse_key(asked.options["key"]), _login(asked.environment), asked.patience)


def _login(environment: Mapping[str, str]) -> Login | None:
    if not environment.get("JIRA_TOKEN"):
        return None
    token = checked_token(environment["JIRA_TOKEN"], "JIRA_TOKEN")
    user = environment.get("JIRA_USER", "").strip()
    if not user:
        return Login(f"Bearer {token}", (token,), NEEDS)
    pair = b64encode(f"{user}:{token}".encode()).decode()
    return Login(f"Basic {pair}", (pair, token), NEEDS)


TRACKER = Tracker(
    options=(
        click.Option(
            ["--jira"],
            metavar="URL",
            help="Comment on issue --key of this Jira; token: $JIRA_TOKEN, and on Cloud $JIRA_USER.",
        ),
        click.Option(["--key"], metavar="KEY", help="The Jira issue, e.g. PROJECT-123."),
    ),
    examples=("--jira https://jira.example.org --key DB-42 --yes",),
    ticket=ticket,
    together="for example --jira https://example.org --key PROJECT-123",
)
