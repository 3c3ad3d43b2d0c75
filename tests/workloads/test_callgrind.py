import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.metrics import L1_MISSES, LL_MISSES, MISPREDICTIONS, Simulation
from cpubisect.base.process import run
from cpubisect.workloads.counters.callgrind import command, count, normalise, parse_profile
from cpubisect.workloads.counters.counting import LEAST_CALL, Profile, slope

HEADER = "# callgrind format\nversion: 1\npositions: line\nevents: Ir\nsummary: 0\n\n"

PROFILE = (
    HEADER
    + """\
ob=(1) /usr/lib/engine
fl=(1) read.c
fn=(1) get
10 5
+1 3
cfi=(2) block.h
cfn=(2) seek.isra.0
calls=2 40
+1 900
fi=(2)
7 4
fe=(1)
* 1
fn=(2)
40 100
-3 50
fn=(3) seek'2
40 30
fn=(4) hash.constprop.1
1 2
cob=(2) /lib/libc.so.6
cfi=(3) malloc.c
cfn=(5) malloc
calls=1 0
9 77

ob=(2)
fl=(3)
fn=(5)
0x1 70
fn=(6) 0x000000000010a020
0 7
totals: 272
"""
)


def test_names_are_resolved_and_what_was_called_costs_its_caller_nothing() -> None:
    profile = parse_profile(PROFILE)
    assert profile.total == 272
    assert profile.functions == {"get": 13, "seek": 180, "hash": 2, "malloc": 70, "[libc.so.6]": 7}


def test_edges_have_the_inclusive_cost_of_their_calls() -> None:
    profile = parse_profile(PROFILE)
    assert profile.calls == {("get", "seek"): 900, ("hash", "malloc"): 77}
    assert profile.library == {"malloc", "[libc.so.6]"}


def test_a_call_without_an_object_stays_in_its_callers() -> None:
    text = HEADER + "ob=(1) /bin/kv\nfn=(1) get\n1 1\ncob=(2) /lib/libc.so.6\ncfn=(2) memcpy\ncalls=1 0\n1 9\n"
    text += "cfn=(3) strange\ncalls=1 0\n1 5\n"
    profile = parse_profile(text)
    assert profile.calls == {("get", "memcpy"): 9, ("get", "strange"): 5}
    assert profile.library == {"memcpy"}


def test_other_events_and_instruction_positions() -> None:
    text = "positions: instr line\nevents: Dr Ir Dw\n\nfn=main\n0x40 3 1 10 9\n+4 * 2 5\ntotals: 3 15 9\n"
    assert parse_profile(text) == Profile(15, {"main": 15})


SIMULATED = """\
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim

fn=(1) main
125 10 0 0 1 0 0 1
cfn=(2) get
calls=1 1
+1 90 20 9 3 5 7 2 4 6 8 3
+1 5
fn=(2)
1 90 20 9 3 5 7 2 4 6 8 3
totals: 105 20 9 4 5 7 3 4 6 8 3
"""


def test_what_was_simulated_is_told_in_total_and_trailing_zeros_are_left_out() -> None:
    profile = parse_profile(SIMULATED)
    assert profile.others == {L1_MISSES: 16, LL_MISSES: 13, MISPREDICTIONS: 3}
    assert profile == Profile(105, {"main": 15, "get": 90}, {("main", "get"): 90}, frozenset(), profile.others)


def test_functions_and_calls_have_what_they_cost_in_the_metric_that_is_asked_for() -> None:
    profile = parse_profile(SIMULATED, LL_MISSES)
    assert (profile.total, profile.others) == (105, parse_profile(SIMULATED).others)
    assert profile.functions == {"main": 1, "get": 12}
    assert profile.calls == {("main", "get"): 12}
    with pytest.raises(ValueError, match="without branch-mispredictions/query"):
        parse_profile(SIMULATED.replace("Bcm", "Bx"), MISPREDICTIONS)


def test_only_metrics_whose_events_are_all_there_are_told() -> None:
    text = SIMULATED.replace(" Bc Bcm Bi Bim", " Bc Bcm").replace(" ILmr", " other")
    assert parse_profile(text).others == {L1_MISSES: 16}


def test_totals_of_others_are_per_operation_too() -> None:
    low, high = Profile(100, others={L1_MISSES: 10}), Profile(300, others={L1_MISSES: 50, LL_MISSES: 1})
    assert slope(low, high, 20).others == {L1_MISSES: 2.0}


def test_parts_in_one_text_are_added_up() -> None:
    part = HEADER + "fn=(1)\n1 4\ntotals: 4\n"
    assert parse_profile(HEADER + "fn=(1) f\n1 3\ntotals: 3\n" + part) == Profile(7, {"f": 7})


