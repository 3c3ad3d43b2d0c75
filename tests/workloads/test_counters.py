from collections.abc import Iterator
from pathlib import Path

import fake_perf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import (
    BRANCH_MISSES,
    CACHE_MISSES,
    COUNTERS,
    CYCLES,
    HARDWARE,
    INSTRUCTIONS,
    Counter,
    Simulation,
)
from cpubisect.base.process import Guarded, run
from cpubisect.workloads.check import Files, Status
from cpubisect.workloads.counters import clock
from cpubisect.workloads.counters.choice import choose, counter_of, every_counter, examine
from cpubisect.workloads.counters.counting import HeavyCounter, LightCounter
from cpubisect.workloads.counters.hardware import RECORDED, Events, parse_perf, recorder, supported
from cpubisect.workloads.counters.perf import EVENT, Perf
from cpubisect.workloads.probe import ProbeError

BUSY = ["sh", "-c", "while :; do :; done"]


def problems(hardware: str, callgrind: str) -> dict[Counter, str]:
    return dict.fromkeys(COUNTERS, "not here") | {Counter.HARDWARE: hardware, Counter.CALLGRIND: callgrind}


@pytest.mark.parametrize(
    ("hardware", "callgrind", "counter"),
    [
        ("", "", Counter.CALLGRIND),
        ("", "no valgrind", Counter.HARDWARE),
        ("not supported", "", Counter.CALLGRIND),
        ("not supported", "no valgrind", Counter.NONE),
    ],
)
def test_choice_and_its_reason(hardware: str, callgrind: str, counter: Counter) -> None:
    choice = choose(problems(hardware, callgrind))
    assert choice.counter is counter
    if counter is not Counter.CALLGRIND:
        assert callgrind in choice.reason
    if counter is Counter.NONE:
        assert hardware in choice.reason


def test_a_counter_that_is_asked_for_is_taken_or_refused() -> None:
    assert choose(problems("", ""), Counter.HARDWARE).counter is Counter.HARDWARE
    with pytest.raises(UserError, match="perf does not count here \\(not supported\\)"):
        choose(problems("not supported", ""), Counter.HARDWARE)


def test_what_does_not_simulate_is_refused_where_that_is_asked_for() -> None:
    both = tuple(Simulation)
    assert choose(problems("", ""), None, both).counter is Counter.CALLGRIND
    with pytest.raises(UserError, match=r"only callgrind simulates caches and branches \(perf was asked for\)"):
        choose(problems("", ""), Counter.HARDWARE, both)
    for hardware in ("", "not supported"):
        with pytest.raises(UserError, match=r"only callgrind simulates .*valgrind is not installed"):
            choose(problems(hardware, "valgrind is not installed"), None, both)


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
    assert parse_perf(text, EVENT) == count


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
        parse_perf(text, EVENT)


@given(st.integers(0, 10**15), st.text(alphabet="#abc ,\n0123456789", max_size=60))
def test_other_lines_do_not_change_the_count(count: int, noise: str) -> None:
    assert parse_perf(f"{noise}\n{count},,instructions:u,1,100.00,,\n", EVENT) == count


def test_a_command_is_counted_by_perf(tmp_path: Path) -> None:
    out = tmp_path / "perf.csv"
    loop = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    assert run(Perf("task-clock").command(["sh", "-c", loop], out)).ok
    assert parse_perf(out.read_text(), "task-clock") > 0


def _fresh_cpu_ns(pid: int) -> int:
    """A running process's CPU clock just as the kernel moves it: at other times it is up to a tick behind."""
    stale = clock.cpu_ns(pid)
    while (now := clock.cpu_ns(pid)) == stale:
        pass
    return now


def test_a_running_process_is_counted_for_a_while(tmp_path: Path) -> None:
    with Guarded(BUSY) as busy:
        with Perf("task-clock").watch(busy.pid, tmp_path) as counting:
            before = _fresh_cpu_ns(busy.pid)
            while clock.cpu_ns(busy.pid) - before < 50_000_000:
                pass
            used_ms = (clock.cpu_ns(busy.pid) - before) / 1e6
        assert counting.values[INSTRUCTIONS] >= 0.95 * used_ms
        assert busy.poll(), "counting must not disturb the process"


def test_a_process_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with Guarded(["true"]) as gone:
        gone.wait()
    with pytest.raises(ProbeError, match="perf"), Perf("task-clock").watch(gone.pid, tmp_path):
        pass


@pytest.fixture
def afresh() -> Iterator[None]:
    """What this host supports is looked for anew, before and after."""
    supported.cache_clear()
    yield
    supported.cache_clear()


RECORDED_OUTPUT = """\
# started on Mon Nov 23 08:54:07 2026

4129837,,cycles:u,1300211,100.00,,
<not supported>,,branch-misses:u,0,100.00,,
<not counted>,,cache-misses:u,0,0.00,,
"""


