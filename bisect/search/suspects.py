"""Which candidates touch what grew: the profile difference of two commits turned into prior weights of the candidates
between them. Evidence for where to look first, never for the verdict.

Each function's growth is shared out among the candidates whose diffs name it, among those that touch a file which
defines it and, weakly, among those whose messages name it. Identifiers tell better than whole symbols: a type in a
template argument (`std::deque<BlockHandleInfo>`) names the commit that introduced the type, although the function
itself is the library's. An identifier or a file that many commits touch says little about each of them. What nobody
claims is spread over all candidates, most of it over those that touch code which the query executes at all.

Where a server variable whose changed value makes the step is known, it tells more than any function (`variables`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cpubisect.search import variables
from cpubisect.search.claims import Candidates, Claim, Parts, Touch, by_rarity, divide, strongest_of_each
from cpubisect.search.costs import Cost, bare_name, named_changes, net_of_shifts
from cpubisect.search.variables import Setting

FLOOR = 0.3
"""The part of the prior weight that is spread over all candidates by what they execute, whatever grew."""

EXECUTED, BESIDE, ELSEWHERE = 15.0, 4.0, 1.0
"""How the spread part is divided: a commit that touches an executed function, one that touches a file which defines
one, and any other. 15:1 paid best in published coverage-weighted bisections: 10.7 builds instead of 12.2 where 85 % of
the culprits are among the 15 % of commits that touch executed code; a file is between the two (the geometric mean)."""

PARTS = Parts(named=6.0, same_file=1.0, said=0.5, unclaimed=1.0)
"""How one function's growth is divided."""

INTRODUCED = 3.0
"""An identifier that only the later profile knows speaks so many times louder for the first commit that touches it: no
later one can have introduced it. (Of what vanished, for the last one, when improvements are looked for.)"""

MOST_FUNCTIONS = 40
"""So many of the functions that grew most are looked at."""

_WORD = re.compile(r"[A-Za-z_]\w+")
_TELLING = re.compile(r"(?<!\w)[A-Za-z]\w{3,}")
_LIBRARY_SCOPE = re.compile(r"\b(?:std|__gnu_cxx)::(?:\w+::)*~?\w+")
_COMMON = frozenset(
    (
        *("allocator", "anonymous", "basic_string", "bool", "char", "char_traits", "const", "double", "float"),
        *("function", "iterator", "long", "namespace", "operator", "short", "signed", "size_t", "string", "this"),
        *("type", "unique_ptr", "unsigned", "vector", "void"),
    )
)


_LIBRARY = re.compile(
    r"_*(?:int_)?(?:malloc|free|calloc|realloc|memalign|unlink_chunk|sysmalloc|mem[a-z]+|str[a-z]+|pthread_\w+)(?:_\w+)?$"
    r"|operator (?:new|delete)"
)


@dataclass(frozen=True)
class Growth:
    """A function's share of the change in the wanted direction, as a ratio, its bare name, the identifiers of its
    symbols, and which of those only one of the two profiles knows."""

    share: float
    name: str
    words: frozenset[str]
    fresh: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Suspicion:
    """Why a candidate is weighed: its prior `weight` (all add up to 1), and the part of it that each reason stands for;
    what is left of it every candidate has."""

    weight: float
    because: Mapping[str, float]


def growths(before: Cost, after: Cost, direction: int) -> list[Growth]:
    """The functions that changed most in the wanted direction, after cost that only moved is netted out.

    Half of it is self cost, half is cost with what libraries did for a function, if both sides know that. Allocator and
    C library functions are left out: they tell of their callers.
    """
    own = _grown(before.functions, after.functions, direction)
    if not before.attributed or not after.attributed:
        return own
    whole = [(0.5, own), (0.5, _grown(before.attributed, after.attributed, direction))]
    told = [(part, found) for part, found in whole if found]
    parts = sum(part for part, _ in told)
    return [Growth(g.share * part / parts, g.name, g.words, g.fresh) for part, found in told for g in found]


def _grown(before: Mapping[str, float], after: Mapping[str, float], direction: int) -> list[Growth]:
    changes = net_of_shifts(named_changes(Cost(0.0, before), Cost(0.0, after)))
    grown = sorted((n for n, change in changes.items() if change * direction > 0), key=lambda n: (-abs(changes[n]), n))
    kept = [name for name in grown if not _LIBRARY.match(name)][:MOST_FUNCTIONS]
    whole = sum(abs(changes[name]) for name in kept)
    symbols: dict[str, set[str]] = {}
    for symbol in after.keys() | before.keys():
        symbols.setdefault(bare_name(symbol), set()).add(symbol)
    known = frozenset(word for symbol in (before if direction > 0 else after) for word in identifiers(symbol))
    spaces = _namespaces(map(bare_name, after.keys() | before.keys()))
    found = []
    for name in kept:
        # What netting left may be a trifle of which no symbol grew by itself.
        own = [s for s in symbols[name] if (after.get(s, 0.0) - before.get(s, 0.0)) * direction > 0] or symbols[name]
        words = frozenset(word for symbol in own for word in identifiers(symbol)) - spaces
        if not _LIBRARY_SCOPE.match(name):
            words |= {_called(name, spaces)}
        found.append(Growth(abs(changes[name]) / whole, name, words, words - known))
    return found


