"""A clone as it lies on disk, and whether git trusts it."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.process import run

NOBODYS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""The environment of a git without the user's and the system's configuration."""

_TIMEOUT_S = 60.0
_EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_YES = ("true", "1", "yes", "on")


@dataclass(frozen=True)
class Promisor:
    """Where a partial clone promises to get what it lacks: the remote's `url` and the `filter` it was cloned by."""

    url: str
    filter: str


@dataclass(frozen=True)
class Clone:
    """A clone as found on disk: its own directory, the one it shares with its worktrees, and its `work_tree`, None if
    it is bare; `settings` are the last values of its configuration by name, which only we read."""

    path: Path
    git_dir: Path
    common: Path
    work_tree: Path | None
    settings: Mapping[str, str]

    @property
    def objects(self) -> Path:
        """Where its objects are."""
        return self.common / "objects"

    @property
    def identity(self) -> str:
        """What it is known by, 16 hexadecimal digits, wherever what was made of its commits is kept: the place of its
        objects, since git believes these without comparing them with their names. Of a clone whose objects are a link
        to another one's it is both places."""
        objects, common = self.objects.resolve(), self.common.resolve()
        places = [objects] if objects == common / "objects" else [objects, common]
        return hashlib.sha256(b"\0".join(map(os.fsencode, places))).hexdigest()[:16]

    @property
    def object_format(self) -> str:
        """The name of the digest that its objects are named by."""
        return self.settings.get("extensions.objectformat", "sha1")

    @property
    def empty_tree(self) -> str:
        """The name of the tree without files, which every git knows."""
        return _EMPTY_TREES[self.object_format]

    @property
    def shallow(self) -> Path | None:
        """The file that says where its history is cut off; None if it is whole."""
        file = self.common / "shallow"
        return file if file.is_file() and file.stat().st_size else None

    @property
    def promisor(self) -> Promisor | None:
        """Where it gets what it lacks; None if it is a whole clone, or that has no address."""
        said = [name for name, value in self.settings.items() if name.endswith(".promisor") and value in _YES]
        names = [name.removeprefix("remote.").removesuffix(".promisor") for name in said]
        names.append(self.settings.get("extensions.partialclone", ""))
        for name in names:
            if url := self.settings.get(f"remote.{name}.url", ""):
                base = self.work_tree or self.git_dir
                url = url if "://" in url or ":" in url.partition("/")[0] else str((base / url).resolve())
                return Promisor(url, self.settings.get(f"remote.{name}.partialclonefilter", "blob:none"))
        return None


def find_clone(path: Path) -> Clone:
    """The clone whose top folder, or whose git directory, is `path`.

    Raises UserError if there is none, or if it belongs to another user and git was not told to trust it.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist", "name a clone of the repository to search")
    if not path.is_dir():
        raise UserError(f"{path} is not a git repository", "name the top folder of a clone")
    words = ["git", "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--is-bare-repository"]
    found = run(words, cwd=path, env=_finding(path), timeout_s=_TIMEOUT_S)
    if not found.ok:
        raise _refused(path, found.output, found.returncode)
    git_dir, common, bare = found.output.splitlines()[-3:]
    work_tree = path if (path / ".git").exists() else path.parent if path.resolve().name == ".git" else None
    return Clone(
        path=path,
        git_dir=Path(git_dir),
        common=Path(common),
        work_tree=None if bare == "true" or work_tree is None else work_tree.resolve(),
        settings=_settings(Path(common) / "config"),
    )


def _finding(path: Path) -> dict[str, str]:
    """The environment in which git looks for a clone and at its owner: with the user's configuration, which says whom
    to trust, and with no other variable of git's."""
    said = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in said}
    return {**kept, "LC_ALL": "C", "LANGUAGE": "C", "GIT_CEILING_DIRECTORIES": str(path.resolve().parent)}


def _refused(path: Path, output: str, returncode: int) -> UserError:
    if returncode == 127:
        return UserError("git cannot be run", "install git and see that it is on the PATH")
    if "dubious ownership" in output or "unsafe repository" in output:
        return UserError(
            f"{path} belongs to another user, and git does not trust it",
            f"if you do, run `git config --global --add safe.directory {path.resolve()}`",
        )
    if "not a git repository" in output:
        return UserError(f"{path} is not a git repository", "name the top folder of a clone")
    lines = output.strip().splitlines() or ["it says nothing"]
    return UserError(f"git cannot open {path} ({lines[-1].removeprefix('fatal: ')[:200]})", "run `git status` in it")


def _settings(file: Path) -> dict[str, str]:
    """The last value of each setting in a configuration file, without what it includes."""
    if not file.is_file():
        return {}
    words = ["git", "config", "--file", str(file), "--no-includes", "--null", "--list"]
    listed = run(words, cwd=Path("/"), env={**_finding(file), **NOBODYS}, timeout_s=_TIMEOUT_S)
    rows = [row.partition("\n") for row in listed.output.split("\0") if row] if listed.ok else []
    return {name: value if newline else "true" for name, newline, value in rows}
