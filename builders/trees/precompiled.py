"""Which headers are worth compiling once for many sources, and which sources take which of them.

A source only takes a header that it includes anyway, and that nothing could change that it says before: what it is
compiled to stays the same, and only reading the header is saved. `with_header.py` compiles them when they are needed.
"""

import posixpath
import re
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from cpubisect.base.sandbox import inside
from cpubisect.builders.trees.plan import compilations, tidy

WORTH = 4
"""A header is compiled once where that saves reading it so many times: making it takes about twice as long as reading
it, and mapping the result a tenth (measured with gcc 12 on the headers of MySQL 8.0.22)."""

MOST = 6
"""Headers for one set of flags at most."""

SYSTEM_BYTES = 20_000
"""What a header that is not the tree's own weighs: standard headers are of about that size with what they include."""

_WITH_HEADER = Path(__file__).with_name("with_header.py")
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
_STEERING = re.compile(rb"^[ \t]*#[ \t]*(?:define|undef|pragma)\b", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_GUARD = re.compile(rb"\s*#[ \t]*(?:ifndef|if[ \t]*!)")
_ONCE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
_SAID = ("-o", "-MF", "-MT", "-MQ")
_FOLDER = "bisect-headers"
_COMMAND = "compile"


@dataclass(frozen=True)
class Compiled:
    """One compiler command that reads the C++ file `source`, an absolute path; `flags` is all that is common to those
    that may share a header, `folders` are those where its own includes are looked for, in order; not those of other
    projects (`-isystem`), whose headers count as the system's."""

    source: str
    flags: tuple[str, ...]
    folders: tuple[str, ...]


@dataclass(frozen=True)
class Reads:
    """What a source or header comes to read: the tree's own headers by their places, and what all that weighs."""

    headers: frozenset[str]
    weight: int


@dataclass(frozen=True)
class Shared:
    """A header to compile once: the lines of its text, and the sources that take it."""

    includes: tuple[str, ...]
    sources: tuple[str, ...]


class Writer(Protocol):
    """Who may write files of a tree."""

    def write(self, path: Path, text: str) -> None: ...


def share_headers(writer: Writer, plan: str, directory: Path, tree: Path) -> None:
    """Prepare that a plan, which runs in `directory`, compiles the headers of its sources once. Raises what the writer
    does."""
    prepare(writer, directory, shared(compiled(plan, str(directory)), tree))


def prepare(writer: Writer, directory: Path, found: Sequence[Shared]) -> None:
    """Put down the headers, and which source takes which, in a folder of `directory`. Raises what the writer does."""
    folder = directory / _FOLDER
    folder.mkdir(exist_ok=True)
    plan = []
    for number, one in enumerate(found):
        writer.write(folder / f"{number}.h", "".join(f'#include "{name}"\n' for name in one.includes))
        plan += [f"{source}\t{number}\n" for source in one.sources]
    writer.write(folder / "plan", "".join(plan))
    # A build in a sandbox sees its tree and Python, and not us.
    script = folder / _WITH_HEADER.name
    writer.write(script, _WITH_HEADER.read_text(encoding="utf-8"))
    words = (str(Path(sys.executable).resolve()), "-IS", str(script), str(folder))
    command = folder / _COMMAND
    writer.write(command, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    command.chmod(0o755)


def prefix(directory: Path) -> dict[str, str]:
    """What makes ccache run compilers with what `prepare` put down; nothing if that is not there."""
    command = directory / _FOLDER / _COMMAND
    return {"CCACHE_PREFIX": str(command)} if command.exists() else {}


def compiled(plan: str, directory: str) -> Iterator[Compiled]:
    """The C++ compilations of a plan that runs in `directory`."""
    for one in compilations(plan):
        said = {number + 1 for number, word in enumerate(one.argv) if word in _SAID}
        kept = [word for number, word in enumerate(one.argv) if number not in said and word not in (*_SAID, "-c")]
        flags = tuple(word for word in kept if tidy(word) != one.source)
        folders = [word[2:] for word in flags if word.startswith("-I") and word != "-I"]
        folders += [flags[number + 1] for number, word in enumerate(flags[:-1]) if word in ("-I", "-iquote")]
        yield Compiled(_in(directory, one.source), flags, tuple(_in(directory, folder) for folder in folders))


def _in(directory: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(directory, name))


class Texts:
    """The text of files of a tree as far as it matters here, each read once."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._known: dict[str, _Text] = {}

    def __getitem__(self, path: str) -> "_Text":
        if path not in self._known:
            self._known[path] = _Text.read(path, self._tree)
        return self._known[path]


@dataclass(frozen=True)
class _Text:
    """What a file includes, as it spells it, each with whether in quotation marks; its size in bytes; whether it says
    anything before its last include that could change what a header comes to; and whether it may be included twice, by
    all appearances. A file that is not there is empty."""

    includes: tuple[tuple[bool, str], ...] = ()
    size: int = 0
    steering: bool = False
    guarded: bool = True

    @classmethod
    def read(cls, path: str, tree: Path) -> Self:
        try:
            text = inside.read_bytes(Path(path), tree)
        except OSError:
            return cls()
        found = list(_INCLUDE.finditer(text))
        first = _STEERING.search(text)
        named = tuple((one[1] == b'"', one[2].decode(errors="replace")) for one in found)
        guarded = bool(_GUARD.match(_COMMENT.sub(b" ", text)) or _ONCE.search(text))
        return cls(named, len(text), bool(found and first and first.start() < found[-1].start()), guarded)


class Includes:
    """What files below `tree` include where headers are looked for in `folders`, as far as their text tells: conditions
    are not looked at."""

    def __init__(self, tree: str, folders: tuple[str, ...], texts: Texts) -> None:
        self._tree = tree
        self._folders = folders
        self._texts = texts
        self._there: dict[str, bool] = {}
        self._named: dict[str, str] = {}
        self._edges: dict[str, tuple[tuple[str, ...], int]] = {}
        self._reads: dict[str, Reads] = {}

    def named(self, name: str) -> str:
        """The file that the folders lead to; empty if it is none of the tree."""
        if name not in self._named:
            paths = (_in(folder, name) for folder in self._folders)
            self._named[name] = next((path for path in paths if self._is_there(path)), "")
        return self._named[name]

    def direct(self, path: str) -> Iterator[tuple[str, str]]:
        """What a file includes, as it spells it, and where that is; empty if it is none of the tree."""
        folder = posixpath.dirname(path)
        for quoted, name in self._texts[path].includes:
            beside = _in(folder, name) if quoted else ""
            yield name, beside if beside and self._is_there(beside) else self.named(name)

    def reads(self, path: str) -> Reads:
        """All that a file comes to read, itself included."""
        if path not in self._reads:
            seen, queue, weight = {path}, [path], 0
            while queue:
                file = queue.pop()
                leading, own = self._edge(file)
                weight += own
                new = [found for found in leading if found not in seen]
                seen.update(new)
                queue += new
            self._reads[path] = Reads(frozenset(seen), weight)
        return self._reads[path]

    def unguarded(self, path: str) -> frozenset[str]:
        """The tree's own files that a file includes, by itself or by such a one, and that may not be included twice."""
        seen: set[str] = set()
        queue = [path]
        while queue:
            found = {place for _, place in self.direct(queue.pop()) if place and not self._texts[place].guarded}
            queue += found - seen
            seen |= found
        return frozenset(seen)

    def _edge(self, file: str) -> tuple[tuple[str, ...], int]:
        """The tree's own that a file includes by itself, and what it weighs with the others."""
        if file not in self._edges:
            found = [place for _, place in self.direct(file)]
            own = dict.fromkeys(place for place in found if place)
            self._edges[file] = tuple(own), self._texts[file].size + SYSTEM_BYTES * found.count("")
        return self._edges[file]

    def _is_there(self, path: str) -> bool:
        if path not in self._there:
            self._there[path] = path.startswith(self._tree) and posixpath.isfile(path)
        return self._there[path]


def shared(commands: Iterable[Compiled], tree: Path) -> list[Shared]:
    """The headers worth compiling once, for all sets of flags, and for each source in `tree` at most one of them."""
    groups: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    texts = Texts(tree)
    known: dict[tuple[str, ...], Includes] = {}
    for one in commands:
        groups[one.flags, one.folders].append(one.source)
    found: list[Shared] = []
    for (_, folders), sources in groups.items():
        if len(sources) > WORTH:
            includes = known.setdefault(folders, Includes(str(tree), folders, texts))
            found += _of_group([name for name in sources if not texts[name].steering], includes)
    return found


def _of_group(sources: Sequence[str], includes: Includes) -> Iterator[Shared]:
    reads = {source: includes.reads(source).headers for source in sources}
    spelled = _spellings({name for headers in reads.values() for name in headers}, includes)
    for source in sources:
        spelled.pop(source, None)
    counts = Counter(header for headers in reads.values() for header in headers & spelled.keys())
    weights = {header: includes.reads(header).weight for header, count in counts.items() if count > WORTH}
    taken = choice(reads, weights)
    for header in dict.fromkeys(taken.values()):
        own = tuple(source for source in sources if taken.get(source) == header)
        first = _first(own, includes, spelled)
        yield Shared((*((first,) if first and first != spelled[header] else ()), spelled[header]), own)


def choice(reads: Mapping[str, frozenset[str]], weights: Mapping[str, int]) -> dict[str, str]:
    """Of each source the header that it takes, if any: one after the other those are chosen that save most, what a
    source saves being the weight of its header."""
    taken: dict[str, str] = {}
    readers: defaultdict[str, list[str]] = defaultdict(list)
    for source in sorted(reads):
        for header in reads[source] & weights.keys():
            readers[header].append(source)
    for _ in range(MOST):
        gains = {
            header: sum(max(0, weights[header] - weights.get(taken.get(source, ""), 0)) for source in own)
            - WORTH * weights[header]
            for header, own in readers.items()
        }
        best = max(sorted(gains), key=lambda header: gains[header], default="")
        if not best or gains[best] <= 0:
            break
        for source in readers[best]:
            if weights[best] > weights.get(taken.get(source, ""), 0):
                taken[source] = best
    return taken


def _spellings(files: Iterable[str], includes: Includes) -> dict[str, str]:
    """How each header is spelled most often where the folders alone lead to it."""
    spelled: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file in sorted(files):
        for name, _ in includes.direct(file):
            if found := includes.named(name):
                spelled[found][name] += 1
    return {header: max(sorted(names), key=lambda name: names[name]) for header, names in spelled.items()}


def _first(sources: Sequence[str], includes: Includes, spelled: Mapping[str, str]) -> str:
    """What most of the sources include before anything else, as it is spelled: other headers may count on it."""
    firsts = Counter(place for source in sources for _, place in list(includes.direct(source))[:1])
    header, count = max(firsts.items(), key=lambda item: item[1], default=("", 0))
    return spelled.get(header, "") if count * 2 > len(sources) else ""
