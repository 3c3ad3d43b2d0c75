"""The example's history as data: commits that change a tree by search and replace, merges of branches, and tags."""

from collections.abc import Mapping
from dataclasses import dataclass

Tree = Mapping[str, str]
"""Path inside the repository → content."""


@dataclass(frozen=True)
class Change:
    """In `path`, the only occurrence of `old` becomes `new`; an empty `old` appends to the file or creates it."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Commit:
    """One commit on top of the one before; `label` is how `Generated` finds it again."""

    subject: str
    changes: tuple[Change, ...]
    label: str = ""


@dataclass(frozen=True)
class Merge:
    """`commits` on a branch that forked `behind` main-line commits before this merge brought it home."""

    branch: str
    behind: int
    commits: tuple[Commit, ...]
    label: str


@dataclass(frozen=True)
class Tag:
    """An annotated tag on the commit before."""

    name: str


Step = Commit | Merge | Tag


def commit(subject: str, *changes: Change, label: str = "") -> Commit:
    """A commit of some changes."""
    return Commit(subject, changes, label)


def replace(path: str, old: str, new: str) -> Change:
    """Put `new` in the place of `old`, which occurs once in the file."""
    return Change(path, old, new)


def append(path: str, new: str) -> Change:
    """Add to the end of a file, or create it."""
    return Change(path, "", new)


def start(release: str, before: str) -> Commit:
    """The commit that opens work on the next minor release: the version header names what is to come."""
    old, new = (f"MINIKV_MINOR {name.split('.')[1]}\n" for name in (before, release))
    return commit(f"Start {release}", replace("include/minikv/version.h", old, new))


def apply(tree: Tree, changes: tuple[Change, ...]) -> Tree:
    """The tree after the changes; raises ValueError if one does not fit, so a wrong step cannot go unseen."""
    result = dict(tree)
    for change in changes:
        before = result.get(change.path, "")
        if not change.old:
            result[change.path] = before + change.new
            continue
        if before.count(change.old) != 1:
            raise ValueError(f"{change.path} holds {before.count(change.old)} times what should become {change.new!r}")
        result[change.path] = before.replace(change.old, change.new)
    return result
