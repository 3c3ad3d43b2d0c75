"""Which candidates touch what grew: the profile difference of the ends turned into prior weights. Evidence for where to
look first, never for the verdict.

Each function's growth is shared out among the candidates whose diffs name it. Identifiers tell better than whole
symbols: a type in a template argument (`std::deque<BlockHandleInfo>`) names the commit that introduced the type,
although the function itself is the library's. An identifier that many commits touch says little about each of them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cpubisect.search import Cost, bare_name, named_changes, net_of_shifts

FLOOR = 0.3
"""The part of the prior weight that is spread evenly over all candidates, whatever the profile says."""

MOST_FUNCTIONS = 40
"""So many of the functions that grew most are looked at."""

_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_COMMON = frozenset(
    (
        *("allocator", "anonymous", "basic_string", "bool", "char", "char_traits", "const", "double", "float"),
        *("function", "iterator", "long", "operator", "short", "signed", "size_t", "string", "this", "type"),
        *("unique_ptr", "unsigned", "vector", "void"),
    )
)


_LIBRARY = re.compile(
    r"_*(?:int_)?(?:malloc|free|calloc|realloc|memalign|unlink_chunk|sysmalloc|mem[a-z]+|str[a-z]+|pthread_\w+)(?:_\w+)?$"
    r"|operator (?:new|delete)"
)


@dataclass(frozen=True)
class Growth:
    """A function's share of the change in the wanted direction, as a ratio, and the identifiers of its symbols."""

    share: float
    words: frozenset[str]


@dataclass(frozen=True)
class Suspicion:
    """Why a candidate is weighed: its prior `weight` (all add up to 1) and the identifiers that it touches, with the
    part of the evidence each stands for."""

    weight: float
    because: Mapping[str, float]


def growths(before: Cost, after: Cost, direction: int) -> list[Growth]:
    """The functions that changed most in the wanted direction, after cost that only moved is netted out.

    Allocator and C library functions are left out: they tell of their callers, which are in the profile themselves.
    """
    changes = net_of_shifts(named_changes(before, after))
    grown = sorted((name for name, change in changes.items() if change * direction > 0), key=lambda n: -abs(changes[n]))
    symbols: dict[str, set[str]] = {}
    for symbol in after.functions.keys() | before.functions.keys():
        symbols.setdefault(bare_name(symbol), set()).add(symbol)
    kept = [name for name in grown if not _LIBRARY.match(name)][:MOST_FUNCTIONS]
    whole = sum(abs(changes[name]) for name in kept)
    return [
        Growth(abs(changes[name]) / whole, frozenset(w for symbol in symbols[name] for w in identifiers(symbol)))
        for name in kept
    ]


def identifiers(symbol: str) -> set[str]:
    """The telling words of a symbol: no keywords, nothing of the standard library's namespace itself."""
    return {word for word in _WORD.findall(symbol) if word not in _COMMON and not word.startswith("_")}


def words_touched(diff: Iterable[str], wanted: frozenset[str]) -> set[str]:
    """The wanted identifiers in a unified diff's changed lines and hunk headings."""
    found: set[str] = set()
    for line in diff:
        if line[:1] in "+-" or line.startswith("@@"):
            found.update(wanted.intersection(_WORD.findall(line)))
    return found


def suspicions(touched: Sequence[set[str]], grown: Sequence[Growth]) -> list[Suspicion]:
    """The prior of each candidate, given which identifiers each touches.

    A candidate's claim on a function is the square of its rarest identifier's rarity (one over the number of candidates
    that touch it); the function's share is divided by claims. Without any evidence all candidates are equal; else FLOOR
    of the weight is spread evenly and the rest by evidence.
    """
    commits: dict[str, int] = {}
    for words in touched:
        for word in words:
            commits[word] = commits.get(word, 0) + 1
    evidence: list[dict[str, float]] = [{} for _ in touched]
    for growth in grown:
        claims: list[tuple[int, str, float]] = []
        for number, words in enumerate(touched):
            if own := growth.words & words:
                rarest = min(own, key=lambda word: (commits[word], word))
                claims.append((number, rarest, commits[rarest] ** -2.0))
        whole = sum(claim for _, _, claim in claims)
        for number, word, claim in claims:
            evidence[number][word] = evidence[number].get(word, 0.0) + growth.share * claim / whole
    total = sum(sum(found.values()) for found in evidence)
    even = 1.0 / len(touched) if touched else 0.0
    if not total:
        return [Suspicion(even, {}) for _ in touched]
    return [Suspicion(FLOOR * even + (1 - FLOOR) * sum(found.values()) / total, found) for found in evidence]
