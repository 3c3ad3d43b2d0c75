"""A repository of our own that borrows a clone's objects and refs: where git works."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cpubisect.base.disk.scratch import temporary
from cpubisect.base.errors import UserError
from cpubisect.base.git.clone import NOBODYS, Clone

TRANSPORTS = "file:git:http:https:ssh"
"""How objects that a partial clone lacks may be fetched: by git itself, never by a program that an address names."""

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
	negotiationAlgorithm = noop
	writeCommitGraph = false
[http]
	lowSpeedLimit = 100
	lowSpeedTime = 120
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


class NotFetched(UserError):
    """A partial clone could not fetch what it lacks, and `why` is what git said: that says nothing of a commit."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is a partial clone and could not fetch what it lacks ({why})",
            "go on when its server answers, or name a whole clone with --repo",
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
        return {**self.environment, **NOBODYS}


# A fetch asks nobody, and runs nothing that an address names.
_TRANSPORT = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": TRANSPORTS, "GIT_PROTOCOL_FROM_USER": "0"}
_OF_A_REPOSITORY = frozenset(
    ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE",
     "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_PREFIX", "GIT_CONFIG")
)  # fmt: skip


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
        "GIT_SHALLOW_FILE": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_FLUSH": "0",
        **_TRANSPORT,
    }
    if clone.work_tree is not None:
        environment["GIT_WORK_TREE"] = str(clone.work_tree)
    # What fetches may need the user's own configuration: a proxy, say, or who may log in.
    ours = Borrowed(clone, place, environment if clone.promisor else {**environment, **NOBODYS})
    ours.follow_head()
    return ours


@contextlib.contextmanager
def borrowed(clone: Clone) -> Iterator[Borrowed]:
    """`borrow` in a directory of its own, which is removed afterwards; what a killed run left is removed before.

    Raises UserError if there is no room for temporary files.
    """
    with contextlib.ExitStack() as stack:
        try:
            ours = borrow(clone, stack.enter_context(temporary("git")))
        except OSError as error:
            raise UserError(
                f"cannot write to {tempfile.gettempdir()} ({error.strerror})",
                "free space there, or set TMPDIR to a writable directory",
            ) from error
        yield ours


def mirror_environment() -> dict[str, str]:
    """For git in a clone that we make of an address, and fetch into: the user's own environment, but for variables that
    mean another repository."""
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    return {**kept, **_TRANSPORT}


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
