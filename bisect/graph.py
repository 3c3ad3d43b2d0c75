"""PURE: commits and their parents; ways through them from one commit to another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Parents = tuple[str, ...]


@dataclass(frozen=True)
class Span:
    """The commits to search between two: `start` is the commit before the first of `path`, which ends with the bad one;
    `entry` is the first commit of `path` that contains the good one, if any does."""

    start: str
    path: tuple[str, ...]
    entry: str | None


class Graph:
    """Commits with their parents, closed under ancestry."""

    def __init__(self, parents: Mapping[str, Parents]) -> None:
        self.parents = parents

    def ancestors(self, tip: str) -> set[str]:
        """Everything reachable from `tip`, itself included."""
        found = {tip}
        waiting = [tip]
        while waiting:
            for parent in self.parents[waiting.pop()]:
                if parent not in found:
                    found.add(parent)
                    waiting.append(parent)
        return found

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` contains `old`; a commit contains itself."""
        return old in self.ancestors(new)

    def merge_bases(self, one: str, other: str) -> list[str]:
        """The common ancestors that no other common ancestor contains, sorted by sha; none if the two are unrelated."""
        common = self.ancestors(one) & self.ancestors(other)
        surpassed = {parent for commit in common for parent in self.parents[commit]}
        return sorted(common - surpassed)

    def containing(self, old: str, new: str) -> set[str]:
        """The commits among the ancestors of `new` that contain `old`, itself included if `new` does."""
        within = self.ancestors(new)
        if old not in within:
            return set()
        children: dict[str, list[str]] = {}
        for commit in within:
            for parent in self.parents[commit]:
                children.setdefault(parent, []).append(commit)
        found = {old}
        waiting = [old]
        while waiting:
            for child in children.get(waiting.pop(), ()):
                if child not in found:
                    found.add(child)
                    waiting.append(child)
        return found

    def span(self, good: str, bad: str) -> Span | None:
        """The commits to search between `good` and `bad`; None if they have no common ancestor.

        The path is the first-parent path of `bad` after `start`, the newest commit on it that `good` contains. So
        `start` is `good` itself if that lies on the path, else the point where the two parted, which has to be
        measured too: every commit that `bad` has and `good` has not is then on the path or inside a merge on it. A
        path from the merge base would be shorter where `good` was merged into `bad`'s line, but its first merge would
        hold all of that line's older commits in one step.

        If nothing on the first-parent path is in `good` (`bad`'s line began elsewhere), the path starts at the merge
        base with most ancestors (then the smallest sha) and always takes the first parent that contains it.
        """
        before = self.ancestors(good)
        path: list[str] = []
        here = bad
        while here not in before:
            path.append(here)
            if not self.parents[here]:
                bases = self.merge_bases(good, bad)
                if not bases:
                    return None
                here = min(bases, key=lambda base: (-len(self.ancestors(base)), base))
                path = self._path_to(here, bad)
                break
            here = self.parents[here][0]
        path.reverse()
        return Span(here, tuple(path), self._entry(good, here, bad, path))

    def _path_to(self, base: str, tip: str) -> list[str]:
        inside = self.containing(base, tip)
        path: list[str] = []
        here = tip
        while here != base:
            path.append(here)
            here = next(parent for parent in self.parents[here] if parent in inside)
        return path

    def _entry(self, good: str, start: str, bad: str, path: Iterable[str]) -> str | None:
        if good == start:
            return next(iter(path), None)
        inside = self.containing(good, bad)
        return next((commit for commit in path if commit in inside), None)


def parse_parents(listing: str) -> dict[str, Parents]:
    """Read `git rev-list --parents`; equal shas share one string."""
    shared: dict[str, str] = {}
    parents: dict[str, Parents] = {}
    for line in listing.splitlines():
        commit, *rest = (shared.setdefault(sha, sha) for sha in line.split())
        parents[commit] = tuple(rest)
    return parents
