"""What commits change: the paths, the lines in an engine's source files, and which of those files define a function."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cpubisect.history.repository import GitError, Repository

ENDINGS = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".ic", ".i", ".yy")
"""How the names of source files end: C, C++, their headers, InnoDB's inline files, grammars."""

_HEADERS = (".h", ".hh", ".hpp")
_LISTED_AT_ONCE = 2000
_LONGEST_STATEMENT = 12
_PATCHES_AT_ONCE = 50
_PATHS_AT_ONCE = 2000

# A quarter of what Linux allows for a command line: only a change of the whole tree names more.
_MOST_BYTES = 500_000

_DEFINING = r"^(class|struct)[[:space:]]|^[A-Za-z_~].*[A-Za-z0-9_]\("
_CLASS = re.compile(r"(?:class|struct)\s+(?:\w+\s+)*?(\w+)\s*(?:<.*>)?\s*(?:final\s*)?(?:$|[:{])")
_FUNCTION = re.compile(r"((?:\w+(?:<[^<>()]*>)?::)*~?[A-Za-z_]\w*)\s*\(")
_ARGUMENTS = re.compile(r"<[^<>()]*>")


@dataclass(frozen=True)
class Diff:
    """The source files in which a commit differs from the one before it, and the lines that do, without context."""

    sha: str
    files: tuple[str, ...]
    lines: Sequence[str]


