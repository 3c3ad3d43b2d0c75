"""A private tree at one commit: checked out, changed as the recipe says, and gone afterwards.

Each build has a small repository of its own that borrows the objects of the user's clone. `git worktree` would do the
same within that clone, but then two runs, a killed run or a pruning git would meet in its administrative files; here
the clone is only ever read.

That repository lies beside the tree, where no build comes: in the tree it would lead a build to the clone, and what a
build wrote into its settings our own git would run. In the tree there is another one, which has the commit and nothing
else, for builds that stamp its name and date into what they make: it has no files, no tags and no commit before.
"""

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from cpubisect.base.disk.scratch import remove_leftovers, scratch
from cpubisect.base.disk.space import is_scarce
from cpubisect.base.errors import UserError
from cpubisect.base.git.borrowed import NotFetched, borrowed
from cpubisect.base.git.clone import Clone, find_clone
from cpubisect.base.process import Finished, run
from cpubisect.base.sandbox import inside
from cpubisect.builders.build import Edit
from cpubisect.builders.trees.shop import CommandFailed

_GIT_TIMEOUT_S = 3600.0
# What is left out is told by a pattern, which paths are not elsewhere.
_PATTERNS = ("--no-literal-pathspecs",)


class SourceTree:
    """A checked-out tree that is ours alone; paths are relative to its root `path`.

    `place` is the private directory it lies in, for whatever else the build needs to be apart; `origin` is the
    identity of the clone.
    """

    def __init__(self, place: Path, origin: str = "") -> None:
        self.place = place
        self.origin = origin
        self.path = place / "tree"
        self._changed: set[str] = set()
        self.repository = place / "git"
        home = place / "git-home"
        home.mkdir()
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(self.repository),
            "GIT_WORK_TREE": str(self.path),
            "LC_ALL": "C",
        }

    def git(self, *words: str) -> Finished:
        """Run git in the tree, without the user's configuration; raises CommandFailed."""
        finished = run(["git", *words], cwd=self.path, env=self._environment, timeout_s=_GIT_TIMEOUT_S)
        if not finished.ok:
            raise CommandFailed(finished)
        return finished

    def tell_itself(self, commit: str, object_format: str) -> None:
        """Make the repository in the tree, for builds; raises CommandFailed."""
        apart = ("GIT_DIR", "GIT_WORK_TREE")
        environment = {name: value for name, value in self._environment.items() if name not in apart}
        script = (
            'git init --quiet --template= --object-format="$2" . && '
            'git --git-dir="$3" cat-file commit "$1" | git hash-object -t commit -w --stdin >/dev/null && '
            'echo "$1" >.git/shallow && git update-ref --no-deref HEAD "$1"'
        )
        words = ["sh", "-c", script, "sh", commit, object_format, str(self.repository)]
        finished = run(words, cwd=self.path, env=environment, timeout_s=_GIT_TIMEOUT_S)
        if not finished.ok:
            raise CommandFailed(finished)

    def search(self, *words: str) -> list[str]:
        """The lines of a `git grep` in the tree; none found is no error."""
        finished = run(
            ["git", "grep", "--no-color", "-I", *words],
            cwd=self.path,
            env=self._environment,
            timeout_s=_GIT_TIMEOUT_S,
        )
        return finished.output.splitlines() if finished.ok else []

    def files(self) -> list[str]:
        """The paths of all files that belong to the commit, or that a patch added."""
        return [name for name in self.git("ls-files", "-z").output.split("\0") if name]

    def commit_time(self) -> int:
        """When the commit was made, in seconds since 1970."""
        return int(self.git("log", "-1", "--format=%ct").output)

    def commit_dates(self) -> tuple[datetime, datetime]:
        """When the commit was written and when it was committed, each with the zone its author or committer was in."""
        written, committed = self.git("log", "-1", "--format=%aI%n%cI").output.split()
        return datetime.fromisoformat(written), datetime.fromisoformat(committed)

    def read(self, path: str) -> str:
        """A file's text; bytes that are not UTF-8 survive a `write` of it. Raises Outside for a link that leads out."""
        return inside.read_text(self.path / path, self.path, errors="surrogateescape")

    def write(self, path: str, text: str) -> None:
        """Replace a file's text; it then counts as changed. Raises Outside for a link that leads out."""
        inside.write_text(self.path / path, self.path, text)
        self._changed.add(path)

    def apply_patch(self, patch: Path) -> bool:
        """Apply a patch if it fits as a whole; False if it does not. Raises UserError if there is no such patch."""
        if not patch.is_file():
            raise UserError(f"the matrix names a patch that does not exist: {patch}", "correct its name")
        try:
            self.git("apply", "--check", "--whitespace=nowarn", str(patch.resolve()))
        except CommandFailed:
            return False
        self.git("apply", "--whitespace=nowarn", str(patch.resolve()))
        numbers = self.git("apply", "--numstat", "-z", "--reverse", str(patch.resolve())).output
        paths = [entry.split("\t")[2] for entry in numbers.split("\0") if entry.count("\t") == 2]
        self.git("add", "--all", "--force", "--", *paths)
        self._changed.update(paths)
        return True

    def apply_edit(self, edit: Edit) -> int:
        """Make an edit; the number of matches replaced, 0 also if the file does not exist."""
        if not inside.is_file(self.path / edit.file, self.path):
            return 0
        text, count = re.compile(edit.find, re.MULTILINE).subn(edit.replace, self.read(edit.file))
        if count:
            self.write(edit.file, text)
        return count

    def locate(self, spelled: str) -> str | None:
        """The path of a file that a build's output mentions; None if it is not (or not clearly) one of the tree."""
        path = Path(os.path.normpath(self.path / spelled))
        if path.is_relative_to(self.path) and inside.is_file(path, self.path):
            return self._tracked(str(path.relative_to(self.path)))
        if Path(spelled).is_absolute():
            return None
        tail = re.sub(r"^(\.{1,2}/)+", "", spelled)
        found = self.git("ls-files", "--", f":(glob)**/{tail}").output.splitlines()
        there = [name for name in found if inside.is_file(self.path / name, self.path)]
        return there[0] if len(there) == 1 else None

    def _tracked(self, path: str) -> str | None:
        return path if self.git("ls-files", "--", f":(literal){path}").output else None

    def diff(self) -> str:
        """All changes made through this object as one unified diff; empty if there are none."""
        if not self._changed:
            return ""
        # Of a submodule git would ask a status, by whatever settings a build put there.
        plainly = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
        return self.git("diff", "HEAD", *plainly, "--", *sorted(self._changed)).output

    def clean(self) -> None:
        """Remove whatever the build made; our changes stay."""
        self.git("clean", "-x", "-d", "--force", "--force", "--quiet")