def test_jump_lines_cost_nothing() -> None:
    text = HEADER + "fn=f\n1 3\njump=4 9\n1\njcnd=1/4 9\n2\n3 5\n"
    assert parse_profile(text) == Profile(8, {"f": 8})


@pytest.mark.parametrize("text", ["", "fn=f\n1 2\n", "events: Cy Dr\nfn=f\n1 2\n"])
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"profile"):
        parse_profile(text)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Get", "Get"),
        ("Get.isra.0", "Get"),
        ("Get.part.3.constprop.1", "Get"),
        ("Get.cold", "Get"),
        ("ns::Get(int) [clone .isra.0]", "ns::Get(int)"),
        ("ns::Get(int) [clone .part.1] [clone .cold]", "ns::Get(int)"),
        ("fib'2", "fib"),
        ("fib.isra.0'2", "fib"),
        ("memcpy@@GLIBC_2.14", "memcpy"),
        ("a.part", "a"),
        ("(below main)", "(below main)"),
        ("std::vector<int>::operator[](unsigned long)", "std::vector<int>::operator[](unsigned long)"),
    ],
)
def test_normalise(name: str, plain: str) -> None:
    assert normalise(name) == plain
    assert normalise(plain) == plain


NAMES = st.sampled_from(["alpha", "beta<int>::next()", "gamma(char const*)", "delta", "epsilon"])


@given(st.lists(st.tuples(NAMES, st.lists(st.integers(0, 10**12), max_size=4)), min_size=1, max_size=20))
def test_compression_of_names_and_positions_changes_nothing(blocks: list[tuple[str, list[int]]]) -> None:
    plain, short, ids = HEADER, HEADER, dict[str, int]()
    expected: dict[str, int] = {}
    for name, costs in blocks:
        plain += f"fn={name}\n"
        known = name in ids
        ids.setdefault(name, len(ids) + 1)
        short += f"fn=({ids[name]})\n" if known else f"fn=({ids[name]}) {name}\n"
        for line, cost in enumerate(costs):
            plain += f"{line} {cost}\n"
            short += f"{line if line == 0 else '+1'} {cost}\n"
            expected[name] = expected.get(name, 0) + cost
    assert parse_profile(plain) == parse_profile(short) == Profile(sum(expected.values()), expected)


@given(st.dictionaries(NAMES, st.integers(0, 10**9)), st.dictionaries(NAMES, st.integers(0, 10**9)))
def test_slope_adds_up_and_leaves_out_what_did_not_change(start: dict[str, int], per_operation: dict[str, int]) -> None:
    def after(operations: int) -> Profile:
        names = start.keys() | per_operation.keys()
        functions = {name: start.get(name, 0) + operations * per_operation.get(name, 0) for name in names}
        return Profile(sum(functions.values()), functions)

    found = slope(after(10), after(30), 20)
    assert found.total == sum(per_operation.values())
    assert found.functions == {name: cost for name, cost in per_operation.items() if cost}
    assert found.attributed == found.functions, "without calls nothing is attributed"


def test_calls_of_an_operation_are_kept_unless_they_are_tiny() -> None:
    low = Profile(500, {"main": 500}, {("main", "open"): 300, ("main", "get"): 100, ("get", "rare"): 7})
    functions = {"main": 500, "get": 1_999_980, "rare": 20}
    calls = {("main", "open"): 300, ("main", "get"): 2_000_100, ("get", "rare"): 7 + 19, ("get", "often"): 20}
    found = slope(low, Profile(2_000_500, functions, calls), 1000)
    assert LEAST_CALL * found.total * 1000 == 20
    assert found.calls == {("main", "get"): 2000.0, ("get", "often"): 0.02}


