"""PURE: which commits cannot change the built binary, and the classes of equal commits that follow."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

import pathspec

from cpubisect.errors import UserError


@dataclass(frozen=True)
class CommitClass:
    """Neighbouring commits with one binary: build `representative`, the first of `members`, for all of them."""

    representative: str
    members: tuple[str, ...]


class Irrelevant:
    """Paths that cannot change the built target, as gitignore patterns; a later pattern overrules an earlier one.

    Unlike in git, `!name` also brings back a file below an excluded folder. Raises UserError for a malformed pattern.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        try:
            spec = pathspec.GitIgnoreSpec.from_lines(globs)
        except (ValueError, TypeError) as error:
            raise UserError("the list of irrelevant paths is malformed", str(error)) from error
        self.matches = lru_cache(maxsize=65536)(spec.match_file)

    def covers(self, paths: Iterable[str]) -> bool:
        """Whether all `paths` are irrelevant; true of no paths at all."""
        return all(self.matches(path) for path in paths)


def group(start: str, commits: Iterable[str], unchanged: Collection[str]) -> list[CommitClass]:
    """Join each commit of `unchanged` with its predecessor; `start`, the one before them all, opens the first class.

    A class is one commit that can change the binary and all that follow it and cannot.
    """
    classes: list[list[str]] = [[start]]
    for commit in commits:
        if commit in unchanged:
            classes[-1].append(commit)
        else:
            classes.append([commit])
    return [CommitClass(members[0], tuple(members)) for members in classes]
