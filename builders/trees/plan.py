"""The compiler commands in a plan: what `make --dry-run` and `ninja -t commands` print. All of this is pure."""

import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_CXX = (".cc", ".cpp", ".cxx", ".C")
_ARCHIVING = re.compile(r"-?[a-zA-Z]*[rq][a-zA-Z]*")
_SEPARATORS = frozenset({"&&", "||", ";", "|"})


@dataclass(frozen=True)
class Compilation:
    """One compiler command of a plan: `argv` makes `object` from the C++ file `source`, both relative to the tree."""

    argv: tuple[str, ...]
    source: str
    object: str

    def of(self, source: str, to: str) -> tuple[str, ...]:
        """The same command for another source and object."""
        put = {self.source: source, self.object: to}
        return tuple(put.get(tidy(word), word) if tidy(word) in put else word for word in self.argv)

    @property
    def flags(self) -> tuple[str, ...]:
        """The command without what it compiles: equal ones may share a chunk."""
        return self.of("", "")


def compilations(plan: str) -> list[Compilation]:
    """The commands of a plan that compile one C++ file into an object, in order."""
    found = []
    for argv in commands(plan):
        sources = [word for word in argv if word.endswith(_CXX)]
        if "-c" in argv and "-o" in argv[:-1] and len(sources) == 1:
            found.append(Compilation(argv, tidy(sources[0]), tidy(argv[argv.index("-o") + 1])))
    return found


def archived(plan: str) -> dict[str, frozenset[str]]:
    """The objects that a plan puts into each archive."""
    found: dict[str, frozenset[str]] = {}
    for argv in commands(plan):
        if len(argv) > 2 and _ARCHIVING.fullmatch(argv[1]) and argv[2].endswith(".a"):
            objects = frozenset(tidy(word) for word in argv[3:] if word.endswith(".o"))
            found[tidy(argv[2])] = found.get(tidy(argv[2]), frozenset()) | objects
    return found


def commands(plan: str) -> Iterator[tuple[str, ...]]:
    """The single commands of all lines, those joined by `&&` and the like taken apart."""
    for line in plan.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            words = list(lexer)
        except ValueError:
            continue
        command: list[str] = []
        for word in (*words, ";"):
            if word in _SEPARATORS:
                if command:
                    yield tuple(command)
                command = []
            else:
                command.append(word)


def tidy(word: str) -> str:
    """A path as it is compared with others."""
    return posixpath.normpath(word)