SOURCE = """
#include <stdlib.h>
#include <string.h>
static volatile int sink;
static inline __attribute__((always_inline)) void inlined(void) { for (int i = 0; i < 50; i++) sink += i; }
static __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static __attribute__((noinline)) void once(void) { for (int i = 0; i < 1000; i++) sink += i; }
void *allocate(size_t) __asm__("_ZSt8allocatem"), release(void *) __asm__("_ZSt7releasePv");
__attribute__((noinline)) void *allocate(size_t size) { void *p = malloc(size); sink += p != 0; return p; }
__attribute__((noinline)) void release(void *p) { sink++; free(p); sink++; }
static __attribute__((noinline)) void lean(void) { sink++; }
static __attribute__((noinline)) void greedy(void) { for (int i = 0; i < 9; i++) release(allocate(100 + i)); sink++; }
static __attribute__((noinline)) void modest(void) { for (int i = 0; i < 3; i++) release(allocate(100 + i)); sink++; }
static __attribute__((noinline)) void operation(void) { inlined(); sink += fib(5); lean(); greedy(); modest(); }
int main(int argc, char **argv) {
  once();
  for (int i = 0; i < 500; i++) release(allocate(100));
  for (int n = atoi(argv[1]); n > 0; n--) operation();
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counted")
    (folder / "counted.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-o", "counted", "counted.c"], cwd=folder, check=True)
    return folder / "counted"


def test_a_real_slope_is_exact(program: Path, tmp_path: Path) -> None:
    profiles = []
    for operations in (1000, 2000, 4000):
        finished, profile = count([program, str(operations)], tmp_path / f"{operations}.out")
        assert finished.ok
        assert profile is not None
        assert sum(profile.functions.values()) == profile.total
        profiles.append(profile)
    near, far = slope(profiles[0], profiles[1], 1000), slope(profiles[1], profiles[2], 2000)
    assert near.total == pytest.approx(far.total, rel=1e-3)
    assert near.functions["fib"] == far.functions["fib"] == int(near.functions["fib"])
    assert near.functions["operation"] > 50, "inlined code belongs to the function it is inlined into"
    assert not {"inlined", "once"} & near.functions.keys()
    assert near.calls["main", "operation"] == pytest.approx(near.total - near.functions["main"], rel=1e-3)
    assert near.calls["operation", "lean"] == near.functions["lean"]
    assert not any("once" in edge for edge in near.calls)


@pytest.mark.parametrize("toggle", ["", "operation"])
def test_what_a_library_did_is_its_callers(program: Path, tmp_path: Path, toggle: str) -> None:
    profiles = []
    for operations in (1000, 3000):
        out = tmp_path / f"{operations}.out"
        assert run(command([program, str(operations)], out, toggle=toggle)).ok
        profiles.append(parse_profile(out.read_text()))
    found = slope(*profiles, 2000)
    own, attributed = found.functions, found.attributed
    library = {name for name in own if name in profiles[1].library}
    assert {"std::allocate(unsigned long)", "std::release(void*)", "malloc", "free"} <= library
    engine = {"main", "operation", "fib", "lean", "greedy", "modest"}
    assert sum(attributed.get(name, 0.0) for name in engine) == pytest.approx(found.total, rel=1e-3)
    assert all(attributed[name] == own[name] for name in ("operation", "fib", "lean"))
    in_library = sum(own[name] for name in library)
    assert attributed["greedy"] - own["greedy"] == pytest.approx(in_library * 9 / 12, rel=0.02)
    assert attributed["modest"] - own["modest"] == pytest.approx(in_library * 3 / 12, rel=0.05)


def test_totals_agree_with_callgrinds_own_tool(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _, profile = count([program, "500"], out)
    assert profile is not None
    shown = run(["callgrind_annotate", "--auto=no", "--threshold=100", str(out)]).output
    fib = sum(int(line[1].replace(",", "")) for line in re.finditer(r"^ *([\d,]+) .*:fib(?:'2)?(?: |$)", shown, re.M))
    assert profile.functions["fib"] == fib


def test_toggle_counts_only_inside_the_function(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(command([program, "200"], out, toggle="operation")).ok
    profile = parse_profile(out.read_text())
    assert {"operation", "fib"} <= profile.functions.keys()
    assert not {"once", "main"} & profile.functions.keys()


@pytest.mark.parametrize("simulations", [(Simulation.CACHE,), (Simulation.BRANCH,), tuple(Simulation)])
def test_a_simulation_is_of_one_function_too(
    program: Path, tmp_path: Path, simulations: tuple[Simulation, ...]
) -> None:
    out = tmp_path / "out"
    assert run(command([program, "200"], out, toggle="operation", simulations=simulations)).ok
    profile = parse_profile(out.read_text())
    wanted = {L1_MISSES, LL_MISSES} if Simulation.CACHE in simulations else set()
    assert profile.others.keys() == wanted | ({MISPREDICTIONS} if Simulation.BRANCH in simulations else set())
    assert all(0 < count < profile.total for count in profile.others.values())
    if Simulation.CACHE in simulations:
        assert "desc: LL cache: 8388608 B, 64 B, 16-way associative" in out.read_text()


def test_a_failing_command_has_no_profile(tmp_path: Path) -> None:
    finished, profile = count(["false"], tmp_path / "out")
    assert not finished.ok
    assert profile is None


def test_one_that_is_killed_leaves_nothing_among_temporary_files(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = command(["cat"], tmp_path / "out")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"x\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"x\n"
        process.kill()
    assert list(temporary.iterdir()) == []
