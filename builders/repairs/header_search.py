"""Which header of the tree itself declares a name, and how files of the tree spell its include."""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path

from cpubisect.builders.repairs.symbols import MissingName
from cpubisect.builders.trees.source import SourceTree

_HEADERS = ("*.h", "*.hh", "*.hpp", "*.hxx", "*.H")
_OF_HOST = (
    *("*.h", "arpa/*.h", "net/*.h", "netinet/*.h", "sys/*.h"),
    *("*/sys/*.h", "*/bits/*.h", "*/bits/types/*.h"),
)
_MOST_COMPARED = 16
_MOST_TRIED = 6
_TYPE = r"(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum)\b"
_INCLUDE = re.compile(r'\s*#\s*include\s*(?P<directive><[^">]+>|"[^">]+")')

SHORTEST_NAME = 3
"""Shorter names are taken for local variables."""

_NO_TYPE = r"(?!(?:return|case|else|new|delete|throw|goto|sizeof|not|and|or|if|while)\b)"

# A type, a namespace, an enumerator; a function whose type stands on the line before; what a macro may make; further
# names of one declaration; names behind the brace of a type; a list of enumerators; a pointer to a function; an entry
# of a table that a header is generated from.
_MAY_DECLARE = (
    r"\b(?:class|struct|union|enum|namespace|concept|typename|typedef|using)\b.*\bNAME\b",
    r"^NAME\s*\(",
    r"^\s*[A-Z][A-Z0-9_]*\s*\(.*\bNAME\b",
    rf"^\s*{_NO_TYPE}[A-Za-z_][\w:]*\s[^()]*,\s*[*&]*NAME\s*[,;=\[]",
    r"^\s*\}[^=]*\bNAME\b",
    r"^\s*(?:\w+\s*(?:=\s*\w+\s*)?,\s*)*NAME\s*(?:=[^=;()]*)?(?:,|\}|/[*/]|$)",
    r"\(\s*\*\s*NAME\s*\)",
    r"^NAME\s+\w",
)


class Declaration(IntEnum):
    """How sure a line declares a name; higher is better."""

    NONE = 0
    FORWARD = 1
    MEMBER = 2
    FUNCTION = 3
    DEFINITION = 4


@dataclass(frozen=True)
class IncludeOption:
    """One include that may mend a missing name: `directive` is the name in quotes or brackets, `header` the file of the
    tree that it should find, empty for a standard one."""

    directive: str
    why: str
    header: str = ""


def declaration(line: str, name: str) -> Declaration:
    """What a line of a header says about `name`, judged by its form alone."""
    word = re.escape(name)
    if re.match(rf"\s*#\s*define\s+{word}\b", line):
        return Declaration.DEFINITION
    if re.match(r"\s*(#|//|\*|/\*)", line):
        return Declaration.NONE
    if re.match(rf"\s*(?:using\s+{word}\s*=|typedef\b.*[\s*&]{word}\s*(?:\[.*\])?;)|\s*\}}\s*{word}\s*;", line):
        return Declaration.DEFINITION
    if re.match(rf"\s*{_TYPE}[^;{{}}()=:]*\b{word}\b", line):
        tail = re.split(rf"\b{word}\b", line, maxsplit=1)[1].strip()
        if tail.startswith(";"):
            return Declaration.FORWARD
        if re.match(r"(final\b\s*)?(\{|:(?!:)|$|//|/\*)", tail):
            return Declaration.DEFINITION
    if re.match(rf"\s*typedef\b.*\(\s*\*\s*{word}\s*\)", line):
        return Declaration.DEFINITION
    if re.match(r"\s*(return|else|if|while|for|case|delete|new|throw|using|goto)\b", line):
        return Declaration.NONE
    if re.match(rf"\s*extern\b.*\b{word}\b", line):
        return Declaration.FUNCTION
    if re.match(rf"(?:[\w:]+[\w:<>,*&\s]*[\s*&]){word}\s*(?:\(|\[|=|;)", line):
        return Declaration.FUNCTION
    if re.match(rf"\s+(?:[\w:]+[\w:<>,*&\s]*[\s*&]){word}\s*(?:\(|\[|=|;)|\s*{word}\s*(?:,|=[^=]|$)", line):
        return Declaration.MEMBER
    return Declaration.NONE


def may_declare(line: str, name: str) -> bool:
    """True if a line of any file may declare `name`, a variable or parameter within a function too, or let a macro or
    the build define it: rather too often than too seldom."""
    word = re.escape(name)
    if declaration(line, name):
        return True
    if re.search(rf"#\s*(?:cmakedefine(?:01)?|undef)\s+{word}\b|-D{word}\b", line):
        return True
    if re.match(r"\s*(?:#|//|\*|/\*)", line):
        return False
    if any(re.search(form.replace("NAME", word), line) for form in _MAY_DECLARE):
        return True
    # A product of two values looks like a pointer: in capitals it is taken for a product.
    between = r"[\s&]+" if name.isupper() else r"[\s*&]+"
    begin = rf"(?:^|[(,;{{<\[])\s*{_NO_TYPE}(?:const\s+|static\s+|struct\s+|unsigned\s+)*[A-Za-z_][\w:]*(?:<[^;]*>)?"
    return re.search(rf"{begin}{between}{word}\s*(?:[;=,):{{\[(]|$)", line) is not None


