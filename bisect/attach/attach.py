"""A bisection's report posted to a ticket: shown first, and never twice by accident."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from cpubisect.attach.access import Patience
from cpubisect.attach.folder import write
from cpubisect.attach.marker import marker_of
from cpubisect.attach.ticket import Doubtful, Post, Ticket
from cpubisect.attach.visible import visible
from cpubisect.base.errors import UserError
from cpubisect.base.locks import hold
from cpubisect.records.registry import Registry
from cpubisect.records.rows import BisectionRow
from cpubisect.report.documents import report_of
from cpubisect.search.events import Attached, Attaching

AGAIN = "--again posts it once more"


class State(StrEnum):
    """How attaching ended."""

    POSTED = "posted"
    ALREADY = "already"
    WRITTEN = "written"
    DECLINED = "declined"
    SHOWN = "shown"


@dataclass(frozen=True)
class Outcome:
    """How it ended, what was or would have been posted, and the comment's address if there is one."""

    state: State
    post: Post
    url: str = ""

    def to_json(self) -> dict[str, str | list[str] | None]:
        """As plain data; files by name."""
        return {
            "state": self.state.value,
            "where": self.post.where,
            "url": self.url,
            "text": self.post.text,
            "uploads": [document.name for document in self.post.uploads],
            "written": [document.name for document in self.post.written],
            "folder": str(self.post.folder) if self.post.folder else None,
            "advice": self.post.advice,
        }


@dataclass(frozen=True)
class Wish:
    """How to attach: only show it, post even if it is on the ticket, leave the files out."""

    dry_run: bool = False
    again: bool = False
    files: bool = True


def preview(post: Post) -> str:
    """All that a post holds, for a person who has to agree to it; sizes are in bytes."""
    lines = [f"where  {post.where}"]
    for files, what in ((post.uploads, "upload"), (post.written, "write ")):
        lines += [f"{what} {document.name} ({len(document.content):,} bytes)" for document in files]
    if post.folder:
        lines.append(f"into   {post.folder}")
    text = ["text:", "", post.text] if post.text else []
    return "\n".join(map(visible, [*lines, *text]))


def ending(outcome: Outcome) -> str:
    """How it ended, for a person, with what is left to do."""
    post = outcome.post
    ended = {
        State.POSTED: f"posted: {outcome.url}",
        State.ALREADY: f"it is there already: {outcome.url} ({AGAIN})",
        State.WRITTEN: f"the files are in {post.folder}",
        State.DECLINED: "nothing was posted",
        State.SHOWN: f"{preview(post)}\nnothing was posted: this was a dry run",
    }[outcome.state]
    advice = post.advice if outcome.state in (State.POSTED, State.WRITTEN) else ""
    return "\n".join(part for part in (ended, advice) if part)


def attach(
    registry: Registry,
    bisection: int,
    ticket: Ticket,
    confirm: Callable[[Post], bool],
    wish: Wish | None = None,
    patience: Patience | None = None,
) -> Outcome:
    """Post the report of a finished bisection, if `confirm` says yes to what it is shown.

    What is on the ticket decides whether it is there already; the journal knows of comments that were removed since.
    Both the intent and the success are put into the journal. With `dry_run` nothing is asked, sent or written.
    Raises UserError with the next step for whatever goes wrong; doing the same again is always safe.
    """
    wish, patience = wish or Wish(), patience or Patience()
    row = _finished(registry, bisection)
    marker = _marker(registry, row, ticket)
    post = ticket.compose(report_of(registry, bisection), marker)
    if not wish.files:
        post = replace(post, uploads=(), written=(), folder=None, advice="")
    if not (post.text or post.written):
        raise UserError("nothing is left to do", "without a tracker there are only the files: leave out --no-files")
    if wish.dry_run:
        return Outcome(State.SHOWN, post)
    with _alone(registry.home.running, marker):
        return _Attachment(registry, bisection, ticket, marker, post, patience).make(confirm, again=wish.again)


@dataclass(frozen=True)
class _Attachment:
    """One attempt, while no other one for the same ticket runs."""

    registry: Registry
    bisection: int
    ticket: Ticket
    marker: str
    post: Post
    patience: Patience

    def make(self, confirm: Callable[[Post], bool], *, again: bool) -> Outcome:
        there = self.ticket.find(self.marker)
        told = {event.marker for event in self.registry.store.told(self.bisection, Attached)}
        if self.post.text and not again:
            if there:
                if self.marker not in told:
                    self._record(Attached, there[-1])
                return Outcome(State.ALREADY, self.post, there[-1])
            if self.marker in told:
                raise UserError(
                    f"bisection {self.bisection} was attached as {self.post.where}, but is not there any more", AGAIN
                )
        if self.post.text and not confirm(self.post):
            return Outcome(State.DECLINED, self.post)
        ours = again or any(event.folder == self._folder for event in _told(self.registry, self.bisection))
        if self.post.folder:
            write(self.post.folder, self.post.written, ours=ours)
        self._record(Attaching, "")
        url = self._send(there)
        self._record(Attached, url)
        return Outcome(State.POSTED if self.post.text else State.WRITTEN, self.post, url)

    def _send(self, before: list[str]) -> str:
        try:
            return self.ticket.send(self.post)
        except Doubtful as doubt:
            for number in range(self.patience.repeats + 1):
                time.sleep(self.patience.pause * 2**number)
                new = self._looked(doubt, before)
                if new:
                    return new[-1]
            raise UserError(
                f"{doubt}; the comment is not on the ticket",
                "run the same command again: it looks at the ticket before it posts",
            ) from doubt

    def _looked(self, doubt: Doubtful, before: list[str]) -> list[str]:
        try:
            return [url for url in self.ticket.find(self.marker) if url not in before]
        except UserError as error:
            raise UserError(
                f"{doubt}; whether the comment is on the ticket is not known",
                "run the same command again later: it looks at the ticket before it posts",
            ) from error

    @property
    def _folder(self) -> str | None:
        return str(self.post.folder) if self.post.folder else None

    def _record(self, kind: type[Attaching] | type[Attached], url: str) -> None:
        event = kind(marker=self.marker, where=self.post.where, folder=self._folder, url=url)
        self.registry.store.add_event(self.bisection, event)


def _marker(registry: Registry, row: BisectionRow, ticket: Ticket) -> str:
    """What this report is recognised by on the ticket: what it was attached with before, if the journal knows of that.

    What a marker is made from may have got another shape in the store since.
    """
    # No two tickets of a tracker differ in capital letters only, and users write them either way.
    where = ticket.where.lower()
    before = [event.marker for event in _told(registry, row.id) if event.where.lower() == where]
    return before[-1] if before else marker_of(row, ticket.target)


def _told(registry: Registry, bisection: int) -> list[Attaching | Attached]:
    """What the journal says of attaching: first all that was begun, then all that was done."""
    return [*registry.store.told(bisection, Attaching), *registry.store.told(bisection, Attached)]


def _finished(registry: Registry, bisection: int) -> BisectionRow:
    row = registry.store.bisection(bisection)
    state = registry.state(row.id, row.state)
    if state != "finished" or row.verdict is None:
        hint = f"`bisect status {bisection}` shows how far it is" if state == "running" else ""
        raise UserError(
            f"bisection {bisection} is {state}: it has no answer to attach yet",
            hint or f"`bisect resume {bisection}` goes on",
        )
    return row


def _alone(folder: Path, marker: str) -> AbstractContextManager[None]:
    refusal = UserError(
        "this bisection is being attached to the same ticket by another process", "wait for it, then look"
    )
    return hold(folder / f"attach-{marker.rpartition(':')[2]}.lock", refusal)
