import os
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from cpubisect.base.errors import UserError
from cpubisect.example.history import Generated, generate, main


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    return generate(tmp_path_factory.mktemp("example") / "minikv")


def git(example: Generated, *words: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(example.path), *words]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def changed(example: Generated, commit: str) -> list[str]:
    return git(example, "diff", "--name-only", f"{commit}^1", commit).splitlines()


def test_the_same_history_comes_out_whatever_the_users_settings(
    example: Generated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[user]\n name = Somebody\n[init]\n defaultBranch = trunk\n[core]\n autocrlf = true\n"
        "[commit]\n gpgSign = true\n[extensions]\n objectFormat = sha256\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    again = generate(tmp_path / "again")
    assert (again.main_line, again.branches, again.labelled) == (
        example.main_line,
        example.branches,
        example.labelled,
    )
    assert not (tmp_path / "elsewhere").exists()


def test_the_repository_is_sound_and_clean(example: Generated) -> None:
    git(example, "fsck", "--strict", "--full")
    assert git(example, "status", "--porcelain") == ""
    assert git(example, "symbolic-ref", "--short", "HEAD") == "main"
    assert git(example, "rev-list", "--first-parent", "--reverse", "main").splitlines() == list(example.main_line)


def test_each_tag_lies_on_the_main_line_and_the_tree_there_names_that_release(example: Generated) -> None:
    tags = git(example, "tag", "--list").splitlines()
    assert tags == ["v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0"]
    for tag in tags:
        assert git(example, "cat-file", "-t", tag) == "tag"
        assert git(example, "rev-parse", f"{tag}^{{commit}}") in example.main_line
        header = git(example, "show", f"{tag}:include/minikv/version.h")
        assert "v" + ".".join(re.findall(r"#define MINIKV_\w+ (\d+)", header)) == tag


def test_the_range_is_long_and_a_part_of_it_cannot_change_the_binary(example: Generated) -> None:
    candidates = git(example, "rev-list", "--first-parent", f"{example.good}..{example.bad}").splitlines()
    assert 48 <= len(candidates) <= 64
    idle = [
        commit
        for commit in candidates
        if all(path.endswith(".md") or path.startswith("tests/") for path in changed(example, commit))
    ]
    assert 0.2 <= len(idle) / len(candidates) <= 0.5


def test_the_culprit_came_with_the_second_parent_of_its_merge(example: Generated) -> None:
    assert example.merge in example.main_line
    assert example.culprit not in example.main_line
    brought = git(example, "rev-list", "--reverse", f"{example.merge}^1..{example.merge}^2").splitlines()
    assert brought == list(example.branches["merge"])
    assert example.culprit in brought[1:-1]


@pytest.mark.parametrize("label", ["merge"])
def test_a_merge_holds_what_git_makes_of_its_parents(example: Generated, label: str) -> None:
    commit = example.labelled[label]
    merged = git(example, "merge-tree", "--write-tree", f"{commit}^1", f"{commit}^2")
    assert merged == git(example, "rev-parse", f"{commit}^{{tree}}")


def test_the_dead_commits_are_in_a_row_and_far_from_the_culprit(example: Generated) -> None:
    assert 4 <= len(example.unbuildable) <= 5
    first = example.main_line.index(example.unbuildable[0])
    assert example.main_line[first : first + len(example.unbuildable)] == example.unbuildable
    fork = git(example, "merge-base", f"{example.merge}^1", f"{example.merge}^2")
    assert example.main_line.index(fork) > first + len(example.unbuildable)


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    with pytest.raises(UserError, match="not an empty directory"):
        generate(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_the_command_writes_the_repository_and_says_where(tmp_path: Path) -> None:
    target = tmp_path / "minikv"
    result = CliRunner().invoke(main, [str(target)])
    assert result.exit_code == 0
    assert "from v1.0.0 to v1.4.0" in result.output
    assert (target / "tools/db_bench.cc").is_file()
    assert CliRunner().invoke(main, [str(target)]).exit_code == 1
