"""Tokens are taken out of the environment, in memory and in /proc, and are there for who asks."""

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.sandbox import secrets

KEPT = ["PATH", "HOME", "LC_ALL", "CCACHE_DIR", "CPUBISECT_HOME", "https_proxy", "NO_PROXY", "XDG_DATA_HOME"]
TAKEN = ["GITHUB_TOKEN", "GH_TOKEN", "CPUBISECT_TOKEN", "JIRA_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PATH", "PATHS"]


def test_what_is_needed_stays_and_all_else_goes() -> None:
    assert secrets.superfluous([*KEPT, *TAKEN]) == TAKEN


@given(st.lists(st.text("ABCDEFGHIKLMNOPRSTUVY_", min_size=1)))
def test_whatever_sounds_like_a_secret_goes(names: list[str]) -> None:
    sound = [f"MY_{name}_{ending}" for name in names for ending in ("TOKEN", "PASSWORD", "KEY")]
    assert secrets.superfluous(sound) == sound


def test_nobody_can_read_it_any_more() -> None:
    code = (
        "import os\nfrom cpubisect.base.sandbox import secrets\nsecrets.withhold()\n"
        "print(secrets.environment()['GITHUB_TOKEN'])\n"
        "print('GITHUB_TOKEN' in os.environ, b's3cret' in open('/proc/self/environ', 'rb').read())\n"
        "os.execvp('env', ['env'])\n"
    )
    environment = {**os.environ, "GITHUB_TOKEN": "s3cret"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    first, second, *inherited = done.stdout.splitlines()
    assert (first, second) == ("s3cret", "False False")
    assert not any("s3cret" in line for line in inherited)
    assert any(line.startswith("PATH=") for line in inherited)


def test_the_program_does_so_at_its_start() -> None:
    code = (
        "import atexit, os\n"
        "seen = lambda: b's3cret' in open('/proc/self/environ', 'rb').read()\n"
        "atexit.register(lambda: print(seen(), 'MY_TOKEN' in os.environ))\n"
        "from cpubisect.cli import main\nmain(['--version'])\n"
    )
    environment = {**os.environ, "MY_TOKEN": "s3cret"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "False False"