@contextlib.contextmanager
def checked_out(repository: Path, commit: str, directory: Path, unread: Sequence[str] = ()) -> Iterator[SourceTree]:
    """A tree at `commit` in a fresh directory below `directory`, removed afterwards whatever happens.

    What is in the directories `unread` (`/mysql-test/suite/`) is not written, and need not be in the clone. What a
    killed process left there is removed by the next call. Raises UserError if the repository does not have the commit,
    NotFetched if it is partial and cannot get its files now, CommandFailed if git fails, and OSError where the disk is
    full.
    """
    clone, full = _borrowable(repository, commit, unread)
    remove_leftovers(directory)
    with scratch(directory) as place:
        tree = SourceTree(place, clone.identity)
        with _room_for(place):
            _check_out(tree, clone, full, unread)
        yield tree


@contextlib.contextmanager
def _room_for(place: Path) -> Iterator[None]:
    """What git says of a full disk depends on where it noticed: raises OSError in place of CommandFailed there."""
    try:
        yield
    except CommandFailed as failure:
        if is_scarce(place):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place)) from failure
        raise


def _check_out(tree: SourceTree, clone: Clone, commit: str, unread: Sequence[str]) -> None:
    tree.path.mkdir()
    tree.git("init", "--quiet", "--template=", f"--object-format={clone.object_format}")
    information = tree.repository / "objects" / "info"
    information.mkdir(exist_ok=True)
    (information / "alternates").write_text(f"{clone.objects}\n")
    if clone.shallow:
        shutil.copyfile(clone.shallow, tree.repository / "shallow")
    if unread:
        _leave_out(tree, unread)
    tree.git("checkout", "--quiet", "--force", "--detach", commit)
    tree.tell_itself(commit, clone.object_format)


def _leave_out(tree: SourceTree, unread: Sequence[str]) -> None:
    """Have a checkout write nothing of some directories."""
    information = tree.repository / "info"
    information.mkdir(exist_ok=True)
    (information / "sparse-checkout").write_text(
        "".join(f"{line}\n" for line in ("/*", *(f"!{one}" for one in unread)))
    )
    tree.git("config", "core.sparseCheckout", "true")
    tree.git("config", "core.sparseCheckoutCone", "false")


def _borrowable(repository: Path, commit: str, unread: Sequence[str]) -> tuple[Clone, str]:
    """The clone, and the full name of one of its commits, whose files are all there now but those `unread`."""
    clone = find_clone(repository)
    with borrowed(clone) as ours:

        def ask(*words: str) -> Finished:
            environment = {**os.environ, **ours.environment}
            return run(["git", *words], cwd=ours.place, env=environment, timeout_s=_GIT_TIMEOUT_S)

        named = ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
        full = named.output.strip().rpartition("\n")[2]
        if not named.ok:
            raise UserError(f"{repository} has no commit {commit}", "run `git fetch` in it")
        if clone.promisor:
            # A partial clone lacks file contents: a full diff makes it fetch those of this commit in one go.
            wanted = (".", *(f":(top,exclude){one.strip('/')}" for one in unread)) if unread else ()
            words = ("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--shortstat")
            diff = (*_PATTERNS, *words, clone.empty_tree, full, "--", *wanted)
            fetched = ask(*diff)
            if not fetched.ok and not is_scarce(clone.objects) and not (fetched := ask(*diff)).ok:
                raise NotFetched(repository, fetched.first_line)
    return clone, full
