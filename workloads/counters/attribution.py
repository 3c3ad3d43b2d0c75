"""What a library did, pointed at who asked for it: the cost of allocators, string functions and templates of the
standard library goes to the nearest callers outside them, along the edges of a call graph."""

import re
from collections.abc import Mapping

ROUNDS = 200
"""So many edges are followed upwards at most: real chains of library frames are some 30 deep, cycles are endless."""

SETTLED = 1e-9
"""What is still under way below this part of all cost is dropped."""

_SHARED_OBJECT = re.compile(r"\.so(?:\.\d+)*$")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_OPERATOR = re.compile(r"\boperator\s*(?:[-+*/%^&|!=<>~,\[\]]+|\(\))")
_LIBRARY_SCOPE = re.compile(r"(?:std|__gnu_cxx|__cxxabiv1|boost)::")
_LIBRARY_NAME = re.compile(
    r"operator (?:new|delete)\b"
    r"|_*(?:int_|je_|tc_)?(?:malloc|free|calloc|realloc|memalign|posix_memalign|aligned_alloc|cfree)(?:_\w+)?$"
    r"|_*(?:mem|str)(?:cpy|move|set|cmp|chr|len|n?cpy|n?cmp|n?len|rchr)(?:_\w+)?$"
)


def is_library(function: str, binary: str) -> bool:
    """Whether a function of the object file `binary` only serves its callers.

    That is all code of shared objects, and in the main binary what is the standard library's or an allocator's:
    templates that were instantiated there, and libraries that were linked statically.
    """
    if _SHARED_OBJECT.search(binary):
        return True
    if _LIBRARY_NAME.match(function):
        return True
    return _LIBRARY_SCOPE.match(_scope(function)) is not None


def _scope(function: str) -> str:
    """A symbol from its outermost scope on, without return type, template arguments and parameters."""
    plain = _OPERATOR.sub("operator ", function.replace("(anonymous namespace)", "{anonymous}"))
    before = ""
    while before != plain:
        before, plain = plain, _ARGUMENTS.sub("", plain)
    words = plain.partition("(")[0].replace("operator ", "operator").split()
    return words[-1] if words else ""


def attribute(
    functions: Mapping[str, float], calls: Mapping[tuple[str, str], float], library: frozenset[str]
) -> dict[str, float]:
    """Self cost by function, what each of `library` did added to its nearest callers outside.

    `calls` maps (caller, callee) to inclusive cost; a library function's cost is shared among its callers in proportion
    to that, and goes on from callers that are library functions themselves. Recursion into itself is left out. What has
    no caller, or is called in circles only, stays under a library name, so that the sum is kept to within SETTLED.
    """
    shares = _callers(calls, library)
    found = {name: float(cost) for name, cost in functions.items() if name not in shares}
    moving = {name: float(cost) for name, cost in functions.items() if name in shares}
    least = SETTLED * sum(abs(cost) for cost in functions.values())
    for _ in range(ROUNDS):
        if sum(abs(cost) for cost in moving.values()) <= least:
            moving = {}
            break
        arrived: dict[str, float] = {}
        for name, cost in moving.items():
            for caller, share in shares[name].items():
                target = arrived if caller in shares else found
                target[caller] = target.get(caller, 0.0) + cost * share
        moving = arrived
    for name, cost in moving.items():
        found[name] = found.get(name, 0.0) + cost
    return {name: cost for name, cost in found.items() if cost}


def _callers(calls: Mapping[tuple[str, str], float], library: frozenset[str]) -> dict[str, dict[str, float]]:
    """Of each library function that has callers: the part of its cost that each stands for; the parts add up to 1."""
    callers: dict[str, dict[str, float]] = {}
    for (caller, callee), cost in calls.items():
        if callee in library and caller != callee and cost > 0:
            callers.setdefault(callee, {})[caller] = cost
    return {callee: {caller: cost / sum(of.values()) for caller, cost in of.items()} for callee, of in callers.items()}
