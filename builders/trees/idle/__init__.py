"""Sources of which no probe runs anything: compiled without optimisation, and linked last.

A linker takes the first of equal inline functions and template instances that it meets. So that it never takes one that
was not optimised where there is another, the objects of such sources leave their archives and are linked after all
others; the archives follow once more, for what only those objects need. One module for each kind of plan; all is pure.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Protocol

from cpubisect.builders.trees.cuts import cuts

WITHOUT_OPTIMISATION = "-O0"

BEGINS, ENDS = "bisect_idle_begins", "bisect_idle_ends"
"""Functions before and behind all that is idle, in the program: the code between them was not optimised."""

TOGETHER = 16
"""So many of them are compiled as one, about: sixteen of MySQL 8.0's performance schema take as long as two alone."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NAMED = re.compile(
    r"^(?!#|namespace\b|using\b|extern\b|template\b|typedef\b)[A-Za-z_][^;{}=()\[\]]{0,200}?(?<![\w:])(\w+)\s*(?=[=(\[{;])",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Joined:
    """Sources, by their paths in the tree, that are compiled as one, and what each would have been compiled to;
    `object` is made from `file`."""

    file: str
    object: str
    sources: tuple[str, ...]
    objects: tuple[str, ...]


def mark(name: str) -> str:
    """The assembly of a function that is only a place; of its own bytes, so that no other one has its address."""
    return f'.text\n.globl {name}\n.type {name}, @function\n{name}: ud2\n.section .note.GNU-stack,"",@progbits\n'


def marked(objects: Sequence[str], folder: str) -> list[str]:
    """The objects between those of the two marks, which are in a folder."""
    return [f"{folder}/{BEGINS}.o", *objects, f"{folder}/{ENDS}.o"]


def is_idle(path: str, idle: Sequence[str]) -> bool:
    """Whether a source, a path in the tree, matches one of the globs `idle`."""
    return any(fnmatchcase(path, form) for form in idle)


def own_names(text: str) -> frozenset[str]:
    """The names that a source gives to something at the beginning of a line, by all appearances: two that both have one
    may not get along in one file, as names that are a source's own are not told from others."""
    return frozenset(_NAMED.findall(_COMMENT.sub(" ", text)))


class Company(Protocol):
    """Which sources, by their paths in the tree, may be compiled as one with others."""

    def takes(self, source: str) -> bool:
        """Whether it may be at all."""

    def names(self, source: str) -> frozenset[str]:
        """What it cannot have in common with another one: its `own_names`, say."""


def several(members: Sequence[tuple[str, str]], company: Company, folder: str) -> Iterator[Joined]:
    """Sources that may be compiled as one, each with its object, in files of a folder; no two of one file have any of
    their `names` in common. One that would be alone is in none."""
    ordered = sorted(members)
    names = {source: company.names(source) for source, _ in ordered}
    while len(ordered) > 1:
        left: list[tuple[str, str]] = []
        places = cuts([source for source, _ in ordered], max(1, round(len(ordered) / TOGETHER)))
        for first, last in zip([0, *places], [*places, len(ordered)], strict=True):
            part: list[tuple[str, str]] = []
            taken: frozenset[str] = frozenset()
            for source, made in ordered[first:last]:
                own = names[source]
                (left if own & taken else part).append((source, made))
                taken |= own if not own & taken else frozenset()
            if len(part) > 1:
                # Named by what is in it, so that the compiler cache knows it again, whatever else comes or goes.
                digest = sha256("\n".join(source for source, _ in part).encode()).hexdigest()
                file = f"{folder}/{digest[:12]}.cc"
                yield Joined(file, f"{file}.o", tuple(one for one, _ in part), tuple(made for _, made in part))
        ordered = left
