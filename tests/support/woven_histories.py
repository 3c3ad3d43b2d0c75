"""Scripted histories with branches, in which single commits change what functions cost."""

from collections.abc import Mapping

from fake_lab import Commit

from searching.woven import woven as drawn

BASE = {"parse": 300.0, "seek": 400.0, "next": 300.0}

Changes = Mapping[str, Mapping[str, float]]


def woven(seed: int, lines: int, depth: int) -> dict[str, tuple[str, ...]]:
    """The parents of commits by sha, of histories that the benchmark draws too, from c0 on."""
    graph = drawn(seed, 0, lines, depth)
    return {"c0": (), **{node.sha: tuple(own.replace("start", "c0") for own in node.parents) for node in graph.nodes}}


def history(parents: Mapping[str, tuple[str, ...]], changes: Changes) -> dict[str, Commit]:
    """Commits that cost what all changes in what they contain add up to."""
    within: dict[str, set[str]] = {}
    commits = {}
    for sha, before in parents.items():
        within[sha] = {sha}.union(*(within[parent] for parent in before))
        costs = dict(BASE)
        for own in within[sha] & changes.keys():
            for name, change in changes[own].items():
                costs[name] = costs.get(name, 0.0) + change
        commits[sha] = Commit(costs, before, words=frozenset({f"of_{sha}"}))
    return commits