def changed_paths(repository: Repository, commits: Sequence[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Of each (sha, parent) pair the sha and the paths that differ; a renamed file counts with both names.

    A parent of "" stands for the empty tree before a root commit. Bytes of a path that are not UTF-8 are kept as
    surrogates. Raises GitError if the trees cannot be read.
    """
    yield from ((sha, tuple(changed)) for sha, changed in changed_versions(repository, commits))


def changed_versions(
    repository: Repository, commits: Sequence[tuple[str, str]], folders: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """`changed_paths` with, of each path, the version that the parent has and that which the commit has, each empty
    where there is no such file; only in some top-level `folders` or files if any are given."""
    for first in range(0, len(commits), _LISTED_AT_ONCE):
        pairs = commits[first : first + _LISTED_AT_ONCE]
        output = repository.run(
            *("diff-tree", "--stdin", "--root", "--always", "-r", "-z", "--raw", "--no-renames"),
            *(("--", *folders) if folders else ()),
            stdin=(f"{sha} {parent}".rstrip() for sha, parent in pairs),
        )
        words = iter(output.decode(errors="surrogateescape").split("\0"))
        changed: dict[str, dict[str, tuple[str, str]]] = {sha: {} for sha, _ in pairs}
        current: dict[str, tuple[str, str]] = {}
        for word in words:
            if word.startswith(":"):
                _, _, before, after, _ = word.split()
                current[next(words)] = (before.strip("0") and before, after.strip("0") and after)
            elif word:
                current = changed[word.strip()]
        yield from changed.items()


def source_diffs(repository: Repository, commits: Sequence[tuple[str, str]]) -> Iterator[Diff]:
    """What each (sha, parent) changes in source files, in order.

    A commit whose blobs cannot be read or that changes nearly all files there are comes with its files and without
    lines. Raises GitError if even the trees cannot be read, NotFetched if a partial clone cannot fetch.
    """
    changed = {
        sha: {path: versions for path, versions in paths.items() if path.endswith(ENDINGS)}
        for sha, paths in changed_versions(repository, commits)
    }
    # What changes nearly all files is not read.
    read = [paths for paths in changed.values() if sum(len(path) for path in paths) < _MOST_BYTES]
    blobs = {blob for paths in read for versions in paths.values() for blob in versions if blob}
    files = {sha: tuple(_readable(path) for path in paths) for sha, paths in changed.items()}
    repository.provide(blobs)
    for first in range(0, len(commits), _PATCHES_AT_ONCE):
        some = commits[first : first + _PATCHES_AT_ONCE]
        lines = _lines(repository, [pair for pair in some if files[pair[0]]], files)
        for sha, _ in some:
            yield Diff(sha, files[sha], lines.get(sha, ()))


def _lines(
    repository: Repository, commits: Sequence[tuple[str, str]], files: Mapping[str, tuple[str, ...]]
) -> dict[str, list[str]]:
    """The diffs in these files alone: what nobody wants to read may be large, or absent from a partial clone."""
    if not commits:
        return {}
    paths = sorted({path for sha, _ in commits for path in files[sha]})
    try:
        if sum(len(path.encode()) + 1 for path in paths) > _MOST_BYTES:
            raise GitError(f"{len(paths)} paths do not fit on a command line")
        output = repository.text(
            *("diff-tree", "--stdin", "--always", "-r", "-p", "-U0", "--no-renames", "--no-ext-diff"),
            *("--no-textconv", "--", *paths),
            stdin=(f"{sha} {parent}" for sha, parent in commits),
        )
    except GitError:
        if len(commits) == 1:
            return {}
        half = len(commits) // 2
        return _lines(repository, commits[:half], files) | _lines(repository, commits[half:], files)
    found: dict[str, list[str]] = {sha: [] for sha, _ in commits}
    lines: list[str] = []
    heading = False
    for line in output.splitlines():
        if line in found:
            lines = found[line]
        elif line.startswith("diff --git "):
            heading = True
        elif line.startswith("@@"):
            heading = False
            lines.append(line)
        elif not heading:
            lines.append(line)
    return found


def messages(repository: Repository, shas: Sequence[str]) -> dict[str, str]:
    """The whole message of each commit."""
    listing = repository.text("rev-list", "--no-walk=unsorted", "--stdin", "--format=%x01%H%x00%B", stdin=shas)
    rows = (row.partition("\0") for row in listing.split("\1")[1:])
    # Before the next one stands git's own line "commit <sha>".
    return {sha: message.rpartition("\ncommit ")[0] or message for sha, _, message in rows}


@dataclass(frozen=True)
class Definition:
    """Where a server's variable is defined: the identifiers of the statement, and the files it is in."""

    words: frozenset[str]
    files: frozenset[str]


def variable_definitions(repository: Repository, sha: str, names: Iterable[str]) -> dict[str, Definition]:
    """How a tree defines some variables: the statements at the margin of its source files whose first argument is a
    variable's name, as a string or, without what stands before its first underscore, in a macro of plugins; and fields
    in braces that begin with it.

    Of a statement its identifiers with small letters. Raises GitError if the tree cannot be read.
    """
    found: dict[str, Definition] = {}
    for name in names:
        short = name.partition("_")[2] or name
        rows = repository.text(
            *("grep", "-I", "-n", "-z", "--full-name", "-F", "-e", f'"{name}"', "-e", f"({short},", sha, "--"),
            *(f"*{ending}" for ending in ENDINGS),
            or_nothing=True,
            patterns=True,
        )
        hits = [row.split("\0", 2) for row in rows.splitlines() if row.count("\0") >= 2]
        places = [(path.partition(":")[2], int(number)) for path, number, _ in hits]
        quoted = rf'"{re.escape(name)}"\s*,'
        first = re.compile(
            rf"(?:[\w:]+\s+)*[\w:]+\s*\(\s*{quoted}|(?:\w+\s+)*[A-Z_]+\({re.escape(short)},|\s*{{\s*{quoted}"
        )
        words, files = {name}, set()
        for path, number in places:
            statement = _statement(repository.text("cat-file", "blob", f"{sha}:{path}").split("\n"), number)
            if first.match(statement):
                words |= _identifiers(statement)
                files.add(path)
        found[name] = Definition(frozenset(words), frozenset(files))
    return found


def _statement(lines: Sequence[str], number: int) -> str:
    """The statement at a line, which is counted from 1: from the last line at the margin, or from its own brace, to the
    line that ends it."""
    first = number - 1
    while not re.match(r"[A-Za-z_]|\s*{", lines[first]) and first > 0:
        first -= 1
    end = "}" if lines[first].lstrip().startswith("{") else ";"
    last = first
    while end not in lines[last] and last < len(lines) - 1 and last - first < _LONGEST_STATEMENT:
        last += 1
    return "\n".join(lines[first : last + 1])


def _identifiers(statement: str) -> set[str]:
    """What of a definition is its own: identifiers with small letters, without those in strings."""
    words = re.findall(r"[A-Za-z_]\w{3,}", re.sub(r'"[^"]*"', " ", statement))
    return {word for word in words if any(letter.islower() for letter in word)}


def definitions(repository: Repository, sha: str, paths: Iterable[str]) -> dict[str, frozenset[str]]:
    """Which of the files define what at a commit: `Class::name`, `Class` and `name` map to paths.

    Read off the lines that begin at the margin, as C and C++ definitions in all engines do; where a header and another
    file both look like it, the header only declares. Raises GitError if the files cannot be read.
    """
    found: dict[str, set[str]] = {}
    wanted = sorted(set(paths))
    for first in range(0, len(wanted), _PATHS_AT_ONCE):
        some = wanted[first : first + _PATHS_AT_ONCE]
        output = repository.text(
            *("grep", "-I", "-z", "--full-name", "-E", _DEFINING, sha, "--", *some), or_nothing=True
        )
        for row in output.splitlines():
            path, _, line = row.partition("\0")
            if name := defined_by(line):
                found.setdefault(name, set()).add(path.removeprefix(f"{sha}:"))
    return {name: _without_headers(files) for name, files in found.items()}


def defined_by(line: str) -> str:
    """The class, `Class::name` or function that a line at the margin begins to define; empty for a declaration."""
    if line.rstrip().endswith(";"):
        return ""
    if match := _CLASS.match(line):
        return match[1]
    match = _FUNCTION.search(line)
    if match is None or match[1].startswith("__"):
        return ""
    return "::".join(_ARGUMENTS.sub("", match[1]).split("::")[-2:])


def _readable(path: str) -> str:
    """The path with U+FFFD for what is not UTF-8, as all text of git is shown and stored."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _without_headers(files: set[str]) -> frozenset[str]:
    return frozenset({file for file in files if not file.endswith(_HEADERS)} or files)
