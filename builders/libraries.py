"""Which libraries a tree wants, and where each is taken from: the tree, the host, or a file on the shelf."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from cpubisect.builders.build import Library, NoRecipe
from cpubisect.builders.recipes.matrix_file import LibrarySection
from cpubisect.builders.shelf import LibraryMissing, Shelf

HOST = (Path("/usr/local/include"), Path("/usr/include"))
"""Where a host has headers that any compiler finds."""

_NAME = re.compile(r"[\w+-][\w.+-]*")


class Tree(Protocol):
    """The tree of a commit, as far as it is asked."""

    def text(self, path: str) -> str | None:
        """What a file says; None if there is none at that path."""

    def holds(self, path: str) -> bool:
        """Whether there is a file at that path."""


def libraries(
    sections: Iterable[LibrarySection], tree: Tree, shelf: Shelf, host: Sequence[Path] = HOST
) -> tuple[Library, ...]:
    """What a tree wants of them; raises LibraryMissing for one that can only be known by a file that is not there,
    NoRecipe if its name is none."""
    found = (_library(section, tree, shelf, host) for section in sections)
    return tuple(one for one in found if one)


def _library(section: LibrarySection, tree: Tree, shelf: Shelf, host: Sequence[Path]) -> Library | None:
    said = re.search(section.wanted.pattern, tree.text(section.wanted.file) or "", re.MULTILINE)
    if not said:
        return None
    name = said[1]
    if not _NAME.fullmatch(name):
        raise NoRecipe(f"the tree wants a library {name!r}, which cannot be the name of a file", "mend `wanted:` of it")
    for form in section.carried:
        own = form.replace("{name}", name)
        if tree.holds(f"{own}/{section.header}"):
            return Library(name, section.option, carried=own)
    for place in host:
        if _release(_says(place / section.header, section.host)) == _release(name):
            return Library(name, section.option, host=str(place))
    file = section.files.get(name)
    digest = (file and file.sha256) or shelf.digest(name)
    if not digest:
        where = f", from {file.addresses[0]} for example" if file and file.addresses else ""
        raise LibraryMissing(
            f"{name}, which the tree wants, is not here, and the matrix has no digest of it to fetch it by",
            f"put {shelf.file(name)} in place{where}: it is recorded with its own digest",
        )
    return Library(name, section.option, sha256=digest, part=section.part)


def _says(header: Path, pattern: str) -> str:
    """Which release a header of the host says it is; empty if it is not there or doesn't say."""
    try:
        said = re.search(pattern, header.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return ""
    return said[1] if said else ""


def _release(name: str) -> tuple[int, ...]:
    """The numbers of a release, without zeros at its end: those of `boost_1_59_0` and of `1_59` are the same."""
    numbers = [int(number) for number in re.findall(r"\d+", name)]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
