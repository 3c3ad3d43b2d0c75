"""Hostile commits, built in the sandbox and without it: what they tried to reach, and what they reached.

Without a sandbox each must reach what it tries, or it would not show that the sandbox keeps it.
"""

import os
import subprocess
from pathlib import Path

import pytest
from hostile import BUILDERS, LISTS, NONE, SANDBOX, TOKEN, Built, Tried, World, build
from small_trees import GOOD, commit, git

from cpubisect.history.history import History

ATTEMPTS = list(World(Path("/"), 0, "", 0).attempts())


@pytest.fixture(scope="module", params=list(BUILDERS))
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """Both builds by one build system."""
    return Tried(tmp_path_factory.mktemp("hostile"), request.param)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_is_tried_is_not_reached(tried: Tried, attempt: str) -> None:
    assert attempt not in tried.reached[SANDBOX]
    # Its own environment is clean in any case.
    assert (attempt in tried.reached[NONE]) is (attempt != "environment of its own")


def test_nothing_of_the_host_is_changed(tried: Tried) -> None:
    assert not tried.changed[SANDBOX]
    assert tried.changed[NONE]


def test_without_a_sandbox_the_token_of_an_ancestor_is_read(tried: Tried) -> None:
    assert TOKEN in tried.reached[NONE]["environment of ancestors"]


def made(root: Path, files: dict[str, str], kind: str = SANDBOX, system: str = "make") -> Built:
    """A build of a commit with these files."""
    sha = commit(root / "clone", files)
    return build(root, sha, kind, system=system, builder=BUILDERS[system])