def test_what_perf_does_not_count_is_left_out_unless_it_is_needed(tmp_path: Path) -> None:
    out = tmp_path / "perf.csv"
    out.write_text(RECORDED_OUTPUT)
    by_metric = {CYCLES: "cycles:u", BRANCH_MISSES: "branch-misses:u", CACHE_MISSES: "cache-misses:u"}
    assert Events(by_metric).counts(out) == {CYCLES: 4129837}
    assert Events(by_metric, needed=CYCLES).counts(out) == {CYCLES: 4129837}
    with pytest.raises(ValueError, match="not supported"):
        Events(by_metric, needed=BRANCH_MISSES).counts(out)
    assert Events(by_metric).counts(tmp_path / "nowhere") == {}


def test_several_events_of_a_command_and_of_a_process_are_counted_at_once(tmp_path: Path) -> None:
    events, out = Events({CYCLES: "task-clock", CACHE_MISSES: "page-faults"}), tmp_path / "perf.csv"
    assert run(events.command(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"], out)).ok
    assert all(count > 0 for count in events.counts(out).values())
    with Guarded(BUSY) as busy, events.watch(busy.pid, tmp_path) as counting:
        before = _fresh_cpu_ns(busy.pid)
        while clock.cpu_ns(busy.pid) - before < 5_000_000:
            pass
    assert counting.values.keys() == {CYCLES, CACHE_MISSES}
    assert counting.values[CYCLES] >= 4.5


def test_what_is_only_recorded_never_fails_a_probe(tmp_path: Path) -> None:
    with Guarded(["true"]) as gone:
        gone.wait()
    for events in (Events({CYCLES: "task-clock"}), Events({CYCLES: "no-such-event"})):
        with events.watch(gone.pid, tmp_path) as counting:
            pass
        assert counting.values == {}
    with pytest.raises(ZeroDivisionError), Events({CYCLES: "task-clock"}).watch(gone.pid, tmp_path):
        _ = 1 / 0


@pytest.mark.usefixtures("afresh")
def test_each_event_is_tried_by_itself_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_perf.install(tmp_path, monkeypatch, ("cycles:u", "branch-misses:u"))
    for _ in range(2):
        found = recorder()
        assert found is not None
        assert found.by_metric == {CYCLES: "cycles:u", BRANCH_MISSES: "branch-misses:u"}
    assert asked.read_text().splitlines() == list(RECORDED.values())


@pytest.mark.usefixtures("afresh")
def test_nothing_is_recorded_where_perf_has_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_perf.install(tmp_path, monkeypatch, ())
    assert recorder() is None
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    supported.cache_clear()
    assert recorder() is None


@pytest.mark.usefixtures("afresh")
def test_the_hardware_counter_counts_the_other_events_in_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_perf.install(tmp_path, monkeypatch)
    out = tmp_path / "perf.csv"
    assert run(Perf().command(["true"], out)).ok
    counts = Perf().counts(out)
    assert counts == {INSTRUCTIONS: 700_000, CYCLES: 900_000, BRANCH_MISSES: 5000, CACHE_MISSES: 3000}
    assert Perf().read(out).total == 700_000
    with Guarded(BUSY) as busy, Perf().watch(busy.pid, tmp_path) as counting:
        pass
    assert counting.values == counts


def test_what_this_host_records_really_counts() -> None:
    assert set(supported()) <= set(HARDWARE)


def test_trials_tell_the_truth_about_this_host() -> None:
    found = examine()
    assert found == {counter.name: counter.problem() for counter in every_counter()}
    assert found[Counter.CALLGRIND] == ""
    assert "no-such-event" in Perf("no-such-event").problem()


@pytest.mark.parametrize("name", COUNTERS)
def test_every_counter_is_an_object_that_says_what_it_is(name: Counter, tmp_path: Path) -> None:
    counter = counter_of(name)
    assert isinstance(counter, HeavyCounter | LightCounter)
    assert counter.name is name
    assert counter.tools
    found = counter.check(Files(tmp_path))
    assert (found.status is Status.OK) == (not counter.problem())


@pytest.mark.parametrize("name", COUNTERS)
def test_every_counter_counts_a_command_or_says_why_not(name: Counter, tmp_path: Path) -> None:
    counter, out = counter_of(name), tmp_path / "out"
    assert counter is not None
    run(counter.command(["sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"], out))
    if counter.problem():
        with pytest.raises((OSError, ValueError)):
            counter.read(out)
    else:
        found = counter.read(out)
        assert found.total > 100_000
        assert bool(found.functions) == name.tells_functions


def test_nothing_counts_where_there_is_no_counter() -> None:
    assert counter_of(Counter.NONE) is None
    assert not Counter.NONE.tells_functions
    assert Counter.NONE not in COUNTERS
