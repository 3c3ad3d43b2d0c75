"""PURE: which files of a tree belong to a library that comes with it, and which of these libraries a file includes.

A directory is a library's if its name is followed by a release (`boost_1_77_0`), if it has a licence of its own, if it
lies in a directory for such (`third-party`), or if the matrix says so; the outermost one counts.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase

_CONTAINERS = frozenset({"third-party", "third_party", "thirdparty", "3rdparty", "3rd-party", "vendor", "external"})
_RELEASED = re.compile(r"[A-Za-z]\w*(?:-[A-Za-z]+)*[-_]v?\d+(?:[._-]\d+)+(?:[-_.][A-Za-z]\w*)?")
_LICENCE = re.compile(r"(?:licen[cs]e|copying|copyright)(?:\.(?:txt|md|rst|html))?", re.IGNORECASE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<directive><[^>\n]+>|"[^"\n]+")', re.MULTILINE)


def directives(text: str) -> list[str]:
    """All includes of a file, conditional ones too, with their quotes or brackets."""
    return [match["directive"] for match in _INCLUDE.finditer(text)]


class Libraries:
    """The bundled libraries of one tree: `files` are its paths, `named` directories that the matrix says are one each
    (`/extra/*/`), `read` gives a file's text.

    A library is named by its directory; the empty name stands for the engine itself.
    """

    def __init__(self, files: Iterable[str], named: Sequence[str], read: Callable[[str], str]) -> None:
        self._read = read
        self._named = [name.strip("/").split("/") for name in named]
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._licensed = set()
        for file in files:
            directory, name = posixpath.split(file)
            self._by_name[name].append(file)
            if directory and _LICENCE.fullmatch(name):
                self._licensed.add(directory)
        self._of_directory: dict[str, str] = {}
        self._directives: dict[str, list[str]] = {}

    def of(self, file: str) -> str:
        """The library that a file belongs to."""
        directory = posixpath.dirname(file)
        if directory not in self._of_directory:
            self._of_directory[directory] = self._root(directory)
        return self._of_directory[directory]

    def included_by(self, file: str) -> frozenset[str]:
        """The libraries that a file is of or includes, directly or by what it includes; the engine's own is one of
        them. What a library includes is its own affair."""
        own = self.of(file)
        found, seen, left = {"", own}, {file}, [file]
        while left:
            includer = left.pop()
            for directive in self._includes(includer):
                for target in self.resolve(directive, includer):
                    library = self.of(target)
                    found.add(library)
                    if target not in seen and library in ("", own):
                        seen.add(target)
                        left.append(target)
        return frozenset(found)

    def resolve(self, directive: str, includer: str) -> list[str]:
        """The files of the tree that an include may mean, none if it is the host's: what lies beside the includer, else
        the engine's own, else those of libraries if it is spelled as theirs, with a directory or by the library's name.
        """
        name = posixpath.normpath(directive[1:-1])
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(includer), name))
        there = [file for file in self._by_name.get(posixpath.basename(name), ()) if f"/{file}".endswith(f"/{name}")]
        if directive.startswith('"') and beside in there:
            return [beside]
        for library in ("", self.of(includer)):
            if own := [file for file in there if self.of(file) == library]:
                return own
        if "/" in name:
            return there
        return [file for file in there if _is_named_after(name, self.of(file))]

    def forget(self, file: str) -> None:
        """A file's text has changed."""
        self._directives.pop(file, None)

    def _includes(self, file: str) -> list[str]:
        if file not in self._directives:
            self._directives[file] = directives(self._read(file))
        return self._directives[file]

    def _root(self, directory: str) -> str:
        parts = directory.split("/") if directory else []
        for number in range(1, len(parts) + 1):
            path = "/".join(parts[:number])
            if self._is_library(parts[:number]) or path in self._licensed:
                return path
        return ""

    def _is_library(self, parts: Sequence[str]) -> bool:
        in_container = len(parts) > 1 and parts[-2].lower() in _CONTAINERS
        return in_container or _RELEASED.fullmatch(parts[-1]) is not None or _matches_any(parts, self._named)


def _is_named_after(header: str, library: str) -> bool:
    """True for `event.h` of libevent and for `my_regex.h` of regex."""
    stem = posixpath.splitext(header)[0].lower()
    name = re.split(r"[-_]v?\d", posixpath.basename(library))[0].lower()
    return min(len(stem), len(name)) > 2 and (stem in name or name in stem)


def _matches_any(parts: Sequence[str], forms: Collection[Sequence[str]]) -> bool:
    return any(len(form) == len(parts) and all(map(fnmatchcase, parts, form)) for form in forms)
