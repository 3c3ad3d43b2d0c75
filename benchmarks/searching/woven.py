"""Histories with nested merges, drawn by chance, and how many builds three ways of searching them take."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cpubisect.search.chase import Chase, next_move
from cpubisect.search.exact import Measure
from cpubisect.search.graph import Graph, Node

LONGEST_LINE = 6
"""Steps of a merged line, at most; each is a commit, or a merge of a line of its own with some commits beside it."""

MERGES = 0.5
"""The share of steps that are merges, on every line but the deepest."""


def woven(seed: int, trial: int, steps: int, depth: int) -> Graph:
    """A trunk of so many steps whose merges lead to lines that hold merges themselves, `depth` deep; the same for the
    same numbers."""
    chance = random.Random(f"{seed} {trial} {steps} {depth}")
    nodes: list[Node] = []

    def add(*parents: str) -> str:
        nodes.append(Node(f"n{len(nodes)}", parents))
        return nodes[-1].sha

    def line(start: str, length: int, level: int) -> str:
        head = start
        for _ in range(length):
            if level < depth and chance.random() < MERGES:
                merged = line(head, chance.randint(1, LONGEST_LINE), level + 1)
                for _ in range(chance.randint(1, 3)):
                    head = add(head)
                head = add(head, merged)
            else:
                head = add(head)
        return head

    line("start", steps, 0)
    return Graph("start", tuple(nodes))


@dataclass(frozen=True)
class Builds:
    """What finding one culprit took, both ends and the parent included, and whether it was found."""

    count: int
    right: bool


def chased(graph: Graph, culprit: int, weights: Sequence[float], released: frozenset[int] = frozenset()) -> Builds:
    """By the product's chase, then the culprit's parent; some commits may be tagged releases."""
    size = len(graph.nodes)
    chase = Chase(graph, weights, {size: 1.0}, released=released)
    while isinstance(move := next_move(chase, lambda number: 1.0), Measure):
        chase = chase.with_share(move.number, float(graph.within[move.number] >> culprit & 1))
    caught = getattr(move, "number", 0)
    built = {0, size, *chase.tried}
    if caught:
        built |= {caught, *_first_parent(graph, caught)}
    return Builds(len(built), caught == culprit)


def halved(graph: Graph, culprit: int) -> Builds:
    """By git's own rule, the commit next to which both sides are most alike, then the culprit's parent."""
    left, built = graph.everything, {0, len(graph.nodes)}
    while left.bit_count() > 1:
        sizes = {n: (graph.within[n] & left).bit_count() for n in range(1, len(graph.nodes) + 1) if left >> n & 1}
        whole = left.bit_count()
        best = max((n for n in sizes if sizes[n] < whole), key=lambda n: min(sizes[n], whole - sizes[n]))
        built.add(best)
        has = graph.within[best] >> culprit & 1
        left &= graph.within[best] if has else ~graph.within[best]
    found = left.bit_length() - 1
    return Builds(len(built | {found, *_first_parent(graph, found)}), found == culprit)


def by_lines(graph: Graph, culprit: int) -> Builds:
    """By halving the first parents, then those of the line that a merge brought, and so on: both ends of every line and
    the merge's parent are built."""
    built = {0, len(graph.nodes)}
    bit = 1 << culprit

    def contains(number: int) -> bool:
        return bool(graph.within[number] & bit)

    def narrow(line: Sequence[int], has: Callable[[int], bool]) -> int:
        low, high = 0, len(line) - 1
        built.update((line[0], line[-1]))
        while high - low > 1:
            middle = (low + high) // 2
            built.add(line[middle])
            low, high = (low, middle) if has(line[middle]) else (middle, high)
        return line[high]

    head = graph.nodes[-1].sha
    base = 0
    while True:
        line = [graph.numbers[sha] for sha in reversed(graph.first_parents(head))]
        outside = [n for n in line if graph.within[base] >> n & 1] if base else []
        line = [outside[-1] if outside else 0, *(n for n in line if n not in outside)]
        found = narrow(line, contains)
        parents = graph.nodes[found - 1].parents
        before = graph.numbers[parents[0]]
        built.add(before)
        if found == culprit or len(parents) == 1:
            return Builds(len(built), found == culprit)
        base, head = before, parents[1]


def _first_parent(graph: Graph, number: int) -> list[int]:
    return [graph.numbers[sha] for sha in graph.nodes[number - 1].parents[:1]]
