import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import fake_perf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import (
    BRANCH_MISSES,
    CACHE_MISSES,
    CONTEXT_SWITCHES,
    CPU,
    CYCLES,
    HARDWARE,
    INSTRUCTIONS,
    L1_MISSES,
    LL_MISSES,
    MISPREDICTIONS,
    QPS,
    Counter,
    Simulation,
)
from cpubisect.base.process import Finished
from cpubisect.base.version import Version
from cpubisect.workloads.counters import perf
from cpubisect.workloads.counters.hardware import supported
from cpubisect.workloads.db_bench import WORKLOAD, parse_qps, refused_flag, why
from cpubisect.workloads.db_bench_command import CommandLines, Span, Step, flags, parse_load
from cpubisect.workloads.db_bench_tests import SHAPES
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Samples, SettingRefused, Test

SOURCE = Path(__file__).with_name("small_bench.c")
Build = Callable[..., Path]
QUICK = {
    "rows": "1000",
    "repeats": "2",
    "load": "filluniquerandom,compact,overwrite:100",
    "instructions_ops": "500,1500",
    "clock_ops": "1000,20000",
}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile the small db_bench with some macros set; the artifact's directory."""
    built: dict[tuple[str, ...], Path] = {}

    def compiled(*defines: str) -> Path:
        if defines not in built:
            folder = tmp_path_factory.mktemp("artifact")
            subprocess.run(
                ["gcc", "-O1", "-Wall", *(f"-D{define}" for define in defines), "-o", folder / "db_bench", SOURCE],
                check=True,
            )
            built[defines] = folder
        return built[defines]

    return compiled


def named(name: str, engine: str = "rocksdb") -> Test:
    return next(test for test in WORKLOAD.tests if test.name == name and test.engine == engine)


def request(
    artifact: Path,
    scratch: Path,
    test: str = "readrandom",
    *,
    counter: Counter = Counter.CALLGRIND,
    instructions: bool = True,
    clock: bool = True,
    simulations: tuple[Simulation, ...] = (),
    **given: str,
) -> ProbeRequest:
    chosen = named(test)
    own = {name: text for name, text in QUICK.items() if name != "load" or chosen.parameters["load"]}
    own |= {name.replace("__", "."): text for name, text in given.items()}
    parameters = {**chosen.parameters, **own}
    asked = (chosen, parameters, counter, scratch, instructions, clock, simulations)
    return ProbeRequest(artifact, Version((8, 8, 1)), *asked)


def measured(artifact: Path, scratch: Path, test: str = "readrandom", **given: str) -> Samples:
    return WORKLOAD.probe(request(artifact, scratch, test, clock=False, **given))


def test_all_metrics_of_one_probe(build: Build, tmp_path: Path) -> None:
    samples = WORKLOAD.probe(request(build(), tmp_path))
    assert samples.values.keys() - HARDWARE == {INSTRUCTIONS, CPU, CONTEXT_SWITCHES, QPS}
    assert len(samples.values[INSTRUCTIONS]) == 1
    assert len(samples.values[CPU]) == len(samples.values[QPS]) == 2
    assert samples.values[QPS] == (500000.0, 500000.0)
    assert all(0 < cpu < 1000 for cpu in samples.values[CPU])
    assert all(switches >= 0 for switches in samples.values[CONTEXT_SWITCHES])
    assert samples.counter is Counter.CALLGRIND
    assert samples.parameters["rows"] == "1000"
    assert samples.seconds > 0
    assert sum("--tool=callgrind" in command for command in samples.commands) == 2


def test_what_is_not_asked_for_is_not_measured(build: Build, tmp_path: Path) -> None:
    samples = WORKLOAD.probe(request(build(), tmp_path, counter=Counter.NONE))
    assert samples.values.keys() - HARDWARE == {CPU, CONTEXT_SWITCHES, QPS}
    assert not samples.profile


def test_the_hardware_counter_counts_or_says_why_not(build: Build, tmp_path: Path) -> None:
    asked = request(build(), tmp_path, counter=Counter.HARDWARE)
    problem = perf.COUNTER.problem()
    if problem:
        with pytest.raises(ProbeError, match=re.escape(problem)):
            WORKLOAD.probe(asked)
    else:
        # A thousand rounds of a loop of a few instructions.
        assert all(3000 < cost < 10000 for cost in WORKLOAD.probe(asked).values[INSTRUCTIONS])


