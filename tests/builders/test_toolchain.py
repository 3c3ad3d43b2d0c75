import subprocess
from pathlib import Path

import pytest

from cpubisect.base.errors import UserError
from cpubisect.builders.recipes.toolchain import (
    cache_counts,
    cache_environment,
    compiler_environment,
    find_ccache,
    installed_toolchains,
)


def program(directory: Path, name: str, says: str = "") -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def test_the_hosts_compilers_say_their_release() -> None:
    found = installed_toolchains()
    assert found
    for toolchain in found:
        answer = subprocess.run([toolchain.cxx, "--version"], capture_output=True, text=True, check=True).stdout
        assert toolchain.name.partition("-")[2] in answer
        assert toolchain.name.partition("-")[2] in toolchain.release


def test_compilers_are_found_by_name_and_by_release(tmp_path: Path) -> None:
    path = f"{tmp_path}:/usr/bin:/bin"
    only = tmp_path / "only"
    only.mkdir()
    for name in ("gcc-98", "g++-98", "gcc-ar", "gcc-ranlib"):
        program(only, name, "gcc-98 (Distribution 98.2.0-14+u1) 98.2.0")
    for name in ("gcc", "g++"):
        program(only, name, "gcc (Distribution 99.1.0-3) 99.1.0")
    for name in ("clang", "clang++"):
        program(only, name, "Ubuntu clang version 97.1.3 (1ubuntu1)")
    for name in ("llvm-ar-97", "llvm-ranlib-97", "clang-96", "clang++-96", "gcc-95", "gcc-ar-97"):
        program(only, name, "clang version 96.0.0")
    (only / "sh").symlink_to("/bin/sh")
    found = {toolchain.name: toolchain for toolchain in installed_toolchains(str(only))}
    assert list(found) == ["gcc-99", "gcc-98", "clang-97"]
    assert (found["gcc-99"].cc, found["gcc-99"].cxx) == ("gcc", "g++")
    assert found["gcc-99"].release == "gcc (Distribution 99.1.0-3) 99.1.0"
    assert (found["gcc-98"].cc, found["gcc-98"].ar) == ("gcc-98", "gcc-ar")
    assert (found["clang-97"].cxx, found["clang-97"].ar, found["clang-97"].ranlib) == (
        "clang++",
        "llvm-ar-97",
        "llvm-ranlib-97",
    )
    assert compiler_environment(found["clang-97"], "ccache")["CXX"] == "ccache clang++"
    assert "gcc-98" not in {toolchain.name for toolchain in installed_toolchains(path)}


def test_no_ccache_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="apt install ccache"):
        find_ccache(str(tmp_path))
    program(tmp_path, "ccache")
    assert find_ccache(str(tmp_path)) == str(tmp_path / "ccache")


def test_counts_of_a_statistics_log() -> None:
    log = """\
# a.cc
cache_miss
direct_cache_miss
local_storage_miss
preprocessed_cache_miss
# a.cc
direct_cache_hit
local_storage_hit
# b.cc
direct_cache_miss
preprocessed_cache_hit
# a.o
called_for_link
"""
    assert cache_counts(log.splitlines()) == (2, 1)


def test_the_cache_is_shared_by_trees_in_any_place(tmp_path: Path) -> None:
    compiler = installed_toolchains()[0].cxx
    for name in ("first", "second"):
        tree = tmp_path / name / "tree"
        tree.mkdir(parents=True)
        (tree / "a.cc").write_text('#include "a.h"\nconst char* when = __DATE__;\n')
        (tree / "a.h").write_text("extern const char* when;\n")
        log = tmp_path / f"{name}.log"
        environment = {"PATH": "/usr/bin:/bin", **cache_environment(tmp_path / "cache", tree, log, 1_000_000_000)}
        command = ["ccache", compiler, "-g", "-c", tree / "a.cc", "-o", tree / "a.o"]
        subprocess.run(command, cwd=tree, env=environment, check=True)
    assert cache_counts((tmp_path / "first.log").read_text().splitlines()) == (0, 1)
    assert cache_counts((tmp_path / "second.log").read_text().splitlines()) == (1, 0)
    assert b"Sep  9 2001" in (tmp_path / "second" / "tree" / "a.o").read_bytes()


@pytest.mark.parametrize(
    ("settings", "limit"), [("", "20.0G"), ("compression = true\n", "20.0G"), ("max_size = 70G\n", "70.0G")]
)
def test_a_cache_with_a_limit_of_its_own_keeps_it(tmp_path: Path, settings: str, limit: str) -> None:
    if settings:
        (tmp_path / "ccache.conf").write_text(settings)
    environment = {"PATH": "/usr/bin:/bin", **cache_environment(tmp_path, tmp_path / "tree", tmp_path / "log", 0)}
    asked = subprocess.run(
        ["ccache", "--get-config", "max_size"], env=environment, capture_output=True, text=True, check=True
    )
    assert asked.stdout.strip() == limit
