"""Sources of which no probe runs anything: compiled without optimisation, and linked last.

A linker takes the first of equal inline functions and template instances that it meets. So that it never takes one that
was not optimised where there is another, the objects of such sources leave their archives and are linked after all
others; the archives follow once more, for what only those objects need. One module for each kind of plan; all is pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cpubisect.builders.trees.cuts import cuts

WITHOUT_OPTIMISATION = "-O0"

TOGETHER = 16
"""So many of them are compiled as one, about: sixteen of MySQL 8.0's performance schema take as long as two alone."""


@dataclass(frozen=True)
class Joined:
    """Sources, by their paths in the tree, that are compiled as one, and what each would have been compiled to;
    `object` is made from `file`."""

    file: str
    object: str
    sources: tuple[str, ...]
    objects: tuple[str, ...]


def is_idle(path: str, idle: Sequence[str]) -> bool:
    """Whether a source, a path in the tree, matches one of the globs `idle`."""
    return any(fnmatchcase(path, form) for form in idle)


def several(members: Sequence[tuple[str, str]], folder: str, number: int) -> Iterator[Joined]:
    """Sources that may be compiled as one, each with its object, in files of a folder with numbers from `number` on;
    one that would be alone is in none."""
    ordered = sorted(members)
    parts = max(1, round(len(ordered) / TOGETHER))
    places = cuts([source for source, _ in ordered], parts)
    for first, last in zip([0, *places], [*places, len(ordered)], strict=True):
        part = ordered[first:last]
        if len(part) > 1:
            file = f"{folder}/{number}.cc"
            yield Joined(file, f"{file}.o", tuple(one for one, _ in part), tuple(made for _, made in part))
            number += 1