def test_more_memory_than_there_is_is_the_users_matter_if_a_setting_may_have_asked_for_it(tmp_path: Path) -> None:
    (tmp_path / "db_bench").write_text(
        "#!/bin/sh\necho \"terminate called after throwing an instance of 'std::bad_alloc'\"; kill -ABRT $$\n"
    )
    (tmp_path / "db_bench").chmod(0o755)
    (tmp_path / "scratch").mkdir()
    asked = request(tmp_path, tmp_path / "scratch", cache_size="9223372036854775807")
    with pytest.raises(SettingRefused, match=r"cannot do with .* cache_size=9223372036854775807 .*bad_alloc"):
        WORKLOAD.probe(asked)
    with pytest.raises(ProbeError) as told:
        WORKLOAD.probe(replace(asked, parameters=asked.test.parameters))
    assert not isinstance(told.value, SettingRefused)


@pytest.mark.parametrize("counter", [Counter.CALLGRIND, Counter.HARDWARE, Counter.NONE])
def test_events_of_the_hardware_are_recorded_with_the_clock_by_any_counter(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counter: Counter
) -> None:
    fake_perf.install(tmp_path, monkeypatch, ("cycles:u", "instructions:u", "branch-misses:u"))
    try:
        values = WORKLOAD.probe(request(build(), _below(tmp_path, "probe"), counter=counter)).values
        counted = WORKLOAD.probe(request(build(), _below(tmp_path, "count"), counter=counter, clock=False)).values
    finally:
        supported.cache_clear()
    assert values[CYCLES] == (900.0, 900.0)
    assert values[BRANCH_MISSES] == (5.0, 5.0)
    assert CACHE_MISSES not in values
    hardware = INSTRUCTIONS if counter is Counter.HARDWARE else HARDWARE[1]
    assert values[hardware] == (700.0, 700.0)
    assert (CYCLES in counted) == (counter is Counter.HARDWARE)


def test_a_planted_step_shows_with_its_size_and_its_function(build: Build, tmp_path: Path) -> None:
    before = measured(build(), _below(tmp_path, "before"))
    after = measured(build("LOOKUP=1100"), _below(tmp_path, "after"))
    ratio = after.values[INSTRUCTIONS][0] / before.values[INSTRUCTIONS][0]
    assert 100 * (ratio - 1) == pytest.approx(10, abs=0.5)
    grown = {name: after.profile[name] - before.profile.get(name, 0) for name in after.profile}
    assert max(grown, key=lambda name: grown[name]) == "lookup"
    assert "open_db" not in before.profile, "what is done once is no part of an operation"


@pytest.mark.parametrize(
    ("simulation", "defines", "grown"),
    [
        # A lookup takes 1,024 steps; 64 bytes are a line.
        (Simulation.CACHE, ("LOOKUP=1024", "STRIDE=1", "STRIDE=64"), {L1_MISSES: (16, 1024), LL_MISSES: (16, 1024)}),
        (Simulation.CACHE, ("LOOKUP=1024", "STRIDE=-1", "STRIDE=-8"), {L1_MISSES: (16, 128), LL_MISSES: (16, 128)}),
        (Simulation.BRANCH, ("LOOKUP=1024", "SORTED=1", "SORTED=0"), {MISPREDICTIONS: (2, 400)}),
    ],
)
def test_what_instructions_do_not_see_shows_in_a_simulation(
    build: Build,
    tmp_path: Path,
    simulation: Simulation,
    defines: tuple[str, str, str],
    grown: Mapping[str, tuple[float, float]],
) -> None:
    loops, good, bad = defines
    before, after = (
        WORKLOAD.probe(
            request(build(loops, define), _below(tmp_path, name), clock=False, simulations=(simulation,))
        ).values
        for name, define in (("before", good), ("after", bad))
    )
    assert before.keys() == after.keys() == {INSTRUCTIONS, *grown}
    assert after[INSTRUCTIONS][0] == pytest.approx(before[INSTRUCTIONS][0], rel=1e-4)
    for metric, (few, many) in grown.items():
        assert before[metric][0] == pytest.approx(few, rel=0.5)
        assert after[metric][0] == pytest.approx(many, rel=0.3)


