"""The command line is given what nobody should type: the same words in every run, and never a traceback."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from odd import TEXTS
from questions import question

from cpubisect.base.errors import MOST_TOLD, UserError
from cpubisect.base.home import Home
from cpubisect.cli import main
from cpubisect.example.history import Generated
from cpubisect.records.store import Store
from cpubisect.service import ask, compare, launch

LEAST, MOST, MOST_S = 60, 500, 4.0
"""Commands of each kind: at least and at most, and seconds after which no more are tried."""

LAST = (("worker",), ("serve",), ("doctor",), ("cluster", "head"), ("cluster", "worker"))
"""Those that go on until they are ended, or look at the whole host: they are tried with what they refuse only."""

SOME = ("1", "7", "v1.0.0", "v1.4.0", "seekrandom", "5.6.51", "text", "json", "rows=100", "nonsense=1")


def leaves(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands with the words that lead to them."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        else:
            yield (*words, name), command


@pytest.fixture
def somewhere(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home with one bisection, a directory to write into, nothing that begins, and no network."""

    def refuse(*arguments: object, **named: object) -> object:
        raise UserError("nothing begins here", "this is a test")

    store = Store(Home.open().store)
    store.create_bisection(question(), {}, "interrupted")
    store.close()
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    for module, name in ((launch, "begin"), (compare, "begin"), (ask, "mirror_of")):
        monkeypatch.setattr(module, name, refuse)
    for name in ("GITHUB_TOKEN", "JIRA_TOKEN", "JIRA_USER"):
        monkeypatch.delenv(name, raising=False)


def tried(words: list[str]) -> int:
    """The exit code of a command, which must say in one line what is wrong."""
    result = CliRunner().invoke(main, words)
    shown = [word[:60] for word in words]
    assert result.exception is None or isinstance(result.exception, SystemExit), (shown, repr(result.exception)[:500])
    assert result.exit_code in (0, 2), (shown, result.exit_code, result.output[:500])
    if result.exit_code == 2:
        *_, line = result.stderr.splitlines()
        assert line.startswith("bisect: "), (shown, line[:300])
        assert len(line) < 2 * MOST_TOLD + 200, shown
    return result.exit_code


def test_no_words_end_in_a_traceback(somewhere: None, example: Generated) -> None:
    commands = [(words, command) for words, command in leaves(main) if words not in LAST]
    chance, began, ended = random.Random(1), time.monotonic(), Counter[int]()
    while ended.total() < LEAST or (ended.total() < MOST and time.monotonic() - began < MOST_S):
        words, command = chance.choice(commands)
        typed = [*words]
        for own in command.params:
            if isinstance(own, click.Argument):
                typed += [chance.choice((*SOME, *TEXTS)) for _ in range(chance.choice((1, 1, 1, 0, 2)))]
            elif own.name != "yes" and own.opts[0] != "--help" and chance.random() < 0.15:
                flag = isinstance(own, click.Option) and own.is_flag
                typed += [own.opts[0], *([] if flag else [chance.choice((*SOME, *TEXTS))])]
        if words[0] in ("start", "compare") and chance.random() < 0.7:
            typed += ["--repo", str(example.path), *(["--test", "seekrandom"] if chance.random() < 0.7 else [])]
        ended[tried([word.replace("\0", "") for word in typed])] += 1
    assert ended[2] > LEAST / 3


@pytest.mark.parametrize("command", LAST, ids=" ".join)
def test_what_a_command_cannot_take_is_one_line(somewhere: None, command: tuple[str, ...]) -> None:
    for text in TEXTS:
        tried([*command, f"--nosuch={text}"])
        tried([*command, "extra", text, "more"])
    if command == ("serve",):
        for text in TEXTS:
            tried([*command, "--port", text or "x", "--no-such"])
            tried([*command, "--host", "0.0.0.0", "--repo", text])
    if command == ("cluster", "head"):
        for text in TEXTS:
            tried([*command, "--port", text or "x", "--no-such"])
            tried([*command, "--host", "0.0.0.0", "--certificates", text])
