"""Small real repositories with a Makefile and a few source files, and recipes for them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cpubisect.builders.build import BuildSettings, Recipe, Toolchain
from cpubisect.builders.recipes.toolchain import installed_toolchains

MAKEFILE = """\
objects = main.o util/names.o

db_bench: $(objects)
\t$(CXX) -o $@ $(objects)

%.o: %.cc
\t$(CXX) $(OPT) $(CXXFLAGS) $(EXTRA_CXXFLAGS) -c $< -o $@
"""

GOOD = {
    "Makefile": MAKEFILE,
    "main.cc": '#include "util/names.h"\n\nint main() { return NameLength("four") - 4; }\n',
    "util/names.h": "#pragma once\n\nint NameLength(const char* name);\n",
    "util/names.cc": '#include "util/names.h"\n\n#include <cstring>\n\nint NameLength(const char* name) {\n'
    "  return static_cast<int>(strlen(name));\n}\n",
}

TOOLCHAINS = installed_toolchains()


def git(repository: Path, *words: str) -> str:
    """Run git in a repository and return what it prints."""
    identity = ("-c", "user.name=A U Thor", "-c", "user.email=author@example.com")
    return subprocess.run(
        ["git", "-C", str(repository), *identity, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(repository: Path, files: Mapping[str, str], message: str = "change") -> str:
    """Write files into a repository (made if it is not there) and commit them; the commit's name."""
    if not (repository / ".git").exists():
        repository.mkdir(parents=True)
        git(repository, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(repository, "rev-parse", "HEAD")


def recipe_for(sha: str, *, toolchain: Toolchain = TOOLCHAINS[0], **fields: Any) -> Recipe:
    """A recipe for a commit of a small repository."""
    fields = {"cxxflags": ("-I.",), "version": "1.0", **fields}
    return Recipe(engine="toy", commit=sha, toolchain=toolchain, system="make", **fields)


def settings_in(directory: Path, **fields: Any) -> BuildSettings:
    """Settings with a compiler cache and patches of their own."""
    places: dict[str, Any] = {"ccache_dir": directory / "ccache", "patches_dir": directory / "patches"}
    return BuildSettings(**{**places, **fields})


def state_of(repository: Path) -> tuple[object, ...]:
    """All of a clone that a build must not change: its files with their times, its worktrees and its status."""
    files = sorted((str(path), path.stat().st_mtime_ns) for path in repository.rglob("*"))
    return files, git(repository, "worktree", "list"), git(repository, "--no-optional-locks", "status", "--porcelain")
