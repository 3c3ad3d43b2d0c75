import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_trees import GOOD, MAKEFILE, TOOLCHAINS, commit, recipe_for, settings_in, state_of

from cpubisect.base.disk.scratch import remove_leftovers
from cpubisect.base.errors import UserError
from cpubisect.builders.build import BuildResult, BuildSettings, Edit, Outcome, Recipe, RepairRule
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.builders.trees import shop
from soaking.disks import Skipped, fill, mount, unmount


class Yard:
    """A clone, a work directory and settings to build with."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clone = directory / "clone"
        self.work = directory / "work"
        self.settings = settings_in(directory)

    def build(self, recipe: Recipe, settings: BuildSettings | None = None) -> BuildResult:
        return carry_out(recipe, BUILDER, self.clone, self.work, settings or self.settings)


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def added(result: BuildResult) -> list[str]:
    return [line[1:] for line in result.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
def test_builds_and_hits_the_cache_the_second_time(yard: Yard, toolchain) -> None:
    recipe = recipe_for(commit(yard.clone, GOOD), toolchain=toolchain)
    before = state_of(yard.clone)
    told: list[str] = []

    first = carry_out(recipe, BUILDER, yard.clone, yard.work, yard.settings, told.append, log=yard.directory / "a.log")
    second = yard.build(recipe)

    assert (first.outcome, first.first_error, first.diff, first.repairs) == (Outcome.BUILT, "", "", ())
    assert first.output is not None
    assert subprocess.run([first.output / "db_bench"]).returncode == 0
    assert first.compiled == ("main.cc", "util/names.cc", "util/names.h")
    assert {name: one.files for name, one in first.objects.items()} == {
        "main.o": ("main.cc", "util/names.h"),
        "util/names.o": ("util/names.cc", "util/names.h"),
    }
    assert all(one.seconds for one in first.objects.values())
    assert [one.seconds for one in second.objects.values()] == [None, None]
    assert (first.cache_hits, first.cache_misses) == (0, 2)
    assert (second.cache_hits, second.cache_misses) == (2, 0)
    assert first.cpu_seconds > 0
    assert toolchain.ar in (yard.directory / "a.log").read_text()
    assert told[:2] == ["checking out", "configuring"]
    assert told[-1] == "collecting"
    assert first.output != second.output
    assert state_of(yard.clone) == before
    assert list((yard.work / "trees").iterdir()) == []


def test_variables_of_the_user_do_not_reach_the_compiler(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-DLEAKED")
    monkeypatch.setenv("MAKEFLAGS", "--dry-run")
    main = "#ifdef LEAKED\n#error leaked\n#endif\nint main() { return 0; }\n"
    assert yard.build(recipe_for(commit(yard.clone, GOOD | {"main.cc": main}))).outcome is Outcome.BUILT


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
def test_missing_standard_includes_are_repaired(yard: Yard, toolchain) -> None:
    files = {
        "util/names.h": "// Names.\n\n#pragma once\n\nint NameLength(const char* name);\n"
        "uint64_t Hash(const char* name);\nuint8_t Tag();\n",
        "main.cc": '#include "util/names.h"\n\nint main() {\n  std::function<int()> f = [] { return 0; };\n'
        "  return f() + std::numeric_limits<unsigned>::min();\n}\n",
    }
    result = yard.build(recipe_for(commit(yard.clone, GOOD | files), toolchain=toolchain))
    assert result.outcome is Outcome.BUILT
    assert sorted(added(result)) == ["#include <cstdint>", "#include <functional>", "#include <limits>"]
    assert {(repair.kind, repair.path, repair.change) for repair in result.repairs} == {
        ("include", "util/names.h", "#include <cstdint>"),
        ("include", "main.cc", "#include <functional>"),
        ("include", "main.cc", "#include <limits>"),
    }


def test_c_code_gets_the_c_header(yard: Yard) -> None:
    makefile = "db_bench: a.c\n\t$(CC) $(EXTRA_CFLAGS) -c a.c -o a.o\n\t$(CC) -o $@ a.o\n"
    source = "int main(void) { uint32_t n = 0; return (int)n; }\n"
    result = yard.build(recipe_for(commit(yard.clone, {"Makefile": makefile, "a.c": source}), cxxflags=()))
    assert result.outcome is Outcome.BUILT
    assert added(result) == ["#include <stdint.h>"]


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
@pytest.mark.parametrize(
    ("use", "needed"),
    [
        ("int main() { return NameLength(ROOT) - 4; }", '#include "util/names.h"'),
        ("Named name;\nint main() { return name.length; }", '#include "util/named.h"'),
        (
            "struct Named;\nint length(Named& n) { return n.length; }\nint main() { return 0; }",
            '#include "util/named.h"',
        ),
        ("struct Own : public Named {};\nint main() { return 0; }", '#include "util/named.h"'),
    ],
    ids=["function", "type", "definition", "base"],
)
def test_a_missing_project_header_is_found_in_the_tree(yard: Yard, toolchain, use: str, needed: str) -> None:
    files = {
        "main.cc": f'#define ROOT "root"\n\n{use}\n',
        "util/forward.h": "#pragma once\nstruct Named;\n",
        "util/named.h": "#pragma once\nstruct Named {\n  int length = 0;\n};\n",
    }
    result = yard.build(recipe_for(commit(yard.clone, GOOD | files), toolchain=toolchain))
    assert (result.outcome, result.first_error) == (Outcome.BUILT, "")
    assert added(result) == [needed]
    assert [repair.path for repair in result.repairs] == ["main.cc"]


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
def test_a_wrong_header_is_taken_back(yard: Yard, toolchain) -> None:
    files = {
        "main.cc": "int main() { Widget w; return w.size; }\n",
        "a_widget.h": "#error only for another platform\nstruct Widget {\n};\n",
        "b_widget.h": "#ifdef NEVER\nstruct Widget {\n  int size = 1;\n};\n#endif\n",
        "deep/widget.h": "#pragma once\nstruct Widget {\n  int size = 0;\n};\n",
    }
    result = yard.build(recipe_for(commit(yard.clone, GOOD | files), toolchain=toolchain))
    assert (result.outcome, result.first_error) == (Outcome.BUILT, "")
    assert added(result) == ['#include "deep/widget.h"']
    assert [repair.change for repair in result.repairs] == ['#include "deep/widget.h"']


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.name)
def test_what_no_include_mends_fails_with_its_first_error(yard: Yard, toolchain) -> None:
    files = {"main.cc": "int main() {\n  return 1 +;\n}\nint other = nowhere_declared;\n"}
    result = yard.build(recipe_for(commit(yard.clone, GOOD | files), toolchain=toolchain))
    assert result.outcome is Outcome.FAILED
    assert result.first_error.startswith("main.cc:2:13: error: expected")
    assert (result.output, result.diff, result.repairs) == (None, "", ())
    assert sorted(path.name for path in yard.work.iterdir()) == [result.log.name, "trees"]
    assert "main.cc:2:13" in result.log.read_text()


def test_an_undefined_reference_is_the_first_error(yard: Yard) -> None:
    files = {"main.cc": "int nowhere();\nint main() { return nowhere(); }\n"}
    result = yard.build(recipe_for(commit(yard.clone, GOOD | files)))
    assert result.outcome is Outcome.FAILED
    assert "undefined reference to `nowhere()'".replace("`", "'") in result.first_error


def test_a_build_that_does_nothing_for_long_has_hung(yard: Yard) -> None:
    makefile = "db_bench:\n\tmkfifo pipe\n\tcat pipe\n"
    settings = settings_in(yard.directory, silence_s=0.3)
    result = yard.build(recipe_for(commit(yard.clone, {"Makefile": makefile})), settings)
    assert result.outcome is Outcome.HUNG
    assert result.first_error.startswith("make hung")
    assert "no output and no CPU use for 0.3 s" in result.log.read_text()


def test_a_build_that_never_ends_has_hung(yard: Yard) -> None:
    makefile = "db_bench:\n\twhile :; do echo more; done\n"
    settings = settings_in(yard.directory, timeout_s=0.5)
    result = yard.build(recipe_for(commit(yard.clone, {"Makefile": makefile})), settings)
    assert result.outcome is Outcome.HUNG
    assert "took longer than 0.5 s" in result.log.read_text()


def test_a_build_that_prints_without_end_is_ended(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop, "MOST_LOG_BYTES", 1 << 20)
    recipe = recipe_for(commit(yard.clone, {**GOOD, "Makefile": "db_bench:\n\twhile :; do echo y; done\n"}))
    result = yard.build(recipe)
    assert result.outcome is Outcome.HUNG
    assert "killed: the build printed more than 1 MiB" in result.log.read_text()


def test_a_full_disk_is_told_apart(yard: Yard) -> None:
    makefile = "db_bench:\n\tcp Makefile /dev/full\n"
    result = yard.build(recipe_for(commit(yard.clone, {"Makefile": makefile})))
    assert result.outcome is Outcome.OUT_OF_DISK
    assert "No space left on device" in result.first_error


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
@pytest.mark.parametrize("left", [0, 8_192, 20_000, 50_000, 100_000])
def test_a_disk_that_becomes_full_on_the_way_is_no_fault_of_the_commit(yard: Yard, left: int) -> None:
    disk = yard.directory / "disk"
    try:
        mount(disk, "16m")
    except Skipped as why:
        pytest.skip(str(why))
    try:
        fill(disk / "ballast", left)
        settings = settings_in(yard.directory / "apart")
        result = carry_out(recipe_for(commit(yard.clone, GOOD)), BUILDER, yard.clone, disk / "work", settings)
    finally:
        unmount(disk)
    assert result.outcome is Outcome.OUT_OF_DISK
    assert result.first_error


def test_a_log_on_a_full_disk_is_a_result_too(yard: Yard) -> None:
    recipe = recipe_for(commit(yard.clone, GOOD))
    result = carry_out(recipe, BUILDER, yard.clone, yard.work, yard.settings, log=Path("/dev/full"))
    assert result.outcome is Outcome.OUT_OF_DISK
    assert list((yard.work / "trees").iterdir()) == []


def test_a_killed_compiler_means_too_little_memory(yard: Yard) -> None:
    makefile = "db_bench:\n\tkill -KILL $$$$\n"
    result = yard.build(recipe_for(commit(yard.clone, {"Makefile": makefile})))
    assert result.outcome is Outcome.OUT_OF_MEMORY


def test_two_builds_at_once_share_nothing(yard: Yard) -> None:
    makefile = MAKEFILE.replace("db_bench: $(objects)", "db_bench: meet $(objects)") + "\nmeet:\n\tpwd > $(PIPE)\n"
    sha = commit(yard.clone, GOOD | {"Makefile": makefile})
    pipes = [yard.directory / "first", yard.directory / "second"]
    for pipe in pipes:
        os.mkfifo(pipe)
    recipes = [recipe_for(sha, environment={"PIPE": str(pipe)}) for pipe in pipes]
    with ThreadPoolExecutor() as pool:
        running = [pool.submit(yard.build, recipe) for recipe in recipes]
        with pipes[0].open() as first, pipes[1].open() as second:
            directories = [first.read(), second.read()]
        results = [build.result() for build in running]
    assert directories[0] != directories[1]
    assert [result.outcome for result in results] == [Outcome.BUILT, Outcome.BUILT]
    assert list((yard.work / "trees").iterdir()) == []


def test_what_a_killed_run_leaves_is_removed_by_the_next(yard: Yard) -> None:
    pipe = yard.directory / "pipe"
    os.mkfifo(pipe)
    makefile = "db_bench:\n\techo $$$$ > $(PIPE)\n\tmkfifo forever\n\tcat forever\n"
    sha = commit(yard.clone, {"Makefile": makefile})
    before = state_of(yard.clone)
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from small_trees import *; from cpubisect.builders.carry import carry_out\n"
        "from cpubisect.builders.rocksdb import BUILDER\n"
        "home = Path(sys.argv[2]); recipe = recipe_for(sys.argv[3], environment={'PIPE': sys.argv[4]})\n"
        "carry_out(recipe, BUILDER, home / 'clone', home / 'work', settings_in(home))\n"
    )
    here = str(Path(__file__).parents[1] / "support")
    run = subprocess.Popen([sys.executable, "-c", program, here, str(yard.directory), sha, str(pipe)])
    pipe.read_text()
    trees = yard.work / "trees"
    assert remove_leftovers(trees) == 0
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert len(list(trees.iterdir())) == 2
    assert remove_leftovers(trees) == 1
    assert list(trees.iterdir()) == []
    assert state_of(yard.clone) == before


def test_patches_and_edits_apply_where_they_fit(yard: Yard) -> None:
    sha = commit(yard.clone, GOOD | {"main.cc": GOOD["main.cc"].replace("- 4", "- five()")})
    patches = yard.settings.patches_dir
    patches.mkdir()
    (patches / "five.patch").write_text(
        "Declares what the release forgot.\n\n--- a/util/names.h\n+++ b/util/names.h\n@@ -1,3 +1,4 @@\n"
        " #pragma once\n \n int NameLength(const char* name);\n+inline int five() { return 5; }\n"
    )
    (patches / "other.patch").write_text("--- a/util/names.h\n+++ b/util/names.h\n@@ -1 +1 @@\n-#pragma twice\n+x\n")
    result = yard.build(
        recipe_for(
            sha,
            patches=("five.patch", "other.patch"),
            edits=(Edit("main.cc", r"\bfive\(\)", "five() + 1", "one less"), Edit("gone.cc", "x", "y", "none")),
        )
    )
    assert result.outcome is Outcome.BUILT
    assert [(repair.kind, repair.why) for repair in result.repairs] == [
        ("patch", "Declares what the release forgot."),
        ("edit", "one less"),
    ]
    assert "+inline int five() { return 5; }" in result.diff
    assert "- five() + 1;" in result.diff
    log = result.log.read_text()
    assert "the patch other.patch does not fit here: not needed" in log
    assert "the edit of gone.cc finds nothing here: not needed" in log


@pytest.mark.parametrize(
    ("main", "rule", "kind"),
    [
        (
            "#ifndef NEEDED\n#error the library was built without NEEDED\n#endif\n",
            RepairRule("built without NEEDED", "needs a flag", cxxflags=("-DNEEDED",)),
            "flag",
        ),
        (
            "const char* p = \"\";\nbool b = p == '\\0';\n",
            RepairRule(
                "comparison between pointer and integer",
                "ill-formed since C++11",
                file="*.cc",
                edit=Edit("main.cc", r"p == '\\0'", "*p == '\\\\0'", "ill-formed since C++11"),
            ),
            "edit",
        ),
        ("Late late;\n", RepairRule("Late", "named by hand", include='"util/late.h"'), "include"),
        (
            "int nowhere();\nint used = nowhere();\n",
            RepairRule("undefined reference", "p", patch="define.patch"),
            "patch",
        ),
    ],
    ids=["flag", "edit", "include", "patch"],
)
def test_rules_of_the_matrix_repair(yard: Yard, main: str, rule: RepairRule, kind: str) -> None:
    files = {
        "main.cc": f"{main}int main() {{ return 0; }}\n",
        "util/late.h": "#define DECLARE(x) struct x {}\nDECLARE(Late);\n",
    }
    sha = commit(yard.clone, GOOD | files)
    yard.settings.patches_dir.mkdir()
    (yard.settings.patches_dir / "define.patch").write_text(
        "--- a/util/names.cc\n+++ b/util/names.cc\n@@ -1,3 +1,4 @@\n+int nowhere() { return 1; }\n"
        ' #include "util/names.h"\n \n #include <cstring>\n'
    )
    result = yard.build(recipe_for(sha, repairs=(rule,)))
    assert (result.outcome, result.first_error) == (Outcome.BUILT, "")
    assert [repair.kind for repair in result.repairs] == [kind]
    assert bool(result.diff) == (kind != "flag")


def test_forced_includes_reach_every_file(yard: Yard) -> None:
    files = {"main.cc": "int main() { return std::numeric_limits<unsigned>::min(); }\n"}
    result = yard.build(recipe_for(commit(yard.clone, GOOD | files), forced_includes=("limits",), std="c++17"))
    assert (result.outcome, result.diff) == (Outcome.BUILT, "")
    assert "-std=c++17 -I. -include limits" in result.log.read_text()


def test_an_unknown_commit_or_patch_is_the_users_error(yard: Yard) -> None:
    sha = commit(yard.clone, GOOD)
    with pytest.raises(UserError, match="has no commit 1234abcd"):
        yard.build(recipe_for("1234abcd"))
    with pytest.raises(UserError, match="a patch that does not exist"):
        yard.build(recipe_for(sha, patches=("none.patch",)))
    assert list((yard.work / "trees").iterdir()) == []
