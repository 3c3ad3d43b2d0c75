"""Which candidates touch what grew: the profile difference of two commits turned into prior weights of the candidates
between them. Evidence for where to look first, never for the verdict.

Each function's growth is shared out among the candidates whose diffs name it, among those that touch a file which
defines it and, weakly, among those whose messages name it. Identifiers tell better than whole symbols: a type in a
template argument (`std::deque<BlockHandleInfo>`) names the commit that introduced the type, although the function
itself is the library's. An identifier or a file that many commits touch says little about each of them. What nobody
claims is spread over all candidates, most of it over those that touch code which the query executes at all.

A server variable whose changed value makes the step is evidence as a function is: the identifiers of its definition
stand for those of a symbol.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cpubisect.search.costs import Cost, bare_name, named_changes, net_of_shifts

FLOOR = 0.3
"""The part of the prior weight that is spread over all candidates by what they execute, whatever grew."""

EXECUTED, BESIDE, ELSEWHERE = 15.0, 4.0, 1.0
"""How the spread part is divided: a commit that touches an executed function, one that touches a file which defines
one, and any other. 15:1 paid best in published coverage-weighted bisections: 10.7 builds instead of 12.2 where 85 % of
the culprits are among the 15 % of commits that touch executed code; a file is between the two (the geometric mean)."""


@dataclass(frozen=True)
class Parts:
    """How one growth is divided: among those that name it, those that touch its file, those whose message names it, and
    the spread part."""

    named: float
    same_file: float
    said: float
    unclaimed: float


OF_FUNCTIONS = Parts(named=6.0, same_file=1.0, said=0.5, unclaimed=1.0)
OF_VARIABLES = Parts(named=12.0, same_file=0.3, said=2.0, unclaimed=1.0)
"""Of 41 defaults that changed between two trees of MySQL 5.6, all were changed by the commit that names the definition
loudest (`benchmarks/evidence.py`). Where the definition is not what decides (performance_schema was ON by its
definition, but OFF in the server until its tables were sized), messages tell: the rest is for that."""

SAID_DEFAULT = "default"
"""A message that has this word too speaks of a variable's value, not of what it is for."""

INTRODUCED = 3.0
"""An identifier that only the later profile knows speaks so many times louder for the first commit that touches it: no
later one can have introduced it. (Of what vanished, for the last one, when improvements are looked for.)"""

MOST_FUNCTIONS = 40
"""So many of the functions that grew most are looked at."""

_WORD = re.compile(r"[A-Za-z_]\w+")
_SCOPED = re.compile(r"\b(\w+)(?:<[^<>()]*>)?::(~?\w+)(?=\s*\()")
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
class Touch:
    """What a commit's diff touches: the identifiers in its changed lines and hunk headings, `Class::name` included, and
    its files; and what its message `said`, in lower case words."""

    words: frozenset[str]
    files: frozenset[str]
    said: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Growth:
    """A function's share of the change in the wanted direction, as a ratio, its bare name, the identifiers of its
    symbols, and which of those only one of the two profiles knows; or the same of a `variable` of the server and the
    identifiers of its definition."""

    share: float
    name: str
    words: frozenset[str]
    fresh: frozenset[str] = frozenset()
    variable: bool = False


@dataclass(frozen=True)
class Setting:
    """A variable whose changed value makes a part of the step (`share`, a ratio): the identifiers of its definition,
    and the files that has been in."""

    name: str
    share: float
    words: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Suspicion:
    """Why a candidate is weighed: its prior `weight` (all add up to 1), and the part of it that each reason stands for;
    what is left of it every candidate has."""

    weight: float
    because: Mapping[str, float]


@dataclass(frozen=True)
class Claim:
    """A candidate's title to a function's growth, relative to those of others."""

    number: int
    reason: str
    strength: float


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


def touch(lines: Iterable[str], files: Iterable[str], message: str = "") -> Touch:
    """What a unified diff without context touches; `files` are the paths that it changes, `message` is the commit's."""
    changed = "\n".join(line for line in lines if line[:1] in "+-" or line.startswith("@@"))
    scoped = (f"{scope}::{name}" for scope, name in _SCOPED.findall(changed))
    return Touch(frozenset((*_WORD.findall(changed), *scoped)), frozenset(files), said(message))


