"""What a sandbox shows, as arguments for bubblewrap, and as a command in one sees it."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.process import Guarded, SandboxFailed, run
from cpubisect.base.sandbox import surroundings
from cpubisect.base.sandbox.policy import Limits, Sandbox, System, is_shown, prefixes
from cpubisect.base.sandbox.surroundings import confined, system, visible_path

HOST = System(
    links=(("/bin", "usr/bin"),),
    directories=(Path("/usr"),),
    controls=("/proc/sys",),
    interpreter=(Path("/home/me/python/bin/python3"), Path("/home/me/python/lib")),
    guard=Path("/home/me/ours/guard.py"),
    hidden=(Path("/usr/home/me"), Path("/srv")),
)
LIMITS = Limits(1 << 30)
ENVIRONMENT = {"PATH": os.defpath}

names = st.text("abc", min_size=1, max_size=3)
places = st.lists(names, min_size=1, max_size=4).map(lambda parts: Path("/", *parts))


def pairs(words: list[str], *options: str) -> list[tuple[str, str]]:
    """The two arguments of each of some options."""
    return [(words[n + 1], words[n + 2]) for n, word in enumerate(words) if word in options]


@given(st.lists(places, max_size=6), st.lists(places, max_size=6))
def test_only_what_is_writable_is_bound_to_be_written(writable: list[Path], readable: list[Path]) -> None:
    words = Sandbox(LIMITS, tuple(writable), tuple(readable)).arguments(HOST, Path("/a"))
    assert {source for source, _ in pairs(words, "--bind")} == {str(place) for place in writable}
    shown = {source for source, _ in pairs(words, "--ro-bind")}
    assert shown == {"/usr", *map(str, (*HOST.interpreter, HOST.guard)), *(str(place) for place in readable)}
    assert not any(word.startswith("--share") or word == "--cap-add" for word in words)


@given(st.lists(places, min_size=1, max_size=6, unique=True))
def test_what_lies_in_another_place_is_bound_after_it(writable: list[Path]) -> None:
    words = Sandbox(LIMITS, tuple(writable)).arguments(HOST, Path("/"))
    order = [Path(source) for source, _ in pairs(words, "--bind")]
    for number, place in enumerate(order):
        assert not any(later != place and place.is_relative_to(later) for later in order[number + 1 :])


def test_namespaces_are_new_or_another_sandbox_s() -> None:
    own = Sandbox(LIMITS).arguments(HOST, Path("/"))
    assert {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"} <= set(own)
    joined = Sandbox(LIMITS).arguments(HOST, Path("/"), joining=True)
    assert {"--unshare-user", "--unshare-pid", "--as-pid-1"}.isdisjoint(joined)
    assert {"--unshare-net", "--unshare-ipc"} <= set(joined)


def test_private_places_are_covered_where_a_directory_shows_them() -> None:
    words = Sandbox(LIMITS).arguments(HOST, Path("/"))
    covered = [words[n + 1] for n, word in enumerate(words) if word == "--tmpfs"]
    assert "/usr/home/me" in covered
    assert "/srv" not in covered


@pytest.mark.parametrize(
    ("place", "shown"),
    [("/usr/bin/cc", True), ("/bin/cc", True), ("/home/me/x", False), ("/usr/home/me/x", False), ("/", False)],
)
def test_what_is_shown(place: str, shown: bool) -> None:
    assert is_shown(Path(place), HOST) is shown


@pytest.mark.parametrize(
    ("program", "private", "found"),
    [
        ("/usr/bin/gcc", "/home/me", []),
        ("/opt/gcc-9/bin/gcc", "/home/me", ["/opt/gcc-9"]),
        ("/opt/gcc-9/gcc", "/home/me", ["/opt/gcc-9"]),
        ("/home/me/bin/gcc", "/home/me", ["/home/me/bin"]),
        ("/home/me/gcc-9/bin/gcc", "/home/me", ["/home/me/gcc-9"]),
        ("/bin2/gcc", "/home/me", ["/bin2"]),
        ("/x/gcc", "/x/home/me", ["/x"]),
    ],
)
def test_of_a_compiler_its_own_directory_is_shown_but_no_home(program: str, private: str, found: list[str]) -> None:
    assert prefixes([Path(program)], HOST, [Path(private)]) == tuple(map(Path, found))


def test_a_command_sees_its_place_and_no_other(tmp_path: Path) -> None:
    given_to_it, other = tmp_path / "given", tmp_path / "other"
    for directory in (given_to_it, other):
        directory.mkdir()
    script = f"pwd; ls {tmp_path}; echo made >made; ls {Path.home()}/.ssh {other}; id -u"
    done = run(["sh", "-c", script], cwd=given_to_it, env=ENVIRONMENT, sandbox=confined([given_to_it]))
    assert done.output.splitlines()[:2] == [str(given_to_it), "given"]
    assert done.output.splitlines()[-1] == str(os.geteuid())
    assert (given_to_it / "made").read_text() == "made\n"
    assert list(other.iterdir()) == []


def test_what_is_readable_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was")
    script = f"cat {tmp_path}/file; echo more >>{tmp_path}/file; echo new >{tmp_path}/new; rm {tmp_path}/file"
    done = run(["sh", "-c", script], env=ENVIRONMENT, sandbox=confined(readable=[tmp_path]))
    assert done.output.startswith("as it was")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["as it was"]


def test_a_command_gets_no_file_of_ours(tmp_path: Path) -> None:
    script = (
        "for one in /proc/self/fd/*; do readlink $one; done; cat /proc/1/environ || echo refused; echo x >/proc/1/mem"
    )
    done = run(["sh", "-c", script], env=ENVIRONMENT, log=tmp_path / "log", sandbox=confined([tmp_path]))
    opened = [line for line in done.output.splitlines() if line.startswith(("/", "pipe", "anon", "socket"))]
    assert set(opened) <= {"/dev/null", str(tmp_path / "log")}
    assert "refused" in done.output
    assert done.returncode != 0


def test_the_kernel_is_not_set_from_within(tmp_path: Path) -> None:
    script = "find /proc /sys -not -path '/proc/[0-9]*' -not -path '/proc/*self*' -type f -writable 2>/dev/null"
    assert run(["sh", "-c", script], env=ENVIRONMENT, sandbox=confined([tmp_path])).output == ""


def test_status_signals_and_resource_use_are_the_command_s(tmp_path: Path) -> None:
    sandbox = confined([tmp_path])
    loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    ended = {text: run(["sh", "-c", text], env=ENVIRONMENT, sandbox=sandbox) for text in ("exit 3", "kill -SEGV $$")}
    assert [done.returncode for done in ended.values()] == [3, -signal.SIGSEGV]
    nested = run(["sh", "-c", f"sh -c '{loop}'; sh -c '{loop}'"], env=ENVIRONMENT, sandbox=sandbox)
    alone = run(["sh", "-c", loop], env=ENVIRONMENT, sandbox=sandbox)
    assert nested.cpu_seconds > alone.cpu_seconds > ended["exit 3"].cpu_seconds
    assert run(["no-such-program"], env=ENVIRONMENT, sandbox=sandbox).returncode == 127


def test_limits_are_those_of_the_sandbox(tmp_path: Path) -> None:
    small = replace(confined([tmp_path]), limits=Limits(memory_bytes=64 << 20, processes=50, file_bytes=1 << 20))
    script = "ulimit -d; ulimit -p; ulimit -f; ulimit -c; python3 -c 'x = bytearray(200 << 20)' 2>&1 | tail -n 1"
    done = run(["sh", "-c", script], cwd=tmp_path, env=ENVIRONMENT, sandbox=small)
    assert done.output.splitlines() == ["65536", "50", "2048", "0", "MemoryError"]
    assert run(["sh", "-c", "head -c 2M /dev/zero >big"], cwd=tmp_path, env=ENVIRONMENT, sandbox=small).returncode
    assert (tmp_path / "big").stat().st_size == 1 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="it is for root, whose processes the kernel does not limit")
def test_where_systemd_runs_it_holds_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = 'echo "$@" >>"$0.log"; while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
    (tmp_path / "systemd-run").write_text(f"#!/bin/sh\n{fake}\n")
    (tmp_path / "systemd-run").chmod(0o755)
    monkeypatch.setattr(surroundings, "SYSTEMD", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    surroundings._has_scopes.cache_clear()
    try:
        environment = {"PATH": os.environ["PATH"]}
        done = run(["sh", "-c", "exit 3"], env=environment, sandbox=Sandbox(Limits(1 << 30, processes=77)))
    finally:
        surroundings._has_scopes.cache_clear()
    assert done.returncode == 3
    tried, used = (tmp_path / "systemd-run.log").read_text().splitlines()
    assert tried.endswith("-- true")
    assert "TasksMax=77 -p MemoryMax=1073741824 -- /" in used


def test_a_command_is_known_by_the_host_s_process_id_and_gets_signals(tmp_path: Path) -> None:
    with Guarded(["sleep", "1000"], env=ENVIRONMENT, sandbox=confined([tmp_path])) as child:
        status = Path(f"/proc/{child.pid}/status").read_text()
        assert f"NSpid:\t{child.pid}\t2\n" in status
        child.signal(signal.SIGTERM)
        assert child.wait(60)
        assert child.finished().returncode == -signal.SIGTERM


def test_everything_in_it_ends_with_it(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    script = f"setsid sh -c 'trap \"\" TERM; sleep 1000' & echo >{ready}; sleep 1000"
    with Guarded(["sh", "-c", script], env=ENVIRONMENT, sandbox=confined([tmp_path])) as child:
        ready.read_text()
        namespace = os.stat(f"/proc/{child.pid}/ns/pid").st_ino  # noqa: PTH116 - it is no file that has a path
    left = []
    for entry in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            left.append(entry.stat().st_ino == namespace)
        except OSError:
            continue
    assert not any(left)


def test_a_command_beside_another_sees_its_processes_and_not_the_host_s(tmp_path: Path) -> None:
    sandbox = confined([tmp_path])
    with Guarded(["sleep", "1000"], env=ENVIRONMENT, sandbox=sandbox) as child:
        shown = run(["sh", "-c", "cat /proc/2/comm; kill -TERM 2"], env=ENVIRONMENT, sandbox=sandbox, beside=child.pid)
        assert shown.output == "sleep\n"
        assert child.wait(60)


def test_a_sandbox_that_cannot_be_made_is_not_the_command_s_failure(tmp_path: Path) -> None:
    broken = replace(confined(), writable=(tmp_path / "is-not-there",))
    with pytest.raises(SandboxFailed, match=r"no sandbox could be made for true: .*--sandbox off"):
        run(["true"], env=ENVIRONMENT, sandbox=broken)


def test_the_search_path_has_only_what_is_there(tmp_path: Path) -> None:
    path = os.pathsep.join(("/usr/bin", str(tmp_path), "", "/bin", "/usr/bin"))
    assert visible_path(path, confined()).split(os.pathsep) == ["/usr/bin", "/bin"]
    assert str(tmp_path) in visible_path(path, confined(readable=[tmp_path]))


def test_our_own_home_is_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CPUBISECT_HOME", str(tmp_path / "kept"))
    assert tmp_path / "kept" in system().hidden
