"""PURE: all commits of a range with their parents: what each of them contains, and by which merges it came in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cpubisect.search.line import Line


class Node(NamedTuple):
    """One commit; `parents` are all it has, also those that the range does not hold."""

    sha: str
    parents: tuple[str, ...]
    subject: str = ""


@dataclass(frozen=True)
class Graph:
    """The commits that the last one of them has and `start` has not, each after its parents.

    Numbers count them from 1; 0 is `start`, which contains none of them.
    """

    start: str
    nodes: tuple[Node, ...]

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each sha."""
        return {self.start: 0, **{node.sha: number for number, node in enumerate(self.nodes, start=1)}}

    @cached_property
    def within(self) -> tuple[int, ...]:
        """By number the commits that it contains, itself among them, as a set of bits: bit n for number n."""
        found = [0]
        for number, node in enumerate(self.nodes, start=1):
            own = 1 << number
            for parent in node.parents:
                before = self.numbers.get(parent)
                own |= found[before] if before is not None else 0
            found.append(own)
        return tuple(found)

    @property
    def everything(self) -> int:
        """All commits of the range as a set of bits."""
        return (1 << len(self.nodes) + 1) - 2

    @property
    def branches(self) -> bool:
        """Whether any of its commits came in by a merge."""
        return len(self.first_parents(self.nodes[-1].sha)) < len(self.nodes) if self.nodes else False

    def first_parents(self, sha: str) -> list[str]:
        """A commit of the range and its first parents as far as the range holds them, the newest first."""
        found = []
        while number := self.numbers.get(sha, 0):
            found.append(sha)
            parents = self.nodes[number - 1].parents
            sha = parents[0] if parents else ""
        return found

    def entered(self, sha: str) -> tuple[str, ...]:
        """The merges that a commit came in by, the outermost first; none for one on the last commit's first parents."""
        bit, head = 1 << self.numbers[sha], self.nodes[-1].sha
        merges: list[str] = []
        while True:
            line = self.first_parents(head)
            if sha in line:
                return tuple(merges)
            merge = next(own for own in reversed(line) if self.within[self.numbers[own]] & bit)
            merges.append(merge)
            later = self.nodes[self.numbers[merge] - 1].parents[1:]
            head = next(own for own in later if own in self.numbers and self.within[self.numbers[own]] & bit)

    def line(self, inside: tuple[str, ...] = ()) -> Line:
        """The same commits one after the other, each by itself; `inside` names the merges that led here."""
        return Line(
            classes=((self.start,), *((node.sha,) for node in self.nodes)),
            parents={node.sha: node.parents[0] for node in self.nodes if node.parents},
            subjects={node.sha: node.subject for node in self.nodes},
            merges=frozenset(node.sha for node in self.nodes if len(node.parents) > 1),
            inside=inside,
            of_graph=True,
        )


def members(bits: int) -> list[int]:
    """The numbers in a set of bits, in order."""
    return [number for number, digit in enumerate(reversed(f"{bits:b}")) if digit == "1"]