@lru_cache(maxsize=65536)
def identifiers(symbol: str) -> frozenset[str]:
    """The telling words of a symbol: no keywords, nothing of the standard library's own names."""
    words = frozenset(_TELLING.findall(_LIBRARY_SCOPE.sub(" ", symbol))) - _COMMON
    name = bare_name(symbol)
    return words - frozenset(_WORD.findall(name)) if _LIBRARY_SCOPE.match(name) else words


def _namespaces(names: Iterable[str]) -> frozenset[str]:
    """The outermost scopes that hold scopes themselves: commits within a namespace do not name it."""
    scopes = (name.split("::") for name in names)
    return frozenset({"{anonymous}", *(scope[0] for scope in scopes if len(scope) > 2)})


def _called(name: str, spaces: frozenset[str]) -> str:
    """A function as its definition's line calls it: with its class, as `Next` alone is everywhere."""
    scope = name.split("::")
    return "::".join(scope[-2:]) if len(scope) > 1 and scope[-2] not in spaces else scope[-1]


def definers(name: str, defined: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The files that define a function, given by its bare name: by class and name, by the class, or by the name.

    `defined` maps `Class::name`, `Class` and `name` to files.
    """
    last = name.split("::")[-2:]
    for key in ("::".join(last), last[0], last[-1]):
        if key in defined:
            return defined[key]
    return frozenset()


class _Executed:
    """What the query executes: which commits touch any of it."""

    def __init__(self, names: Iterable[str], defined: Mapping[str, frozenset[str]]) -> None:
        own = [name for name in names if not _LIBRARY.match(name) and not _LIBRARY_SCOPE.match(name)]
        spaces = _namespaces(own)
        self._words = {_called(name, spaces) for name in own}
        self._files = {file for name in own for file in definers(name, defined)}

    def reach(self, touched: Touch) -> float:
        """EXECUTED for a diff that names an executed function, BESIDE for one in its file, or ELSEWHERE."""
        if not self._words.isdisjoint(touched.words):
            return EXECUTED
        return ELSEWHERE if self._files.isdisjoint(touched.files) else BESIDE


def suspicions(
    touched: Sequence[Touch],
    before: Cost,
    after: Cost,
    direction: int,
    defined: Mapping[str, frozenset[str]],
    settings: Sequence[Setting] = (),
) -> list[Suspicion]:
    """The prior of each candidate between two commits whose costs are known.

    `touched` are the candidates, oldest first; `direction` is +1 to find regressions; see `definers` for `defined`. The
    more of the evidence a candidate touches, the greater its weight. Of the part that `settings` do not make, none has
    less than FLOOR / EXECUTED of the average.
    """
    candidates = Candidates(touched)
    executed = _Executed(map(bare_name, before.functions.keys() | after.functions.keys()), defined)
    reach = [executed.reach(one) for one in touched]
    evidence: list[dict[str, float]] = [{} for _ in touched]

    def add(claims: Iterable[Claim], share: float) -> float:
        """What of a share is claimed, into the evidence."""
        claimed = 0.0
        for claim in claims:
            found = evidence[claim.number]
            found[claim.reason] = found.get(claim.reason, 0.0) + share * claim.strength
            claimed += share * claim.strength
        return claimed

    by_settings = sum(setting.share for setting in settings)
    anybodys = by_settings - sum(add(variables.claims(candidates, one), one.share) for one in settings)
    by_functions = 1 - by_settings
    grown = (1 - FLOOR) * by_functions
    spread = by_functions - sum(
        add(_claims(growth, candidates, direction, defined), grown * growth.share)
        for growth in growths(before, after, direction)
    )
    result = []
    for found, reached in zip(evidence, reach, strict=True):
        told = sum(found.values())
        base = spread * reached / sum(reach)
        if reached > ELSEWHERE:
            reason = "executed" if reached == EXECUTED else "file of executed code"
            found[reason] = base * (1 - ELSEWHERE / reached)
        result.append(Suspicion(told + base + anybodys / len(touched), found))
    return result


def _claims(
    growth: Growth, candidates: Candidates, direction: int, defined: Mapping[str, frozenset[str]]
) -> list[Claim]:
    """What part of a function's growth each candidate likely made, by each reason."""
    told = {word.rpartition("::")[2].lower() for word in growth.words}
    files = frozenset() if _LIBRARY_SCOPE.match(growth.name) else definers(growth.name, defined)
    return divide(
        PARTS,
        _by_word(growth, candidates.by_word, direction),
        by_rarity("file", files, candidates.by_file),
        by_rarity("message:", told, candidates.by_message),
    )


def _by_word(growth: Growth, touchers: Mapping[str, Sequence[int]], direction: int) -> list[Claim]:
    """Each candidate's strongest claim: the square of one of its words' rarity (one over how many touch it)."""
    claims = []
    for word in sorted(growth.words & touchers.keys()):
        numbers = touchers[word]
        introducer = numbers[0] if direction > 0 else numbers[-1]
        kind = "function" if "::" in word or word == growth.name.rpartition("::")[2] else "type"
        for number in numbers:
            louder = INTRODUCED if word in growth.fresh and number == introducer else 1.0
            claims.append(Claim(number, f"{kind} {word}", louder * len(numbers) ** -2.0))
    return strongest_of_each(claims)


def strongest(because: Mapping[str, float]) -> list[str]:
    """The reasons of a suspicion, the one with the greatest part first."""
    return sorted(because, key=lambda reason: (-because[reason], reason))