def said(message: str) -> frozenset[str]:
    """The words of a message in lower case; one with underscores with its parts."""
    words = {word.lower() for word in _WORD.findall(message)}
    return frozenset(words | {part for word in words for part in word.split("_") if part})


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
    more of the evidence a candidate touches, the greater its weight; none is less than FLOOR / EXECUTED of the average.
    What `settings` make of the step is no evidence for what the functions that grew name.
    """
    executed = _Executed(map(bare_name, before.functions.keys() | after.functions.keys()), defined)
    reach = [executed.reach(one) for one in touched]
    spread = sum(reach)
    evidence: list[dict[str, float]] = [{} for _ in touched]
    claimed = 0.0
    words = touchers([one.words for one in touched])
    files = touchers([one.files for one in touched])
    messages = touchers([one.said for one in touched])
    for growth in _all_growths(growths(before, after, direction), settings):
        named = by_word(growth, words, direction)
        same_file = by_file(growth, files, defined, settings)
        spoken = by_message(growth, messages)
        of = OF_VARIABLES if growth.variable else OF_FUNCTIONS
        divided = ((of.named, named), (of.same_file, same_file), (of.said, spoken))
        parts = [(part, claims) for part, claims in divided if claims]
        whole = sum(part for part, _ in parts) + of.unclaimed
        for part, claims in parts:
            mass = (1 - FLOOR) * growth.share * part / whole
            claimed += mass
            strength = sum(claim.strength for claim in claims)
            for claim in claims:
                found = evidence[claim.number]
                found[claim.reason] = found.get(claim.reason, 0.0) + mass * claim.strength / strength
    result = []
    for found, reached in zip(evidence, reach, strict=True):
        base = (1 - claimed) * reached / spread
        if reached > ELSEWHERE:
            reason = "executed" if reached == EXECUTED else "file of executed code"
            found[reason] = base * (1 - ELSEWHERE / reached)
        result.append(Suspicion(base + sum(part for key, part in found.items() if key not in _SPREAD), found))
    return result


_SPREAD = ("executed", "file of executed code")


def _all_growths(functions: Sequence[Growth], settings: Sequence[Setting]) -> list[Growth]:
    """What grew, by function and by setting; all their shares add up to 1."""
    left = 1 - sum(one.share for one in settings)
    own = [Growth(one.share, one.name, one.words, variable=True) for one in settings]
    return [*own, *(replace(growth, share=growth.share * left) for growth in functions)]


def touchers(touched: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    """Who touches each word or file, in order."""
    found: dict[str, list[int]] = {}
    for number, items in enumerate(touched):
        for item in items:
            found.setdefault(item, []).append(number)
    return found


def by_word(growth: Growth, touchers: Mapping[str, Sequence[int]], direction: int) -> list[Claim]:
    """Each candidate's strongest claim: the square of one of its words' rarity (one over how many touch it)."""
    claims = []
    for word in sorted(growth.words & touchers.keys()):
        numbers = touchers[word]
        introducer = numbers[0] if direction > 0 else numbers[-1]
        kind = "function" if "::" in word or word == growth.name.rpartition("::")[2] else "type"
        kind = f"variable {growth.name}:" if growth.variable else kind
        for number in numbers:
            louder = INTRODUCED if word in growth.fresh and number == introducer else 1.0
            claims.append(Claim(number, f"{kind} {word}", louder * len(numbers) ** -2.0))
    return _strongest(claims)


def by_file(
    growth: Growth,
    touchers: Mapping[str, Sequence[int]],
    defined: Mapping[str, frozenset[str]],
    settings: Sequence[Setting],
) -> list[Claim]:
    """Each candidate's strongest claim by a file that defines the function, weighed like a word."""
    if _LIBRARY_SCOPE.match(growth.name):
        return []
    if growth.variable:
        files = next(one.files for one in settings if one.name == growth.name)
    else:
        files = definers(growth.name, defined)
    return _strongest(
        Claim(number, f"file {file}", len(touchers[file]) ** -2.0)
        for file in sorted(files & touchers.keys())
        for number in touchers[file]
    )


def by_message(growth: Growth, touchers: Mapping[str, Sequence[int]]) -> list[Claim]:
    """Each candidate's strongest claim by what its message says, weighed like a word: a function or a type that grew,
    or all words of a variable's name, the louder with SAID_DEFAULT."""
    if not growth.variable:
        return _strongest(
            Claim(number, f"message: {word}", len(touchers[word]) ** -2.0)
            for word in sorted({word.rpartition("::")[2].lower() for word in growth.words} & touchers.keys())
            for number in touchers[word]
        )
    naming = set.intersection(*(set(touchers.get(part, ())) for part in growth.name.lower().split("_") if part))
    louder = naming & set(touchers.get(SAID_DEFAULT, ()))
    return _strongest(
        Claim(number, f"message: {growth.name}{told}", len(numbers) ** -2.0)
        for told, numbers in ((f" {SAID_DEFAULT}", louder), ("", naming))
        for number in sorted(numbers)
    )


def _strongest(claims: Iterable[Claim]) -> list[Claim]:
    """One claim of each candidate; the first of equal ones."""
    best: dict[int, Claim] = {}
    for claim in claims:
        if claim.number not in best or claim.strength > best[claim.number].strength:
            best[claim.number] = claim
    return list(best.values())


def strongest(because: Mapping[str, float]) -> list[str]:
    """The reasons of a suspicion, the one with the greatest part first."""
    return sorted(because, key=lambda reason: (-because[reason], reason))
