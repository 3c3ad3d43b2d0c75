import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpubisect.example.history import Generated, generate
from cpubisect.workloads.counters import callgrind, counting

pytestmark = pytest.mark.xdist_group("minikv")

READS = ("readrandom", "readseq", "seekrandom", "readwhilewriting", "seekrandomwhilewriting")
WRITES = ("fillseq", "fillrandom", "filluniquerandom", "overwrite", "mergerandom")
SMALL = ("--num=2000", "--value_size=200", "--write_buffer_size=65536", "--seed=7")


@dataclass(frozen=True)
class Built:
    """Trees in which the two ends of the example were built."""

    good: Path
    bad: Path


def check_out(example: Generated, commit: str, target: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", example.path, target], check=True)
    return switch(target, commit)


def switch(tree: Path, commit: str) -> Path:
    subprocess.run(["git", "-C", tree, "checkout", "--quiet", "--detach", commit], check=True)
    subprocess.run(["git", "-C", tree, "clean", "--quiet", "-xd", "--force"], check=True)
    return tree


def make(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    return subprocess.run(
        ["make", "CXX=g++", *words], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    return generate(tmp_path_factory.mktemp("example") / "minikv")


@pytest.fixture(scope="module")
def built(example: Generated, tmp_path_factory: pytest.TempPathFactory) -> Built:
    place = tmp_path_factory.mktemp("built")
    trees = [check_out(example, tag, place / tag) for tag in (example.good, example.bad)]
    for tree in trees:
        result = make(tree, "-j2", "db_bench", "EXTRA_CXXFLAGS=-Werror")
        assert result.returncode == 0, result.stderr
    return Built(*trees)


def bench(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tree / "db_bench", *words], cwd=tree, capture_output=True, text=True, check=False)


def operations(output: str) -> dict[str, int]:
    lines = re.findall(
        r"^(\w+) +: +[\d.]+ micros/op \d+ ops/sec [\d.]+ seconds (\d+) operations;", output, re.MULTILINE
    )
    return {name: int(count) for name, count in lines}


@pytest.mark.parametrize("end", ["good", "bad"])
def test_every_benchmark_runs_at_both_ends(built: Built, end: str, tmp_path: Path) -> None:
    tree = built.good if end == "good" else built.bad
    names = (*WRITES, *READS)
    result = bench(tree, f"--benchmarks={','.join(names)}", f"--db={tmp_path}", "--seek_nexts=5", *SMALL)
    assert result.returncode == 0, result.stderr
    assert operations(result.stdout) == dict.fromkeys(names, 2000)


def test_a_closed_database_is_read_again(built: Built, tmp_path: Path) -> None:
    database = f"--db={tmp_path / 'db'}"
    fill = bench(built.good, "--benchmarks=filluniquerandom", database, *SMALL)
    assert fill.returncode == 0
    read = bench(built.good, "--benchmarks=fillseq,readrandom", database, "--use_existing_db=1", "--reads=300", *SMALL)
    assert operations(read.stdout) == {"readrandom": 300}
    assert "(300 of 300 found)" in read.stdout
    assert "fillseq      : skipped" in read.stdout
    absent = bench(built.good, f"--db={tmp_path / 'other'}", "--use_existing_db", *SMALL)
    assert (absent.returncode, absent.stdout) == (1, "")
    assert "no database there" in absent.stderr


def test_one_seed_writes_the_same_files(built: Built, tmp_path: Path) -> None:
    for name in ("one", "two"):
        bench(built.bad, "--benchmarks=fillrandom,overwrite,mergerandom", f"--db={tmp_path / name}", *SMALL)
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert any(name.endswith(".tbl") for name in one)


def test_threads_share_the_work_and_writers_count_theirs(built: Built, tmp_path: Path) -> None:
    words = ("--benchmarks=fillseq,compact,readrandom,readwhilewriting", "--threads=3", "--reads=100", "--writes=50")
    result = bench(built.bad, *words, "--finish_after_writes", f"--db={tmp_path}", *SMALL)
    counts = operations(result.stdout)
    assert (counts["fillseq"], counts["readrandom"], counts["readwhilewriting"]) == (150, 300, 300)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--compression_type=none",), "unknown command line flag 'compression_type'"),
        (("--noverify", "--undefok=compression_type"), "unknown command line flag 'noverify'"),
        (("--num=many",), "illegal value"),
        (("--num",), "missing its argument"),
        (("stray",), "unexpected argument"),
        (("--benchmarks=levitate",), "unknown benchmark 'levitate'"),
    ],
)
def test_what_is_not_understood_is_refused(
    built: Built, words: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    result = bench(built.bad, f"--db={tmp_path}", *words)
    assert result.returncode == 1
    assert complaint in result.stderr


def test_a_listed_unknown_flag_is_ignored(built: Built, tmp_path: Path) -> None:
    words = ("--compression_type=none", "--noverify", "--undefok=compression_type,noverify", "--nodisable_wal")
    result = bench(built.bad, f"--db={tmp_path}", "--benchmarks", "fillseq", *words, *SMALL)
    assert operations(result.stdout) == {"fillseq": 2000}


def test_the_engine_passes_its_own_tests_at_the_bad_end(built: Built) -> None:
    result = make(built.bad, "-j2", "check")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "ok"


def test_no_include_makes_the_dead_commits_build(example: Generated, tmp_path: Path) -> None:
    tree = check_out(example, example.bad, tmp_path / "tree")
    for commit in example.unbuildable:
        switch(tree, commit)
        result = make(tree, "db/db_impl.o", "OPT=-O0")
        assert result.returncode != 0
        assert "no matching function for call to 'minikv::Table::Open(" in result.stderr


def test_the_repairable_commits_lack_one_include(example: Generated, tmp_path: Path) -> None:
    tree = check_out(example, example.bad, tmp_path / "tree")
    for commit in example.repairable:
        switch(tree, commit)
        if commit in example.main_line:
            name, target, header = "Crc32", "db/manifest.o", "util/crc32.h"
        else:
            name, target, header = "LONG_MAX", "util/file.o", "climits"
        failed = make(tree, target, "OPT=-O0")
        assert failed.returncode != 0
        assert f"'{name}' was not declared in this scope" in failed.stderr
        assert ("did you forget to '#include <climits>'" in failed.stderr) == (header == "climits")
        repaired = make(tree, target, "OPT=-O0", f"EXTRA_CXXFLAGS=-include {header}")
        assert repaired.returncode == 0, repaired.stderr
    assert example.culprit in example.repairable


def test_a_seek_costs_far_more_at_the_bad_end(built: Built, tmp_path: Path) -> None:
    costs = []
    for tree in (built.good, built.bad):
        database = tmp_path / tree.name
        settings = (f"--db={database}", "--num=1000", "--value_size=1024", "--write_buffer_size=131072", "--seed=3")
        assert bench(tree, "--benchmarks=filluniquerandom", "--disable_auto_compactions", *settings).returncode == 0
        # The first reopening turns the log into a file, after which both runs find the same files.
        bench(tree, "--benchmarks=readrandom", "--use_existing_db", "--reads=1", *settings)
        profiles = []
        for reads in (50, 150):
            command = [tree / "db_bench", "--benchmarks=seekrandom", "--use_existing_db", f"--reads={reads}", *settings]
            finished, profile = callgrind.count(command, tmp_path / f"{tree.name}-{reads}.out")
            assert profile is not None, finished.output
            profiles.append(profile)
        costs.append(counting.slope(profiles[0], profiles[1], 100).total)
    assert costs[1] > 1.1 * costs[0]
