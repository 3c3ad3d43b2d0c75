"""Whatever a server says, a probe ends with its error in one line, or with what it said."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import rude_server
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.version import Version
from cpubisect.workloads.mysql import talk as talking
from cpubisect.workloads.mysql.installation import Installation, Place, short_directory
from cpubisect.workloads.mysql.server import Server
from cpubisect.workloads.mysql.settings import Flavour
from cpubisect.workloads.mysql.talk import LONGEST_MESSAGE, told
from cpubisect.workloads.probe import ProbeError

TALKS = 600


class Rude(Server):
    """One that is not waited for when it may have crashed: it never does."""

    def failure(self, otherwise: str) -> ProbeError:
        assert self.alive
        return ProbeError(otherwise)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "mysqld").write_text(f'#!/bin/sh\nexec {sys.executable} {rude_server.__file__} "$@"\n')
    (tmp_path / "mysqld").chmod(0o755)
    with short_directory(tmp_path) as sockets:
        yield Place.below(tmp_path, sockets, "one")


def rude(place: Place, tmp_path: Path, *options: str, patience_s: float = 60.0) -> Rude:
    installation = Installation(tmp_path, Version.parse("5.6.51"), Flavour.MYSQL, modern=True)
    return Rude(installation, place, options, patience_s=patience_s)


def one_line(error: ProbeError) -> str:
    text = str(error)
    assert text.isprintable()
    assert len(text) < LONGEST_MESSAGE + 60
    return text


def test_rubbish_is_one_line(place: Place, tmp_path: Path) -> None:
    ends: Counter[str] = Counter()
    with rude(place, tmp_path) as server:
        for number in range(TALKS):
            try:
                if number % 3:
                    server.variables()
                else:
                    with server.old_snapshot():
                        pass
                ends["answered"] += 1
            except ProbeError as error:
                text = one_line(error)
                assert text.startswith(("SHOW GLOBAL VARIABLES: ", "START TRANSACTION: "))
                cause = error.__cause__
                ends[type(cause).__name__] += 1
    assert ends.total() == TALKS
    assert {"error", "IndexError", "OperationalError", "ValueError"} <= ends.keys(), ends
    assert ends["answered"] < TALKS / 3


@pytest.mark.parametrize("method", ["variables", "status"])
def test_an_answer_without_end_has_one(
    place: Place, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talking, "MOST_BYTES", 1 << 20)
    with (
        rude(place, tmp_path, "--endless-from=1") as server,
        pytest.raises(ProbeError, match="the answer has more than 1 MiB") as caught,
    ):
        getattr(server, method)()
    one_line(caught.value)


def test_a_server_that_never_answers_well_does_not_start(place: Place, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match=r"does not answer after 1 s: .*the answer (has|takes) more than"):
        rude(place, tmp_path, "--endless-from=0", patience_s=1.0)


@pytest.mark.parametrize("kind", ["link", "file", "directory"])
def test_only_a_socket_in_its_place_is_connected_to(place: Place, tmp_path: Path, kind: str) -> None:
    with rude(place, tmp_path) as server:
        there = place.socket.rename(tmp_path / "hosts")
        if kind == "link":
            place.socket.symlink_to(there)
        elif kind == "file":
            place.socket.write_text("")
        else:
            place.socket.mkdir()
        with pytest.raises(ProbeError, match=r"SHOW GLOBAL VARIABLES: .*is no socket"):
            server.variables()
        if kind == "directory":
            place.socket.rmdir()


@given(st.text(), st.sampled_from([ValueError, OSError, KeyError, AssertionError, RuntimeError]))
def test_any_error_is_told_in_one_line(text: str, kind: type[Exception]) -> None:
    line = told(kind(text))
    assert line.isprintable()
    assert len(line) <= LONGEST_MESSAGE
