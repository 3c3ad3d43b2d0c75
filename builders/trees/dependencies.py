"""Which files of the tree a target was compiled from: read from the dependency files that -MD and -MMD write."""

import re
from pathlib import Path

_WORD = re.compile(r"(?:\\.|[^\s\\])+")


def prerequisites(text: str) -> list[str]:
    """The prerequisites of all rules in a dependency file, in order; targets are left out, escapes undone."""
    found = []
    for rule in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        _, colon, after = rule.partition(": ")
        if colon:
            found += [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in _WORD.findall(after)]
    return found


def compiled_sources(tree: Path, directory: Path) -> tuple[str, ...]:
    """Files inside `tree` named by the dependency files below `directory`, relative to the tree, sorted.

    Compilers ran in `directory`: that is where relative names begin. Generated files that lie in the tree count too.
    """
    names: set[str] = set()
    for file in directory.rglob("*.d"):
        if file.is_file():
            names.update(prerequisites(file.read_text(errors="replace")))
    root = tree.resolve()
    found = set()
    for name in names:
        path = (directory / name).resolve()
        if path.is_relative_to(root) and path.is_file():
            found.add(str(path.relative_to(root)))
    return tuple(sorted(found))
