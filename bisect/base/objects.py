"""What a build's object files were made from, and how long it took to compile them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectFile:
    """One object file of a build, known by a name that the next build gives it too.

    `source` is what was compiled, relative to the tree, and may be generated; `files` are the tree's own files that it
    was made from, by way of generated ones too; `seconds` is how long its compiler ran, None if the compiler cache had
    it or nobody knows.
    """

    source: str
    files: tuple[str, ...]
    seconds: float | None = None
