"""What compilers, linkers and configure scripts say when a build fails."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cpubisect.builders.build import Outcome

_ANSI = re.compile(r"\x1b\[[0-9;]*[mK]")
_QUOTES = str.maketrans("‘’“”`", "''\"\"'")
_DIAGNOSTIC = re.compile(
    r"(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<severity>fatal error|error|warning|note): (?P<message>.*)"
)
_INCLUDED = re.compile(r"(?:In file included from|\s+from) (?P<file>[^:]+):(?P<line>\d+)(?::\d+)?[,:]?$")
_REQUIRED = re.compile(r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)?\s+(?:recursively )?required (?:from|by) ")
_SOURCE_LINE = re.compile(r"\s*\d*\s\|")
_GCC_SOURCE = re.compile(r"\s*\d+ \| (?P<code>.*)")

_NUMBERS = re.compile(r":\d+(?::\d+)?:")
_FAILURES = re.compile(r"(^|\s)(fatal )?error:|undefined reference to|multiple definition of|No rule to make target")
_CMAKE = re.compile(r"CMake Error")
_LAST_RESORT = re.compile(r"^(g?make|ninja)\b.*(\*\*\*|stopped|error)|^FAILED: ")

_OUT_OF_DISK = re.compile(r"No space left on device|ENOSPC|Disk quota exceeded")
_OUT_OF_MEMORY = re.compile(
    r"virtual memory exhausted|out of memory allocating|Killed signal terminated program|Cannot allocate memory"
    r"|std::bad_alloc|Killed \(program cc1|LLVM ERROR: out of memory|\*\*\* .*\bKilled$|\*\*\* .*Error 137$"
)


@dataclass(frozen=True)
class Place:
    """A line of a file, as the compiler spells the file."""

    file: str
    line: int


@dataclass(frozen=True)
class Diagnostic:
    """One message of gcc or clang.

    `severity` is `error`, `fatal error` or `warning`; typographic quotes in `message` and `notes` are made plain.
    `included_from` leads from the file to the one being compiled; `required_at` are the places a template was
    instantiated from; `noted_at` are the places of the notes, each with the includes that lead from it where they were
    shown; `code` is the source line if it was shown; `column` is 0 if unknown.
    """

    file: str
    line: int
    column: int
    severity: str
    message: str
    notes: tuple[str, ...] = ()
    included_from: tuple[Place, ...] = ()
    required_at: tuple[Place, ...] = ()
    code: str = ""
    noted_at: tuple[tuple[Place, ...], ...] = ()

    @property
    def is_error(self) -> bool:
        """True for what stops the compilation."""
        return self.severity != "warning"

    @property
    def path(self) -> tuple[Place, ...]:
        """Where it stands, from the file being compiled down through the includes to the line itself."""
        return (*reversed(self.included_from), Place(self.file, self.line))

    def __str__(self) -> str:
        column = f"{self.column}:" if self.column else ""
        return f"{self.file}:{self.line}:{column} {self.severity}: {self.message}"


def plain(text: str) -> str:
    """The text without colours and typographic quotes."""
    return _ANSI.sub("", text).translate(_QUOTES)


def without_lines(text: str) -> str:
    """A build's output without the numbers of lines and columns, which an include moves, and without colours."""
    return _NUMBERS.sub(":", plain(text))


def parse_diagnostics(output: str) -> list[Diagnostic]:
    """All errors and warnings of gcc or clang in a build's output, in order, each with its notes."""
    found: list[_Draft] = []
    included: list[Place] = []
    required: list[Place] = []
    fresh = True
    for line in plain(output).splitlines():
        if match := _INCLUDED.match(line):
            if line.startswith("In"):
                included, fresh = [], True
            included.append(Place(match["file"], int(match["line"])))
        elif match := _REQUIRED.match(line):
            required.append(Place(match["file"], int(match["line"])))
        elif match := _DIAGNOSTIC.match(line):
            place = Place(match["file"], int(match["line"]))
            if match["severity"] == "note":
                if found:
                    found[-1].add_note(match["message"], place, included if fresh else ())
                if fresh:
                    included, fresh = [], False
                continue
            if not fresh and found and place.file != found[-1].place.file:
                included = []
            found.append(_Draft(match, place, tuple(included), tuple(required)))
            required, fresh = [], False
        elif found and not found[-1].code and not found[-1].notes:
            source = _GCC_SOURCE.match(line)
            found[-1].code = source["code"] if source else line
    return [draft.finish() for draft in found]


class _Draft:
    """A diagnostic whose notes are still to come."""

    def __init__(
        self, match: re.Match[str], place: Place, included: tuple[Place, ...], required: tuple[Place, ...]
    ) -> None:
        self.place = place
        self.code = ""
        self.notes: list[str] = []
        self.noted_at: list[tuple[Place, ...]] = []
        self._match = match
        self._included = included
        self._required = list(required)

    def add_note(self, message: str, place: Place, included: Sequence[Place]) -> None:
        self.notes.append(message)
        self.noted_at.append((place, *included))
        if message.startswith("in instantiation of"):
            self._required.append(place)

    def finish(self) -> Diagnostic:
        return Diagnostic(
            file=self.place.file,
            line=self.place.line,
            column=int(self._match["column"] or 0),
            severity=self._match["severity"],
            message=self._match["message"],
            notes=tuple(self.notes),
            included_from=self._included,
            required_at=tuple(self._required),
            code=self.code,
            noted_at=tuple(self.noted_at),
        )


def first_error(output: str) -> str:
    """The line that says why a build failed: its first error, else make's last word or the first step that ninja
    says failed, else the last line; may be empty.

    A CMake error comes with the first line of its explanation.
    """
    lines = [line.strip() for line in plain(output).splitlines() if line.strip() and not _SOURCE_LINE.match(line)]
    for number, line in enumerate(lines):
        if _CMAKE.match(line):
            return " ".join(lines[number : number + 2])
        if _FAILURES.search(line) and not line.startswith("bisect:"):
            return line
    for line in lines:
        if _LAST_RESORT.match(line):
            return line
    return lines[-1] if lines else ""


def classify(output: str, *, returncode: int, timed_out: bool) -> Outcome:
    """How a command of a build failed, from its output and exit status (negative: killed by that signal)."""
    if timed_out:
        return Outcome.HUNG
    lines = [line for line in plain(output).splitlines() if not _SOURCE_LINE.match(line)]
    if any(_OUT_OF_DISK.search(line) for line in lines):
        return Outcome.OUT_OF_DISK
    if returncode == -9 or any(_OUT_OF_MEMORY.search(line) for line in lines):
        return Outcome.OUT_OF_MEMORY
    return Outcome.FAILED


def telling_line(output: str, outcome: Outcome) -> str:
    """The first line that shows this outcome; `first_error` where none does."""
    pattern = {Outcome.OUT_OF_DISK: _OUT_OF_DISK, Outcome.OUT_OF_MEMORY: _OUT_OF_MEMORY}.get(outcome)
    if pattern is not None:
        for line in plain(output).splitlines():
            if pattern.search(line) and not _SOURCE_LINE.match(line):
                return line.strip()
    return first_error(output)
