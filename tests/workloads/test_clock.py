"""Clocks of another process, against what the process says of itself."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from cpubisect.workloads.counters.clock import Clocks, between, context_switches, cpu_ns, read

# Answers each line with its own CPU time in ns and its own context switches; works first if told to.
_CHILD = """
import resource, sys, threading, time
for line in sys.stdin:
    if "work" in line:
        until = time.process_time_ns() + 50_000_000
        while time.process_time_ns() < until:
            sum(range(1000))
    if "switch" in line:
        event = threading.Event()
        for _ in range(50):
            event.wait(0.0002)
    if "thread" in line:
        other = threading.Thread(target=lambda: [None for _ in range(10)])
        other.start()
        other.join()
    use = resource.getrusage(resource.RUSAGE_SELF)
    print(time.process_time_ns(), use.ru_nvcsw + use.ru_nivcsw, flush=True)
"""


class _Child:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, what: str) -> tuple[int, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(what + "\n")
        cpu, switches = self.process.stdout.readline().split()
        return int(cpu), int(switches)


@pytest.fixture
def child() -> Iterator[_Child]:
    one = _Child()
    one.ask("ready")
    yield one
    one.process.kill()
    one.process.communicate()


def test_cpu_time_of_another_process_lies_between_its_own_readings(child: _Child) -> None:
    first, _ = child.ask("")
    seen = cpu_ns(child.process.pid)
    last, _ = child.ask("")
    assert first <= seen <= last


def test_work_is_seen_in_nanoseconds(child: _Child) -> None:
    before = read(child.process.pid)
    own_before, _ = child.ask("")
    own_after, _ = child.ask("work")
    child.ask("")
    spent = between(before, read(child.process.pid))
    assert spent.cpu_ns >= own_after - own_before >= 50_000_000


def test_context_switches_are_those_the_process_counts(child: _Child) -> None:
    before = read(child.process.pid)
    _, own_before = child.ask("")
    _, own_after = child.ask("switch")
    spent = between(before, read(child.process.pid))
    assert own_after - own_before >= 50
    assert spent.switches >= own_after - own_before


def test_a_thread_that_ended_takes_nothing_away(child: _Child) -> None:
    before = read(child.process.pid)
    child.ask("thread")
    spent = between(before, read(child.process.pid))
    assert spent.switches >= 1


def test_ended_and_new_threads_between_readings() -> None:
    before = Clocks(1_000, {1: 10, 2: 500})
    after = Clocks(4_000, {1: 15, 3: 7})
    assert between(before, after).switches == 5 + 7
    assert between(before, after).cpu_ns == 3_000


def test_a_process_that_is_gone() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with pytest.raises(ProcessLookupError):
        cpu_ns(gone.pid)
    with pytest.raises(ProcessLookupError):
        context_switches(gone.pid)
