"""Sources of which no probe runs anything: compiled without optimisation, and linked last.

A linker takes the first of equal inline functions and template instances that it meets. So that it never takes one that
was not optimised where there is another, the objects of such sources leave their archives and are linked after all
others; the archives follow once more, for what only those objects need. One module for each kind of plan; all is pure.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

WITHOUT_OPTIMISATION = "-O0"


def is_idle(path: str, idle: Sequence[str]) -> bool:
    """Whether a source, a path in the tree, matches one of the globs `idle`."""
    return any(fnmatchcase(path, form) for form in idle)