@pytest.mark.parametrize("kind", [SANDBOX, NONE])
def test_a_link_in_place_of_the_program_leads_nowhere(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("private")
    built = made(tmp_path, {"Makefile": f"db_bench:\n\tln -s {secret} db_bench\n"}, kind)
    assert (built.outcome, built.said) == ("failed", "")
    assert "leads out of tree" in built.error


@pytest.mark.parametrize("kind", [SANDBOX, NONE])
def test_a_plan_that_is_a_link_is_not_written_through(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "profile"
    target.write_text("the user's\n")
    late = f"(while [ ! -s build/build.ninja ]; do :; done; ln -sf {target} build/build.ninja) >/dev/null 2>&1 &\n"
    lists = LISTS.replace("execute_process(", "file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR})\nexecute_process(")
    wrapper = 'set(CMAKE_MAKE_PROGRAM ${CMAKE_SOURCE_DIR}/tools/ninja CACHE FILEPATH "" FORCE)\n'
    files = {"CMakeLists.txt": lists + wrapper, "tools/evil.sh": f": >reached\n{late}"}
    made(tmp_path, files, kind, "cmake")
    assert target.read_text() == "the user's\n"


@pytest.mark.parametrize("kind", [SANDBOX, NONE])
def test_pipes_and_links_among_dependency_files_are_passed_over(tmp_path: Path, kind: str) -> None:
    (tmp_path / "secret").write_text("main.o: main.cc\n")
    evil = f"mkfifo one.d\n\tln -s {tmp_path}/secret two.d\n\tln -s /dev/zero three.d\n\techo x >db_bench\n"
    built = made(tmp_path, {"Makefile": f"db_bench:\n\t{evil}", "main.cc": ""}, kind)
    assert built.outcome == "built"


@pytest.mark.parametrize(
    "makes",
    [
        "printf '\\177ELF\\002\\001\\001junk' >db_bench",
        "head -c 3000 /bin/true >db_bench",
        "(head -c 40 /bin/true; head -c 9000 /dev/urandom) >db_bench",
        "ln -s loop loop; echo 'main.o: loop' >main.d; printf 'main.o: a\\000b\\n' >two.d; : >main.o; echo x >db_bench",
        "mkdir db_bench",
    ],
    ids=["four bytes", "cut", "random", "names", "directory"],
)
def test_what_is_no_program_is_no_traceback(tmp_path: Path, makes: str) -> None:
    assert made(tmp_path, {"Makefile": f"db_bench:\n\t{makes}\n"}).outcome in ("built", "failed")


def test_directories_without_end_are_removed(tmp_path: Path) -> None:
    evil = "i=0; while [ $$i -lt 1200 ]; do mkdir a && cd -P a; i=$$((i+1)); done"
    built = made(tmp_path, {"Makefile": f"db_bench:\n\techo x >db_bench\n\t{evil}\n"})
    assert built.outcome in ("built", "failed")
    assert [path.name for path in (tmp_path / "home" / "work" / SANDBOX / "trees").iterdir()] == []


@pytest.mark.parametrize("kind", [SANDBOX, NONE])
def test_our_git_runs_nothing_that_a_build_wrote_into_settings(tmp_path: Path, kind: str) -> None:
    marker = tmp_path / "marker"
    evil = (
        "db_bench:\n"
        f"\tfor key in core.fsmonitor core.pager diff.external core.sshCommand; do "
        f"git config $$key 'touch {marker}'; done\n"
        f"\tgit config filter.x.clean 'touch {marker}'\n"
        "\techo '* filter=x' >.gitattributes\n"
        "\techo x >db_bench\n"
    )
    # A repaired source is one that our git looks at after the build.
    files = {**GOOD, "Makefile": evil}
    built = made(tmp_path, files, kind)
    assert built.outcome == "built", built
    assert not marker.exists()


def test_a_build_cannot_kill_its_guard(tmp_path: Path) -> None:
    evil = "db_bench:\n\t-kill -KILL 1\n\t-kill -STOP 1\n\techo alive >db_bench\n"
    built = made(tmp_path, {"Makefile": evil})
    assert (built.outcome, built.said) == ("built", "alive\n"), built


def test_what_a_build_leaves_running_ends_with_it(tmp_path: Path) -> None:
    evil = (
        "db_bench:\n\tsetsid sh -c 'trap \"\" TERM HUP; while :; do sleep 0.01; echo >>grown; done' &\n\techo x >$@\n"
    )
    assert made(tmp_path, {"Makefile": evil}).outcome == "built"
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "echo >>grown" not in listing


@pytest.mark.skipif(os.geteuid() == 0, reason="of root a control group limits them: tests/base/test_groups.py")
def test_processes_are_limited(tmp_path: Path) -> None:
    evil = "db_bench:\n\tn=0; while [ $$n -lt 6000 ] && sleep 100 & do n=$$((n+1)); done; echo $$n >db_bench\n"
    built = made(tmp_path, {"Makefile": evil})
    assert int(built.said or 0) < 6000


def test_files_are_limited(tmp_path: Path) -> None:
    evil = "db_bench:\n\t-truncate -s 1T huge\n\tstat -c %s huge >db_bench || echo none >db_bench\n"
    built = made(tmp_path, {"Makefile": evil})
    assert built.said.strip() in ("0", "none")


def _odd_names(clone: Path) -> str:
    """A tree with names that quote, break lines, and are no UTF-8, and with links out of it."""
    commit(clone, {"Makefile": "db_bench:\n\techo fine >db_bench\n"})
    names = (b'a"b.cc', b"a'b.cc", b"line\nbreak.cc", b"latin-\xe9.cc", b"$(touch x).cc", b"-rf", b"Lists\xff.txt")
    for name in names:
        (clone / os.fsdecode(name)).write_text("int f();\n")
    (clone / "out").symlink_to("/etc/passwd")
    (clone / "up").symlink_to("../../..")
    return commit(clone, {})


def _octopus(clone: Path) -> str:
    commit(clone, {"Makefile": "db_bench:\n\techo fine >db_bench\n"})
    for branch in ("one", "two", "three"):
        git(clone, "checkout", "--quiet", "-b", branch, "main")
        commit(clone, {f"{branch}.cc": ""})
    git(clone, "checkout", "--quiet", "main")
    git(clone, "merge", "--quiet", "--no-edit", "one", "two", "three")
    return git(clone, "rev-parse", "HEAD")


def _submodule(clone: Path) -> str:
    commit(clone, {"Makefile": "db_bench:\n\t-cat sub/.git\n\techo fine >db_bench\n"})
    lies = f'[submodule "sub"]\n\tpath = sub\n\turl = {clone}\n\tupdate = !touch {clone.parent}/marker\n'
    sha = git(clone, "rev-parse", "HEAD")
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{sha},sub")
    (clone / ".gitmodules").write_text(lies)
    git(clone, "add", ".gitmodules")
    git(clone, "commit", "--quiet", "-m", "A submodule")
    return git(clone, "rev-parse", "HEAD")


def _substituted(clone: Path) -> str:
    files = {"Makefile": "db_bench:\n\tcp version.txt db_bench\n", ".gitattributes": "version.txt export-subst\n"}
    return commit(clone, {**files, "version.txt": "$Format:fine%H$\n"})


@pytest.mark.parametrize("kind", [SANDBOX, NONE])
@pytest.mark.parametrize("story", [_odd_names, _octopus, _submodule, _substituted], ids=lambda story: story.__name__)
def test_strange_commits_are_built_as_any_other(tmp_path: Path, story, kind: str) -> None:  # type: ignore[no-untyped-def]
    sha = story(tmp_path / "clone")
    before = History(tmp_path / "clone").resolve_all([sha])
    built = build(tmp_path, sha, kind)
    assert built.outcome == "built", built
    assert "fine" in built.said
    assert not (tmp_path / "marker").exists()
    assert before[0].sha == sha


def test_git_in_a_build_knows_its_commit_and_nothing_else(tmp_path: Path) -> None:
    commit(tmp_path / "clone", {"one.cc": ""}, "The commit before")
    git(tmp_path / "clone", "tag", "v1.0")
    asks = "(git rev-parse HEAD; git log --format=%s; git describe --tags || echo none) >db_bench 2>/dev/null"
    sha = commit(tmp_path / "clone", {"Makefile": f"db_bench:\n\t{asks}\n"}, "This one")
    built = build(tmp_path, sha, SANDBOX)
    assert built.said.split("\n") == [sha, "This one", "none", ""]
