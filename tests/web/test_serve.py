"""`bisect serve` itself: what it refuses before it listens, and how it ends."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from cpubisect.cli import main


def refused(*words: str, token: str = "") -> str:
    """The one line of a refusal."""
    result = CliRunner().invoke(main, ["serve", *words], env={"CPUBISECT_TOKEN": token})
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


def test_another_address_needs_a_token(home: Path) -> None:
    assert "no token is set" in refused("--host", "0.0.0.0")
    assert "at least 16" in refused("--host", "0.0.0.0", token="short")


@pytest.mark.parametrize("host", ["203.0.113.9", "no.such.host.example.invalid", "not an address"])
def test_an_address_that_is_not_this_hosts_is_one_line(home: Path, host: str) -> None:
    assert "cannot listen" in refused("--host", host, "--port", "0", token="x" * 20)


def test_a_port_that_is_taken_is_one_line(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen" in refused("--port", str(taken.getsockname()[1]))


def test_a_repository_that_is_not_there_is_one_line(home: Path, tmp_path: Path) -> None:
    assert "there is no directory" in refused("--repo", "kv=/no/such/place")
    assert "is taken" in refused("--repo", f"kv={tmp_path}", "--repo", f"kv={tmp_path}")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_to_with_a_page_open(home: Path, ending: signal.Signals) -> None:
    command = [sys.executable, "-m", "cpubisect.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://[^/]+/", server.stderr.readline())
        assert found
        with urlopen(f"{found[0]}stream") as page:
            assert page.readline()
            server.send_signal(ending)
            rest = server.stderr.read()
    assert server.returncode == 0
    assert "Traceback" not in rest
    assert "stopping" in rest
