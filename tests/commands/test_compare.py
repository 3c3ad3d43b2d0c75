"""What a user types after `bisect compare`: every mistake gets one line that says what to do, and exit code 2."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cpubisect.builders.recipes.matrix import locate_matrix
from cpubisect.cli import main
from cpubisect.example.history import Generated
from cpubisect.records.comparisons import Comparisons


def refused(*words: str) -> str:
    """The one line a refused command prints."""
    result = CliRunner().invoke(main, ["compare", *words])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("bisect: ")
    return line


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "name versions, or give one of --resume, --show and --list"),
        ("a b --test x --resume 1", "give one of --resume"),
        ("--show 1 --list", "give one of"),
        ("--list --format png", "--format is for a comparison"),
        ("--list --output x", "--output is for a comparison"),
        ("--show 1 --output=", "--output"),
        ("--resume 1 --rounds 3", "--rounds is for a new comparison"),
        ("--show 1 --clients 4", "--clients is for a new comparison"),
        ("a b --test x --clients 0", "not a list of numbers"),
        ("a b --test x --clients 1,,4", "not a list of numbers"),
        ("a b --test x --clients many", "not a list of numbers"),
        ("a b --test x --rounds 1", "--rounds"),
        ("a b --test x --rounds 1000", "--rounds"),
        ("a b --test x --rows 0", "--rows"),
        ("a b --test x --set rows", "NAME=VALUE"),
        ("a b --test x --format pdf", "'markdown'"),
        ("a b --test x --defaults mine", "--defaults"),
        ("a b --test x --flags mine", "--flags"),
        ("--resume 1 --flags release", "--flags is for a new comparison"),
        ("--resume seven", "not a valid integer"),
        ("--resume 7", "there is no comparison 7"),
        ("--show 7", "there is no comparison 7"),
        ("--show 99999999999999999999", "there is no comparison"),
        ("a --test x", "1 versions cannot be compared"),
        ("a b c d e f g h i j k l m --test x", "13 versions cannot be compared"),
        ("a b", "what to run is not said"),
        ("a b --tests all", "name it with --engine"),
    ],
)
def test_what_is_refused_before_anything_is_looked_at(home: Path, words: str, says: str) -> None:
    assert says in refused(*words.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("v1.0.0 v9.9.9 --test seekrandom", "no version 9.9.9"),
        ("v1.0.0 v1.0.0 --test seekrandom", "are the same commit"),
        ("v1.0.0 v1.4.0 --test seekrandon", "seekrandom"),
        ("v1.0.0 v1.4.0 --tests aggregation", "there is no group of tests 'aggregation'"),
        ("v1.0.0 v1.4.0 --tests all --set nosuchthing.=1", "no parameter"),
        ("v1.0.0 v1.4.0 --tests point --defaults server", "no defaults"),
        ("v1.0.0 v1.4.0 --test seekrandom --toolchain gcc-1", "no compiler 'gcc-1'"),
        ("v1.0.0 v1.4.0 --test seekrandom --engine oracle", "oracle"),
        ("--test seekrandom -- v1.0.0 -n", "is not a commit"),
    ],
)
def test_what_the_repository_or_the_engine_refuses(home: Path, example: Generated, words: str, says: str) -> None:
    assert says in refused("--repo", str(example.path), *words.split())
    assert Comparisons.open().all() == []


def test_an_empty_list_says_how_to_begin(home: Path) -> None:
    assert "bisect compare --help" in CliRunner().invoke(main, ["compare", "--list"]).output


def test_a_file_that_cannot_be_written(home: Path, example: Generated, tmp_path: Path) -> None:
    assert "no comparison" in refused("--show", "3", "--output", str(tmp_path / "no" / "such"))


@pytest.mark.parametrize("name", ["no/such", "there/x"])
def test_where_it_cannot_be_written_is_told_before_anything_is_measured(
    home: Path, example: Generated, tmp_path: Path, name: str
) -> None:
    (tmp_path / "there").write_text("a file")
    words = ("v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path))
    assert "name another file with --output" in refused(*words, "--output", str(tmp_path / name))
    assert Comparisons.open().all() == []


def test_release_flags_that_no_rule_has(home: Path, example: Generated, tmp_path: Path) -> None:
    matrix: dict[str, Any] = yaml.load(locate_matrix().read_text(), Loader=yaml.BaseLoader)
    for rule in matrix["engines"]["minikv"]["rules"]:
        rule.pop("release", None)
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(matrix))
    words = ("v1.0.0", "v1.4.0", "--test", "seekrandom", "--repo", str(example.path), "--matrix", str(own))
    assert "no rule of own.yaml says how a release of minikv" in refused(*words, "--flags", "release")
    assert Comparisons.open().all() == []


def test_standard_output_that_is_full_is_one_line(home: Path) -> None:
    needed = "from cpubisect.cli import main; from cpubisect.commands.shared import put"
    program = f"{needed}\nmain.command('full')(lambda: put(b'x', None, str))\nmain(['full'])"
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run([sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 2
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("bisect: cannot write to standard output (No space left")


def test_the_help_has_examples() -> None:
    text = CliRunner().invoke(main, ["compare", "--help"]).output
    assert "bisect compare 5.6.51 5.7.44 8.0.39 --test point-query" in text
    assert "--resume" in text
