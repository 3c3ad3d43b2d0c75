"""The tree of one commit as a file that can be sent: a pack with the commit, its directories, and the files that are
read; and the small repository that is made of it where it arrives."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.git.borrowed import NotFetched, borrowed
from cpubisect.base.git.clone import NOBODYS, find_clone
from cpubisect.base.process import Finished, run

_TIMEOUT_S = 3600.0


def pack(repository: Path, commit: str, target: Path, unread: Sequence[str] = ()) -> str:
    """Write the pack of a commit of a clone, by its full name, to the file `target`, without the files below the
    directories `unread` (`/mysql-test/suite/`), which need not be in the clone; the format of its names. Raises
    UserError."""
    clone = find_clone(repository)
    with borrowed(clone) as ours:
        environment = {**os.environ, **ours.environment}

        def git(*words: str) -> Finished:
            return run(words, cwd=ours.place, env=environment, timeout_s=_TIMEOUT_S)

        tree = git("git", "ls-tree", "-r", "-t", "-z", "--full-tree", commit)
        root = git("git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")
        if not tree.ok or not root.ok:
            raise UserError(f"{repository} has no commit {commit}", "run `git fetch` in it")
        wanted = target.with_name(f"{target.name}.wanted")
        names = dict.fromkeys(
            (commit, root.output.strip().rpartition("\n")[2], *objects(tree.output.split("\0"), unread))
        )
        wanted.write_text("".join(f"{name}\n" for name in names))
        script = 'git pack-objects --stdout --quiet <"$1" >"$2"'
        made = git("sh", "-c", script, "sh", str(wanted.resolve()), str(target.resolve()))
        wanted.unlink()
        if not made.ok and clone.promisor:
            raise NotFetched(repository, made.first_line)
        if not made.ok:
            raise UserError(f"{commit[:12]} cannot be packed ({made.first_line})", f"run `git fsck` in {repository}")
    return clone.object_format


def objects(lines: Iterable[str], unread: Sequence[str]) -> Iterator[str]:
    """PURE: the names of a tree's directories and of those of its files that are read, of the lines of `git ls-tree`:
    what is not checked out is still known by its directory."""
    left_out = tuple(one.lstrip("/") for one in unread)
    for line in lines:
        about, _, path = line.partition("\t")
        if not about:
            continue
        _, kind, name = about.split()
        if kind == "tree" or (kind == "blob" and not (left_out and path.startswith(left_out))):
            yield name


def unpack(file: Path, commit: str, object_format: str, repository: Path) -> None:
    """Make a repository of a pack, in a directory that is not there yet; the commit has no history there. Raises
    UserError if it is no pack of it."""
    repository.mkdir(parents=True)
    script = (
        'git init --bare --quiet --template= --object-format="$2" . && git index-pack --stdin <"$3" >/dev/null && '
        'git cat-file -e "$1^{tree}" && echo "$1" >shallow && git update-ref --no-deref HEAD "$1"'
    )
    words = ["sh", "-c", script, "sh", commit, object_format, str(file.resolve())]
    made = run(words, cwd=repository, env=_environment(NOBODYS), timeout_s=_TIMEOUT_S)
    if not made.ok:
        raise UserError(f"the tree of {commit[:12]} did not arrive whole ({made.first_line})", "send it again")


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C", **own}
