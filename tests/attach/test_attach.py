"""A report goes to a ticket once, whatever happens on the way."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from finished_bisection import change_verdict, verdict_of
from tracker_stand_in import PATIENT, TOKEN, StandIn, standing_in

from cpubisect.attach.access import Patience
from cpubisect.attach.attach import Outcome, State, Wish, attach, preview
from cpubisect.attach.marker import marker_of
from cpubisect.attach.registered import ticket_of
from cpubisect.attach.ticket import Post, Ticket
from cpubisect.base.errors import UserError
from cpubisect.records.registry import Registry
from cpubisect.report.documents import FORMS

pytest_plugins = ["finished_bisection"]
pytestmark = pytest.mark.xdist_group("finished")

QUICK = Patience(timeout=PATIENT, repeats=2, pause=0)
HASTY = Patience(timeout=1, repeats=8, pause=0)


@pytest.fixture
def server() -> Iterator[StandIn]:
    with standing_in() as running:
        yield running


def ticket(server: StandIn, tmp_path: Path, patience: Patience = QUICK, issue: str = "Ada/kv#7") -> Ticket:
    environment = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": server.base}
    return ticket_of({"github": issue, "to": tmp_path / "files"}, 1, environment, patience)


def post(
    registry: Registry, where: Ticket, *, again: bool = False, patience: Patience = QUICK, yes: bool = True
) -> Outcome:
    return attach(registry, 1, where, lambda _: yes, Wish(again=again), patience)


def kinds(registry: Registry) -> list[str]:
    kinds = [entry.event.kind for entry in registry.store.events(1)]
    return [kind for kind in kinds if kind.startswith("attach")]


def test_what_is_posted_is_what_was_shown(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    asked: list[Post] = []

    def agree(shown: Post) -> bool:
        assert not server.comments
        assert not (tmp_path / "files").exists()
        asked.append(shown)
        return True

    outcome = attach(registry, 1, ticket(server, tmp_path), agree, Wish(), QUICK)
    assert outcome.state is State.POSTED
    assert outcome.url == server.comments[0]["html_url"]
    assert [comment["body"] for comment in server.comments] == [asked[0].text]
    assert asked[0].text in preview(asked[0])
    assert {path.name for path in (tmp_path / "files").iterdir()} == set(FORMS)
    assert kinds(registry) == ["attaching", "attached"]
    assert str(tmp_path / "files") in outcome.post.advice


def test_a_hostile_subject_calls_nobody(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    post(registry, ticket(server, tmp_path))
    body = server.comments[0]["body"]
    headline = body.splitlines()[0]
    assert "@" in headline
    assert "@everyone" not in headline
    assert "#7" not in headline
    assert "\x1b" not in body
    assert "\u202e" not in body
    assert "\x1b" in verdict_of(registry).culprits[0].subject


def test_the_second_time_it_is_there_already(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    first = post(registry, ticket(server, tmp_path))
    second = post(registry, ticket(server, tmp_path, issue="ada/KV#7"), yes=False)
    assert (second.state, second.url) == (State.ALREADY, first.url)
    assert len(server.comments) == 1


def test_the_ticket_is_read_to_its_last_page(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    server.most = 3
    post(registry, ticket(server, tmp_path))
    server.comments[:0] = [{"body": f"comment {n}", "html_url": ""} for n in range(10)]
    server.comments += [{"body": None, "html_url": ""}]
    assert post(registry, ticket(server, tmp_path)).state is State.ALREADY
    assert len(server.comments) == 12


def reshaped(registry: Registry, issue: Ticket) -> None:
    """The same bisection after the store keeps its question and answer in other words."""
    row = registry.store.bisection(1)
    assert row.verdict is not None
    registry.store.update_bisection(1, verdict=replace(row.verdict, summary="told anew"))
    assert marker_of(registry.store.bisection(1), issue.target) != marker_of(row, issue.target)


@pytest.mark.parametrize("issue", ["Ada/kv#7", "ada/KV#7"])
def test_what_was_attached_before_the_store_changed_is_there_already(
    registry: Registry, server: StandIn, tmp_path: Path, issue: str
) -> None:
    first = post(registry, ticket(server, tmp_path))
    reshaped(registry, ticket(server, tmp_path))
    second = post(registry, ticket(server, tmp_path, issue=issue), yes=False)
    assert (second.state, second.url) == (State.ALREADY, first.url)
    assert post(registry, ticket(server, tmp_path, issue="ada/kv#8")).state is State.POSTED
    server.comments.clear()
    with pytest.raises(UserError, match="not there any more"):
        post(registry, ticket(server, tmp_path, issue=issue))


def test_what_was_only_begun_before_the_store_changed_is_found(
    registry: Registry, server: StandIn, tmp_path: Path
) -> None:
    server.faults = {"POST": ["fail"], "GET": ["", 404]}
    with pytest.raises(UserError, match="is not known"):
        post(registry, ticket(server, tmp_path))
    reshaped(registry, ticket(server, tmp_path))
    assert post(registry, ticket(server, tmp_path)).state is State.ALREADY
    assert len(server.comments) == 1


def test_again_posts_again(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    post(registry, ticket(server, tmp_path))
    assert post(registry, ticket(server, tmp_path), again=True).state is State.POSTED
    assert len(server.comments) == 2


def test_another_ticket_is_another_matter(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    post(registry, ticket(server, tmp_path))
    other = ticket(server, tmp_path, issue="ada/kv#8")
    assert marker_of(registry.store.bisection(1), other.target) not in server.comments[0]["body"]
    assert post(registry, other).state is State.POSTED


def test_a_removed_comment_is_not_posted_again_by_itself(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    post(registry, ticket(server, tmp_path))
    server.comments.clear()
    with pytest.raises(UserError, match="not there any more: --again"):
        post(registry, ticket(server, tmp_path))
    assert not server.comments


def test_no_means_no(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    assert post(registry, ticket(server, tmp_path), yes=False).state is State.DECLINED
    assert not server.comments
    assert not (tmp_path / "files").exists()
    assert kinds(registry) == []


def test_a_dry_run_asks_the_server_nothing_and_needs_no_token(
    registry: Registry, server: StandIn, tmp_path: Path
) -> None:
    unread = ticket_of({"github": "a/b#1", "to": tmp_path / "files"}, 1, {"GITHUB_API_URL": server.base}, QUICK)
    outcome = attach(registry, 1, unread, lambda _: True, Wish(dry_run=True), QUICK)
    assert outcome.state is State.SHOWN
    assert not server.seen
    assert not (tmp_path / "files").exists()
    with pytest.raises(UserError, match="no token for GitHub: set GITHUB_TOKEN"):
        post(registry, unread)


def test_without_files(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    outcome = attach(registry, 1, ticket(server, tmp_path), lambda _: True, Wish(files=False), QUICK)
    assert outcome.state is State.POSTED
    assert not (tmp_path / "files").exists()
    assert outcome.post.advice == ""


@pytest.mark.parametrize("fault", ["fail", "lose", "garbage"])
@pytest.mark.parametrize("again", [False, True])
def test_a_comment_that_was_stored_though_the_answer_went_wrong(
    registry: Registry, server: StandIn, tmp_path: Path, fault: str, again: bool
) -> None:
    if again:
        post(registry, ticket(server, tmp_path))
    server.faults["POST"] = [fault]
    outcome = post(registry, ticket(server, tmp_path), again=again)
    assert (outcome.state, outcome.url) == (State.POSTED, server.comments[-1]["html_url"])
    assert server.posts() == len(server.comments) == 1 + again


def test_a_slow_server_that_stored_the_comment(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    server.faults["POST"] = ["wait"]
    outcome = post(registry, ticket(server, tmp_path, HASTY))
    assert outcome.state is State.POSTED
    assert len(server.comments) == 1


def test_a_comment_that_was_not_stored_is_posted_by_the_next_try(
    registry: Registry, server: StandIn, tmp_path: Path
) -> None:
    server.faults["POST"] = ["refuse"]
    with pytest.raises(UserError, match=r"500: out of order; the comment is not on the ticket: run the same command"):
        post(registry, ticket(server, tmp_path))
    assert server.posts() == 1
    assert kinds(registry) == ["attaching"]
    assert post(registry, ticket(server, tmp_path)).state is State.POSTED
    assert kinds(registry) == ["attaching", "attaching", "attached"]
    assert len(server.comments) == 1


def test_again_is_not_content_with_the_older_comment(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    post(registry, ticket(server, tmp_path))
    server.faults["POST"] = ["refuse"]
    with pytest.raises(UserError, match="not on the ticket"):
        post(registry, ticket(server, tmp_path), again=True)


def test_when_the_ticket_cannot_be_looked_at_either(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    server.faults = {"POST": ["fail"], "GET": ["", 404]}
    with pytest.raises(UserError, match="is not known: run the same command again later"):
        post(registry, ticket(server, tmp_path))
    assert post(registry, ticket(server, tmp_path)).state is State.ALREADY
    assert len(server.comments) == 1


def test_killed_between_post_and_answer(registry: Registry, server: StandIn, tmp_path: Path, home: Path) -> None:
    server.faults["POST"] = ["wait"]
    command = [sys.executable, "-m", "cpubisect.cli", "attach", "1", "--github", "ada/kv#7", "--yes", "--no-files"]
    environment = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": server.base, "CPUBISECT_HOME": str(home)}
    environment["PYTHONPATH"] = ":".join(sys.path)
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        assert server.stored.wait(PATIENT)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert kinds(registry) == ["attaching"]
    assert post(registry, ticket(server, tmp_path)).state is State.ALREADY
    assert kinds(registry) == ["attaching", "attached"]
    assert len(server.comments) == 1


def test_two_at_once(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    server.faults["POST"] = ["wait"]
    ended: list[Outcome] = []
    first = threading.Thread(target=lambda: ended.append(post(registry, ticket(server, tmp_path))))
    first.start()
    assert server.stored.wait(PATIENT)
    with pytest.raises(UserError, match="by another process"):
        post(registry, ticket(server, tmp_path))
    server.go.set()
    first.join()
    assert [outcome.state for outcome in ended] == [State.POSTED]
    assert len(server.comments) == 1


def test_a_long_report_is_shortened_to_what_the_tracker_takes(
    registry: Registry, server: StandIn, tmp_path: Path
) -> None:
    change_verdict(registry, notes=tuple(f"{n} @note {'€' * 60}" for n in range(3000)))
    assert post(registry, ticket(server, tmp_path)).state is State.POSTED
    body = server.comments[0]["body"]
    assert "lines left out here; the full report has them" in body
    assert "### To reproduce" in body
    assert post(registry, ticket(server, tmp_path)).state is State.ALREADY


@pytest.mark.parametrize("state", ["running", "interrupted", "cancelled"])
def test_an_unfinished_bisection_is_refused(registry: Registry, server: StandIn, tmp_path: Path, state: str) -> None:
    registry.store.update_bisection(1, state=state)
    with pytest.raises(UserError, match="no answer to attach yet: `bisect resume 1`"):
        post(registry, ticket(server, tmp_path))
    assert not server.seen


def test_a_copy_of_the_store_knows_the_same_comment(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    row = registry.store.bisection(1)
    target = ticket(server, tmp_path).target
    assert marker_of(row, target) == marker_of(registry.store.bisection(1), target)
    change_verdict(registry, summary="another answer")
    assert marker_of(row, target) != marker_of(registry.store.bisection(1), target)
