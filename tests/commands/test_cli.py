"""What a user types and reads; every mistake gets one line that says what to do, and exit code 2."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from questions import question

from cpubisect.base.metrics import Counter
from cpubisect.builders.recipes.matrix import locate_matrix
from cpubisect.cli import main
from cpubisect.example.history import Generated
from cpubisect.records.queries import count
from cpubisect.records.store import Store
from cpubisect.run.bench import here

COMMANDS = ["start", "list", "status", "log", "suspects", "resume", "cancel", "report"]
COMMANDS += ["artifacts", "tests", "doctor", "serve", "worker", "attach", "compare", "store"]


def bisect(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def refused(*words: str, says: str) -> str:
    """The one line a refused command prints."""
    result = bisect(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("bisect: ")
    assert says in line
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = bisect(command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.output


@pytest.mark.parametrize("command", ["status", "cancel", "resume", "report", "log", "suspects"])
@pytest.mark.parametrize("number", ["7", "99999999999999999999"])
def test_a_bisection_that_is_not_there_is_one_line(home: Path, command: str, number: str) -> None:
    refused(command, number, says=f"there is no bisection {number}")


def test_the_main_help_has_examples_and_exit_codes() -> None:
    output = bisect("--help").output
    assert "bisect start 5.6.51 5.7.44 --test point-query" in output
    assert "130" in output


def test_an_unknown_version_names_the_nearest(home: Path, example: Generated) -> None:
    line = refused("start", "v1.0.0", "v1.9.0", "--test", "seekrandom", "--repo", str(example.path), says="1.9.0")
    assert "1.4.0" in line


def test_good_equal_to_bad(home: Path, example: Generated) -> None:
    refused("start", "v1.1.0", "v1.1.0", "--test", "seekrandom", "--repo", str(example.path), says="same commit")


def test_reversed_order(home: Path, example: Generated) -> None:
    line = refused("start", "v1.4.0", "v1.0.0", "--test", "seekrandom", "--repo", str(example.path), says="older")
    assert "swap" in line


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--nosuch", "No such option"),
        ("nosuch", "No such command"),
        ("start v1.0.0", "Missing argument 'BAD'"),
        ("start v1.0.0 v1.4.0", "Missing option '--test'"),
        ("start v1.0.0 v1.4.0 --test seekrandom --rows 0", "--rows"),
        ("start v1.0.0 v1.4.0 --test seekrandom --min-step nan", "finite"),
        ("start v1.0.0 v1.4.0 --test seekrandom --set rows", "NAME=VALUE"),
        ("report seven", "not a valid integer"),
        ("report 1 --format pdf", "'markdown'"),
    ],
)
def test_what_no_command_takes(words: str, says: str) -> None:
    assert "--help` says more" in refused(*words.split(), says=says)


def test_flags_of_a_release_that_the_matrix_does_not_know(home: Path, example: Generated, tmp_path: Path) -> None:
    matrix = tmp_path / "own.yaml"
    matrix.write_text(locate_matrix().read_text().replace("        release: {}\n", ""))
    words = ("start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--flags", "release")
    line = refused(*words, "--matrix", str(matrix), says="own.yaml says how a release of minikv 1.0.0 is built")
    assert "add `release:` to one, or leave out --flags" in line
    refused(*words[:-1], "fast", says="'fast' is not one of 'pinned', 'release'")


@pytest.mark.parametrize("command", ["start", "compare"])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("wal_dir=/tmp/x", "setting wal_dir is about files"),
        ("run.env_uri=x", "setting run.env_uri is about files"),
        ("fromenv=db", "setting fromenv is about where flags come from"),
        ("db=/tmp/x", "has no parameter 'db'"),
        ("nouse_existing_db=1", "has no parameter 'nouse_existing_db'"),
    ],
)
def test_a_setting_that_could_do_more_than_it_says(
    home: Path, example: Generated, command: str, given: str, says: str
) -> None:
    words = (command, "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--set", given)
    line = refused(*words, says=says)
    assert ("--unsafe-settings" in line) == ("is about" in says)


@pytest.mark.parametrize("command", ["start", "compare"])
def test_unsafe_settings_are_let_through_to_the_next_check(home: Path, example: Generated, command: str) -> None:
    words = (command, "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path))
    refused(*words, "--set", "wal_dir=/tmp/x", "--unsafe-settings", says="v1.0.0 has no flag 'wal_dir'")
    refused(*words, "--set", "db=/tmp/x", "--unsafe-settings", says="has no parameter 'db'")


def test_a_compiler_that_is_not_there(home: Path, example: Generated) -> None:
    words = ("start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--toolchain", "gcc-1")
    assert "gcc-12" in refused(*words, says="'gcc-1'")


def test_a_counter_that_does_not_count_here_begins_nothing(
    home: Path, example: Generated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here, "examine", lambda: {Counter.HARDWARE: "perf is not installed", Counter.CALLGRIND: ""})
    words = ("start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--counter", "perf")
    refused(*words, says="perf does not count here (perf is not installed)")
    assert json.loads(bisect("list", "--json").stdout) == []


@pytest.mark.parametrize("option", ["--cache-sim", "--branch-sim", "--metric ll-misses"])
def test_only_callgrind_simulates(home: Path, example: Generated, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr(here, "examine", lambda: {Counter.HARDWARE: "", Counter.CALLGRIND: ""})
    words = ("start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--counter", "perf")
    refused(
        *words,
        *option.split(),
        says="only callgrind simulates caches and branches (perf was asked for): leave out --counter",
    )
    assert json.loads(bisect("list", "--json").stdout) == []


def test_an_unknown_test_names_near_ones(home: Path, example: Generated) -> None:
    line = refused("start", "v1.0.0", "v1.4.0", "--test", "seekrandon", "--repo", str(example.path), says="seekrandon")
    assert "seekrandom" in line


def test_a_test_of_another_engine(home: Path, example: Generated) -> None:
    refused("start", "v1.0.0", "v1.4.0", "--test", "point-query", "--repo", str(example.path), says="no test")


def test_a_test_no_engine_has(home: Path) -> None:
    refused("start", "1.0.0", "1.4.0", "--test", "nonsense", says="no engine has a test")


def test_an_unknown_engine(home: Path, example: Generated) -> None:
    refused(
        "start", "v1.0.0", "v1.4.0", "--test", "scan", "--engine", "oracle", "--repo", str(example.path), says="oracle"
    )


@pytest.mark.parametrize("name", ["--upload-pack=touch x", "-n", " "])
def test_a_name_that_looks_like_an_option(home: Path, example: Generated, name: str) -> None:
    refused("start", "--test", "seekrandom", "--repo", str(example.path), "--", name, "v1.4.0", says="is not a commit")


def test_a_repository_that_is_not_there(home: Path, tmp_path: Path) -> None:
    refused("start", "a", "b", "--test", "scan", "--repo", str(tmp_path / "nowhere"), says="nowhere")


def test_a_directory_without_git(home: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    refused("start", "a", "b", "--test", "scan", "--repo", str(tmp_path / "plain"), says="plain")


def test_a_shallow_clone(home: Path, example: Generated, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "--quiet", "--depth=3", f"file://{example.path}", str(shallow)],
        check=True,
        capture_output=True,
    )
    line = refused("start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(shallow), says="shallow")
    assert "unshallow" in line


def test_unrelated_histories(home: Path, example: Generated, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(example.path), str(clone)], check=True, capture_output=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "checkout", "--quiet", "--orphan", "island"], cwd=clone, check=True)
    subprocess.run(["git", *who, "commit", "--quiet", "-m", "Begin again"], cwd=clone, check=True)
    refused("start", "v1.0.0", "island", "--test", "seekrandom", "--repo", str(clone), says="no common history")


def test_a_url_that_cannot_be_cloned(home: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/nowhere.git"
    line = refused("start", "a", "b", "--test", "scan", "--engine", "mysql", "--repo", url, says="cannot clone")
    assert "--repo PATH" in line
    assert not list((home / "repositories").glob("*.git"))


def test_an_unknown_parameter_names_near_ones(home: Path, example: Generated) -> None:
    line = refused(
        "start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--set", "a b=1",
        says="not a setting",
    )  # fmt: skip
    assert "NAME=VALUE" in line


@pytest.mark.parametrize("option", [("--set", "novalue"), ("--min-step", "0"), ("--rows", "-3"), ("--find", "luck")])
def test_malformed_options(home: Path, option: tuple[str, str]) -> None:
    result = bisect("start", "a", "b", "--test", "scan", *option)
    assert result.exit_code == 2
    assert option[0] in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("start", "a", "b", "--test", "scan", "--min-step", "nan"),
        ("suspects", "--limit", "99999999999999999999"),
        ("artifacts", "prune", "--limit", "nan"),
        ("artifacts", "prune", "--limit", "1e300"),
    ],
)
def test_numbers_that_nothing_can_be_done_with(home: Path, words: tuple[str, ...]) -> None:
    result = bisect(*words)
    assert result.exit_code == 2
    assert words[-2] in result.stderr


def test_a_broken_matrix_is_told_with_line_and_key(home: Path, example: Generated, tmp_path: Path) -> None:
    matrix = tmp_path / "mine.yaml"
    matrix.write_text("engines:\n  minikv:\n    builder: 7\n")
    line = refused(
        "start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--matrix", str(matrix),
        says="mine.yaml:",
    )  # fmt: skip
    assert "minikv" in line


@pytest.mark.parametrize(
    ("key", "name", "says"),
    [
        ("builder", "rocksbd", "gives minikv the builder 'rocksbd', which does not exist"),
        ("builder", "redraw", "gives minikv the builder 'redraw', which does not exist"),
        ("workload", "db_bank", "gives minikv the workload 'db_bank', which does not exist"),
        ("workload", "sysbench", "there are no tests for minikv"),
        ("system", "cmake", "gives minikv the system 'cmake', which its builder does not know"),
    ],
)
def test_a_matrix_that_names_what_is_not_there(
    home: Path, example: Generated, tmp_path: Path, key: str, name: str, says: str
) -> None:
    ours = locate_matrix().read_text()
    before, head, own = ours.partition("\n  minikv:")
    matrix = tmp_path / "mine.yaml"
    matrix.write_text(before + head + re.sub(rf"\b{key}: \w+", f"{key}: {name}", own, count=1))
    refused(
        "start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--matrix", str(matrix),
        says=says,
    )  # fmt: skip


def test_no_compiler(home: Path, example: Generated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for program in ("git", "ccache"):
        (tools / program).symlink_to(str(shutil.which(program)))
    monkeypatch.setenv("PATH", str(tools))
    line = refused("start", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), says="gcc-12")
    assert "apt install" in line


def test_a_read_only_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPUBISECT_HOME", "/proc/cpubisect")
    line = refused("list", says="cannot write to /proc/cpubisect")
    assert "CPUBISECT_HOME" in line


@pytest.mark.parametrize("command", ["status", "log", "suspects", "resume", "cancel", "report"])
def test_an_unknown_id(home: Path, command: str) -> None:
    refused(command, "7", says="no bisection 7")


def test_nothing_to_resume(home: Path) -> None:
    refused("resume", says="no interrupted bisection")


def test_a_store_that_is_no_database(home: Path) -> None:
    home.mkdir()
    (home / "store.sqlite").write_text("scribble" * 1000)
    refused("list", says="cannot use the store")


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], check=True)
    try:
        monkeypatch.setenv("CPUBISECT_HOME", str(disk / "home"))
        store = Store((disk / "home" / "..").resolve() / "kept.sqlite")
        store.create_bisection(question(), {})
        filler = disk / "filler"
        with pytest.raises(OSError, match="No space"):
            filler.write_bytes(bytes(2 * 2**20))
        refused("list", says="No space left on device")
        filler.unlink()
        assert count(store) == 1
        store.close()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_an_empty_list_says_how_to_begin(home: Path) -> None:
    assert "bisect start --help" in bisect("list").output
    assert json.loads(bisect("list", "--json").output) == []


def test_tests_are_listed_with_their_groups() -> None:
    found = json.loads(bisect("tests", "--json").output)
    assert {"point-query", "scan", "read-write", "insert"} <= {test["name"] for test in found["mysql"]}
    assert {"readrandom", "seekrandom", "mergerandom"} <= {test["name"] for test in found["rocksdb"]}
    assert all(test["group"] and test["summary"] for tests in found.values() for test in tests)
    assert [test["name"] for test in found["mariadb"]] == [test["name"] for test in found["mysql"]]
    assert "\nmysql, mariadb\n" in bisect("tests").output


def test_doctor_tells_each_gap_with_its_fix(home: Path) -> None:
    result = bisect("doctor", "--json")
    assert result.exit_code == 0, result.stderr
    checks = json.loads(result.stdout)
    assert {"ok"} <= {check["status"] for check in checks}
    assert all(check["fix"] for check in checks if check["status"] == "missing")


def test_a_dirty_clone_is_left_alone_and_told(home: Path, example: Generated, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(example.path), str(clone)], check=True, capture_output=True)
    (clone / "README.md").write_text("scribble")
    result = bisect("start", "v1.0.0", "v9.9.9", "--test", "seekrandom", "--repo", str(clone))
    assert result.exit_code == 2
    assert "uncommitted changes" in result.stderr
    assert (clone / "README.md").read_text() == "scribble"
