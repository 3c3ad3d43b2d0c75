"""What plans of idle sources run and read, put down beside them: a build in a sandbox sees its tree and Python, and not
us."""

import posixpath
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from cpubisect.base.sandbox import inside
from cpubisect.builders.trees.idle import BEGINS, ENDS, Joined, is_idle, mark, own_names
from cpubisect.builders.trees.precompiled import Includes, Texts, Writer

FOLDER = "bisect-idle"
"""Where all of it is, in the directory in which the plan runs."""

_HERE = Path(__file__).parent
_JOIN, _STAND_IN = "joined.py", "stand_ins.py"
_LOUD = re.compile(r"^(?:using namespace\b|[ \t]*#[ \t]*(?:define[ \t]+[a-z]|undef\b|pragma\b))", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


class Tree(Writer, Protocol):
    """A tree being built, as far as it matters here."""

    @property
    def tree(self) -> Path:
        """Where it is."""


def joining(directory: Path, compiler: str) -> list[str]:
    """The words before a command that compiles several sources as one, with the name of its compiler."""
    return _program(directory, _JOIN, compiler)


def standing_in(directory: Path, *arguments: str) -> list[str]:
    """The words that make what stands in for sources that are left out."""
    return _program(directory, _STAND_IN, *arguments)


def put_joined(place: Tree, directory: Path, found: Iterable[Joined]) -> None:
    """Put down the files of sources that are compiled as one, and what compiles them. Raises what the place does."""
    for number, one in enumerate(found):
        if not number:
            _put(place, directory, _JOIN)
        place.write(directory / one.file, "".join(_part(place.tree, source, directory) for source in one.sources))


def put_marks(place: Tree, directory: Path) -> None:
    """Put down what marks the idle part of a program. Raises what the place does."""
    (directory / FOLDER).mkdir(exist_ok=True)
    for name in (BEGINS, ENDS):
        place.write(directory / FOLDER / f"{name}.s", mark(name))


def put_left_out(place: Tree, directory: Path, sources: Iterable[str]) -> None:
    """Put down the names of sources, and what makes something in their place. Raises what the place does."""
    _put(place, directory, _STAND_IN)
    place.write(left_out(directory), "".join(f"{source}\n" for source in sources))


def left_out(directory: Path) -> Path:
    """Where the names of sources that are left out are put down."""
    return directory / FOLDER / "left-out"


@dataclass(frozen=True)
class Company:
    """Which sources of a tree, by their paths in it, may be compiled as one: none that match `left_out`."""

    tree: Path
    left_out: Sequence[str] = ()

    def takes(self, source: str) -> bool:
        """Not if it says anything before its includes, so that they are not those of others, if it makes the names of a
        namespace everybody's, a macro of what could be anybody's word, or says to the compiler what holds behind it."""
        if is_idle(source, self.left_out) or self._texts[str(self.tree / source)].steering:
            return False
        return not _LOUD.search(inside.read_text(self.tree / source, self.tree))

    def names(self, source: str) -> frozenset[str]:
        """The names that a source keeps to itself, and the headers that only one may include."""
        path = self.tree / source
        return own_names(inside.read_text(path, self.tree)) | self._includes.unguarded(str(path))

    @cached_property
    def _includes(self) -> Includes:
        return Includes(str(self.tree), (str(self.tree), str(self.tree / "include")), self._texts)

    @cached_property
    def _texts(self) -> Texts:
        return Texts(self.tree)


def _part(tree: Path, source: str, directory: Path) -> str:
    """The lines by which a source is read before others, who are not to know its macros."""
    macros = dict.fromkeys(_MACRO.findall(inside.read_text(tree / source, tree)))
    # The place is told as it is in every tree, for the compiler cache.
    lines = [
        f'#include "{posixpath.relpath(tree / source, directory / FOLDER)}"',
        *(f"#undef {name}" for name in macros),
    ]
    return "".join(f"{line}\n" for line in lines)


def _program(directory: Path, script: str, *arguments: str) -> list[str]:
    return [str(Path(sys.executable).resolve()), "-IS", str(directory / FOLDER / script), *arguments]


def _put(place: Tree, directory: Path, script: str) -> None:
    (directory / FOLDER).mkdir(exist_ok=True)
    place.write(directory / FOLDER / script, (_HERE / script).read_text(encoding="utf-8"))
