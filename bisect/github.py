"""Comments on issues and pull requests of GitHub, or of a GitHub Enterprise server, through its REST API."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from cpubisect.documents import MARKDOWN, Document
from cpubisect.errors import UserError
from cpubisect.harmless import closed, inert, visible
from cpubisect.remote import Login, Patience, Remote
from cpubisect.shorten import shorten, size
from cpubisect.tracker import Post, named

PUBLIC_API = "https://api.github.com"
LONGEST_COMMENT = 65_536
"""Characters; from the API's own refusal, "body is too long (maximum is 65536 characters)"."""
PAGE = 100
MOST_PAGES = 1000
NEEDS = "set GITHUB_TOKEN to one with Issues: read and write (classic: scope repo or public_repo)"

_ISSUE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9._-]{1,100})#([1-9][0-9]{0,17})")


class _Comment(BaseModel):
    body: str | None = None
    html_url: str = ""

    @property
    def address(self) -> str:
        return visible(self.html_url)


_COMMENT = TypeAdapter(_Comment)
_COMMENTS = TypeAdapter(list[_Comment])


@dataclass(frozen=True)
class Issue:
    """An issue or pull request."""

    owner: str
    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.owner}/{self.repository}#{self.number}"

    @classmethod
    def parse(cls, text: str) -> "Issue":
        """The inverse of `str`; raises UserError for anything else."""
        found = _ISSUE.fullmatch(text)
        if not found or found[2] in (".", ".."):
            raise UserError(f"{text!a} is not an issue of GitHub", "write it as owner/repo#123")
        return cls(found[1], found[2], int(found[3]))


@dataclass(frozen=True)
class GitHub:
    """One issue, reached through the API at `api`; files are written into `folder`, for the API takes none.

    Without a `token` texts can be composed, but nothing can be read or posted.
    """

    issue: Issue
    api: str
    login: Login | None
    folder: Path
    patience: Patience

    @property
    def target(self) -> str:
        """The address of the issue in the API; GitHub does not tell capital letters from small ones."""
        return f"{self.api}{self._path}".lower()

    def compose(self, documents: Sequence[Document], marker: str) -> Post:
        """The Markdown as a comment, shortened if it has to be; the marker is an HTML comment at its end."""
        tail = f"\n\n<!-- {marker} -->\n"
        text = inert(visible(named(documents, MARKDOWN))).rstrip()
        text = closed(shorten(closed(text), LONGEST_COMMENT - size(tail), markdown=True)) + tail
        return Post(
            where=f"a comment on {self.issue} at {self.api}",
            text=text,
            written=tuple(documents),
            folder=self.folder,
            advice=f"GitHub takes no files from programs: to add them, drag them from {self.folder} into a comment",
        )

    def find(self, marker: str) -> list[str]:
        """The addresses of the issue's comments with the marker, of all pages."""
        found = []
        for page in range(1, MOST_PAGES + 1):
            answer = self._remote.get(self._path, _COMMENTS, per_page=PAGE, page=page)
            found += [comment.address for comment in answer.data if marker in (comment.body or "")]
            if not answer.more:
                return found
        raise UserError(f"{self.issue} has more than {MOST_PAGES * PAGE:,} comments", "take another issue")

    def send(self, post: Post) -> str:
        """Make the comment and return its address."""
        return self._remote.post(self._path, _COMMENT, json={"body": post.text}).address

    @property
    def _path(self) -> str:
        return f"/repos/{self.issue.owner}/{self.issue.repository}/issues/{self.issue.number}/comments"

    @cached_property
    def _remote(self) -> Remote:
        if self.login is None:
            raise UserError("there is no token for GitHub", NEEDS)
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        return Remote(self.api, self.login, headers, self.patience)
