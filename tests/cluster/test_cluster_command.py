"""Bad input to `bisect cluster` and `--cluster`: one line, exit 2, and the next step."""

import builtins
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_bisections import cost, history, tree

from cpubisect.cli import main


def refused(*words: str) -> str:
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.fixture
def nobody() -> str:
    """An address at which nobody answers."""
    pytest.importorskip("distributed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"tcp://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["head", "--host", "0.0.0.0"], "nothing listens on 0.0.0.0"),
        (["head", "--port", "0"], "0 is not in the range"),
        (["head", "--tls"], "there is no certificate"),
        (["head", "--certificates", "/no/such"], "there is no certificate"),
        (["head", "--cache", "gopher://x"], "is not the address of a compiler cache"),
        (["head", "--artifacts", "nonsense://x"], "nothing can be kept at"),
        (["worker", "head", "--role", "build"], "is not the address of a head"),
        (["worker", "tcp://head:8786", "--role", "build"], "is not encrypted"),
        (["worker", "tls://head:8786", "--role", "build"], "there is no certificate"),
        (["worker", "tcp://127.0.0.1:1", "--role", "cook"], "'cook' is not one of"),
        (["worker", "tcp://127.0.0.1:1"], "--role"),
        (["worker", "tcp://127.0.0.1:1", "--role", "build", "--slots", "0"], "0 is not in the range"),
        (["worker", "tcp://127.0.0.1:1", "--role", "probe", "--slots", "2"], "one probe at a time, not 2"),
        (["hosts"], "which cluster is not said"),
        (["hosts", "tcp://head"], "is not encrypted"),
        (["certificates", "/proc/no", "head"], "cannot write to"),
        (["certificates", "DIR", "../head"], "is not the name of a host"),
        (["certificates", "DIR"], "HOSTS"),
    ],
)
def test_what_cannot_be_meant(home: Path, tmp_path: Path, words: list[str], why: str) -> None:
    pytest.importorskip("distributed")
    given = [str(tmp_path / "DIR") if word == "DIR" else word for word in words]
    assert why in refused("cluster", *given)


@pytest.mark.long
def test_an_address_at_which_nobody_answers(home: Path, tmp_path: Path, nobody: str) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    question = ["start", shas[1], "main", "--repo", str(tmp_path / "kv"), "--test", "readrandom"]
    for words in (["cluster", "hosts", nobody], [*question, "--cluster", nobody], ["resume", "--cluster", nobody, "1"]):
        assert f"no head answers at {nobody}" in refused(*words)
    said = refused("compare", shas[1], "main", "--repo", str(tmp_path / "kv"), "--test", "readrandom",
                   "--cluster", nobody)  # fmt: skip
    assert "`bisect cluster head --port" in said


def test_without_dask_it_is_said_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def lacking(name: str, *more: Any, **named: Any) -> Any:
        if name == "distributed":
            raise ImportError("No module named 'distributed'")
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", lacking)
    assert "pip install 'cpubisect[cluster]'" in refused("cluster", "hosts", "tcp://127.0.0.1:1")
    assert "pip install 'cpubisect[cluster]'" in refused("resume", "--cluster", "tcp://127.0.0.1:1", "1")