def is_declared(tree: SourceTree, name: str) -> bool:
    """True if some line of the tree may declare a name, or the host's C library knows it: a header of the tree may
    include that."""
    lines = tree.search("-h", "-w", "-F", "-e", name)
    return any(may_declare(line, name) for line in lines) or name in _host_words()


@cache
def _host_words() -> frozenset[str]:
    files = (file for form in _OF_HOST for file in Path("/usr/include").glob(form))
    return frozenset(word for file in files for word in re.findall(r"\w+", file.read_text(errors="replace")))


def is_sure(text: str, number: int) -> bool:
    """True if a line of a header (from 1) stands under no condition but the include guard, and not within a class."""
    lines = text.splitlines()
    if number > len(lines) or re.match(rf"\s+(?:{_TYPE}|using\b|typedef\b)", lines[number - 1]):
        return False
    depth = 0
    for at, line in enumerate(lines[: number - 1]):
        if match := re.match(r"\s*#\s*(if|ifdef|ifndef|endif)\b\s*(\w*)", line):
            depth += -1 if match[1] == "endif" else 1
            following = lines[at + 1] if at + 1 < len(lines) else ""
            if match[1] == "ifndef" and re.match(rf"\s*#\s*define\s+{match[2]}\b", following):
                depth -= 1
    return depth <= 0


def rank(
    declared: Iterable[tuple[str, Declaration]],
    popularity: Counter[str],
    includer: str,
    *,
    needs_definition: bool,
    sure: Container[str] = frozenset(),
) -> list[str]:
    """Headers, best first: the surest declaration, those that are `sure` to be read, then the same directory, then what
    most users of the name include, then the shortest path; without a definition where one is needed a header is no use.
    """
    best: dict[str, Declaration] = {}
    for path, kind in declared:
        best[path] = max(kind, best.get(path, Declaration.NONE))
    least = Declaration.DEFINITION if needs_definition else Declaration.FORWARD
    directory = posixpath.dirname(includer)
    return sorted(
        (path for path, kind in best.items() if kind >= least and path != includer),
        key=lambda path: (
            -best[path],
            path not in sure,
            posixpath.dirname(path) != directory,
            -popularity[path],
            path.count("/"),
            path,
        ),
    )


def spellings(header: str, includer: str, used: Sequence[str]) -> list[str]:
    """How to include `header`, best first; `used` are the directives by which other files include it.

    What most of them write comes first, then the name alone beside the includer, then the path from the root.
    """
    directory = posixpath.dirname(includer)
    counted = Counter(used)
    found = [text for text, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]
    if posixpath.dirname(header) == directory:
        found.append(f'"{posixpath.basename(header)}"')
    found += [f'"{header}"', f'"{posixpath.relpath(header, directory or ".")}"']
    return list(dict.fromkeys(found))


def find_headers(
    tree: SourceTree,
    missing: MissingName,
    includer: str,
    has: Sequence[str],
    admitted: Callable[[str], bool] = lambda header: True,
) -> list[IncludeOption]:
    """Includes of the tree's own headers that may declare a name which `includer` lacks, best first.

    `has` are the directives the file has already; only headers that are `admitted` count. Names of one or two letters
    are not looked for: they are local variables whose declaration failed for another reason.
    """
    name = missing.name
    if len(name) < SHORTEST_NAME:
        return []
    found = [
        (path, kind, int(number))
        for line in tree.search("-n", "-w", "-F", "-e", name, "--", *_HEADERS)
        for path, number, text in [line.split(":", 2)]
        if (kind := declaration(text, name)) and admitted(path)
    ]
    declared = [(path, kind) for path, kind, _ in found]
    likely = rank(declared, Counter(), includer, needs_definition=missing.needs_definition)[:_MOST_COMPARED]
    users = set(tree.search("-l", "-w", "-F", "-e", name))
    popularity: Counter[str] = Counter()
    used: dict[str, list[str]] = {}
    for path in likely:
        base = re.escape(posixpath.basename(path))
        pattern = rf'^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([^">]*/)?{base}[">]'
        including = [
            (file, match["directive"])
            for line in tree.search("-E", "-e", pattern)
            for file, _, text in [line.partition(":")]
            if (match := _INCLUDE.match(text)) and _may_mean(match["directive"], path)
        ]
        used[path] = [directive for _, directive in including]
        popularity[path] = len(users.intersection(file for file, _ in including))
    compared = [(path, kind) for path, kind in declared if path in used]
    options = []
    best = {path: max(kind for other, kind in compared if other == path) for path in used}
    sure = {
        path for path, kind, number in found if path in used and kind == best[path] and is_sure(tree.read(path), number)
    }
    ranked = rank(compared, popularity, includer, needs_definition=missing.needs_definition, sure=sure)
    for path in ranked[:_MOST_TRIED]:
        directives = spellings(path, includer, used[path])
        if not any(directive in has for directive in directives):
            options += [IncludeOption(directive, f"{name} is declared in {path}", path) for directive in directives]
    return options


def _may_mean(directive: str, header: str) -> bool:
    name = directive[1:-1]
    return header == name or header.endswith(f"/{name}")
