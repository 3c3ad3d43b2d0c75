import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cpubisect.base import process
from cpubisect.base.process import MOST_OUTPUT_BYTES, Guarded, printed, run


def test_output_status_and_resource_use() -> None:
    done = run(["sh", "-c", "echo out; echo err >&2; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3"])
    assert done.returncode == 3
    assert done.output == "out\nerr\n"
    assert done.cpu_seconds > 0
    assert done.max_rss_kib > 0
    assert not done.ok


def test_children_that_were_waited_for_count() -> None:
    loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    alone = run(["sh", "-c", loop]).cpu_seconds
    nested = run(["sh", "-c", f"sh -c '{loop}'; sh -c '{loop}'; true"]).cpu_seconds
    assert nested > alone


def test_a_missing_program_is_a_result() -> None:
    done = run(["no-such-program-here"])
    assert done.returncode == 127
    assert "No such file" in done.output


def test_a_log_is_appended_to_and_only_the_new_part_returned(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "log"
    run(["echo", "one"], log=log)
    assert run(["echo", "two"], log=log).output == "two\n"
    assert log.read_text() == "one\ntwo\n"


def test_a_command_over_its_limit_is_killed_with_everything_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    done = run(["sh", "-c", f"sleep 1000 & echo $! > {pids}; sleep 1000"], timeout_s=0.5)
    assert done.timed_out
    assert not done.ok
    assert not alive(int(pids.read_text()))


def test_a_daemon_that_left_its_session_dies_with_the_block(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    os.mkfifo(tmp_path / "ready")
    script = f"setsid sleep 1000 & echo $! > {pids}; echo > {tmp_path / 'ready'}; sleep 1000"
    with Guarded(["sh", "-c", script]):
        (tmp_path / "ready").read_text()
        daemon = int(pids.read_text())
        assert alive(daemon)
    assert not alive(daemon)


def test_stubborn_grandchildren_that_go_on_forking_die_with_the_block(tmp_path: Path) -> None:
    """They left the session, heed no signal that can be ignored, and start another process for each that ends."""
    pids, ready = tmp_path / "pids", tmp_path / "ready"
    os.mkfifo(ready)
    stubborn = (
        "trap '' TERM INT HUP; echo $$ >> pids; while :; do sleep 1000 & echo $! >> pids; echo > ready; wait $!; done"
    )
    script = 'setsid sh -c "$1" & setsid sh -c "$1" & trap "" TERM INT HUP; wait'
    # Both ends are held open, so that nobody waits for the other to open it.
    with open(os.open(ready, os.O_RDWR), "rb", buffering=0) as told:  # noqa: PTH123
        with Guarded(["sh", "-c", script, "sh", stubborn], cwd=tmp_path) as child:
            for _ in range(2):
                told.readline()
            before = pids.read_text().split()
            assert len(before) == 4
            os.kill(int(before[-1]), signal.SIGKILL)
            told.readline()
        started = [child.pid, *map(int, pids.read_text().split())]
    assert len(started) >= 6
    assert not any(map(alive, started))


def test_a_status_is_told_and_what_was_left_behind_is_gone(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    done = run(["sh", "-c", f"setsid sleep 1000 & echo $! > {pids}; exit 3"])
    assert done.returncode == 3
    assert not alive(int(pids.read_text()))


def test_a_process_whose_first_thread_has_ended_is_killed_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import ctypes, os, pathlib, threading\n"
        "threading.Thread(target=lambda: ctypes.CDLL(None).sleep(1000)).start()\n"
        f"pathlib.Path('{pids}').write_text(str(os.getpid()))\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    script = '"$1" -c "$2" & until grep -q Z /proc/$!/stat; do :; done; exit 3'
    done = run(["sh", "-c", script, "sh", sys.executable, code], timeout_s=60)
    assert done.returncode == 3
    assert not (Path("/proc") / pids.read_text()).exists()


def test_the_end_of_a_guard_that_was_killed_is_seen_again_and_again() -> None:
    with Guarded(["sleep", "1000"]) as child:
        parent = (Path("/proc") / str(child.pid) / "stat").read_text().rpartition(")")[2].split()[1]
        os.kill(int(parent), signal.SIGKILL)
        assert child.wait()
        assert child.wait(0.0)
        assert child.finished().returncode == -signal.SIGKILL


def test_a_command_ends_with_its_guard_however_soon_that_is_killed() -> None:
    with Guarded(["sleep", "1000"]) as child:
        parent = (Path("/proc") / str(child.pid) / "stat").read_text().rpartition(")")[2].split()[1]
        watched = os.pidfd_open(child.pid)
        os.kill(int(parent), signal.SIGKILL)
        assert select.select([watched], [], [], 60)[0]
        os.close(watched)


def test_a_guard_whose_asker_is_gone_before_it_reports_ends_all_without_a_word() -> None:
    reports, result = os.pipe()
    control, asker = os.pipe()
    for gone in (reports, asker):
        os.close(gone)
    words = [sys.executable, "-I", "-S", str(Path(process.__file__).with_name("guard.py"))]
    words += [str(control), str(result), "-1", "", "0", "--", "sleep", "1000"]
    done = subprocess.run(words, capture_output=True, pass_fds=(control, result), timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_signal_that_comes_before_the_command_began_is_not_lost() -> None:
    reports, result = os.pipe()
    control, asker = os.pipe()
    code = (
        "import os, runpy, signal, sys\n"
        "forked = os.fork\n"
        "def fork():\n"
        "    pid = forked()\n"
        "    if pid == 0:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return pid\n"
        "os.fork = fork\n"
        "runpy.run_path(sys.argv.pop(1), run_name='__main__')\n"
    )
    words = [sys.executable, "-c", code, str(Path(process.__file__).with_name("guard.py"))]
    words += [str(control), str(result), "-1", "", "0", "--", "true"]
    subprocess.run(words, pass_fds=(control, result), timeout=60, check=True)
    for done in (result, control, asker):
        os.close(done)
    with os.fdopen(reports) as report:
        assert f"returncode {-signal.SIGTERM} " in report.read()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_an_asker_that_was_killed(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "import sys\n"
        "from cpubisect.base.process import Guarded\n"
        "child = Guarded(['sh', '-c', 'setsid sleep 1000 & echo $!; exec sleep 1000'], output=sys.stdout.buffer)\n"
        # In one write: the command writes to the same pipe.
        "sys.stdout.buffer.write(f'{child.pid}\\n'.encode())\n"
        "sys.stdout.flush()\n"
        "child.wait()\n"
    )
    asker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert asker.stdout is not None
    pids = [int(asker.stdout.readline()), int(asker.stdout.readline())]
    watched = [os.pidfd_open(pid) for pid in pids]
    asker.send_signal(number)
    asker.wait()
    asker.stdout.read()
    for descriptor, pid in zip(watched, pids, strict=True):
        os.close(descriptor)
        assert not alive(pid)


def alive(pid: int) -> bool:
    """True unless the process is gone or only its exit status is left."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_of_output_without_end_the_beginning_and_the_end_are_read(tmp_path: Path) -> None:
    most = MOST_OUTPUT_BYTES
    with (tmp_path / "log").open("w+b") as log:
        log.write(b"before first")
        log.truncate(2 * most)
        log.seek(0, os.SEEK_END)
        log.write(b"last")
        text = printed(log, len("before "))
    assert text.startswith("first\0")
    assert text.endswith("\0last")
    assert "bytes are left out here" in text
    assert most < len(text) < most + 100
