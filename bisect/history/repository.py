"""Safe, read-only access to one clone: its objects and refs, never its configuration, hooks or filters."""

import contextlib
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cpubisect.base.errors import UserError
from cpubisect.base.git.borrowed import NotFetched, borrowed
from cpubisect.base.git.clone import find_clone

if TYPE_CHECKING:
    import git

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SUBMODULE = "16"
_LACKS = re.compile(r"promisor|could not fetch|unable to read|remote", re.IGNORECASE)
_PATTERNS = {"GIT_LITERAL_PATHSPECS": "0"}


class GitError(UserError):
    """git itself failed on a repository: damaged objects, a partial clone whose remote is away, an old git."""


class Repository:
    """One clone, bare or not, a worktree or a mirror; only read.

    Raises UserError if `path` is missing, no git repository, another user's whom git does not trust, without a commit,
    or a shallow clone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._clone = find_clone(path)
        with contextlib.ExitStack() as stack:
            self._borrowed = stack.enter_context(borrowed(self._clone))
            weakref.finalize(self, stack.pop_all().close)
        self._git = _git(self._borrowed.place)
        self._git.update_environment(**self._borrowed.environment)
        if self._clone.shallow:
            raise UserError(f"{path} is a shallow clone", "run `git fetch --unshallow` in it first")
        if not self.heads():
            raise UserError(f"{path} holds no commits", "name a clone with history")

    @property
    def identity(self) -> str:
        """What the clone is known by; see `Clone.identity`."""
        return self._clone.identity

    def run(
        self, *arguments: str, stdin: Iterable[str] = (), or_nothing: bool = False, patterns: bool = False
    ) -> bytes:
        """The output of one git command, fed the lines of `stdin`; paths among the arguments are taken as they are, or
        with `patterns` as what names may look like (`*.cc`).

        Raises GitError if it fails, NotFetched if a partial clone lacks something; with `or_nothing`, status 1
        is no failure: `grep`, `merge-base` and `config` so say that they found nothing.
        """
        status, output, error = self._execute(arguments, stdin, _PATTERNS if patterns else None)
        if status != 0 and not (or_nothing and status == 1):
            raise self._failure(arguments, status, error)
        return output

    def text(self, *arguments: str, stdin: Iterable[str] = (), or_nothing: bool = False, patterns: bool = False) -> str:
        """`run`, decoded; bytes that are not UTF-8 become U+FFFD."""
        return self.run(*arguments, stdin=stdin, or_nothing=or_nothing, patterns=patterns).decode(errors="replace")

    def succeeds(self, *arguments: str) -> bool:
        """Whether a git command that answers by its status (0 or 1) says yes; raises GitError for other ends."""
        status, _, _ = self._execute(arguments, ())
        if status not in (0, 1):
            self.run(*arguments)
        return status == 0

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether the commit `new` contains the commit `old`; a commit contains itself."""
        return self.succeeds("merge-base", "--is-ancestor", old, new)

    def commit(self, name: str) -> str | None:
        """The sha of the commit that git understands by `name`; None if there is none or several.

        Raises UserError for a name that git could take for an option or that holds control characters.
        """
        self._borrowed.follow_head()
        status, output, _ = self._execute(
            ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{checked_name(name)}^{{commit}}"), ()
        )
        sha = output.decode(errors="replace").strip()
        return sha if status == 0 and _SHA.fullmatch(sha) else None

    def heads(self) -> list[tuple[str, str]]:
        """The lines of history, as (name, sha), each sha once: HEAD, then local and then remote branches by name."""
        found: dict[str, str] = {}
        if (head := self.commit("HEAD")) is not None:
            found[head] = "HEAD"
        listing = self.text("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes")
        for line in listing.splitlines():
            sha, ref = line.split(" ", 1)
            found.setdefault(sha, ref.removeprefix("refs/heads/").removeprefix("refs/remotes/"))
        if not found:
            for line in self.text("for-each-ref", "--format=%(refname)").splitlines():
                if (sha_of_ref := self.commit(line)) is not None:
                    found.setdefault(sha_of_ref, line.removeprefix("refs/"))
        return [(name, sha) for sha, name in found.items()]

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The content of each blob, in the order asked for, one in memory at a time.

        Raises GitError if one cannot be had, NotFetched in a partial clone.
        """
        try:
            for blob in ids:
                *_, content = self._git.get_object_data(blob)
                yield blob, content
        except (ValueError, OSError) as error:
            if self._clone.promisor is not None:
                raise NotFetched(self.path, f"blob {blob}") from error
            raise GitError(
                f"blob {blob} cannot be read in {self.path}", "run `git fsck` or `git fetch` in it"
            ) from error
        finally:
            self._git.clear_cache()

    def provide(self, blobs: Iterable[str]) -> None:
        """Have these blobs at hand before they are read: what a partial clone lacks is fetched into it in one go, where
        git itself would ask for one at a time, or for those of one commit.

        Raises NotFetched, after a second try.
        """
        if self._clone.promisor is None or len(wanted := set(blobs)) < 2:
            return
        listing = ("--batch-all-objects", "--unordered", "--buffer", "--batch-check=%(objectname)")
        for line in BytesIO(self.run("cat-file", *listing)):
            wanted.discard(line.decode().strip())
        if wanted:
            plainly = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none")
            words = ("fetch", *plainly, "--stdin", "origin")
            if self._execute(words, sorted(wanted))[0] != 0:
                self.run(*words, stdin=sorted(wanted))

    def files_at(self, commits: Iterable[str], paths: Sequence[str]) -> dict[str, dict[str, str]]:
        """By commit, given by its full name, the paths among these that are files there, each with its blob; no blob is
        read, which a partial clone would have to fetch. Two git calls for any number. Raises GitError for what is no
        commit."""
        listing = self.text("rev-list", "--no-walk=unsorted", "--stdin", "--format=%H %T", stdin=dict.fromkeys(commits))
        trees = dict(line.split() for line in listing.splitlines() if not line.startswith("commit "))
        empty = self._clone.empty_tree
        output = self.run(
            *("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--", *paths),
            stdin=(f"{empty} {tree}" for tree in dict.fromkeys(trees.values())),
        )
        found: dict[str, dict[str, str]] = {}
        current: dict[str, str] = {}
        words = iter(output.decode(errors="replace").split("\0"))
        for word in words:
            # Before the first file of a tree stands a line with the names of both.
            heading, _, entry = word.rpartition("\n")
            if heading:
                current = found.setdefault(heading.split()[-1], {})
            if entry:
                _, mode, _, blob, _ = entry.split()
                path = next(words)
                if not mode.startswith(_SUBMODULE):
                    current[path] = blob
        return {commit: found.get(tree, {}) for commit, tree in trees.items()}

    def is_dirty(self) -> bool:
        """Whether tracked files of the working tree differ from HEAD; False for a bare repository.

        Files are compared as they lie there: one that a filter would turn back into what HEAD holds counts as different
        once it was touched.
        """
        if self._clone.work_tree is None:
            return False
        words = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules", "--no-renames")
        self._borrowed.follow_head()
        # Attributes of the tree may name filters, which only a configuration could make programs of.
        status, output, error = self._execute(words, (), self._borrowed.alone)
        if status != 0:
            raise self._failure(words, status, error)
        return bool(output)

    def _failure(self, arguments: tuple[str, ...], status: int, error: bytes) -> UserError:
        lines = error.decode(errors="replace").strip().splitlines() or [f"status {status}"]
        if self._clone.promisor is not None and (arguments[0] == "fetch" or any(map(_LACKS.search, lines))):
            return NotFetched(self.path, lines[-1])
        return GitError(f"git {arguments[0]} failed in {self.path}", lines[-1])

    def _execute(
        self, arguments: tuple[str, ...], stdin: Iterable[str], environment: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, bytes]:
        command, *others = arguments
        process = getattr(self._git, command)(*others, istream=-1, as_process=True, env=environment)
        output, error = process.communicate("".join(f"{line}\n" for line in stdin).encode())
        return int(process.returncode), cast(bytes, output), cast(bytes, error)


LONGEST_NAME = 1000
"""Characters of a name: git keeps none that is longer than a path, and nobody types a longer one."""

_SEARCHES = re.compile(r"^:|\^\{/")
"""What git looks up in the index or finds by reading messages: in a large history it reads for minutes."""


def checked_name(name: str) -> str:
    """`name` as it is; raises UserError if it is empty or too long, looks like an option, holds control characters, or
    asks git to search."""
    if len(name) > LONGEST_NAME:
        raise UserError(f"{name} cannot be the name of a commit", "give a version, a tag, a branch or a sha")
    if _SEARCHES.search(name):
        raise UserError(
            f"{name!r} asks git to search, which is not done here",
            "name the commit itself: `git log --grep` or `git rev-parse` in the clone finds it",
        )
    if not name or name.startswith(("-", "^")) or _CONTROL.search(name):
        raise UserError(f"{name!r} cannot be the name of a commit", "give a version, a tag, a branch or a sha")
    return name


def _git(place: Path) -> "git.Git":
    try:
        import git
    except ImportError as error:
        raise UserError("git cannot be run", "install git and see that it is on the PATH") from error
    return git.Git(place)
