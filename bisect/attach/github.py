"""Comments on issues and pull requests of GitHub, or of a GitHub Enterprise server, through its REST API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpubisect.attach.access import Login, Patience, base_url, checked_token
from cpubisect.attach.ticket import Post
from cpubisect.attach.tracker import Asked, Tracker
from cpubisect.attach.visible import visible
from cpubisect.base.errors import UserError

if TYPE_CHECKING:
    from cpubisect.attach.remote import Remote
    from cpubisect.report.documents import Report

PUBLIC_API = "https://api.github.com"
LONGEST_COMMENT = 65_536
"""Characters; from the API's own refusal, "body is too long (maximum is 65536 characters)"."""
PAGE = 100
MOST_PAGES = 1000
NEEDS = "set GITHUB_TOKEN to one with Issues: read and write (classic: scope repo or public_repo)"

_ISSUE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9._-]{1,100})#([1-9][0-9]{0,17})")


@dataclass(frozen=True)
class _Comment:
    body: str | None = None
    html_url: str = ""

    @property
    def address(self) -> str:
        return visible(self.html_url)


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

    Without a `login` texts can be composed, but nothing can be read or posted.
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

    @property
    def where(self) -> str:
        """The issue as it was named, and the API's address."""
        return f"a comment on {self.issue} at {self.api}"

    def compose(self, report: "Report", marker: str) -> Post:
        """The Markdown as a comment, shortened if it has to be; the marker is an HTML comment at its end."""
        return Post(
            where=self.where,
            text=report.markdown(LONGEST_COMMENT, lambda text: f"{text.rstrip()}\n\n<!-- {marker} -->\n"),
            written=report.documents,
            folder=self.folder,
            advice=f"GitHub takes no files from programs: to add them, drag them from {self.folder} into a comment",
        )

    def find(self, marker: str) -> list[str]:
        """The addresses of the issue's comments with the marker, of all pages."""
        found = []
        for page in range(1, MOST_PAGES + 1):
            answer = self._remote.get(self._path, list[_Comment], per_page=PAGE, page=page)
            found += [comment.address for comment in answer.data if marker in (comment.body or "")]
            if not answer.more:
                return found
        raise UserError(f"{self.issue} has more than {MOST_PAGES * PAGE:,} comments", "take another issue")

    def send(self, post: Post) -> str:
        """Make the comment and return its address."""
        return self._remote.post(self._path, _Comment, json={"body": post.text}).address

    @property
    def _path(self) -> str:
        return f"/repos/{self.issue.owner}/{self.issue.repository}/issues/{self.issue.number}/comments"

    @cached_property
    def _remote(self) -> "Remote":
        from cpubisect.attach.remote import Remote

        if self.login is None:
            raise UserError("there is no token for GitHub", NEEDS)
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        return Remote(self.api, self.login, headers, self.patience)


def ticket(asked: Asked) -> GitHub:
    """The issue that was named, at the public GitHub or the server in $GITHUB_API_URL."""
    api = base_url(asked.environment.get("GITHUB_API_URL") or PUBLIC_API, "$GITHUB_API_URL")
    return GitHub(Issue.parse(asked.options["github"]), api, _login(asked.environment), asked.folder, asked.patience)


def _login(environment: Mapping[str, str]) -> Login | None:
    for variable in ("GITHUB_TOKEN", "GH_TOKEN"):
        if environment.get(variable):
            token = checked_token(environment[variable], variable)
            return Login(f"Bearer {token}", (token,), NEEDS)
    return None


TRACKER = Tracker(
    options=(
        click.Option(
            ["--github"],
            metavar="OWNER/REPO#N",
            help="Comment on this issue or pull request; token: $GITHUB_TOKEN.",
        ),
    ),
    examples=("--github me/rocksdb#12",),
    ticket=ticket,
)
