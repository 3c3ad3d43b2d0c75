"""Which header of the tree itself declares a name, and how files of the tree spell its include."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from cpubisect.builders.repairs.symbols import MissingName
from cpubisect.builders.trees.source import SourceTree

_HEADERS = ("*.h", "*.hh", "*.hpp", "*.hxx", "*.H")
_MOST_COMPARED = 16
_MOST_TRIED = 6
_SHORTEST_NAME = 3
_TYPE = r"(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum)\b"
_INCLUDE = re.compile(r'\s*#\s*include\s*(?P<directive><[^">]+>|"[^">]+")')


class Declaration(IntEnum):
    """How sure a line declares a name; higher is better."""

    NONE = 0
    FORWARD = 1
    MEMBER = 2
    FUNCTION = 3
    DEFINITION = 4


@dataclass(frozen=True)
class IncludeOption:
    """One include that may mend a missing name: `directive` is the name in quotes or brackets."""

    directive: str
    why: str


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


def rank(
    declared: Iterable[tuple[str, Declaration]], popularity: Counter[str], includer: str, *, needs_definition: bool
) -> list[str]:
    """Headers, best first: the surest declaration, then the same directory, then what most users of the name include,
    then the shortest path; without a definition where one is needed a header is no use."""
    best: dict[str, Declaration] = {}
    for path, kind in declared:
        best[path] = max(kind, best.get(path, Declaration.NONE))
    least = Declaration.DEFINITION if needs_definition else Declaration.FORWARD
    directory = posixpath.dirname(includer)
    return sorted(
        (path for path, kind in best.items() if kind >= least and path != includer),
        key=lambda path: (
            -best[path],
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


def find_headers(tree: SourceTree, missing: MissingName, includer: str, has: Sequence[str]) -> list[IncludeOption]:
    """Includes of the tree's own headers that may declare a name which `includer` lacks, best first.

    `has` are the directives the file has already. Names of one or two letters are not looked for: they are local
    variables whose declaration failed for another reason.
    """
    name = missing.name
    if len(name) < _SHORTEST_NAME:
        return []
    declared = [
        (path, kind)
        for line in tree.search("-n", "-w", "-F", "-e", name, "--", *_HEADERS)
        for path, _, rest in [line.partition(":")]
        if (kind := declaration(rest.partition(":")[2], name))
    ]
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
    for path in rank(compared, popularity, includer, needs_definition=missing.needs_definition)[:_MOST_TRIED]:
        directives = spellings(path, includer, used[path])
        if not any(directive in has for directive in directives):
            options += [IncludeOption(directive, f"{name} is declared in {path}") for directive in directives]
    return options


def _may_mean(directive: str, header: str) -> bool:
    name = directive[1:-1]
    return header == name or header.endswith(f"/{name}")
