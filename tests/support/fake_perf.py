"""A program `perf` whose hardware has some events: `perf stat` of a command or of a process, and nothing else."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cpubisect.workloads.counters.hardware import supported

PER_READ = {"cycles:u": 900, "instructions:u": 700, "branch-misses:u": 5, "cache-misses:u": 3}
"""What each operation of a small db_bench is said to cost, which has so many as its `--reads`."""

_PROGRAM = """\
#!{python}
import os, re, signal, subprocess, sys
per_read, had = {per_read}, {had}
options, _, command = " ".join(sys.argv[1:]).partition(" -- ")
events = re.search("-e ([^ ]+)", options)[1].split(",")
out = re.search("-o ([^ ]+)", options)[1]
with open({log!r}, "a") as log:
    log.write(" ".join(events) + "\\n")
reads, status = 1000, 0

def write(*_):
    with open(out, "w") as file:
        file.write("# started on a day\\n\\n")
        for event in events:
            number = str(reads * per_read[event]) if event in had else "<not supported>"
            file.write(number + ",," + event + ",1000,100.00,,\\n")

if command:
    words = sys.argv[sys.argv.index("--") + 1 :]
    reads = next((int(word.partition("=")[2]) for word in words if word.startswith("--reads=")), reads)
    status = subprocess.run(words).returncode
else:
    signal.signal(signal.SIGINT, lambda *_: (write(), os._exit(0)))
    control, answers = re.search("--control=fifo:([^,]+),([^ ]+)", options).groups()
    with open(control) as asked, open(answers, "w") as answer:
        for _ in asked:
            answer.write("ack\\n")
            answer.flush()
write()
sys.exit(status)
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, has: Sequence[str] = tuple(PER_READ)) -> Path:
    """Put it before all other programs, with the events that its hardware `has`; returns the file in which each of its
    calls leaves a line of the events that it was asked for."""
    log = folder / "perf.asked"
    program = folder / "perf"
    program.write_text(_PROGRAM.format(python=sys.executable, per_read=PER_READ, had=tuple(has), log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    supported.cache_clear()
    return log
