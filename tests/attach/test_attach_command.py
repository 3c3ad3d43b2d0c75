"""What a user types to attach a report, and reads."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tracker_stand_in import PATIENT, TOKEN, StandIn, standing_in

from cpubisect.cli import main
from cpubisect.records.registry import Registry

pytest_plugins = ["finished_bisection"]
pytestmark = pytest.mark.xdist_group("finished")

ISSUE = ("attach", "1", "--github", "ada/kv#7", "--no-files")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with standing_in() as running:
        monkeypatch.setenv("GITHUB_API_URL", running.base)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield running


def bisect(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


def refused(*words: str) -> str:
    """The one line a refused command prints."""
    result = bisect(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("bisect: ")
    assert TOKEN not in line
    return line


def typed(answer: str) -> tuple[int, str]:
    """The exit code and the screen of the command at a terminal where `answer` is typed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cpubisect.cli", *ISSUE]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        screen = b""
        while b"[y/N]" not in screen:
            screen += os.read(ours, 65536)
        os.write(ours, answer.encode() + b"\n")
        code = process.wait(PATIENT)
        screen += os.read(ours, 65536)
    os.close(ours)
    return code, screen.decode()


def test_at_a_terminal_it_is_shown_and_asked(registry: Registry, server: StandIn) -> None:
    code, screen = typed("n")
    assert code == 1
    assert "a comment on ada/kv#7 at http://127.0.0.1" in screen
    assert "nothing was posted" in screen
    assert not server.comments
    code, screen = typed("y")
    assert code == 0
    (comment,) = server.comments
    assert comment["body"].replace("\n", "\r\n") in screen
    assert f"posted: {comment['html_url']}" in screen


def test_without_a_terminal_it_has_to_be_told_yes(registry: Registry, server: StandIn) -> None:
    assert refused(*ISSUE) == (
        "bisect: there is no terminal to ask at: --yes posts without asking, --dry-run only shows"
    )
    assert server.posts() == 0


def test_scripts_get_json(registry: Registry, server: StandIn) -> None:
    found = []
    for _ in range(2):
        result = bisect(*ISSUE, "--yes", "--json")
        assert result.exit_code == 0
        assert result.stderr == ""
        found.append(json.loads(result.stdout))
    assert [outcome["state"] for outcome in found] == ["posted", "already"]
    assert found[0]["text"] == server.comments[0]["body"]
    assert found[0]["url"] == found[1]["url"] == server.comments[0]["html_url"]


def test_a_dry_run_shows_all(registry: Registry, server: StandIn, tmp_path: Path) -> None:
    shown = bisect(*ISSUE[:-1], "--to", str(tmp_path / "files"), "--dry-run").stdout
    text = json.loads(bisect(*ISSUE, "--dry-run", "--json").stdout)["text"]
    assert text in shown
    assert f"into   {tmp_path}/files" in shown
    assert "report.json" in shown
    assert not server.seen


def test_the_journal_tells_what_was_attached(registry: Registry, server: StandIn) -> None:
    bisect(*ISSUE, "--yes")
    log = bisect("log", "1").stdout
    assert "attaching the report: a comment on ada/kv#7 at http://127.0.0.1" in log
    assert f"the report is attached: {server.comments[0]['html_url']}" in log


def test_a_mysql_bug_gets_files_and_a_page(registry: Registry, tmp_path: Path) -> None:
    result = bisect("attach", "1", "--mysql-bug", "99999", "--to", str(tmp_path / "bug"))
    assert result.exit_code == 0
    assert "https://bugs.mysql.com/bug.php?id=99999" in result.stdout
    assert "tab Files" in result.stdout
    assert (tmp_path / "bug" / "report.txt").read_text().startswith("minikv, readrandom: ")


def test_a_folder_alone(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        result = bisect("attach", "1", "--to", str(tmp_path / "there"))
        assert (result.exit_code, result.stdout) == (0, f"the files are in {tmp_path / 'there'}\n")
    (tmp_path / "there" / "report.txt").write_text("older")
    assert bisect("attach", "1", "--to", str(tmp_path / "there")).exit_code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "report.txt").write_text("mine")
    assert "is not this report" in refused("attach", "1", "--to", str(tmp_path / "other"))
    assert (tmp_path / "other" / "report.txt").read_text() == "mine"
    assert "leave out --no-files" in refused("attach", "1", "--to", str(tmp_path / "there"), "--no-files")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("attach", "9", "--github", "a/b#1"), "there is no bisection 9"),
        (("attach", "1", "--github", "a/b"), "'a/b' is not an issue of GitHub: write it as owner/repo#123"),
        (("attach", "1"), "nothing says where to attach it"),
        (("attach", "1", "--jira", "http://example.org", "--key", "KV-1"), "the token would travel in the clear"),
        (("attach", "1", "--jira", "https://example.org", "--key", "KV-1"), "there is no token for Jira"),
    ],
)
def test_mistakes_get_one_line(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    for variable in ("GITHUB_TOKEN", "GH_TOKEN", "JIRA_TOKEN", "GITHUB_API_URL"):
        monkeypatch.delenv(variable, raising=False)
    assert says in refused(*words)


def test_a_wrong_token(registry: Registry, server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "another-token")
    line = refused(*ISSUE, "--yes")
    assert "401: Bad credentials: the token is wrong or has run out; set GITHUB_TOKEN" in line
    assert "another-token" not in line