def test_a_profile_may_be_of_what_was_simulated(build: Build, tmp_path: Path) -> None:
    asked = request(build("STRIDE=64"), tmp_path, clock=False, simulations=(Simulation.CACHE,))
    samples = WORKLOAD.probe(replace(asked, profiled=LL_MISSES))
    misses = samples.values[LL_MISSES][0]
    assert samples.profile["lookup"] == pytest.approx(misses, rel=0.01)
    assert sum(samples.profile.values()) == pytest.approx(misses)
    assert sum(cost for (_, called), cost in samples.calls.items() if called == "lookup") == pytest.approx(
        misses, rel=0.01
    )
    assert samples.values[INSTRUCTIONS][0] > 4 * misses


def test_a_simulation_changes_no_count_of_instructions(build: Build, tmp_path: Path) -> None:
    plain = measured(build(), _below(tmp_path, "plain"))
    both = WORKLOAD.probe(request(build(), _below(tmp_path, "both"), clock=False, simulations=tuple(Simulation)))
    assert both.values.keys() == {INSTRUCTIONS, L1_MISSES, LL_MISSES, MISPREDICTIONS}
    assert both.values[INSTRUCTIONS][0] == pytest.approx(plain.values[INSTRUCTIONS][0], rel=1e-5)
    assert both.profile["lookup"] == plain.profile["lookup"]


def test_a_new_function_is_in_the_profile(build: Build, tmp_path: Path) -> None:
    samples = measured(build("EXTRA"), tmp_path)
    assert samples.profile["added_function"] == pytest.approx(samples.profile["lookup"] / 10, rel=0.03)
    assert sum(samples.attributed.values()) == pytest.approx(sum(samples.profile.values()), rel=1e-6)
    assert samples.attributed["added_function"] >= samples.profile["added_function"]
    called = sum(cost for (_, callee), cost in samples.calls.items() if callee == "added_function")
    assert called == pytest.approx(samples.profile["added_function"], rel=0.01)


def test_two_probes_agree_exactly(build: Build, tmp_path: Path) -> None:
    costs = [measured(build(), _below(tmp_path, name)).values[INSTRUCTIONS][0] for name in ("first", "second")]
    assert costs[0] == pytest.approx(costs[1], rel=1e-4)


@pytest.mark.parametrize(
    ("test", "reads", "writes"),
    [
        ("readseq", 1, 0),
        ("readwhilewriting", 1, 0.05),
        ("fillseq", 0, 1),
        ("overwrite", 0, 1),
        ("overwritesome", 0, 1),
        ("overwriteandwait", 0, 1),
    ],
)
def test_other_kinds_of_operations(build: Build, tmp_path: Path, test: str, reads: float, writes: float) -> None:
    profile = measured(build(), tmp_path, test, instructions_ops="1000,3000").profile
    one_read = measured(build(), _below(tmp_path, "read"), "readrandom").profile["lookup"]
    # The small db_bench does 1000 rounds of one loop for a read and 500 of the same for a write.
    assert profile.get("lookup", 0.0) == pytest.approx(reads * one_read, rel=0.01)
    assert profile.get("encode", 0.0) == pytest.approx(writes * one_read / 2, rel=0.01)


def _below(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def test_every_run_starts_from_the_same_database(build: Build, tmp_path: Path) -> None:
    measured(build(), tmp_path, "overwrite")
    loaded = tmp_path / "own" / "loaded"
    # 1000 rows and 100 overwrites, the last of them recovered from the log by the settling open.
    assert (loaded / "000009.sst").read_text() == "1100\n"
    assert (loaded / "000003.log").read_text() == "0\n"
    assert (tmp_path / "own" / "db" / "000003.log").read_text() == "1500\n"


def test_the_old_output_format(build: Build, tmp_path: Path) -> None:
    assert WORKLOAD.probe(request(build("OLD_FORMAT"), tmp_path, instructions=False)).values[QPS] == (
        500000.0,
        500000.0,
    )


def test_a_crash_is_told(build: Build, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="readrandom: killed by SIGABRT") as caught:
        WORKLOAD.probe(request(build("CRASH"), tmp_path, load="", instructions=False))
    assert caught.value.log is not None
    assert caught.value.log.exists()


def test_a_crash_under_callgrind_is_told(build: Build, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="SIGABRT"):
        measured(build("CRASH"), tmp_path, load="filluniquerandom,compact")


def test_no_result_is_an_error(build: Build, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="readrandom: no result line"):
        measured(build("SILENT"), tmp_path)


def test_an_empty_database_is_an_error(build: Build, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="none of the keys was found"):
        measured(build(), tmp_path, load="compact")


def test_a_missing_binary_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="no db_bench"):
        measured(tmp_path, tmp_path)


