"""Graphs of commits to try things on: nested merges, and such as grow by chance."""

import random

from cpubisect.search.graph import Graph, Node


def nested(depth: int) -> Graph:
    """A main line m1 to m3; m2 merges a line whose second commit merges a line, and so on `depth` times."""

    def line(level: int, start: str) -> list[Node]:
        first = Node(f"a{level}", (start,))
        inner = line(level + 1, first.sha) if level < depth else []
        second = Node(f"b{level}", (first.sha, *(node.sha for node in inner[-1:])))
        return [first, *inner, second]

    side = line(1, "start") if depth else []
    return Graph(
        "start",
        (Node("m1", ("start",)), *side, Node("m2", ("m1", *(node.sha for node in side[-1:]))), Node("m3", ("m2",))),
    )


def grown(seed: int, size: int) -> Graph:
    """A graph in which each commit has one or two earlier ones as parents, and the last contains them all."""
    chance = random.Random(seed)
    nodes: list[Node] = []
    for number in range(size):
        known = ["start", *(node.sha for node in nodes)]
        parents = dict.fromkeys([known[-1] if chance.random() < 0.6 else chance.choice(known)])
        if chance.random() < 0.3:
            parents[chance.choice(known)] = None
        nodes.append(Node(f"n{number}", tuple(parents)))
    inner = {parent for node in nodes for parent in node.parents}
    heads = [node.sha for node in nodes if node.sha not in inner]
    return Graph("start", (*nodes, Node("end", tuple(heads))))
