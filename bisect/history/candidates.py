"""The commits to search between two, as git lists them."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cpubisect.history.repository import Repository
from cpubisect.search.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Candidate:
    """One commit to search; `parent` is the one of its parents that comes before it on the path, and so the commit its
    step is measured against; `is_merge` says that it has several, and so may have to be searched inside."""

    sha: str
    parent: str
    subject: str
    is_merge: bool


@dataclass(frozen=True)
class Candidates:
    """What lies between `good` and a bad commit, oldest first: from the one after `start` to the bad one.

    `start` is measured too: it is `good`, or the point where the lines of good and bad parted (`fork`).
    """

    good: str
    start: str
    commits: tuple[Candidate, ...]

    @property
    def fork(self) -> str | None:
        """The point where the path of the bad one left `good`'s history, None if the path begins at `good` itself."""
        return None if self.start == self.good else self.start


def between(repository: Repository, good: str, bad: str) -> Candidates | None:
    """The commits to search between two shas; none if `good` contains `bad`, None if they have no common ancestor.

    The path is the first-parent path of `bad` after `start`, the newest commit on it that `good` contains. So `start`
    is `good` itself if that lies on the path, else the point where the two parted, which has to be measured too: every
    commit that `bad` has and `good` has not is then on the path or inside a merge on it. A path from the merge base
    would be shorter where `good` was merged into `bad`'s line, but its first merge would hold all of that line's older
    commits in one step.

    If nothing on the first-parent path is in `good` (`bad`'s line began elsewhere), the path starts at the merge base
    with most ancestors (then the smallest sha) and always takes the first parent that contains it.
    """
    rows = _rows(repository, "--first-parent", "--reverse", bad, f"^{good}")
    if rows and repository.is_ancestor(rows[0].sha, good):
        # Where dates run backwards, rev-list stops before it has seen all that good contains; merge-base goes on.
        rows = rows[bisect_left(rows, True, key=lambda row: not repository.is_ancestor(row.sha, good)) :]
    if not rows:
        return Candidates(good, bad, ())
    start = next(iter(rows[0].parents), "")
    if not start:
        path = _from_merge_base(repository, good, bad)
        if not path:
            return None
        start, *later = path
        rows = _rows(repository, "--no-walk=unsorted", "--stdin", stdin=later)
    return Candidates(good, start, _commits(start, rows))


def since(repository: Repository, start: str, end: str) -> Candidates:
    """The commits to search from an ancestor of `end` on, always by the first parent that contains it: what was merged
    into that line together with the ancestor is no part of it."""
    _, *later = _path(repository, start, end)
    return Candidates(start, start, _commits(start, _rows(repository, "--no-walk=unsorted", "--stdin", stdin=later)))


def graph(repository: Repository, start: str, end: str) -> Graph:
    """All commits that `end` has and `start` has not, each after its parents."""
    rows = _rows(repository, "--topo-order", "--reverse", end, f"^{start}")
    return Graph(start, tuple(Node(row.sha, tuple(row.parents), row.subject) for row in rows))


class _Row(NamedTuple):
    sha: str
    parents: list[str]
    subject: str


def _commits(start: str, rows: Sequence[_Row]) -> tuple[Candidate, ...]:
    before = (start, *(row.sha for row in rows))
    return tuple(
        Candidate(row.sha, parent, row.subject, len(row.parents) > 1) for row, parent in zip(rows, before, strict=False)
    )


def _rows(repository: Repository, *arguments: str, stdin: Iterable[str] = ()) -> list[_Row]:
    """What rev-list names, in its order."""
    listing = repository.text("rev-list", *arguments, "--format=%H%x00%P%x00%s", stdin=stdin)
    found = (line.split("\0", 2) for line in listing.splitlines() if "\0" in line)
    return [_Row(sha, parents.split(), subject) for sha, parents, subject in found]


def _from_merge_base(repository: Repository, good: str, bad: str) -> list[str]:
    """The merge base with most ancestors, and the path from there to `bad`; empty if there is no merge base."""
    bases = repository.text("merge-base", "--all", good, bad, or_nothing=True).split()
    if not bases:
        return []
    base = min(bases, key=lambda sha: (-int(repository.text("rev-list", "--count", sha)), sha))
    return _path(repository, base, bad)


def _path(repository: Repository, base: str, bad: str) -> list[str]:
    """From an ancestor to `bad`, both included."""
    listing = repository.text("rev-list", "--ancestry-path", "--parents", bad, f"^{base}")
    parents = {sha: found for sha, *found in map(str.split, listing.splitlines())}
    path = [bad]
    while path[-1] != base:
        path.append(next(parent for parent in parents[path[-1]] if parent == base or parent in parents))
    return path[::-1]