def test_only_flags_the_user_names_must_be_known(build: Build, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="unknown command line flag 'no_such_flag'"):
        measured(build(), tmp_path, no_such_flag="1")


@pytest.mark.parametrize(
    ("name", "value"),
    [("instructions_ops", "5"), ("instructions_ops", "9,3"), ("rows", "many"), ("repeats", "0"), ("load", "fill:x")],
)
def test_bad_parameters_are_the_users_to_mend(build: Build, tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UserError, match=name):
        measured(build(), tmp_path, **{name: value})


def lines(test: str, **given: str) -> CommandLines:
    chosen = named(test)
    return CommandLines(Path("db_bench"), SHAPES[test], {**chosen.parameters, **given}, chosen.parameters)


def flag(argv: tuple[str, ...], name: str) -> str | None:
    return next((word.partition("=")[2] for word in argv if word.startswith(f"--{name}=")), None)


def test_general_loading_and_measuring_flags() -> None:
    subject = lines("seekrandom", **{"write_buffer_size": "7", "load.bloom_bits": "3", "run.bloom_bits": "4"})
    load = subject.load(Step("filluniquerandom", 0), 0, Path("d"))
    compact = subject.load(Step("compact", 0), 1, Path("d"))
    overwrite = subject.load(Step("overwrite", 50), 2, Path("d"))
    settle = subject.settle(Path("d"))
    run = subject.measure(5, Path("d"), existing=True)
    assert [flag(c, "write_buffer_size") for c in (load, compact, overwrite, settle, run)] == [
        "1073741824",
        "7",
        "1073741824",
        "7",
        "7",
    ]
    assert [flag(c, "bloom_bits") for c in (load, compact, settle, run)] == ["3", "10", "10", "4"]
    assert [flag(c, "use_existing_db") for c in (load, compact, overwrite, settle, run)] == ["false"] + ["true"] * 4
    assert flag(overwrite, "writes") == "50"
    assert flag(run, "reads") == "5"
    assert len({flag(c, "seed") for c in (load, overwrite, run)}) == 3


def test_undefok_names_our_flags_and_not_the_users() -> None:
    words = (
        flag(lines("readrandom", cache_type="lru_cache").measure(1, Path("d"), existing=True), "undefok") or ""
    ).split(",")
    assert "bloom_bits" in words
    assert "cache_type" not in words


def test_background_writes_follow_the_reads() -> None:
    argv = lines("readwhilewriting", background_writes="10", clients="4").measure(1000, Path("d"), existing=True)
    assert (flag(argv, "reads"), flag(argv, "writes"), flag(argv, "finish_after_writes")) == ("1000", "400", "true")


def test_whole_passes() -> None:
    subject = lines("readseq", rows="100")
    assert [subject.operations(wanted) for wanted in (1, 100, 250, 1000)] == [100, 100, 200, 1000]
    assert flag(subject.measure(300, Path("d"), existing=True), "benchmarks") == "readseq,readseq,readseq"


def test_what_belongs_to_a_benchmark_runs_after_it_in_its_process() -> None:
    assert flag(lines("overwriteandwait").measure(5, Path("d"), existing=True), "benchmarks") == "overwrite,compact"


@pytest.mark.parametrize(
    ("test", "benchmark", "flags_"),
    [
        ("fillseq-vector", "fillseq", {"memtablerep": "vector", "disable_wal": "true", "threads": "1"}),
        ("fwdrangewhilewriting", "seekrandomwhilewriting", {"seek_nexts": "10", "reverse_iterator": None}),
        ("revrangewhilewriting", "seekrandomwhilewriting", {"seek_nexts": "10", "reverse_iterator": "true"}),
        ("overwritesome", "overwrite", {"num": "100000", "writes": "10000"}),
    ],
)
def test_the_tests_of_the_published_sequence(test: str, benchmark: str, flags_: Mapping[str, str | None]) -> None:
    subject = lines(test)
    argv = subject.measure(subject.span("clock_ops").high, Path("d"), existing=True)
    assert flag(argv, "benchmarks") == benchmark
    assert {name: flag(argv, name) for name in flags_} == flags_


