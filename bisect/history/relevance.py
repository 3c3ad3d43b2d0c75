"""PURE: which commits cannot change the built binary.

Two rules say so: globs of the matrix, known before anything is built, and what the ends were compiled from, known after
they are. Both can be wrong, and both are checked: where a step does not show between a culprit and its parent, or some
of it shows elsewhere, the classes beside it are opened and their commits built one by one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import pathspec

from cpubisect.base.errors import UserError

SOURCE_ENDINGS = (
    *(".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".ic", ".ih", ".inl"),
    *(".java", ".test", ".result"),
)
"""Endings of files that matter to a build only where a compiler reads them. Scripts, rules, templates, grammars, SQL
and assembler are not among them: they steer a build, are turned into sources, or leave no dependency file."""


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


@dataclass(frozen=True)
class Evidence:
    """What builds tell of the paths between two ends: `files` are plain files in the tree of at least one end,
    `compiled` those that any build of the bisection was made from. Without a build of each end that tells, both are
    empty.

    A file that is in an end's tree and that no build was compiled from cannot add to the difference between the ends:
    with the file as it was before, both ends would be the same binaries. What it can do is to add a cost and have it
    taken away again in between: if a build rule or another file took it in after the one end and dropped it before the
    other. Those two commits change a compiled or a steering file, so they stay candidates of their own; and as soon as
    one build between them names the file, it is unused no longer.

    This holds if dependency files name all that is compiled under SOURCE_ENDINGS, and what a generator reads has
    another ending or is named in `compiled` too, and if no source takes in a file only where there is one
    (`__has_include`). A file in neither end's tree is never taken for unused, nor is a link.
    """

    compiled: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def unused(self, path: str) -> bool:
        """Whether a change of this path cannot reach the binary."""
        return path in self.files and path not in self.compiled and path.endswith(SOURCE_ENDINGS)
