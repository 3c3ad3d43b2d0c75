"""PURE: what one build costs per query, function by function, and how two builds differ in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

SHIFT_TOLERANCE = 0.03
"""A function's growth counts as moved, not new, if others shrank by the same to within this ratio."""


@dataclass(frozen=True)
class Cost:
    """What one build costs per query: the `total` and, where the counter tells, each function's self cost, and by
    function with what libraries did for it (`attributed`)."""

    total: float
    functions: Mapping[str, float] = field(default_factory=dict)
    attributed: Mapping[str, float] = field(default_factory=dict)

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(
            self.total - other.total,
            _less(self.functions, other.functions),
            _less(self.attributed, other.attributed),
        )


def _less(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) - other.get(name, 0.0) for name in one.keys() | other.keys()}


@dataclass(frozen=True)
class CallGraph:
    """What one build costs per query by function (self cost) and by (caller, callee) during those calls (inclusive)."""

    functions: Mapping[str, float]
    calls: Mapping[tuple[str, str], float]


_OPERATOR = re.compile(r"\boperator(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|&&|\|\||\+\+|--|[-+*/%^&|!=<>]=?|[~,])?")


@lru_cache(maxsize=65536)
def bare_name(function: str) -> str:
    """A function without its template arguments, parameters and return type, as `space::Class::name`.

    A changed signature makes another symbol of the same function; overloads fall together, which only coarsens.
    """
    plain = function.replace("(anonymous namespace)", "{anonymous}")
    symbol = _OPERATOR.search(plain)
    start, end = symbol.span() if symbol else (0, 0)
    kept: list[str] = []
    depth = 0
    for position, character in enumerate(plain):
        if start <= position < end:
            kept.append(character)
        elif character in "<(":
            if character == "(" and depth == 0:
                break
            depth += 1
        elif character in ">)":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(character)
    name = "".join(kept).strip()
    conversion = name.find("operator ")
    head, rest = (name[:conversion], name[conversion:]) if conversion >= 0 else (name, "")
    return head.rpartition(" ")[2] + rest or function


def by_bare_name(functions: Mapping[str, float]) -> dict[str, float]:
    """Costs added up over functions of one bare name."""
    sums: dict[str, float] = {}
    for function, cost in functions.items():
        name = bare_name(function)
        sums[name] = sums.get(name, 0.0) + cost
    return sums


def named_changes(before: Cost, after: Cost) -> dict[str, float]:
    """`function_changes` by bare name: a function whose signature changed is one function."""
    return function_changes(*(Cost(cost.total, by_bare_name(cost.functions)) for cost in (before, after)))


def function_changes(before: Cost, after: Cost) -> dict[str, float]:
    """Self-cost change of every function that changed, in the costs' own unit."""
    changes = {
        name: after.functions.get(name, 0.0) - before.functions.get(name, 0.0)
        for name in before.functions.keys() | after.functions.keys()
    }
    return {name: change for name, change in changes.items() if change}


def net_of_shifts(changes: Mapping[str, float]) -> dict[str, float]:
    """What is left of the function changes once moved cost is taken out.

    A refactoring, a rename or another inlining decision moves cost: one function's growth is matched by one or
    several others shrinking by the same amount to within SHIFT_TOLERANCE (cost-shift filter of FBDetect, SOSP 2024,
    reduced to one profile pair). Matched greedily from the largest change, with up to two partners.
    """
    left = dict(changes)
    for name in sorted(changes, key=lambda key: (-abs(changes[key]), key)):
        change = left.get(name, 0.0)
        if not change:
            continue
        partners = sorted(
            (key for key, other in left.items() if other * change < 0), key=lambda key: (-abs(left[key]), key)
        )[:40]
        match = _partners(change, [(key, left[key]) for key in partners])
        if match:
            rest = change + sum(left.pop(key) for key in match)
            left[name] = rest
    return left


def grown_in_all(before: Cost, after: Cost, direction: int) -> float:
    """What all functions that changed in a direction changed by together, cost that only moved netted out; without
    functions what the total did."""
    if not before.functions or not after.functions:
        return max(0.0, direction * (after.total - before.total))
    changes = net_of_shifts(named_changes(before, after))
    return sum(change * direction for change in changes.values() if change * direction > 0)


def _partners(change: float, others: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """The one or two opposite changes that come nearest to cancelling `change`, if near enough."""
    best: tuple[float, tuple[str, ...]] = (abs(change) * SHIFT_TOLERANCE, ())
    for i, (name, value) in enumerate(others):
        alone = abs(change + value)
        if alone < best[0]:
            best = (alone, (name,))
        for second, more in others[i + 1 :]:
            together = abs(change + value + more)
            if together < best[0]:
                best = (together, (name, second))
    return best[1]
