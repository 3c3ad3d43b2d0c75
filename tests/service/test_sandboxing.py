"""Whether there is a sandbox, and what is said and done where there is none."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_bisections import QUICK, cost, history, tree

from cpubisect.base.errors import UserError
from cpubisect.base.process import Finished, run
from cpubisect.base.sandbox.policy import Kind, Wish
from cpubisect.base.sandbox.surroundings import Held
from cpubisect.builders.trees import cache
from cpubisect.cli import main
from cpubisect.search.events import Event
from cpubisect.service import sandboxing
from cpubisect.workloads.check import Status


@pytest.fixture
def without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A search path without bubblewrap, to which a test may add one."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "git", "ccache", "env"):
        (programs / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(programs))
    return programs


def broken(programs: Path, script: str) -> None:
    (programs / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "bwrap").chmod(0o755)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("", "bubblewrap is not installed"),
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create"),
        ("exit 1", "bwrap makes none"),
    ],
)
def test_why_there_is_none(without: Path, script: str, why: str) -> None:
    if script:
        broken(without, script)
    found = sandboxing.problem()
    assert found
    assert why in found.why
    assert found.fix
    check = sandboxing.check()
    assert (check.status, check.fix) == (Status.WARN, found.fix)


@pytest.mark.parametrize("who", Held)
def test_who_holds_the_limits_is_told(monkeypatch: pytest.MonkeyPatch, who: Held) -> None:
    monkeypatch.setattr(sandboxing, "held", lambda: who)
    check = sandboxing.check()
    assert check.found.endswith(f"own files, no network; {who}")
    assert (check.status, bool(check.fix)) == ((Status.WARN, True) if who is Held.NOTHING else (Status.OK, False))


def test_here_there_is_one() -> None:
    assert sandboxing.problem() is None
    told: list[Event] = []
    assert [sandboxing.settled(wish, told.append) for wish in Wish] == [Kind.BUBBLEWRAP, Kind.BUBBLEWRAP, Kind.NONE]
    assert told == []


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is tried in a sandbox from now on, as if none had been tried."""
    made: list[str] = []

    def counted(*arguments: Any, **options: Any) -> Finished:
        made.append("tried")
        return run(*arguments, **options)

    monkeypatch.setattr(sandboxing, "run", counted)
    monkeypatch.setattr(sandboxing, "_WORKED", set())
    return made


def test_what_works_is_tried_once(tries: list[str]) -> None:
    for _ in range(3):
        assert sandboxing.settled(Wish.REQUIRE, lambda event: None) is Kind.BUBBLEWRAP
    assert tries == ["tried"]


def test_what_a_killed_trial_left_is_removed_by_the_next(
    tmp_path: Path, tries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    common = tmp_path / f"cpubisect-sandbox-{os.geteuid()}"
    (common / "s1").mkdir(parents=True)
    (common / "s1.lock").touch()
    common.chmod(0o700)
    assert sandboxing.problem() is None
    assert tries == ["tried"]
    assert list(common.iterdir()) == []
    assert list(tmp_path.iterdir()) == [common]


def test_a_start_that_requires_one_tries_it_once(home: Path, tmp_path: Path, tries: list[str]) -> None:
    shas = history(tree(1000), cost(1000)).write(tmp_path / "kv")
    words = ["start", shas[1], "main", "--repo", str(tmp_path / "kv"), "--test", "readrandom", "--sandbox", "require"]
    result = CliRunner().invoke(main, [*words, *QUICK, "--quiet"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert tries == ["tried"]


def test_what_does_not_work_is_tried_again(without: Path, tries: list[str]) -> None:
    broken(without, "exit 1")
    assert sandboxing.problem()
    assert sandboxing.problem()
    assert tries == ["tried"] * 2


def test_what_wraps_nothing_is_seen_through(without: Path) -> None:
    # A program of that name that runs the command as it is.
    broken(without, 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    found = sandboxing.problem()
    assert found
    assert "sees more" in found.why


def test_an_old_ccache_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "problem", lambda: "ccache 4.7 or later is needed, and this is 'ccache version 3.1'")
    found = sandboxing.problem()
    assert found
    assert found.fix.endswith("ccache")


def test_where_there_is_none_it_is_said_or_refused(without: Path) -> None:
    told: list[Event] = []
    assert sandboxing.settled(Wish.AUTO, told.append) is Kind.NONE
    assert [event.sentence for event in told] == [
        "no sandbox (bubblewrap is not installed): what is built and measured runs with all your rights"
    ]
    assert sandboxing.settled(Wish.OFF, told.append) is Kind.NONE
    assert len(told) == 1
    with pytest.raises(UserError, match=r"no sandbox here \(bubblewrap is not .*apt-get install .*--sandbox off"):
        sandboxing.settled(Wish.REQUIRE, told.append)


@pytest.mark.parametrize(
    "words",
    [
        ("start", "1", "2", "--test", "point-query"),
        ("compare", "1", "2", "--test", "point-query"),
        ("resume", "1"),
        ("serve",),
        ("worker",),
    ],
)
def test_a_wish_that_is_none_is_one_line(home: Path, words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*words, "--sandbox", "maybe"])
    assert result.exit_code == 2
    assert result.stderr.startswith("bisect: Invalid value for '--sandbox'")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("start", "1", "2", "--test", "point-query", "--sandbox", "require"),
        ("compare", "1", "2", "--test", "point-query", "--sandbox", "require"),
        ("worker",),
    ],
)
def test_what_must_have_one_says_so_before_anything_else(home: Path, without: Path, words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "there is no sandbox here (bubblewrap is not installed)" in result.stderr
    assert os.environ["PATH"] == str(without)
