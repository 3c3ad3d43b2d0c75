"""Jira gets the text as it is, and the files; each once."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from finished_bisection import change_verdict, verdict_of
from tracker_stand_in import PATIENT, TOKEN, USER, StandIn, standing_in

from cpubisect.attach.access import Patience
from cpubisect.attach.attach import Outcome, State, Wish, attach
from cpubisect.attach.registered import ticket_of
from cpubisect.base.errors import UserError
from cpubisect.records.registry import Registry
from cpubisect.report.documents import FORMS, documents

pytest_plugins = ["finished_bisection"]
pytestmark = pytest.mark.xdist_group("finished")

QUICK = Patience(timeout=PATIENT, repeats=0, pause=0)
CLOUD = {"JIRA_TOKEN": TOKEN, "JIRA_USER": USER}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with standing_in() as running:
        yield running


def post(registry: Registry, server: StandIn, wish: Wish | None = None, token: str = TOKEN, **more: str) -> Outcome:
    ticket = ticket_of({"jira": server.base, "key": "KV-7"}, 1, {"JIRA_TOKEN": token, **more}, QUICK)
    return attach(registry, 1, ticket, lambda _: True, wish, QUICK)


def test_text_and_files(registry: Registry, server: StandIn) -> None:
    outcome = post(registry, server)
    assert outcome.state is State.POSTED
    assert outcome.url == f"{server.base}/browse/KV-7?focusedCommentId=0"
    assert server.comments[0]["body"] == outcome.post.text
    names = [attachment["filename"] for attachment in server.attachments]
    assert [name[19:] for name in names] == list(FORMS)
    assert [a["content"] for a in server.attachments] == [d.content for d in documents(registry, 1)]


def test_a_hostile_subject_stays_inside_its_block(registry: Registry, server: StandIn) -> None:
    post(registry, server)
    body = server.comments[0]["body"]
    assert "{noformat}" in verdict_of(registry).culprits[0].subject
    assert body.count("{noformat}") == 2
    assert body.startswith("{noformat}\n")
    assert body.endswith("\n{noformat}")
    assert "\x1b" not in body


def test_on_cloud_with_a_user(registry: Registry, server: StandIn) -> None:
    assert post(registry, server, **CLOUD).state is State.POSTED
    assert all((authorization or "").startswith("Basic ") for _, _, authorization in server.seen)


def test_an_id_of_a_comment_that_is_no_number_is_refused(registry: Registry, server: StandIn) -> None:
    server.comments = [{"id": "1/../2", "body": None}]
    with pytest.raises(UserError, match="something else than the API's JSON"):
        post(registry, server)


def test_a_wrong_token_is_not_shown_in_any_form(registry: Registry, server: StandIn) -> None:
    server.faults["GET"] = [401]
    with pytest.raises(UserError, match=r"401: no, Basic …: the token is wrong"):
        post(registry, server, **CLOUD)


def test_the_second_time_it_is_there_already(registry: Registry, server: StandIn) -> None:
    server.most = 2
    server.comments = [{"id": str(n), "body": None} for n in range(5)]
    first = post(registry, server)
    second = post(registry, server)
    assert (second.state, second.url) == (State.ALREADY, first.url)
    assert (len(server.comments), len(server.attachments)) == (6, len(FORMS))


@pytest.mark.parametrize("faults", [["refuse"], ["", "fail"], ["", "", "lose"], ["", "", "", "refuse"], [413]])
def test_whatever_upload_fails_the_next_try_only_adds_the_rest(
    registry: Registry, server: StandIn, faults: list[int | str]
) -> None:
    server.faults["POST"] = list(faults)
    with pytest.raises(UserError):
        post(registry, server)
    assert not server.comments
    assert post(registry, server).state is State.POSTED
    assert (len(server.comments), len(server.attachments)) == (1, len(FORMS))


def test_a_comment_that_was_stored_though_the_answer_went_wrong(registry: Registry, server: StandIn) -> None:
    server.faults["POST"] = [*("" for _ in FORMS), "garbage"]
    assert post(registry, server).state is State.POSTED
    assert len(server.comments) == 1


def test_only_the_text(registry: Registry, server: StandIn) -> None:
    assert post(registry, server, Wish(files=False)).state is State.POSTED
    assert not server.attachments
    assert [path for method, path, _ in server.seen if method == "POST"] == ["/rest/api/2/issue/KV-7/comment"]


def test_a_long_report_is_shortened_to_what_the_tracker_takes(registry: Registry, server: StandIn) -> None:
    change_verdict(registry, notes=tuple(f"{n} {{noformat}} {'😀' * 30}" for n in range(3000)))
    outcome = post(registry, server)
    assert "lines left out here; the full report has them" in server.comments[0]["body"]
    assert len(server.comments[0]["body"].encode("utf-16-le")) // 2 <= 32_767
    assert replace(outcome, state=State.ALREADY) == post(registry, server)
