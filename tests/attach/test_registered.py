"""Tickets as users write them, and trackers as they declare themselves."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.attach import registered
from cpubisect.attach.folder import Folder
from cpubisect.attach.github import GitHub, Issue
from cpubisect.attach.jira import Jira, parse_key
from cpubisect.attach.registered import TRACKERS, options, ticket_of
from cpubisect.attach.tracker import Asked, Tracker
from cpubisect.base.errors import UserError
from cpubisect.cli import main

HEAVY = ("requests", "pydantic", "sqlalchemy", "numpy", "altair", "cpubisect.report", "cpubisect.records")


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
    ("given", "says"),
    [
        ({}, "nothing says where to attach it: give --github, --jira with --key, --mysql-bug or --to"),
        (
            {"github": "a/b#1", "mysql_bug": 1},
            "--github, --jira and --mysql-bug are different trackers: give one of them at a time",
        ),
        (
            {"jira": "https://example.org"},
            "--jira and --key belong together: for example --jira https://example.org --key PROJECT-123",
        ),
        ({"key": "KV-1", "github": "a/b#1"}, "--jira and --key belong together"),
        (
            {"jira": "https://example.org", "key": "KV-1", "to": Path("x")},
            "Jira takes the files itself: leave out --to",
        ),
        ({"jira": "https://example.org/browse/KV-1", "key": "KV-1"}, "give https://example.org and --key"),
        ({"jira": "http://example.org", "key": "KV-1"}, "not https"),
    ],
)
def test_a_ticket_that_cannot_be(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        ticket_of(given, 1, {})


def test_the_environment_names_host_and_token() -> None:
    enterprise = ticket_of(
        {"github": "a/b#1"}, 1, {"GITHUB_API_URL": "https://git.example.org/api/v3", "GH_TOKEN": "second"}
    )
    assert isinstance(enterprise, GitHub)
    assert enterprise.target == "https://git.example.org/api/v3/repos/a/b/issues/1/comments"
    assert enterprise.login
    assert enterprise.login.value == "Bearer second"
    both = ticket_of({"github": "a/b#1"}, 1, {"GITHUB_TOKEN": "first", "GH_TOKEN": "second"})
    assert isinstance(both, GitHub)
    assert both.api == "https://api.github.com"
    assert both.login
    assert both.login.value == "Bearer first"


def test_jira_without_a_user_is_data_center() -> None:
    ticket = ticket_of({"jira": "https://example.org/jira/", "key": "KV-1"}, 1, {"JIRA_TOKEN": "t"})
    assert isinstance(ticket, Jira)
    assert ticket.target == "https://example.org/jira/browse/KV-1"
    assert ticket.login
    assert ticket.login.value == "Bearer t"


def test_files_alone_and_for_a_bug_go_where_they_were_asked_to_or_to_a_folder_of_the_bisection(tmp_path: Path) -> None:
    assert ticket_of({"to": tmp_path}, 3, {}) == Folder(tmp_path)
    bug = ticket_of({"mysql_bug": 7}, 3, {})
    assert isinstance(bug, Folder)
    assert bug.path == Path("bisection-3").absolute()
    assert "id=7 paste" in bug.advice


def test_a_tracker_that_is_registered_is_in_the_help_and_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def ticket(asked: Asked) -> Folder:
        return Folder(asked.folder, asked.options["board"])

    board = Tracker((click.Option(["--board"], metavar="NAME", help="Pin it there."),), ("--board kitchen",), ticket)
    monkeypatch.setattr(registered, "TRACKERS", (*TRACKERS, board))
    shown = CliRunner().invoke(main, ["attach", "--help"]).output
    assert "--board NAME           Pin it there.\n  --to DIRECTORY" in shown
    assert "\n    bisect attach 3 --board kitchen\n" in shown.replace("main attach", "bisect attach")
    assert ticket_of({"board": "kitchen", "to": tmp_path}, 1, {}) == Folder(tmp_path, "kitchen")
    with pytest.raises(UserError, match="--github, --jira, --mysql-bug and --board are different trackers"):
        ticket_of({"board": "kitchen", "github": "a/b#1"}, 1, {})
    with pytest.raises(UserError, match="give --github, --jira with --key, --mysql-bug, --board or --to"):
        ticket_of({}, 1, {})


def test_no_two_options_are_called_the_same() -> None:
    names = [name for option in options() for name in option.opts]
    assert len(names) == len(set(names))


def test_what_trackers_declare_is_known_without_what_takes_long_to_import() -> None:
    code = (
        "import sys\nfrom cpubisect.attach.registered import options\nassert options()\n"
        f"print([name for name in sys.modules if name.startswith({HEAVY!r})])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "[]\n"
