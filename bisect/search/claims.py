"""PURE: what commits touch, and what title that gives each of them to something that changed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"[A-Za-z_]\w+")
_SCOPED = re.compile(r"\b(\w+)(?:<[^<>()]*>)?::(~?\w+)(?=\s*\()")


@dataclass(frozen=True)
class Touch:
    """What a commit's diff touches: the identifiers in its changed lines and hunk headings, `Class::name` included, and
    its files; and what its message `said`, in lower case words."""

    words: frozenset[str]
    files: frozenset[str]
    said: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Claim:
    """A candidate's title to something that changed, relative to those of others."""

    number: int
    reason: str
    strength: float


@dataclass(frozen=True)
class Parts:
    """How one thing that changed is divided: among those that name it, those that touch its file, those whose message
    names it, and all."""

    named: float
    same_file: float
    said: float
    unclaimed: float


@dataclass(frozen=True)
class Candidates:
    """What some candidates touch, oldest first, and who touches what."""

    touched: Sequence[Touch]

    @cached_property
    def by_word(self) -> Mapping[str, Sequence[int]]:
        """Who touches each word, in order."""
        return _touchers([one.words for one in self.touched])

    @cached_property
    def by_file(self) -> Mapping[str, Sequence[int]]:
        """Who touches each file, in order."""
        return _touchers([one.files for one in self.touched])

    @cached_property
    def by_message(self) -> Mapping[str, Sequence[int]]:
        """Who says each word, in order."""
        return _touchers([one.said for one in self.touched])


def touch(lines: Iterable[str], files: Iterable[str], message: str = "") -> Touch:
    """What a unified diff without context touches; `files` are the paths that it changes, `message` is the commit's."""
    changed = "\n".join(line for line in lines if line[:1] in "+-" or line.startswith("@@"))
    scoped = (f"{scope}::{name}" for scope, name in _SCOPED.findall(changed))
    return Touch(frozenset((*_WORD.findall(changed), *scoped)), frozenset(files), said(message))


def said(message: str) -> frozenset[str]:
    """The words of a message in lower case; one with underscores with its parts."""
    words = {word.lower() for word in _WORD.findall(message)}
    return frozenset(words | {part for word in words for part in word.split("_") if part})


def divide(parts: Parts, named: Sequence[Claim], same_file: Sequence[Claim], said: Sequence[Claim]) -> list[Claim]:
    """All claims, each with the ratio of the whole that is its own; what is left belongs to all."""
    kinds = [
        (part, own)
        for part, own in zip((parts.named, parts.same_file, parts.said), (named, same_file, said), strict=True)
        if own
    ]
    whole = sum(part for part, _ in kinds) + parts.unclaimed
    found = []
    for part, own in kinds:
        strength = sum(claim.strength for claim in own)
        found += [Claim(claim.number, claim.reason, part / whole * claim.strength / strength) for claim in own]
    return found


def strongest_of_each(claims: Iterable[Claim]) -> list[Claim]:
    """One claim of each candidate; the first of equal ones."""
    best: dict[int, Claim] = {}
    for claim in claims:
        if claim.number not in best or claim.strength > best[claim.number].strength:
            best[claim.number] = claim
    return list(best.values())


def by_rarity(kind: str, words: Iterable[str], touchers: Mapping[str, Sequence[int]]) -> list[Claim]:
    """Each candidate's strongest claim by what it touches: the square of its rarity (one over how many touch it)."""
    return strongest_of_each(
        Claim(number, f"{kind} {word}", len(touchers[word]) ** -2.0)
        for word in sorted(set(words) & touchers.keys())
        for number in touchers[word]
    )


def _touchers(touched: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, items in enumerate(touched):
        for item in items:
            found.setdefault(item, []).append(number)
    return found
