"""Servers, clients and profilers in the sandbox: MariaDB with sysbench and callgrind, and a small db_bench."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from mariadb_artifact import SMALL, link_artifact, server_version, small_options

from cpubisect.base.metrics import INSTRUCTIONS, QPS, Counter
from cpubisect.base.process import run
from cpubisect.base.sandbox.policy import Kind
from cpubisect.base.version import Version
from cpubisect.workloads import db_bench, sysbench
from cpubisect.workloads.db_bench_tests import TESTS as BENCH_TESTS
from cpubisect.workloads.mysql.installation import Installation, Place, initialise, short_directory
from cpubisect.workloads.mysql.server import Server
from cpubisect.workloads.mysql.tests import TESTS
from cpubisect.workloads.probe import ProbeError, ProbeRequest

NAMESPACES = ("ipc", "mnt", "net", "pid", "user", "uts")
QUICK = {"rows": "200", "repeats": "1", "samples": "1"}


def test_a_server_is_alone_and_is_reached_by_its_socket(tmp_path: Path) -> None:
    installation = Installation.find(link_artifact(tmp_path / "artifact"), server_version(), Kind.BUBBLEWRAP)
    with short_directory(tmp_path) as sockets:
        place = Place.below(tmp_path, sockets, "one")
        initialise(installation, place, small_options())
        with Server(installation, place, small_options()) as server:
            other = {name for name in NAMESPACES if _namespace(server.pid, name) != _namespace(os.getpid(), name)}
            assert other == {*NAMESPACES}
            assert server.variables()["skip_networking"] == "ON"
            with server.cursor() as cursor:
                cursor.execute("SELECT LOAD_FILE('/etc/hostname'), LOAD_FILE('/etc/passwd')")
                assert cursor.fetchone() == (None, None)
            seen = run(["ls", str(tmp_path), f"/proc/{server.pid}/root{tmp_path}"])
            assert "artifact" in seen.output
            assert {path.name for path in Path(f"/proc/{server.pid}/root{place.own.parent}").iterdir()} == {"own"}
            server.stop()


def _namespace(pid: int, name: str) -> str:
    return str(Path(f"/proc/{pid}/ns/{name}").readlink())


@pytest.mark.long
def test_a_probe_counts_the_same_in_the_sandbox(tmp_path: Path) -> None:
    artifact = link_artifact(tmp_path / "artifact")
    test = next(test for test in TESTS if test.name == "point-query")
    given = {name: value for name, value in QUICK.items() if name in test.parameters}
    parameters = {**test.parameters, **given, **{f"mysqld.{name}": value for name, value in SMALL.items()}}
    counted = {}
    for kind in Kind:
        (tmp_path / kind).mkdir()
        request = ProbeRequest(
            *(artifact, server_version(), test, parameters, Counter.CALLGRIND, tmp_path / kind),
            sandbox=kind,
        )
        samples = sysbench.WORKLOAD.probe(request)
        counted[kind] = samples.values[INSTRUCTIONS][0]
        assert samples.values[QPS][0] > 0
        assert any("dispatch" in name for name in samples.profile)
    assert counted[Kind.BUBBLEWRAP] == pytest.approx(counted[Kind.NONE], rel=1e-3)


SMALL_BENCH = Path(__file__).parent / "small_bench.c"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    compiler = shutil.which("cc") or ""
    (tmp_path / "artifact").mkdir()
    (tmp_path / "cost.h").write_text("#define LOOKUP 100\n")
    words = [compiler, "-O1", "-w", "-include", str(tmp_path / "cost.h"), "-o", str(tmp_path / "artifact/db_bench")]
    subprocess.run([*words, str(SMALL_BENCH)], check=True)
    return tmp_path / "artifact"


def request(artifact: Path, scratch: Path, kind: Kind, more: Mapping[str, str]) -> ProbeRequest:
    test = next(test for test in BENCH_TESTS if test.name == "readrandom")
    small = {"rows": "100", "repeats": "1", "instructions_ops": "100,300", "clock_ops": "100,2000"}
    parameters = {**test.parameters, **small, "load": "filluniquerandom", **more}
    scratch.mkdir()
    return ProbeRequest(artifact, Version((1, 1, 1)), test, parameters, Counter.CALLGRIND, scratch, sandbox=kind)


def test_db_bench_counts_the_same_in_the_sandbox(bench: Path, tmp_path: Path) -> None:
    counted = {
        kind: db_bench.WORKLOAD.probe(request(bench, tmp_path / kind, kind, {})).values[INSTRUCTIONS][0]
        for kind in Kind
    }
    assert counted[Kind.BUBBLEWRAP] == pytest.approx(counted[Kind.NONE], rel=1e-3)


@pytest.mark.parametrize("left", ["a link out", "a pipe", "a link for the copy"])
def test_a_database_is_copied_from_its_own_place_alone(bench: Path, tmp_path: Path, left: str) -> None:
    """What loads leaves something else than a database: a later run must not see what that leads to."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret").write_text("private")
    away = f'rm -rf "$own/loaded"; ln -s {tmp_path}/private "$own/loaded"'
    does = {
        "a link out": away,
        "a pipe": 'mkfifo "$own/loaded/pipe"',
        "a link for the copy": f'ln -sfn {tmp_path}/private "$own/db"',
    }[left]
    (bench / "db_bench").rename(bench / "real")
    script = f'#!/bin/sh\ncd "$(dirname "$0")"\n./real "$@" || exit\nown={tmp_path}/scratch/own\n{does}\n'
    (bench / "db_bench").write_text(script + 'if grep -rq private "$own"/db/*; then echo reached >&2; exit 9; fi\n')
    (bench / "db_bench").chmod(0o755)
    asked = request(bench, tmp_path / "scratch", Kind.BUBBLEWRAP, {})
    with contextlib.suppress(ProbeError):
        db_bench.WORKLOAD.probe(asked)
    assert "reached" not in (asked.scratch / "db_bench.log").read_text()
    assert (tmp_path / "private" / "secret").read_text() == "private"
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["secret"]
