"""Control groups: where they can be made, and that they hold what they should. No bomb here forks without end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.process import Guarded, SandboxFailed, run
from cpubisect.base.sandbox import groups as grouping
from cpubisect.base.sandbox import surroundings
from cpubisect.base.sandbox.groups import PREFIX, Groups, candidates, groups
from cpubisect.base.sandbox.policy import Limits, Sandbox
from cpubisect.base.sandbox.surroundings import Held, confined, grouped, held

ENVIRONMENT = {"PATH": os.defpath}
MOST = 40
BOMB = """
import os, sys
waits, ends = os.pipe()
made = 0
for _ in range(120):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        os.close(ends)
        os.read(waits, 1)
        os._exit(0)
    made += 1
print(made)
"""
"""It makes 120 processes at most, which end with it."""

needed = pytest.mark.skipif(not grouped(), reason="groups are for root, without systemd, where they can be made")

V1 = "36 31 0:33 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
BOTH = "36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct,pids\n"
V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
INNER = "30 23 0:26 /docker/a /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
ODD = r"30 23 0:26 / /sys/fs/my\040groups rw - cgroup2 cgroup2 rw" + "\n"
OTHERS = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:22 / /proc rw - proc proc rw\n"


@pytest.mark.parametrize(
    ("mounts", "own", "places"),
    [
        (V1, "8:pids:/\n0::/\n", ["/sys/fs/cgroup/pids"]),
        (V1, "8:pids:/box/1\n", ["/sys/fs/cgroup/pids/box/1"]),
        (BOTH, "4:cpu,cpuacct,pids:/box\n", ["/sys/fs/cgroup/cpu/box"]),
        (V2, "0::/\n", ["/sys/fs/cgroup"]),
        (V2, "0::/user/me\n", ["/sys/fs/cgroup/user", "/sys/fs/cgroup"]),
        (V1 + V2, "8:pids:/\n0::/user\n", ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"]),
        (INNER, "0::/docker/a/job\n", ["/sys/fs/cgroup"]),
        (INNER, "0::/docker/other\n", []),
        (INNER, "0::/../other\n", []),
        (ODD, "0::/\n", ["/sys/fs/my groups"]),
        (OTHERS, "0::/\n", []),
        (V1, "0::/\n", []),
        ("", "", []),
        ("nonsense\n", "nonsense\n::\n", []),
    ],
)
def test_where_groups_may_be_made(mounts: str, own: str, places: list[str]) -> None:
    assert [str(place) for place in candidates(OTHERS + mounts, own)] == places


@given(st.text(), st.text())
def test_any_text_is_read(mounts: str, own: str) -> None:
    assert list(candidates(mounts, own)) == []


@pytest.fixture
def fresh() -> Iterator[None]:
    """What was found is forgotten, before and after."""
    groups.cache_clear()
    yield
    groups.cache_clear()


def small(tmp_path: Path) -> Sandbox:
    return replace(confined([tmp_path]), limits=Limits(memory_bytes=1 << 30, processes=MOST))


def group_of(child: Guarded) -> Path:
    """The group of a command, as its directory."""
    found = groups()
    assert found
    (name,) = {
        line.rpartition("/")[2] for line in Path(f"/proc/{child.pid}/cgroup").read_text().splitlines() if PREFIX in line
    }
    return found.parent / name


@needed
def test_a_bomb_of_root_is_limited_and_its_group_goes_with_it(tmp_path: Path) -> None:
    bomb = ["timeout", "60", "python3", "-c", BOMB]
    done = run(bomb, env=ENVIRONMENT, sandbox=small(tmp_path), timeout_s=120)
    assert done.ok, done.output
    assert MOST // 2 < int(done.output) < MOST
    with Guarded(["sleep", "1000"], env=ENVIRONMENT, sandbox=small(tmp_path)) as child:
        group = group_of(child)
        assert (group / "pids.max").read_text() == f"{MOST}\n"
        assert str(child.pid) in (group / "cgroup.procs").read_text().split()
    assert not group.exists()


@needed
def test_what_runs_beside_a_command_and_what_does_not_start_leave_no_group(tmp_path: Path) -> None:
    found = groups()
    assert found
    with Guarded(["sleep", "1000"], env=ENVIRONMENT, sandbox=small(tmp_path)) as child:
        assert run(["true"], env=ENVIRONMENT, sandbox=small(tmp_path), beside=child.pid).ok
    with pytest.raises(SandboxFailed):
        run(["true"], env=ENVIRONMENT, sandbox=replace(small(tmp_path), writable=(tmp_path / "is-not-there",)))
    ours = [name for name in found.parent.glob(f"{PREFIX}*") if not Path("/proc", name.name[len(PREFIX) :]).exists()]
    assert ours == []


_ASKER = """
import sys, time
from pathlib import Path
from cpubisect.base.process import Guarded
from cpubisect.base.sandbox.surroundings import confined
with Guarded(["sleep", "1000"], env={"PATH": "/usr/bin:/bin"}, sandbox=confined([Path(sys.argv[1])])) as child:
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@needed
@pytest.mark.parametrize("victim", ["asker", "guard"])
def test_a_group_is_removed_whoever_is_killed(tmp_path: Path, fresh: None, victim: str) -> None:
    words = [sys.executable, "-c", _ASKER, str(tmp_path)]
    asker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert asker.stdout is not None
    pid = int(asker.stdout.readline())
    (name,) = {text for text in Path(f"/proc/{pid}/cgroup").read_text().split() if PREFIX in text}
    found = groups()
    assert found
    group = found.parent / name.rpartition("/")[2]
    assert group.exists()
    (guarding,) = psutil.Process(asker.pid).children()
    ended = [psutil.Process(one) for one in (pid, guarding.pid, int(group.name.removeprefix(PREFIX)))]
    os.kill(asker.pid if victim == "asker" else guarding.pid, signal.SIGKILL)
    asker.communicate()
    _, left = psutil.wait_procs(ended, timeout=60)
    assert left == []
    if victim == "guard":
        groups.cache_clear()
        assert groups()
    assert not group.exists()


def test_where_it_cannot_be_made_there_is_none(tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "candidates", lambda mounts, own: iter((tmp_path, tmp_path / "nowhere")))
    assert groups() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("user", "scopes", "found", "who", "where"),
    [
        (1000, False, Groups(Path("/g"), True), Held.KERNEL, ""),
        (0, True, Groups(Path("/g"), True), Held.SYSTEMD, ""),
        (0, False, Groups(Path("/g"), True), Held.GROUP, "/g"),
        (0, False, Groups(Path("/g"), False), Held.PROCESSES, "/g"),
        (0, False, None, Held.NOTHING, ""),
    ],
)
def test_who_holds_the_limits(
    monkeypatch: pytest.MonkeyPatch, user: int, scopes: bool, found: Groups | None, who: Held, where: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(surroundings, "_has_scopes", lambda: scopes)
    monkeypatch.setattr(surroundings, "groups", lambda: found)
    assert (held(), grouped()) == (who, where)


@needed
def test_a_group_that_cannot_be_had_is_no_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "groups", lambda: Groups(tmp_path / "gone", False))
    with (tmp_path / "said").open("w+b") as said:
        with pytest.raises(SandboxFailed):
            Guarded(["true"], env=ENVIRONMENT, sandbox=small(tmp_path), output=said)
        said.seek(0)
        assert said.read().decode() == f"{tmp_path}/gone: No such file or directory\n"
