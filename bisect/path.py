"""PURE: the numbered path a search runs over, and which commits each number stands for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Path:
    """`classes[0]` starts with the good end; every class lists commits, oldest first, that share one binary.

    The first commit of a class is the one that is built. `parents` maps a commit to the one before it on the path,
    its step being measured against that; `subjects` maps commits to their subject lines; `inside` names the merges
    that led here, outermost first.
    """

    classes: tuple[tuple[str, ...], ...]
    parents: Mapping[str, str] = field(default_factory=dict)
    subjects: Mapping[str, str] = field(default_factory=dict)
    merges: frozenset[str] = frozenset()
    inside: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many numbers the search has."""
        return len(self.classes)

    def built(self, number: int) -> str:
        """The commit that is built for a number."""
        return self.classes[number][0]

    def commits(self) -> tuple[str, ...]:
        """All commits, oldest first, the good end included."""
        return tuple(sha for group in self.classes for sha in group)

    def between(self, low: int, high: int) -> tuple[str, ...]:
        """The commits that can have made a step seen after `low` and at `high`."""
        return (*(sha for group in self.classes[low + 1 : high] for sha in group), self.classes[high][0])

    def one_by_one(self, number: int) -> "Path":
        """The commits of one class each by itself: for when they turn out not to share one binary."""
        singles: Sequence[tuple[str, ...]] = [(sha,) for sha in self.classes[number]]
        return Path(tuple(singles), self.parents, self.subjects, self.merges, self.inside)
