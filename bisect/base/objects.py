"""What a build's object files were made from, and how long it took to compile them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectFile:
    """One object file of a build, known by a name that the next build gives it too.

    `source` is what was compiled, relative to the tree, and may be generated; `files` are the tree's own files that it
    was made from, by way of generated ones too; `seconds` is how long its compiler ran, None if the compiler cache had
    it or nobody knows. With an empty `source` it stands for what is done before anything is compiled, and need not be
    done again as long as its files are the same: the checks of a configure script.
    """

    source: str
    files: tuple[str, ...]
    seconds: float | None = None
