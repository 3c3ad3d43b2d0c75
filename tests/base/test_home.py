"""The home directory, where it cannot be used."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home


def test_nothing_stays_of_the_look_whether_it_can_be_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    words = [sys.executable, "-c", "from cpubisect.base.home import Home; Home.open()"]
    environment = {**os.environ, "CPUBISECT_HOME": str(home), "CCACHE_DIR": str(tmp_path / "ccache")}
    subprocess.run(words, env=environment, check=True)
    before = sorted(home.iterdir())
    # A file that may not grow is what a full disk is to a program.
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, {resource.RLIM_INFINITY})); {words[2]}"
    done = subprocess.run([*words[:2], limited], env=environment, capture_output=True, text=True)
    assert "cannot write to" in done.stderr.splitlines()[-1]
    assert sorted(home.iterdir()) == before


@pytest.mark.parametrize("name", ["ccache", "artifacts", "work", "logs", "libraries", "repositories"])
def test_a_file_in_place_of_a_directory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("CPUBISECT_HOME", str(tmp_path))
    monkeypatch.delenv("CCACHE_DIR", raising=False)
    (tmp_path / name).write_text("")
    with pytest.raises(UserError) as told:
        Home.open()
    assert told.value.problem == f"{tmp_path / name} is no directory"
