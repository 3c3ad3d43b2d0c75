"""Safe, read-only access to one clone: its objects and refs, never its hooks, filters or working files."""

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cpubisect.base.errors import UserError

if TYPE_CHECKING:
    import git

# Configuration under which nothing but git itself runs and its output is in one known form.
_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
    "color.grep=false",
    "grep.column=false",
    "grep.lineNumber=false",
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class GitError(UserError):
    """git itself failed on a repository: damaged objects, a partial clone whose remote is away, an old git."""


class Repository:
    """One clone, bare or not, a worktree or a mirror; only read.

    Raises UserError if `path` is missing, no git repository, without a commit, or a shallow clone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repo = _open(path)
        self._work_tree = _work_tree(self._repo)
        self._repo.git.update_environment(**_environment(self._repo, self._work_tree))
        self._repo.git.set_persistent_git_options(c=list(_CONFIG))
        if self.text("rev-parse", "--is-shallow-repository").strip() == "true":
            raise UserError(f"{path} is a shallow clone", "run `git fetch --unshallow` in it first")
        if not self.heads():
            raise UserError(f"{path} holds no commits", "name a clone with history")

    def run(self, *arguments: str, stdin: Iterable[str] = (), or_nothing: bool = False) -> bytes:
        """The output of one git command, fed the lines of `stdin`.

        Raises GitError if it fails; with `or_nothing`, status 1 is no failure: `grep`, `merge-base` and `config` so say
        that they found nothing.
        """
        status, output, error = self._execute(arguments, stdin)
        if status != 0 and not (or_nothing and status == 1):
            lines = error.decode(errors="replace").strip().splitlines() or [f"status {status}"]
            raise GitError(f"git {arguments[0]} failed in {self.path}", lines[-1])
        return output

    def text(self, *arguments: str, stdin: Iterable[str] = (), or_nothing: bool = False) -> str:
        """`run`, decoded; bytes that are not UTF-8 become U+FFFD."""
        return self.run(*arguments, stdin=stdin, or_nothing=or_nothing).decode(errors="replace")

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

        Raises GitError if one cannot be had, as in a partial clone whose remote is away.
        """
        try:
            for blob in ids:
                *_, content = self._repo.git.get_object_data(blob)
                yield blob, content
        except (ValueError, OSError) as error:
            raise GitError(
                f"blob {blob} cannot be read in {self.path}", "run `git fsck` or `git fetch` in it"
            ) from error
        finally:
            self._repo.git.clear_cache()

    def is_dirty(self) -> bool:
        """Whether tracked files of the working tree differ from HEAD; False for a bare repository.

        Files are compared as they lie there: one that a filter would turn back into what HEAD holds counts as different
        once it was touched.
        """
        if self._work_tree is None:
            return False
        settings = self.text("config", "--name-only", "--get-regexp", r"^filter\.", or_nothing=True).splitlines()
        drivers = {setting.rpartition(".")[0] for setting in settings}
        unfiltered = [f"{driver}.{word}" for driver in drivers for word in ("clean=", "process=", "required=false")]
        # These options are for the next command alone.
        self._repo.git(c=unfiltered)
        return bool(self.run("status", "--porcelain", "--untracked-files=no", "--ignore-submodules"))

    def _execute(self, arguments: tuple[str, ...], stdin: Iterable[str]) -> tuple[int, bytes, bytes]:
        command, *others = arguments
        process = getattr(self._repo.git, command)(*others, istream=-1, as_process=True)
        output, error = process.communicate("".join(f"{line}\n" for line in stdin).encode())
        return int(process.returncode), cast(bytes, output), cast(bytes, error)


def checked_name(name: str) -> str:
    """`name` as it is; raises UserError if it is empty, looks like an option, or holds control characters."""
    if not name or name.startswith(("-", "^")) or _CONTROL.search(name):
        raise UserError(f"{name!r} cannot be the name of a commit", "give a version, a tag, a branch or a sha")
    return name


def _open(path: Path) -> "git.Repo":
    try:
        import git
    except ImportError as error:
        raise UserError("git cannot be run", "install git and see that it is on the PATH") from error
    try:
        return git.Repo(path, expand_vars=False)
    except git.NoSuchPathError as error:
        raise UserError(f"{path} does not exist", "name a clone of the repository to search") from error
    except (git.InvalidGitRepositoryError, NotADirectoryError) as error:
        raise UserError(f"{path} is not a git repository", "name the top folder of a clone") from error


def _work_tree(repo: "git.Repo") -> str | None:
    """Where a repository's files are checked out; None if it is bare. By git's own rule it is where the configuration
    does not say and its directory is not called `.git`; GitPython takes the directory above for its files then."""
    inside = repo.working_tree_dir
    if inside is None or not _same(repo.git_dir, Path(inside) / Path(repo.git_dir).name):
        return None if inside is None else str(inside)
    said = any(repo.config_reader("repository").has_option("core", name) for name in ("bare", "worktree"))
    return str(inside) if said or Path(repo.git_dir).name == ".git" else None


def _same(one: str | PathLike[str], other: Path) -> bool:
    return Path(one).resolve() == other.resolve()


def _environment(repo: "git.Repo", work_tree: str | None) -> dict[str, str]:
    """Variables that bind every command to this repository, whatever GIT_* the caller has, and keep it unwritten."""
    common = Path(repo.common_dir)
    found = {
        "GIT_DIR": str(repo.git_dir),
        "GIT_COMMON_DIR": str(common),
        "GIT_OBJECT_DIRECTORY": str(common / "objects"),
        "GIT_INDEX_FILE": str(Path(repo.git_dir) / "index"),
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_FLUSH": "0",
    }
    if work_tree is not None:
        found["GIT_WORK_TREE"] = work_tree
    return found
