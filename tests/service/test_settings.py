"""What is asked is checked before anything is built; what only a program can refuse is told as the user's setting."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from small_bisections import begun, cost, history, tree

from cpubisect.base.errors import MOST_TOLD, MOST_WORD, UserError, shortened
from cpubisect.cli import main
from cpubisect.example.history import Generated
from cpubisect.records.registry import Registry
from cpubisect.service.launch import run
from cpubisect.workloads.db_bench import refused_flag
from cpubisect.workloads.sysbench import refused_option

HUGE = "9" * 26
ENDLESS = "9" * 5000
PLAIN = "v1.0.0 v1.4.0 --test seekrandom"
SUFFIX = "Unknown suffix 'x' used for variable 'sort_buffer_size' (value '1x')"


def refused(words: list[str]) -> str:
    """The one line that a command says which is refused before it has built or recorded anything."""
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, (result.output, result.exception)
    (line,) = result.stderr.splitlines()
    assert line.startswith("bisect: ")
    assert len(line) < 2 * MOST_TOLD + 100
    return line


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (f"{PLAIN} --set nonsense=1", "v1.0.0 has no flag 'nonsense', which --set nonsense=1 would give"),
        (f"{PLAIN} --clients 1000000000", "clients must be a number from 1 to 1024"),
        (f"{PLAIN} --jobs 100000000", "1<=x<=1024"),
        (f"{PLAIN} --set run.nonsense=1", "which --set run.nonsense=1 would give"),
        (f"{PLAIN} --set cache_sise=1", "did you mean cache_size"),
        (f"{PLAIN} --rows {HUGE}", "rows must be a number from 1 to 2147483647"),
        (f"{PLAIN} --set rows={HUGE}", "rows must be a number from 1 to 2147483647"),
        (f"{PLAIN} --set rows={ENDLESS}", "rows must be a number from 1"),
        (f"{PLAIN} --set rows=\u0663", "rows must be a number from 1"),
        (f"{PLAIN} --rows {ENDLESS}", "rows"),
        (f"{PLAIN} --clients {HUGE}", "clients must be a number from 1"),
        (f"{PLAIN} --set clock_ops=1,{ENDLESS}", "clock_ops must be LOW,HIGH"),
        (f"{PLAIN} --set load=filluniquerandom:{ENDLESS}", "is not NAME or NAME:WRITES"),
        (f"{PLAIN} --matrix /dev/zero", "/dev/zero is no regular file"),
        (f"{PLAIN} --matrix /dev/null", "/dev/null is no regular file"),
        (f"{PLAIN} --matrix /", "name the matrix file that is meant"),
        (f"{PLAIN} --matrix @pipe", "is no regular file"),
        (f"{PLAIN} --matrix @large", "is larger than 4 MiB"),
        (f"{PLAIN} --matrix @bytes", "it is not YAML"),
        (f"{'v' * 100_000} v1.4.0 --test seekrandom", "cannot be the name of a commit"),
        (f"v1.0.0 {'v' * 900} --test seekrandom", "names no commit"),
        ("v1.0.0 :/Collect --test seekrandom", "asks git to search, which is not done here"),
        ("v1.0.0 HEAD^{/Collect} --test seekrandom", "asks git to search, which is not done here"),
        ("v1.0.0 :README.md --test seekrandom", "asks git to search, which is not done here"),
        (f"{PLAIN} --engine {'e' * 5000}", "has no engine"),
        (f"{PLAIN} --toolchain {'t' * 5000}", "no compiler"),
        (f"v1.0.0 v1.4.0 --test {'t' * 5000}", "has no test"),
    ],
    ids=lambda text: text[-40:],
)
def test_what_makes_no_sense_is_told_before_anything_is_built(
    home: Path, example: Generated, tmp_path: Path, words: str, says: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(5 << 20))
    (tmp_path / "bytes").write_bytes(bytes(range(128, 256)))
    asked = [word.replace("@", f"{tmp_path}/") for word in words.split(" ")]
    assert says in refused(["start", *asked, "--repo", str(example.path)])
    assert not list(home.glob("artifacts/*"))
    assert Registry.open().store.read("SELECT * FROM bisections") == []


@pytest.mark.parametrize("name", [":/Collect", "HEAD^{/Collect}", "v" * 100_000])
@pytest.mark.parametrize("command", [["start"], ["compare"]])
def test_names_are_looked_at_before_anything_is_cloned(home: Path, command: list[str], name: str) -> None:
    assert "commit" in refused([*command, name, "v1.0.0", "--test", "seekrandom", "--engine", "rocksdb"])
    assert not list(home.glob("repositories/*"))


def test_a_comparison_is_checked_alike(home: Path, example: Generated) -> None:
    words = ["compare", "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--set", "nonsense=1"]
    assert "v1.0.0 has no flag 'nonsense'" in refused(words)


@pytest.mark.parametrize("command", ["start", "compare"])
def test_an_empty_repository_is_not_the_public_one(home: Path, command: str) -> None:
    assert "'--repo': it is empty" in refused([command, "v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", ""])


@pytest.mark.parametrize("command", [["list"], ["start", "v1.0.0", "v1.4.0", "--test", "seekrandom"]])
def test_a_compiler_cache_that_is_a_file_is_told_by_its_name(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    (tmp_path / "cache").write_text("x")
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "cache"))
    line = refused(command)
    assert f"cannot keep the compiler cache in {tmp_path / 'cache'} (it is no directory)" in line
    assert "set CCACHE_DIR" in line


def test_a_setting_that_the_program_refuses_is_the_users_and_no_commits(home: Path, tmp_path: Path) -> None:
    """Its source has the word, so that nobody knows before it runs."""
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    registry, bisection = begun(tmp_path / "kv", shas[1], "argv=1")
    with pytest.raises(UserError, match=r"db_bench refuses argv=1: .*unknown command line flag") as caught:
        run(registry, bisection, lambda event: None)
    assert "no commit is to blame" in caught.value.hint
    assert registry.store.bisection(bisection).state == "interrupted"
    assert registry.store.probes(bisection) == []


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("the server does not start: [ERROR] /x/mysqld: unknown variable 'nonsense=1'", "nonsense"),
        ("the server makes no data directory: [ERROR] unknown option '--nonsense'", "nonsense"),
        ("the server does not start: ambiguous option '--innodb-log=1' (innodb_log_group, innodb_log_x)", "innodb_log"),
        (f"the server does not start: {SUFFIX}", "sort-buffer-size"),
        ("the server does not start: [ERROR] Error while setting value 'no' to 'sort_buffer_size'", "sort-buffer-size"),
        ("the server does not start: unknown variable 'nonsense_too=1'", ""),
        ("the server crashed: assertion failed: nonsense", ""),
        ("the server does not start: [ERROR] unknown variable 'loose=1'", ""),
    ],
)
def test_a_servers_refusal_names_the_users_option(message: str, name: str) -> None:
    assert refused_option(message, {"nonsense": "1", "innodb_log": "1", "sort-buffer-size": "1x"}) == name


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("filluniquerandom: ERROR: unknown command line flag 'nonsense'", "run.nonsense"),
        ("open: illegal value 'x' specified for int32 flag 'block_size'", "block_size"),
        ("open: Invalid flag '--block_size=x'", "block_size"),
        ("open: unknown command line flag 'another'", ""),
        ("open: killed by SIGSEGV in block_size", ""),
    ],
)
def test_a_benchmarks_refusal_names_the_users_flag(message: str, name: str) -> None:
    assert refused_flag(message, {"block_size": "x", "run.nonsense": "1"}) == name


@given(st.text())
def test_what_is_short_is_told_as_it_is(text: str) -> None:
    assert shortened(text) == text or max(map(len, text.split()), default=0) > MOST_WORD


@given(st.lists(st.text(min_size=1, max_size=9).map(lambda part: part * 400), max_size=30))
def test_what_is_long_is_cut_and_keeps_its_ends(parts: list[str]) -> None:
    text = " ".join(parts)
    told = shortened(text)
    assert len(told) <= MOST_TOLD
    assert told[:50] == text[:50]
    assert told[-50:] == text[-50:]
