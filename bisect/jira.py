"""Comments and attachments of Jira issues (Cloud, Data Center), through version 2 of its REST API."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel, Field, TypeAdapter

from cpubisect.documents import TEXT, Document
from cpubisect.errors import UserError
from cpubisect.harmless import unbroken, visible
from cpubisect.remote import Login, Patience, Remote
from cpubisect.shorten import shorten, size
from cpubisect.tracker import Post, named

LONGEST_COMMENT = 32_767
"""Characters; the default of Data Center's `jira.text.field.character.limit`, and Cloud's limit."""
PAGE = 100
MOST_PAGES = 1000
NEEDS = (
    "set JIRA_TOKEN to a personal access token, or on Jira Cloud to an API token and JIRA_USER to your e-mail address"
)

_KEY = re.compile(r"[A-Z][A-Z0-9_]{0,99}-[1-9][0-9]{0,17}")


class _Comment(BaseModel):
    id: str = Field(pattern="^[0-9]+$")
    body: str | None = None


class _Comments(BaseModel):
    comments: list[_Comment]
    total: int = 0


class _Attachment(BaseModel):
    filename: str
    size: int = -1


class _Fields(BaseModel):
    attachment: list[_Attachment] = []


class _Issue(BaseModel):
    fields: _Fields


_COMMENT = TypeAdapter(_Comment)
_PAGE = TypeAdapter(_Comments)
_ISSUE = TypeAdapter(_Issue)
_UPLOADED = TypeAdapter(list[_Attachment])


def parse_key(text: str) -> str:
    """The key of an issue as it is; raises UserError if it is none."""
    if not _KEY.fullmatch(text):
        raise UserError(f"{text!a} is not the key of a Jira issue", "write it as PROJECT-123, in capital letters")
    return text


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

    def compose(self, documents: Sequence[Document], marker: str) -> Post:
        """The plain text as a block without formatting, and the files with names that hold the marker's beginning.

        Jira has no Markdown, and nothing that it does not show survives Cloud's conversion: the marker is a last line.
        """
        head, tail = "{noformat}\n", f"\n\nReference: {marker}\n{{noformat}}"
        text = unbroken(visible(named(documents, TEXT)).rstrip())
        prefix = marker.replace(":", "-")[:18]
        return Post(
            where=f"a comment on {self.key} at {self.base}",
            text=head + shorten(text, LONGEST_COMMENT - size(head + tail), markdown=False) + tail,
            uploads=tuple(Document(f"{prefix}-{d.name}", d.content_type, d.content) for d in documents),
        )

    def find(self, marker: str) -> list[str]:
        """The addresses of the issue's comments with the marker, of all pages."""
        found: list[str] = []
        seen = 0
        for _ in range(MOST_PAGES):
            page = self._remote.get(f"{self._path}/comment", _PAGE, startAt=seen, maxResults=PAGE).data
            found += [self._address(comment) for comment in page.comments if marker in (comment.body or "")]
            seen += len(page.comments)
            if not page.comments or seen >= page.total:
                return found
        raise UserError(f"{self.key} has more than {MOST_PAGES * PAGE:,} comments", "take another issue")

    def send(self, post: Post) -> str:
        """Upload the files that are not there yet, then make the comment and return its address."""
        if post.uploads:
            fields = self._remote.get(self._path, _ISSUE, fields="attachment").data.fields
            there = {(attachment.filename, attachment.size) for attachment in fields.attachment}
            for document in post.uploads:
                if (document.name, len(document.content)) not in there:
                    self._remote.post(
                        f"{self._path}/attachments",
                        _UPLOADED,
                        files={"file": (document.name, document.content, document.content_type)},
                        headers={"X-Atlassian-Token": "no-check"},
                    )
        return self._address(self._remote.post(f"{self._path}/comment", _COMMENT, json={"body": post.text}))

    def _address(self, comment: _Comment) -> str:
        return f"{self.target}?focusedCommentId={comment.id}"

    @property
    def _path(self) -> str:
        return f"/rest/api/2/issue/{self.key}"

    @cached_property
    def _remote(self) -> Remote:
        if self.login is None:
            raise UserError("there is no token for Jira", NEEDS)
        return Remote(self.base, self.login, {}, self.patience)
