"""Private places, and what is left of them at whatever moment their user is ended."""

import os
import signal
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

import pytest

from cpubisect.base.disk.scratch import remove_leftovers, scratch, temporary, tidied
from cpubisect.base.errors import UserError

ENDED = """
import os, signal, sys
from pathlib import Path
from cpubisect.base.disk import scratch

directory, moment, way = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
lines = 0

def trace(frame, event, _):
    global lines
    if frame.f_code.co_filename != scratch.__file__:
        return None
    lines += event == "line"
    if event == "line" and lines == moment:
        if way == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise KeyboardInterrupt
    return trace

sys.settrace(trace)
with scratch.scratch(directory) as place:
    (place / "file").write_text("x")
"""


KILLED_AT_WORK = """
import os, signal, sys
from pathlib import Path
from cpubisect.base.disk.scratch import scratch

with scratch(Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("way", ["killed", "interrupted"])
def test_nothing_stays_whenever_its_user_is_ended(way: str, tmp_path: Path) -> None:
    left = 0
    for moment in count(1):
        words = [sys.executable, "-c", ENDED, str(tmp_path), str(moment), way]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert done.returncode == -(signal.SIGKILL if way == "killed" else signal.SIGINT), done.stderr
        left += remove_leftovers(tmp_path)
        assert list(tmp_path.iterdir()) == [], f"ended at line {moment}"
    assert moment > 10
    assert left


def test_what_is_killed_while_another_runs_leaves_nothing_when_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    common = tmp_path / f"cpubisect-git-{os.geteuid()}"
    common.mkdir(mode=0o700)
    with tidied(tmp_path / "work"):
        for place in (common, tmp_path / "work"):
            killed = subprocess.run([sys.executable, "-c", KILLED_AT_WORK, str(place)], capture_output=True)
            assert killed.returncode == -signal.SIGKILL
            assert list(place.iterdir())
    assert [*common.iterdir(), *(tmp_path / "work").iterdir()] == []


def test_places_in_use_are_no_leftovers(tmp_path: Path) -> None:
    with scratch(tmp_path / "work") as first, scratch(tmp_path / "work") as second:
        assert first != second
        assert remove_leftovers(tmp_path / "work") == 0
        assert first.stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "work").iterdir()) == []


def test_a_place_that_cannot_be_removed_keeps_its_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as busy:
        busy.setattr("shutil.rmtree", lambda *_, **__: None)
        with scratch(tmp_path) as place:
            pass
        assert remove_leftovers(tmp_path) == 0
        assert place.is_dir()
    assert remove_leftovers(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal
from cpubisect.base.disk.scratch import temporary

with temporary() as place:
    (place / "file").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_temporary_files_of_one_that_was_killed_go_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert subprocess.run([sys.executable, "-c", KILLED]).returncode == -signal.SIGKILL
    (common,) = tmp_path.iterdir()
    assert len(list(common.glob("s*/file"))) == 1
    with temporary() as place:
        assert place.parent == common
        assert not list(common.glob("s*/file"))
        assert place.stat().st_mode & 0o777 == 0o700
    assert list(common.iterdir()) == []


def test_temporary_files_are_not_put_into_another_ones_directory(tmp_path: Path) -> None:
    with temporary(directory=tmp_path):
        (common,) = tmp_path.iterdir()
    common.chmod(0o755)
    with pytest.raises(UserError, match="is not a directory of this user alone"), temporary(directory=tmp_path):
        pass