@pytest.mark.parametrize("engine", ["rocksdb", "minikv"])
def test_the_catalogue(engine: str) -> None:
    tests = {test.name: test for test in WORKLOAD.tests if test.engine == engine}
    for name in ("readrandom", "seekrandom", "readseq", "fillseq", "fillrandom", "overwrite", "readwhilewriting"):
        assert name in tests
    for test in tests.values():
        assert test.writes == ("fill" in test.name or "writ" in test.name or "merge" in test.name)
        for span in ("instructions_ops", "clock_ops"):
            assert Span.parse(span, test.parameters[span])
        assert not flags(test.parameters, "run").keys() & {"rows", "clients", "load", "repeats"}
    assert len(WORKLOAD.tests) == len({(test.engine, test.name) for test in WORKLOAD.tests})


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("rows", True),
        ("write_buffer_size", True),
        ("avoid_flush_during_recovery", True),
        ("load.disable_wal", True),
        ("run.verify_checksum", True),
        ("background_writes", False),
        ("reads", False),
        ("run.num", False),
        ("db", False),
        ("start.x", False),
        ("X y", False),
        ("", False),
    ],
)
def test_accepts(name: str, good: bool) -> None:
    assert WORKLOAD.accepts(named("readrandom"), name) is good


def test_loads() -> None:
    assert parse_load("") == ()
    assert parse_load("fillrandom, compact ,overwrite:20") == (
        Step("fillrandom", 0),
        Step("compact", 0),
        Step("overwrite", 20),
    )


@pytest.mark.parametrize(
    ("output", "qps"),
    [
        ("readrandom   :       2.345 micros/op 426439 ops/sec;  471.8 MB/s (1000 of 1000 found)\n", 426439),
        ("readrandom   :  2.345 micros/op 426439 ops/sec 0.117 seconds 50000 operations;  47.1 MB/s\n", 426439),
        ("... finished 100 ops      \rreadrandom   :       2.0 micros/op 500 ops/sec;\n", 500),
        ("readrandom : 1.0 micros/op 100 ops/sec;\nreadrandom : 1.0 micros/op 300 ops/sec;\n", 150),
        ("readrandom : 1.0 micros/op 0 ops/sec;\n", None),
        ("fillseq : 1.0 micros/op 100 ops/sec;\n", None),
        ("", None),
    ],
)
def test_qps(output: str, qps: float | None) -> None:
    assert parse_qps(output, "readrandom") == qps


@given(st.integers(1, 10**9), st.booleans(), st.text(alphabet="abc :\n\r0", max_size=40))
def test_qps_is_found_between_other_lines(rate: int, old: bool, noise: str) -> None:
    tail = ";" if old else " 1.000 seconds 5 operations;"
    assert parse_qps(f"{noise}\nseekrandom   :  1.5 micros/op {rate} ops/sec{tail}\n{noise}", "seekrandom") == rate


def ended(output: str, **changed: object) -> Finished:
    plain: Mapping[str, object] = {"returncode": 1, "timed_out": False, **changed}
    return Finished(("db_bench",), int(str(plain["returncode"])), 0.0, 0.0, 0, bool(plain["timed_out"]), output)


@pytest.mark.parametrize(
    ("finished", "line"),
    [
        (ended("Keys: 16\nopen error: Corruption: bad\nmore error\n"), "open error: Corruption: bad"),
        (ended("==7== Memcheck error\nget error: x\n"), "get error: x"),
        (ended("Keys: 16\n"), "ended with status 1"),
        (ended("Please install gflags\n"), "ended with status 1, having said 'Please install gflags'"),
        (
            ended("db_bench: x.cc:3: Assertion `a' failed.\n", returncode=-6),
            "Assertion `a' failed. (killed by SIGABRT)",
        ),
        (ended("", returncode=-11), "killed by SIGSEGV"),
        (ended("Keys: 16\n", returncode=0), "no result line, only 'Keys: 16'"),
        (ended("", returncode=0), "printed nothing"),
        (ended("", timed_out=True), "not finished after 30 minutes"),
    ],
)
def test_the_line_that_tells(finished: Finished, line: str) -> None:
    assert line in why(finished)


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ("load: ERROR: illegal value 'abc' specified for flag 'value_size'", "value_size"),
        ("load: ERROR: value_size is out of range", "value_size"),
        ("load: Invalid value for --run.cache_size: -1, must be >= 0", "run.cache_size"),
        ("load: ERROR: unknown command line flag 'cache_size'", "run.cache_size"),
        ("load: ERROR: key_size is out of range", ""),
        ("load: value_size: killed by SIGSEGV", ""),
    ],
)
def test_a_setting_that_is_refused_is_told_from_a_failure(message: str, refused: str) -> None:
    assert refused_flag(message, {"value_size": "abc", "run.cache_size": "-1"}) == refused
