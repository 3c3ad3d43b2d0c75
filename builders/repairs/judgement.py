"""PURE: what became of an include, told by the errors of the next run.

An include is useless if the error that it was for is still there. It is harmful if an error stands in what it includes
or speaks of that, or if one is new and stands before the line that it was for, up to which the file was compiled
already; what is new behind that line was only uncovered.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from cpubisect.builders.repairs.diagnostics import Diagnostic, Place
from cpubisect.builders.repairs.symbols import MissingName, hinted_headers

_NOT_FOUND = ("No such file or directory", "file not found")


class Fate(Enum):
    """What became of an include: it stays, its error is still there, it brought errors, or there is no such header."""

    KEPT = "kept"
    USELESS = "useless"
    HARMFUL = "harmful"
    NOT_FOUND = "not found"


@dataclass(frozen=True)
class Sighting:
    """An error with its places as the tree names its files: `file` is the one to mend, if it is of the tree, `missing`
    the name that is not declared, `path` leads from the file being compiled to the error, `noted` are its notes'."""

    error: Diagnostic
    file: str | None
    missing: MissingName | None
    path: tuple[Place, ...]
    noted: tuple[tuple[Place, ...], ...] = ()

    @property
    def fingerprint(self) -> tuple[str, str]:
        """What stays of an error when lines move."""
        return self.path[-1].file, self.error.message


@dataclass(frozen=True)
class Trial:
    """An include that was put in at `include` for `what` (a name, or a header that the compiler asks for) at `path`;
    `header` is the file of the tree that it should find, `before` the fingerprints of all errors before it."""

    what: str
    needs_definition: bool
    include: Place
    path: tuple[Place, ...]
    header: str
    before: frozenset[tuple[str, str]]

    def moved(self, file: str, line: int, by: int) -> "Trial":
        """The same after the lines of a file from `line` on have moved by so many."""
        path = tuple(_moved(place, file, line, by) for place in self.path)
        return replace(self, include=_moved(self.include, file, line, by), path=path)

    def remains(self, seen: Sighting) -> bool:
        """True for the error that the include was for."""
        if seen.file != self.include.file:
            return False
        if seen.missing is None:
            return self.what in hinted_headers(seen.error)[:1]
        return (seen.missing.name, seen.missing.needs_definition) == (self.what, self.needs_definition)

    def leads_to(self, seen: Sighting) -> bool:
        """True for an error at the include, or in what it includes."""
        return self.include in seen.path

    def disturbs(self, seen: Sighting) -> bool:
        """True for an error elsewhere that came with the include: it speaks of what was included, or stands where the
        compiler had passed before.

        A name that is missing is the file's own lack, and mended in its turn.
        """
        if seen.missing or hinted_headers(seen.error) or seen.fingerprint in self.before:
            return False
        same = seen.path[0].file == self.path[0].file
        if any(self.include in note or (same and note[0].file == self.header) for note in seen.noted):
            return True
        return bool(self.header) and not seen.error.required_at and _precedes(seen.path, self.path)

    def fate(self, sightings: Iterable[Sighting], *, fresh: bool) -> Fate:
        """What became of it, by the errors of a run; `fresh` if that is the first one with it."""
        fate = Fate.KEPT
        for seen in sightings:
            if self.remains(seen):
                return Fate.USELESS
            if self.leads_to(seen):
                missed = seen.path[-1] == self.include and any(text in seen.error.message for text in _NOT_FOUND)
                fate = Fate.NOT_FOUND if missed and fate is not Fate.HARMFUL else Fate.HARMFUL
            elif fresh and self.disturbs(seen):
                fate = Fate.HARMFUL
        return fate


def _moved(place: Place, file: str, line: int, by: int) -> Place:
    return Place(place.file, place.line + by) if place.file == file and place.line >= line else place


def _precedes(path: tuple[Place, ...], other: tuple[Place, ...]) -> bool:
    """True if a compiler gets to a place before it gets to another of the same compilation."""
    for one, two in zip(path, other, strict=False):
        if one != two:
            return one.file == two.file and one.line < two.line
    return False
