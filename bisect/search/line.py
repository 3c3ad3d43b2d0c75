"""PURE: the numbered line of commits a search runs over, and which commits each number stands for."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from cpubisect.search.verdict import Side

MAIN = "main"
"""Under this name the line from good to bad is in the store; the line inside a merge is there under the merge's sha."""

GRAPH = "graph"
"""Under this name all commits between good and bad are there, those that merges brought too."""

OF_GOOD = {MAIN: "good side", GRAPH: "good side graph"}
"""What the same two are called on the way from the fork point to good, where that is searched too."""


@dataclass(frozen=True)
class Line:
    """`classes[0]` starts with the good end; every class lists commits, oldest first, that share one binary.

    The first commit of a class is the one that is built, except for the last class: there it is the last commit, the
    bad end itself, which is built anyway. `parents` maps a commit to the one before it on the line,
    its step being measured against that; `subjects` maps commits to their subject lines; `inside` names the merges
    that led here, outermost first. One `of_graph` holds the commits of all branches, each after its parents.
    """

    classes: tuple[tuple[str, ...], ...]
    parents: Mapping[str, str] = field(default_factory=dict)
    subjects: Mapping[str, str] = field(default_factory=dict)
    merges: frozenset[str] = frozenset()
    inside: tuple[str, ...] = ()
    of_graph: bool = False

    @property
    def name(self) -> str:
        """What the store calls it."""
        if self.inside:
            return self.inside[-1]
        return GRAPH if self.of_graph else MAIN

    def path(self, side: Side) -> str:
        """What the store calls it on one side of the fork point."""
        return OF_GOOD.get(self.name, self.name) if side is Side.GOOD else self.name

    @property
    def size(self) -> int:
        """How many numbers the search has."""
        return len(self.classes)

    def built(self, number: int) -> str:
        """The commit that is built for a number."""
        return self.classes[number][-1 if 0 < number == self.size - 1 else 0]

    def first(self, number: int) -> str:
        """The commit of a class that can have made a step; its parent is the last one of the class before."""
        return self.classes[number][0]

    def commits(self) -> tuple[str, ...]:
        """All commits, oldest first, the good end included."""
        return tuple(sha for group in self.classes for sha in group)

    def between(self, low: int, high: int) -> tuple[str, ...]:
        """The commits that can have made a step seen after `low` and at `high`."""
        return (*(sha for group in self.classes[low + 1 : high] for sha in group), self.first(high))

    def around(self, low: int, high: int) -> tuple[str, ...]:
        """All commits after the one built for `low`, up to the one built for `high`."""
        commits = self.commits()
        return commits[commits.index(self.built(low)) + 1 : commits.index(self.built(high)) + 1]

    def joined(self, unchanged: Collection[str]) -> "Line":
        """The same commits in fewer classes: one whose first commit is in `unchanged` joins the class before it."""
        return replace(self, classes=join(self.classes, unchanged))

    def one_by_one(self, number: int) -> "Line":
        """The commits of one class each by itself: for when they turn out not to share one binary."""
        return replace(self, classes=tuple((sha,) for sha in self.classes[number]))


def join(groups: Iterable[tuple[str, ...]], unchanged: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Each group whose first commit is in `unchanged` becomes part of the one before it; the first one stays."""
    joined: list[tuple[str, ...]] = []
    for group in groups:
        if joined and group[0] in unchanged:
            joined[-1] += group
        else:
            joined.append(group)
    return tuple(joined)
