"""The bundle has everything, is the same each time, and its script measures again for real."""

import csv
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from told import Told, told

from cpubisect.records import queries
from cpubisect.report import bundle
from cpubisect.report.reproduction import ENDS_ONLY, cases
from cpubisect.search.verdict import Answer, Kind
from cpubisect.views.bisection import Bisection
from cpubisect.views.gather import gather

pytestmark = pytest.mark.xdist_group("bundle")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[Told]:
    with told(tmp_path_factory.mktemp("told"), compiler_cache) as one:
        yield one


@pytest.fixture(scope="module")
def packed(found: Told) -> bytes:
    file = io.BytesIO()
    bundle.write(found.registry, found.bisection, file)
    return file.getvalue()


def members(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {one.name.partition("/")[2]: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]


def unpacked(packed: bytes, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    (only,) = folder.iterdir()
    return only


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """`bisect`, as it would be installed."""
    path = tmp_path / "a program" / "bisect"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m cpubisect.cli "$@"\n')
    path.chmod(0o755)
    return path


def again(script: Path, program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BISECT": str(program), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("REPOSITORY", None)
    return subprocess.run(
        [script, *words], cwd=script.parent.parent, env=environment, capture_output=True, text=True, check=False
    )


def saying(found: Told, **fields: Any) -> Bisection:
    """The bisection, if its verdict said something else."""
    told = gather(found.registry, found.bisection)
    assert told.verdict
    verdicts = {test: replace(verdict, **fields) for test, verdict in told.verdict.tests.items()}
    return replace(told, verdict=Answer.of(verdicts, told.tests))


def test_everything_is_in_it_in_one_folder(found: Told, packed: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        names = archive.getnames()
        assert archive.getmember(f"{names[0].partition('/')[0]}/reproduce.sh").mode == 0o755
    assert names == sorted(names)
    assert {name.partition("/")[0] for name in names} == {f"cpubisect-{found.bisection}-{found.shas[4][:12]}"}
    inside = members(packed).keys()
    culprit = found.shas[4]
    assert inside >= {
        "README.txt", "report.txt", "report.md", "report.html", "report.json", "chart.svg", "chart.png", "samples.csv",
        "reproduce.sh", f"recipes/{culprit}.json", f"logs/{culprit}.log", f"profiles/{found.shas[1]}-readrandom.json",
        f"commands/{culprit}-readrandom.txt", "matrix/compiler-matrix.yaml",
    }  # fmt: skip


def test_the_same_bisection_gives_the_same_bytes(found: Told, packed: bytes) -> None:
    file = io.BytesIO()
    bundle.write(found.registry, found.bisection, file)
    assert file.getvalue() == packed


def test_every_sample_is_in_the_table(found: Told, packed: bytes) -> None:
    rows = list(csv.DictReader(io.StringIO(members(packed)["samples.csv"].decode())))
    assert rows[0].keys() == set(bundle.COLUMNS)
    stored = queries.samples(found.registry.store, found.bisection)
    assert len(rows) == sum(len(values) for row in stored for values in row.values.values())
    first = next(row for row in rows if row["metric"] == "instructions/query")
    assert float(first["value"]) in [v for row in stored for v in row.values.get("instructions/query", ())]


def test_no_path_of_the_home_is_in_logs_and_commands(found: Told, packed: bytes) -> None:
    home = str(found.registry.home.root).encode()
    for name, content in members(packed).items():
        if name.startswith(("logs/", "commands/")):
            assert home not in content, name


def test_the_script_reproduces_the_step_from_a_clean_clone_and_no_other(
    packed: bytes, program: Path, tmp_path: Path
) -> None:
    folder = unpacked(packed, tmp_path / "out")
    script = folder / "reproduce.sh"
    done = again(script, program, "--directory", "again here")
    assert done.returncode == 0, done.stderr
    assert "recorded" in done.stdout
    assert "re-measured" in done.stdout
    assert "  reproduced: they differ by 0." in done.stdout
    assert (folder.parent / "again here" / "home" / "store.sqlite").is_file()
    (case,) = cases(Bisection.from_json(json.loads((folder / "report.json").read_text())))
    assert str(case.percent) in script.read_text()
    script.write_text(script.read_text().replace(str(case.percent), str(case.percent + 9)))
    # What was measured is not measured once more: only another step was recorded.
    program.write_text(f"#!/bin/sh\ncat '{folder.parent}/again here/case-1.json'\n")
    done = again(script, program)
    assert done.returncode == 1, done.stderr
    assert "  not reproduced: they differ by " in done.stdout


@pytest.mark.long
def test_without_a_culprit_only_the_ends_are_measured(found: Told, program: Path, tmp_path: Path) -> None:
    data = saying(found, kind=Kind.ONE_OF, culprits=())
    (case,) = cases(replace(data, counter="callgrind"))
    assert case.options[case.options.index("--min-step") + 1] == str(ENDS_ONLY)
    assert case.options[case.options.index("--counter") + 1] == "callgrind"
    script = tmp_path / "out" / "only" / "reproduce.sh"
    script.parent.mkdir(parents=True)
    script.write_text(bundle._script(data))
    script.chmod(0o755)
    done = again(script, program)
    assert done.returncode == 0, done.stderr
    (report,) = (tmp_path / "out").glob("cpubisect-again.*/case-1.json")
    assert json.loads(report.read_text())["totals"]["builds"] == 2


def test_the_script_explains_itself_and_what_is_missing(packed: bytes, program: Path, tmp_path: Path) -> None:
    script = unpacked(packed, tmp_path / "out") / "reproduce.sh"
    helped = again(script, program, "--help")
    assert helped.returncode == 0
    assert "REPOSITORY" in helped.stdout
    for words, says in (
        (("--nonsense",), "--nonsense"),
        (("--tolerance", "much"), "much"),
        (("--directory",), "needs a value"),
        ((str(tmp_path / "no clone"),), "cannot clone"),
    ):
        done = again(script, program, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
    nowhere = again(script, tmp_path / "not there")
    assert nowhere.returncode == 2
    assert "install cpubisect" in nowhere.stderr


def test_a_clone_without_the_commits_is_refused(packed: bytes, program: Path, tmp_path: Path) -> None:
    script = unpacked(packed, tmp_path / "out") / "reproduce.sh"
    other = tmp_path / "other"
    subprocess.run(["git", "init", "--quiet", other], check=True)
    done = again(script, program, str(other))
    assert done.returncode == 2
    assert "is not in" in done.stderr


def test_a_verdict_of_nothing_measured_has_nothing_to_measure_again(found: Told, program: Path, tmp_path: Path) -> None:
    data = saying(found, kind=Kind.UNBUILDABLE, culprits=(), ends={})
    assert cases(data) == []
    script = tmp_path / "reproduce.sh"
    script.write_text(bundle._script(data))
    script.chmod(0o755)
    done = again(script, program)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing was measured" in done.stderr


def test_a_servers_configuration_is_read_off_its_command_line() -> None:
    commands = [
        "valgrind /a/mysqld --no-defaults --datadir=/d --loose-sync_binlog=0",
        "sysbench run",
        "taskset -c 1 /a/mysqld --no-defaults --basedir=/a --datadir=/d --loose-skip_log_bin --init-connect=SET x = 1 "
        "--loose-sql_mode=NO_ENGINE_SUBSTITUTION",
        "sysbench run",
    ]
    assert bundle.server_config_of(commands).splitlines()[1:] == [
        "[mysqld]",
        "loose-skip_log_bin",
        "init-connect=SET x = 1",
        "loose-sql_mode=NO_ENGINE_SUBSTITUTION",
    ]
    assert bundle.server_config_of(["db_bench --benchmarks=x"]) == ""
