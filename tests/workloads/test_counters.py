from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.errors import UserError
from cpubisect.process import Guarded, run
from cpubisect.workloads import clock
from cpubisect.workloads.counters import (
    Available,
    Counting,
    choose,
    examine,
    hardware_command,
    parse_perf,
    try_callgrind,
    try_hardware,
)
from cpubisect.workloads.probe import Counter, ProbeError

BUSY = ["sh", "-c", "while :; do :; done"]


@pytest.mark.parametrize(
    ("available", "counter"),
    [
        (Available("", ""), Counter.HARDWARE),
        (Available("", "no valgrind"), Counter.HARDWARE),
        (Available("not supported", ""), Counter.CALLGRIND),
        (Available("not supported", "no valgrind"), Counter.NONE),
    ],
)
def test_choice_and_its_reason(available: Available, counter: Counter) -> None:
    choice = choose(available)
    assert choice.counter is counter
    for problem in (available.hardware_problem, available.callgrind_problem):
        if counter is Counter.NONE or (problem and counter is Counter.CALLGRIND):
            assert problem in choice.reason


def test_a_counter_that_is_asked_for_is_taken_or_refused() -> None:
    assert choose(Available("", ""), Counter.CALLGRIND).counter is Counter.CALLGRIND
    with pytest.raises(UserError, match="perf does not count here \\(not supported\\)"):
        choose(Available("not supported", ""), Counter.HARDWARE)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# started\n\n1234567,,instructions:u,1000,100.00,,\n", 1234567),
        ("10,,cpu_core/instructions:u/,5,50.00,,\n7,,cpu_atom/instructions:u/,5,50.00,,\n", 17),
        ("10,,cpu_core/instructions/u,5,50.00,,\n<not counted>,,cpu_atom/instructions/u,0,0.00,,\n", 10),
        ("8,,branches:u,1,100.00,,\n9,,instructions:u,1,100.00,,\n", 9),
    ],
)
def test_perf_output(text: str, count: int) -> None:
    assert parse_perf(text) == count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<not supported>,,instructions:u,0,100.00,,\n", "not supported"),
        ("<not counted>,,instructions:u,0,100.00,,\n", "not counted"),
        ("5,,branches:u,0,100.00,,\n", "no count of instructions:u"),
        ("", "no count"),
    ],
)
def test_perf_output_without_a_count(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_perf(text)


@given(st.integers(0, 10**15), st.text(alphabet="#abc ,\n0123456789", max_size=60))
def test_other_lines_do_not_change_the_count(count: int, noise: str) -> None:
    assert parse_perf(f"{noise}\n{count},,instructions:u,1,100.00,,\n") == count


def test_a_command_is_counted_by_perf(tmp_path: Path) -> None:
    out = tmp_path / "perf.csv"
    loop = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    assert run(hardware_command(["sh", "-c", loop], out, event="task-clock")).ok
    assert parse_perf(out.read_text(), "task-clock") > 0


def _fresh_cpu_ns(pid: int) -> int:
    """A running process's CPU clock just as the kernel moves it: at other times it is up to a tick behind."""
    stale = clock.cpu_ns(pid)
    while (now := clock.cpu_ns(pid)) == stale:
        pass
    return now


def test_a_running_process_is_counted_for_a_while(tmp_path: Path) -> None:
    with Guarded(BUSY) as busy:
        with Counting(busy.pid, tmp_path, event="task-clock") as counting:
            before = _fresh_cpu_ns(busy.pid)
            while clock.cpu_ns(busy.pid) - before < 50_000_000:
                pass
            used_ms = (clock.cpu_ns(busy.pid) - before) / 1e6
        assert counting.value >= 0.95 * used_ms
        assert busy.poll(), "counting must not disturb the process"


def test_a_process_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with Guarded(["true"]) as gone:
        gone.wait()
    with pytest.raises(ProbeError, match="perf"), Counting(gone.pid, tmp_path, event="task-clock"):
        pass


def test_trials_tell_the_truth_about_this_host() -> None:
    available = examine()
    assert available == Available(try_hardware(), try_callgrind())
    assert available.callgrind_problem == ""
    assert "no-such-event" in try_hardware("no-such-event")
