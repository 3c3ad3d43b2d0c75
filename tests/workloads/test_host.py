import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.tools import Header, Tool
from cpubisect.workloads.check import Check, Files, Status
from cpubisect.workloads.host import knobs, noise, tools
from cpubisect.workloads.host.host import examine, fingerprint, judge_noise

CPU = "sys/devices/system/cpu"
HEADERS = (Header("gflags/gflags.h", "libgflags-dev", "db_bench"), Header("libaio.h", "libaio-dev", "a server"))


@pytest.fixture
def tree(tmp_path: Path) -> Files:
    return Files(tmp_path)


def put(files: Files, path: str, text: str) -> None:
    (files.root / path).parent.mkdir(parents=True, exist_ok=True)
    (files.root / path).write_text(text + "\n")


@pytest.mark.parametrize(("governor", "status"), [("performance", Status.OK), ("powersave", Status.WARN)])
def test_governor(tree: Files, governor: str, status: Status) -> None:
    put(tree, f"{CPU}/cpu0/cpufreq/scaling_governor", governor)
    check = knobs.governor(tree)
    assert check.status is status
    assert governor in check.found
    assert bool(check.fix) == (status is Status.WARN)


@pytest.mark.parametrize(
    ("path", "text", "status"),
    [
        ("intel_pstate/no_turbo", "0", Status.WARN),
        ("intel_pstate/no_turbo", "1", Status.OK),
        ("cpufreq/boost", "1", Status.WARN),
        ("cpufreq/boost", "0", Status.OK),
    ],
)
def test_turbo(tree: Files, path: str, text: str, status: Status) -> None:
    put(tree, f"{CPU}/{path}", text)
    check = knobs.turbo(tree)
    assert check.status is status
    assert (path in check.fix) == (status is Status.WARN)


@pytest.mark.parametrize(("active", "status"), [("1", Status.WARN), ("0", Status.OK)])
def test_smt(tree: Files, active: str, status: Status) -> None:
    put(tree, f"{CPU}/smt/active", active)
    assert knobs.smt(tree).status is status


def test_knobs_a_virtual_machine_does_not_show(tree: Files) -> None:
    for knob in (knobs.governor, knobs.turbo, knobs.smt):
        assert knob(tree).status is Status.OK


@pytest.mark.parametrize("value", ["0", "2"])
def test_aslr_is_switched_off_by_each_probe(tree: Files, value: str) -> None:
    put(tree, "proc/sys/kernel/randomize_va_space", value)
    assert knobs.aslr(tree).status is Status.OK


@pytest.mark.parametrize(("average", "status"), [("0.00", Status.OK), ("9999.5", Status.WARN)])
def test_load(tree: Files, average: str, status: Status) -> None:
    put(tree, "proc/loadavg", f"{average} 0.5 0.2 1/100 4242")
    assert knobs.load(tree).status is status


@pytest.mark.parametrize(("kib", "status"), [(8 << 20, Status.OK), (3 << 20, Status.WARN), (1 << 20, Status.MISSING)])
def test_memory(tree: Files, kib: int, status: Status) -> None:
    put(tree, "proc/meminfo", f"MemTotal:       99999999 kB\nMemAvailable:   {kib} kB")
    check = knobs.memory(tree)
    assert check.status is status
    assert check.found == f"{kib / (1 << 20):.1f} GiB"


def test_disk_of_a_place_that_is_yet_to_be_made(tmp_path: Path) -> None:
    before = shutil.disk_usage(tmp_path).free >> 30
    check = knobs.disk(tmp_path / "not" / "there")
    after = shutil.disk_usage(tmp_path).free >> 30
    assert str(tmp_path) in check.found
    # Whoever else writes there may do so meanwhile.
    assert min(before, after) - 1 <= int(check.found.split()[0]) <= max(before, after) + 1


def test_pinning() -> None:
    check = knobs.pinning(Files())
    assert check.status is (Status.OK if len(os.sched_getaffinity(0)) > 1 else Status.WARN)


def test_a_tool_that_is_there_and_one_that_is_not() -> None:
    there = tools.tool(Tool("git", "git", "everything"))
    assert there.status is Status.OK
    assert there.found[0].isdigit()
    for vital, status in ((True, Status.MISSING), (False, Status.WARN)):
        gone = tools.tool(Tool("no-such-tool", "no-such-package", "nothing", vital))
        assert gone.status is status
        assert gone.fix == "apt-get install -y no-such-package"


@pytest.mark.parametrize(
    ("name", "programs"),
    [("gcc", ("gcc", "g++")), ("gcc-12", ("gcc-12", "g++-12")), ("clang-14", ("clang-14", "clang++-14"))],
)
def test_programs_of_a_toolchain(name: str, programs: tuple[str, str]) -> None:
    assert tools.programs(name) == programs


