"""Tickets as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.errors import UserError
from cpubisect.github import GitHub, Issue
from cpubisect.jira import Jira, parse_key
from cpubisect.trackers import Ticket, tracker_of


@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9._-]{1,100}", fullmatch=True).filter(lambda name: name not in (".", "..")),
    st.integers(1, 10**9),
)
def test_an_issue_is_read_as_it_is_written(owner: str, repository: str, number: int) -> None:
    issue = Issue(owner, repository, number)
    assert Issue.parse(str(issue)) == issue


@given(st.text() | st.from_regex(r".{0,5}/.{0,5}#.{0,5}", fullmatch=True))
def test_an_issue_is_taken_or_refused_with_one_line(text: str) -> None:
    try:
        found = str(Issue.parse(text))
    except UserError as error:
        found = str(error)
    assert found.isprintable()
    assert found == text or found.endswith("is not an issue of GitHub: write it as owner/repo#123")


@pytest.mark.parametrize("text", ["a/..#1", "a/.#1", "../b#1", "a/b#0", "a/b#-1", "a/b#٣", "a/b/c#1", "a/b#1\n", "a#1"])
def test_what_is_no_issue(text: str) -> None:
    with pytest.raises(UserError, match="is not an issue of GitHub"):
        Issue.parse(text)


@pytest.mark.parametrize("text", ["kv-1", "KV", "KV-0", "KV-1/../2", "KV-1?x", "", "KV-1\n"])
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(UserError, match="is not the key of a Jira issue"):
        parse_key(text)


@pytest.mark.parametrize(
    ("ticket", "says"),
    [
        (Ticket(), "nothing says where to attach it"),
        (Ticket(github="a/b#1", mysql_bug=1), "different trackers"),
        (Ticket(jira="https://example.org"), "belong together"),
        (Ticket(key="KV-1"), "belong together"),
        (Ticket(jira="https://example.org/browse/KV-1", key="KV-1"), "give https://example.org and --key"),
        (Ticket(jira="http://example.org", key="KV-1"), "not https"),
    ],
)
def test_a_ticket_that_cannot_be(ticket: Ticket, says: str) -> None:
    with pytest.raises(UserError, match=says):
        tracker_of(ticket, 1, {})


def test_the_environment_names_host_and_token() -> None:
    enterprise = tracker_of(
        Ticket(github="a/b#1"), 1, {"GITHUB_API_URL": "https://git.example.org/api/v3", "GH_TOKEN": "second"}
    )
    assert isinstance(enterprise, GitHub)
    assert enterprise.target == "https://git.example.org/api/v3/repos/a/b/issues/1/comments"
    assert enterprise.login
    assert enterprise.login.value == "Bearer second"
    both = tracker_of(Ticket(github="a/b#1"), 1, {"GITHUB_TOKEN": "first", "GH_TOKEN": "second"})
    assert isinstance(both, GitHub)
    assert both.api == "https://api.github.com"
    assert both.login
    assert both.login.value == "Bearer first"


def test_jira_without_a_user_is_data_center() -> None:
    tracker = tracker_of(Ticket(jira="https://example.org/jira/", key="KV-1"), 1, {"JIRA_TOKEN": "t"})
    assert isinstance(tracker, Jira)
    assert tracker.target == "https://example.org/jira/browse/KV-1"
    assert tracker.login
    assert tracker.login.value == "Bearer t"
