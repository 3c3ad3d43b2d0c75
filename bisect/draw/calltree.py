"""PURE: the call graphs of two builds as one tree of frames, for a differential flame graph.

Callgrind keeps calls, not stacks: how much each caller spent in each callee, whoever called the caller. The graphs are
unfolded from where they are entered, as gprof does: whatever the path, what arrives at a function is shared among its
own code and its callees in proportion to what these cost in all of its calls. For a function that does the same for all
of its callers that is exact; for one that does not, the truth is blurred over the paths to it, but the sum over all
paths stays right. A cost arrives at a function from outside by as much as its own code and its calls cost more than all
calls of it: that finds the roots even where they are called again further down.

Recursion is folded: what arrives at a function that is on the path already goes back to that frame and is shared there
once more, so that no function stands on a path twice, and a frame has the cost of all its levels. That also serves what
only seems recursive because several functions have one name, such as `(below main)` and code without symbols.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cpubisect.search.costs import CallGraph, bare_name

LEAST = 1e-3
"""A frame is kept if it has this part of the larger total before or after: in a picture of 1200 pixels, one of them."""

DEEPEST = 64
"""Frames lie so many deep at most; what the deepest ones call is in them. Engines are some 30 deep."""

PASSED_ON = 0.98
"""A frame at the root is left out if one callee has this part of the root's cost, before and after."""

UNFOLDED = LEAST / 4
"""Graphs are unfolded to parts of this size, so that of a frame that is kept neither side is missing by much, and what
recursion brings together is not too small beforehand."""

ROOT = "all"
"""What the frame that holds all others is called."""


@dataclass(frozen=True)
class Frame:
    """A function on one path from the root: with all it calls, its instructions per query before and after.

    `name` is its symbol, or without template arguments and parameters if several symbols are meant: overloads, or a
    signature that changed. What the children do not have is its own code's, or too small for frames. Largest children
    come first.
    """

    name: str
    before: float
    after: float
    children: tuple["Frame", ...] = ()

    @property
    def change(self) -> float:
        """How much it grew, in instructions per query."""
        return self.after - self.before


@dataclass(frozen=True)
class _Side:
    """One build's graph: `entered` is the cost that arrives from outside, by function; `shares` the parts of each
    function's cost that its callees get."""

    total: float
    entered: Mapping[str, float]
    shares: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, graph: CallGraph) -> "_Side":
        total = max(0.0, sum(graph.functions.values()))
        # Differences of two runs: what the longer one did less of is noise here.
        inclusive = {name: max(0.0, cost) for name, cost in graph.functions.items()}
        called: dict[str, float] = {}
        callees: dict[str, dict[str, float]] = {}
        for (caller, callee), cost in graph.calls.items():
            if caller != callee and cost > 0:
                inclusive[caller] = inclusive.get(caller, 0.0) + cost
                called[callee] = called.get(callee, 0.0) + cost
                callees.setdefault(caller, {})[callee] = cost
        outside = {name: cost - called.get(name, 0.0) for name, cost in inclusive.items() if cost > called.get(name, 0)}
        excess = max(1.0, sum(outside.values()) / total) if total else 1.0
        entered = {name: cost / excess for name, cost in outside.items()} if total else {}
        shares = {name: {to: cost / inclusive[name] for to, cost in found.items()} for name, found in callees.items()}
        return cls(total, entered, shares)


@dataclass(frozen=True)
class _Node:
    """A function on one path of one build: `cost` is what it keeps of what arrived there, `scale` what the costs of its
    children are to be multiplied by."""

    name: str
    cost: float
    children: tuple["_Node", ...]
    scale: float


_Scaled = tuple[_Node, float]


def unfold(before: CallGraph, after: CallGraph) -> Frame:
    """The frames of two builds: one that only one of them has is 0 in the other; the root has the totals of both.

    A frame is kept for both or for neither. The chain of frames that pass on nearly all they have (PASSED_ON) is left
    out at the root.
    """
    sides = (_Side.of(before), _Side.of(after))
    whole = max(side.total for side in sides)
    nodes = [
        [(_nodes(side, name, cost, (), UNFOLDED * whole)[0], 1.0) for name, cost in side.entered.items()]
        for side in sides
    ]
    children = _frames(nodes[0], nodes[1], LEAST * whole)
    return _without_stem(Frame(ROOT, sides[0].total, sides[1].total, children), LEAST * whole)


def _nodes(
    side: _Side, name: str, arrived: float, path: tuple[str, ...], least: float
) -> tuple[_Node, dict[str, float]]:
    """What becomes of a cost that arrives at a function by a path, and how much goes back to functions on the path."""
    back: dict[str, float] = {}
    children = []
    path = (*path, name)
    for callee, share in side.shares.get(name, {}).items():
        passed = arrived * share
        if callee in path:
            back[callee] = back.get(callee, 0.0) + passed
        elif passed >= least and len(path) < DEEPEST:
            child, returned = _nodes(side, callee, passed, path, least)
            children.append(child)
            for to, cost in returned.items():
                back[to] = back.get(to, 0.0) + cost
    # What comes back here is shared again, and so on: a geometric series.
    once = arrived - back.pop(name, 0.0)
    scale = arrived / once if once > LEAST * arrived else 1.0
    back = {to: cost * scale for to, cost in back.items()}
    return _Node(name, max(0.0, arrived - sum(back.values())), tuple(children), scale), back


def _frames(before: Sequence[_Scaled], after: Sequence[_Scaled], least: float) -> tuple[Frame, ...]:
    """The frames of nodes with one caller, those of one bare name in one."""
    groups: dict[str, tuple[list[_Scaled], list[_Scaled]]] = {}
    for side, nodes in enumerate((before, after)):
        for node, scale in nodes:
            groups.setdefault(bare_name(node.name), ([], []))[side].append((node, scale))
    frames = []
    for bare, group in groups.items():
        sums = [sum(node.cost * scale for node, scale in nodes) for nodes in group]
        if max(sums) < least:
            continue
        symbols = {node.name for nodes in group for node, _ in nodes}
        below = [[(child, scale * node.scale) for node, scale in nodes for child in node.children] for nodes in group]
        name = bare if len(symbols) > 1 else symbols.pop()
        frames.append(Frame(name, sums[0], sums[1], _frames(below[0], below[1], least)))
    return tuple(sorted(frames, key=lambda frame: (-max(frame.before, frame.after), frame.name)))


def _without_stem(root: Frame, least: float) -> Frame:
    """The root without the chain that leads to its only interesting descendants: a child is left out as long as one of
    its own has nearly all that the root has, and nothing beside the two changed by as much as a frame."""
    while _passes_on(root, root, least) and _passes_on(root.children[0], root, least):
        root = replace(root, children=root.children[0].children)
    return root


def _passes_on(frame: Frame, root: Frame, least: float) -> bool:
    if not frame.children:
        return False
    first, *others = frame.children
    costs = ((root.before, first.before), (root.after, first.after))
    beside = [frame.change - sum(child.change for child in frame.children), *(other.change for other in others)]
    return all(part >= PASSED_ON * cost for cost, part in costs) and all(abs(change) < least for change in beside)
