"""Locks between processes: held while their holder lives, and looking at one disturbs nobody."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from cpubisect.base.errors import UserError
from cpubisect.base.locks import hold, is_held, wait_for

HOLDER = """
import sys
from pathlib import Path
from cpubisect.base.errors import UserError
from cpubisect.base.locks import hold
with hold(Path(sys.argv[1]), UserError("taken")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_held_until_its_holder_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "one.lock"
    assert not is_held(path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_held(path)
        with pytest.raises(UserError, match="mine"), hold(path, UserError("mine")):
            pass
        holder.kill()
    assert not is_held(path)
    with hold(path, UserError("mine")):
        assert is_held(path)
    assert not is_held(path)


@pytest.mark.parametrize("how", [wait_for, lambda path: hold(path, UserError("taken"))], ids=["wait", "hold"])
def test_what_cannot_be_a_lock_is_one_line(tmp_path: Path, how: Callable[[Path], AbstractContextManager[None]]) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "directory").mkdir()
    for path in (tmp_path / "file" / "one.lock", tmp_path / "directory"):
        with pytest.raises(UserError, match="cannot lock"), how(path):
            raise AssertionError("it is held")
