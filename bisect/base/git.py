"""How git is called on a clone that is not ours: its objects and refs are read, and of its configuration nothing runs.

A clone's configuration names programs: filters, hooks, monitors, what fetches. Therefore git never works with it, but
in a repository of our own, with a configuration of our own, that borrows the clone's objects and refs. Grafts, replaced
objects, attributes and whatever else could change what the clone holds are not part of that.

Whether git trusts the owner of a clone is asked of git itself, once, when it is opened.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.process import run
from cpubisect.base.scratch import remove_leftovers, scratch

TRANSPORTS = "file:git:http:https:ssh"
"""How objects that a partial clone lacks may be fetched: by git itself, never by a program that an address names."""

_TIMEOUT_S = 60.0
_YES = ("true", "1", "yes", "on")
# How files lie in the working tree; no value of these runs anything.
_KEPT = ("core.filemode", "core.symlinks", "core.autocrlf", "core.eol", "core.ignorecase", "core.trustctime")
_OWN = """\
[core]
	repositoryFormatVersion = 1
	hooksPath = /dev/null
	fsmonitor = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	pager = cat
[gc]
	auto = 0
[maintenance]
	auto = false
[fetch]
	recurseSubmodules = false
[log]
	showSignature = false
[i18n]
	logOutputEncoding = UTF-8
[color]
	ui = false
	grep = false
[grep]
	column = false
	lineNumber = false
"""


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
    def object_format(self) -> str:
        """The name of the digest that its objects are named by."""
        return self.settings.get("extensions.objectformat", "sha1")

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


@dataclass(frozen=True)
class Borrowed:
    """A repository of our own with the objects and refs of a `clone`: its `place`, and git's environment there."""

    clone: Clone
    place: Path
    environment: Mapping[str, str]

    def follow_head(self) -> None:
        """Have HEAD be what the clone's is now: of a link, git would not read it. Raises UserError if it has none."""
        new = self.place / "HEAD.new"
        try:
            new.write_bytes((self.clone.git_dir / "HEAD").read_bytes())
            new.replace(self.place / "HEAD")
        except OSError as error:
            raise UserError(f"{self.clone.path} has no HEAD ({error.strerror})", "run `git status` in it") from error

    @property
    def alone(self) -> dict[str, str]:
        """The environment with the user's own configuration left out too, for what reads files of the working tree."""
        return {**self.environment, **_NOBODYS}


_NOBODYS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def borrow(clone: Clone, place: Path) -> Borrowed:
    """Make a repository in the empty directory `place` that borrows a clone's objects and refs, as they are and will
    be; HEAD is what it is now or when `follow_head` was called.

    A partial clone's missing objects are fetched into the clone when they are asked for.
    """
    (place / "config").write_text(_configuration(clone))
    (place / "objects").mkdir()
    for name in ("refs", "packed-refs", "reftable", "logs"):
        if (clone.common / name).exists():
            (place / name).symlink_to(clone.common / name)
    # What names can mean beside refs, and the parts of an index that was split.
    for file in [*(clone.git_dir / name for name in ("FETCH_HEAD", "ORIG_HEAD")), *clone.git_dir.glob("sharedindex.*")]:
        if file.is_file():
            (place / file.name).symlink_to(file)
    environment = {
        "GIT_DIR": str(place),
        "GIT_COMMON_DIR": str(place),
        "GIT_OBJECT_DIRECTORY": str(clone.objects),
        "GIT_INDEX_FILE": str(clone.git_dir / "index"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_GRAFT_FILE": str(place / "no-grafts"),
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_FLUSH": "0",
        **transport_environment(),
    }
    if clone.work_tree is not None:
        environment["GIT_WORK_TREE"] = str(clone.work_tree)
    # What fetches may need the user's own configuration: a proxy, say, or who may log in.
    ours = Borrowed(clone, place, environment if clone.promisor else {**environment, **_NOBODYS})
    ours.follow_head()
    return ours


@contextlib.contextmanager
def borrowed(clone: Clone) -> Iterator[Borrowed]:
    """`borrow` in a directory of its own, which is removed afterwards; what a killed run left is removed before.

    Raises UserError if there is no room for temporary files.
    """
    with contextlib.ExitStack() as stack:
        try:
            places = _places()
            remove_leftovers(places)
            ours = borrow(clone, stack.enter_context(scratch(places)))
        except OSError as error:
            raise UserError(
                f"cannot write to {tempfile.gettempdir()} ({error.strerror})",
                "free space there, or set TMPDIR to a writable directory",
            ) from error
        yield ours


def transport_environment() -> dict[str, str]:
    """What keeps a fetch from asking anybody and from running what an address names."""
    return {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": TRANSPORTS, "GIT_PROTOCOL_FROM_USER": "0"}


def _places() -> Path:
    """A directory for what lasts as long as a process, which is this user's alone."""
    common = Path(tempfile.gettempdir()) / f"cpubisect-git-{os.geteuid()}"
    common.mkdir(mode=0o700, exist_ok=True)
    found = common.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UserError(f"{common} is not a directory of this user alone", "remove it, or set TMPDIR to another place")
    return common


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
    listed = run(words, cwd=Path("/"), env={**_finding(file), **_NOBODYS}, timeout_s=_TIMEOUT_S)
    rows = [row.partition("\n") for row in listed.output.split("\0") if row] if listed.ok else []
    return {name: value if newline else "true" for name, newline, value in rows}


def _configuration(clone: Clone) -> str:
    """The text of our own configuration for a clone."""
    lines = [_OWN, "[core]", f"\tbare = {str(clone.work_tree is None).lower()}"]
    lines += [
        f"\t{name.partition('.')[2]} = {_quoted(clone.settings[name])}" for name in _KEPT if name in clone.settings
    ]
    lines += ["[extensions]", f"\tobjectFormat = {_quoted(clone.object_format)}"]
    if (clone.common / "reftable").is_dir():
        lines.append("\trefStorage = reftable")
    if (promisor := clone.promisor) is not None:
        lines += [
            "\tpartialClone = origin",
            '[remote "origin"]',
            f"\turl = {_quoted(promisor.url)}",
            "\tpromisor = true",
        ]
        lines.append(f"\tpartialCloneFilter = {_quoted(promisor.filter)}")
    return "\n".join([*lines, ""])


def _quoted(value: str) -> str:
    """A value as git reads it from a file."""
    for letter, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        value = value.replace(letter, written)
    return f'"{value}"'
