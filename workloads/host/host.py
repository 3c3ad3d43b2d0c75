"""The probe host: what it is (`fingerprint`, stored with every bisection) and how fit it is (`examine`)."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cpubisect.base.tools import Header, Tool
from cpubisect.workloads.check import Check, Files, Status
from cpubisect.workloads.counters.choice import every_counter
from cpubisect.workloads.host import knobs, noise
from cpubisect.workloads.host import tools as host_tools

__all__ = ["Check", "Status", "examine", "fingerprint"]

_KNOBS = (
    knobs.governor,
    knobs.turbo,
    knobs.smt,
    knobs.aslr,
    knobs.pinning,
    knobs.load,
    knobs.memory,
)
# Quiet hardware with a fixed clock stays below this; more, and steps of a few percent need many repeats.
_QUIET_CV_PERCENT = 1.0
_PAIRS = 10


def fingerprint(files: Files | None = None) -> dict[str, str | int]:
    """What the numbers depend on: numbers of two hosts with different fingerprints are not comparable.

    Memory is in MiB; a value that this system does not tell is an empty string.
    """
    files = files or Files()
    return {
        "cpu": _cpu_model(files),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "system": _system(files),
        "memory_mib": knobs.meminfo_bytes(files.text("proc/meminfo") or "", "MemTotal") >> 20,
        "virtualised": _virtualised(files),
        "governor": files.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "",
        "turbo": knobs.turbo(files).found.partition(":")[0],
        "smt": knobs.smt(files).found.partition(":")[0],
        "libc": " ".join(platform.libc_ver()),
        "valgrind": host_tools.version("valgrind"),
        "sysbench": host_tools.version("sysbench"),
    }


def examine(
    root: Path,
    preferences: Mapping[str, Sequence[Sequence[str]]],
    tools: Sequence[Tool],
    headers: Sequence[Header],
    files: Files | None = None,
) -> list[Check]:
    """Every check: `root` is where builds and databases go, `preferences` are, by engine, lists of toolchain names of
    which its builds need one each; `tools` and `headers` are what builds and tests of all engines need.

    Takes 5–10 s: counters, headers and noise are tried for real.
    """
    files = files or Files()
    counters = every_counter()
    wanted = (*host_tools.TOOLS, *tools, *(tool for counter in counters for tool in counter.tools))
    programs = {tool.program: tool for tool in reversed(wanted)}
    return [
        *(knob(files) for knob in _KNOBS),
        *(counter.check(files) for counter in counters),
        knobs.disk(root),
        judge_noise(noise.measure()),
        *(host_tools.tool(programs[program]) for program in dict.fromkeys(tool.program for tool in wanted)),
        *host_tools.compilers(preferences),
        *host_tools.headers(headers, host_tools.toolchains(preferences)),
    ]


def judge_noise(measured: noise.Noise) -> Check:
    """The A/A measurement as a finding, with the step that CPU time could show."""
    step = measured.visible_step_percent(_PAIRS)
    found = (
        f"CV {measured.cv_percent:.1f} % over {measured.runs} runs of a fixed loop: "
        f"{_PAIRS} interleaved pairs show steps from {step:.1f} %"
    )
    status = Status.OK if measured.cv_percent <= _QUIET_CV_PERCENT else Status.WARN
    return Check("CPU time noise", status, found)


def _cpu_model(files: Files) -> str:
    match = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", files.text("proc/cpuinfo") or "", re.MULTILINE)
    return match[1].strip() if match else platform.processor()


def _system(files: Files) -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', files.text("etc/os-release") or "", re.MULTILINE)
    return match[1] if match else platform.system()


def _virtualised(files: Files) -> str:
    if re.search(r"^flags\s*:.*\bhypervisor\b", files.text("proc/cpuinfo") or "", re.MULTILINE):
        return files.text("sys/class/dmi/id/sys_vendor") or "yes"
    return "no"