def test_compilers() -> None:
    here, others = tools.compilers({"kv": [["gcc-3", "gcc", "clang-3"]]})
    assert (here.name, here.status) == ("gcc", Status.OK)
    assert here.found[0].isdigit()
    assert others == Check("other compilers", Status.OK, "gcc-3, clang-3 are not here")


@pytest.mark.parametrize(("wanted", "package"), [("gcc-3", "g++-3"), ("clang-3", "clang-3")])
def test_an_engine_without_a_compiler_is_a_gap_whatever_others_have(wanted: str, package: str) -> None:
    preferences = {"kv": [["gcc"]], "old": [["gcc"], [wanted, "gcc-2"]]}
    (gap,) = (check for check in tools.compilers(preferences) if check.status is Status.MISSING)
    assert gap.name == "compilers for old"
    assert f"none of {wanted}, gcc-2" in gap.found
    assert gap.fix == f"apt-get install -y {package}"


def test_headers_are_asked_of_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for header in HEADERS:
        (tmp_path / header.path).parent.mkdir(exist_ok=True)
        (tmp_path / header.path).touch()
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path))
    assert [check.status for check in tools.headers(HEADERS, ["gcc"])] == [Status.OK] * len(HEADERS)
    gflags = tmp_path / HEADERS[0].path
    gflags.write_text("#error broken\n")
    broken = tools.headers(HEADERS, ["gcc"])[0]
    assert broken.status is Status.MISSING
    assert broken.fix == "apt-get install -y libgflags-dev"


@given(st.floats(0.01, 50), st.integers(1, 50))
def test_visible_step_follows_noise_and_repeats(cv: float, pairs: int) -> None:
    step = noise.Noise(cv, 20).visible_step_percent(pairs)
    assert noise.Noise(2 * cv, 20).visible_step_percent(pairs) == pytest.approx(2 * step)
    assert noise.Noise(cv, 20).visible_step_percent(4 * pairs) == pytest.approx(step / 2)


def test_visible_step_of_a_known_case() -> None:
    # 2.878 + 0.842 standard errors of a difference of two means of ten.
    assert noise.Noise(1.0, 20).visible_step_percent(10) == pytest.approx(3.720 * (2 / 10) ** 0.5, abs=0.001)


def test_noise_is_measured_and_judged() -> None:
    measured = noise.measure()
    assert measured.cv_percent > 0
    assert 5 <= measured.runs <= 20
    assert f"{measured.runs} runs" in judge_noise(measured).found
    assert judge_noise(noise.Noise(0.5, 20)).status is Status.OK
    assert judge_noise(noise.Noise(5.0, 20)).status is Status.WARN


def test_fingerprint_of_a_known_machine(tree: Files) -> None:
    put(tree, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU 9000\nflags\t\t: fpu hypervisor sse2")
    put(tree, "proc/meminfo", "MemTotal:       2097152 kB")
    put(tree, "etc/os-release", 'NAME="X"\nPRETTY_NAME="Some Linux 12"')
    put(tree, "sys/class/dmi/id/sys_vendor", "QEMU")
    put(tree, f"{CPU}/cpu0/cpufreq/scaling_governor", "performance")
    put(tree, f"{CPU}/intel_pstate/no_turbo", "0")
    put(tree, f"{CPU}/smt/active", "1")
    shown = fingerprint(tree)
    assert shown["cpu"] == "Some CPU 9000"
    assert shown["memory_mib"] == 2048
    assert shown["system"] == "Some Linux 12"
    assert shown["virtualised"] == "QEMU"
    assert (shown["governor"], shown["turbo"], shown["smt"]) == ("performance", "on", "on")


def test_fingerprint_of_this_machine_is_stable_and_storable() -> None:
    first = fingerprint()
    assert first == fingerprint()
    assert json.loads(json.dumps(first)) == first
    assert first["kernel"]
    assert first["libc"]


def test_examine_reports_every_check_with_a_fix_for_what_is_missing(tmp_path: Path) -> None:
    tools = [Tool("cmake", "cmake", "this"), Tool("ninja", "ninja-build", "this"), Tool("bison", "bison", "this")]
    again = Tool("cmake", "another", "that")
    checks = examine(tmp_path, {"kv": [["gcc", "gcc-3"]]}, [*tools, again, Tool("sysbench", "sysbench", "it")], HEADERS)
    names = [check.name for check in checks]
    assert len(names) == len(set(names))
    expected = {"CPU governor", "turbo", "SMT", "ASLR", "load", "free disk", "free memory", "CPU pinning"}
    expected |= {"hardware counters", "callgrind", "CPU time noise", "ccache", "sysbench", "cmake", "ninja", "bison"}
    assert expected | {"gcc", "other compilers", "gflags/gflags.h", "libaio.h"} <= set(names)
    for check in checks:
        assert check.found
        assert "\n" not in check.found + check.fix
        if check.status is Status.MISSING:
            assert check.fix
