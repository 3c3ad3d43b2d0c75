"""Which builds are the same code: a digest over what a built program loads, less what its commit stamps into it.

Two commits with equal digests cost the same, so one of them need not be measured. A wrong "equal" would hide a culprit,
a wrong "different" costs one more measurement. So all that is loaded counts, byte for byte, but for these exceptions:

- the note with the build's id, which is computed from everything else, and the file's header as far as it points to
  sections, which move with the symbol table and are not loaded;
- in data, never among instructions: the commit's own sha in full or abbreviated to no less than seven digits, the
  release the recipe names, and dates and times of day that are those of the commit or lie within the build. Each must
  stand as a whole word, and is replaced by as many bytes of filling. A time of day without its date must also end its
  string: texts of MySQL's help name a hundred, and a build lasts long enough to meet one of them by chance.

Why this cannot hide a change: nothing is moved or cut. In two files with equal digests every instruction, address,
table and string is equal, but for words at the same places, each of which is its own commit's name, release or date.
What a compiler or linker makes of a stamp beyond its text stays, and makes the digests differ: the release as a number
in an instruction, a text moved as an immediate value, a string that shares its end with another. Names of functions are
not loaded, so they may differ.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import NoteSegment

from cpubisect.builders.build import Recipe

FORM = "2"
"""How a digest is taken; raised when it comes to see something else of a program. It stands before the digest."""

_MAGIC = b"\x7fELF"
_SHORTEST_SHA = 7
_HEADER_FIELDS = ("e_type", "e_machine", "e_version", "e_entry", "e_flags", "e_phoff", "e_phentsize", "e_phnum")
_SEGMENT_FIELDS = ("p_type", "p_flags", "p_offset", "p_vaddr", "p_filesz", "p_memsz", "p_align")

_DAY = rb"\d{4}-\d\d-\d\d"
_CLOCK = rb"\d\d:\d\d:\d\d"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_SPELLED = rb"%b [ \d]\d \d{4}" % _MONTH
_MOMENT = re.compile(
    rb"(?<![0-9A-Za-z])(?:(?P<moment>%b[ T]%b)|(?P<day>%b)|(?P<spelled_moment>%b %b)|(?P<spelled>%b)"
    rb"|(?P<clock>%b(?=\n?(?:\0|\Z))))(?![0-9A-Za-z])" % (_DAY, _CLOCK, _DAY, _SPELLED, _CLOCK, _SPELLED, _CLOCK)
)


@dataclass(frozen=True)
class Span:
    """A stretch of time in which a stamped date may lie, both ends included; a clock's reading, whatever its zone."""

    first: datetime
    last: datetime

    def holds_moment(self, moment: datetime) -> bool:
        """True for a date with its time of day."""
        return self.first <= moment <= self.last

    def holds_day(self, day: date) -> bool:
        """True for a date alone."""
        return self.first.date() <= day <= self.last.date()

    def holds_clock(self, clock: time) -> bool:
        """True for a time of day alone; a span over midnight holds none."""
        return self.first.date() == self.last.date() and self.first.time() <= clock <= self.last.time()


def spans_of(commit_dates: Iterable[datetime], began: datetime, ended: datetime) -> tuple[Span, ...]:
    """What may be stamped into a build: the commit's dates as its zone and UTC show them, and the time of the build as
    this host's zone and UTC do; all arguments know their zones."""
    moments = [moment for date in commit_dates for moment in (date, date.astimezone(UTC))]
    build = [(began.astimezone(zone), ended.astimezone(zone)) for zone in (None, UTC)]
    readings = [*((moment, moment) for moment in moments), *build]
    naive = [(first.replace(tzinfo=None, microsecond=0), last.replace(tzinfo=None)) for first, last in readings]
    return tuple(Span(first, last) for first, last in dict.fromkeys(naive))


def code_digest(output: Path, recipe: Recipe, spans: Iterable[Span] = ()) -> str:
    """FORM and SHA-256 over the code and data of an artifact directory; equal ones are equal programs.

    Programs and shared libraries count as the head of this file says, other files (messages, scripts) as they are.
    `spans` are the times that the commit or its build may have stamped: those of the commit, and the build's own.
    Raises ELFError for a damaged program.
    """
    digest = hashlib.sha256()
    masks = _Masks(recipe, tuple(spans))
    for path in sorted(path for path in output.rglob("*") if path.is_file()):
        content = path.read_bytes()
        loaded = _loaded(path, content, masks) if content.startswith(_MAGIC) else hashlib.sha256(content).digest()
        digest.update(str(path.relative_to(output)).encode() + b"\0" + loaded)
    return f"{FORM}-{digest.hexdigest()}"


def tells_apart(one: str, other: str) -> bool:
    """Whether by two digests their programs differ; those of different forms say nothing of each other."""
    return one != other and one.rpartition("-")[0] == other.rpartition("-")[0]


class _Masks:
    """The stamps of one build, and how they are blotted out of data."""

    def __init__(self, recipe: Recipe, spans: tuple[Span, ...]) -> None:
        self._spans = spans
        sha = recipe.commit.encode()
        longer = b"".join(b"(?:%c" % digit for digit in sha[_SHORTEST_SHA:]) + b")?" * len(sha[_SHORTEST_SHA:])
        self._substitutions: list[tuple[re.Pattern[bytes], Callable[[re.Match[bytes]], bytes]]] = []
        if len(sha) >= _SHORTEST_SHA:
            name = re.compile(rb"(?<![0-9A-Za-z])(?:g(?=[0-9a-f]))?%b%b(?![0-9A-Za-z])" % (sha[:_SHORTEST_SHA], longer))
            self._substitutions.append((name, lambda found: b"c" * len(found[0])))
        if recipe.version:
            release = re.compile(rb"(?<![0-9.])%b(?![0-9]|\.[0-9])" % re.escape(recipe.version.encode()))
            self._substitutions.append((release, lambda found: b"v" * len(found[0])))
        self._substitutions.append((_MOMENT, self._date))

    def apply(self, data: bytes) -> bytes:
        """The data, as long as before."""
        for pattern, filling in self._substitutions:
            data = pattern.sub(filling, data)
        return data

    def _date(self, found: re.Match[bytes]) -> bytes:
        text = found[0].decode()
        try:
            stamped = any(self._holds(span, found.lastgroup or "", text) for span in self._spans)
        except ValueError:
            stamped = False
        return b"d" * len(found[0]) if stamped else found[0]

    def _holds(self, span: Span, kind: str, text: str) -> bool:
        if kind == "moment":
            return span.holds_moment(datetime.fromisoformat(text))
        if kind == "spelled_moment":
            day, _, clock = text.rpartition(" ")
            return span.holds_moment(datetime.combine(_spelled(day), time.fromisoformat(clock)))
        if kind == "day":
            return span.holds_day(date.fromisoformat(text))
        if kind == "spelled":
            return span.holds_day(_spelled(text))
        return span.holds_clock(time.fromisoformat(text))


def _spelled(text: str) -> date:
    """A date as `__DATE__` spells it in every locale: `Sep  1 2023`."""
    months = _MONTH[3:-1].decode().split("|")
    return date(int(text[7:]), months.index(text[:3]) + 1, int(text[4:6]))


def _loaded(path: Path, content: bytes, masks: _Masks) -> bytes:
    """SHA-256 of what the loader maps, masked."""
    data = bytearray(content)
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        for start, end in _data_ranges(elf):
            data[start:end] = masks.apply(bytes(data[start:end]))
        for start, end in _build_ids(elf):
            data[start:end] = bytes(end - start)
        data[: elf["e_ehsize"]] = bytes(elf["e_ehsize"])
        digest.update(repr((sorted(elf["e_ident"].items()), [elf[name] for name in _HEADER_FIELDS])).encode())
        for segment in elf.iter_segments("PT_LOAD"):
            digest.update(repr([segment[name] for name in _SEGMENT_FIELDS]).encode())
            digest.update(data[segment["p_offset"] : segment["p_offset"] + segment["p_filesz"]])
    return digest.digest()


def _data_ranges(elf: ELFFile) -> Iterator[tuple[int, int]]:
    """Where the file holds data that is loaded and is not instructions."""
    for section in elf.iter_sections("SHT_PROGBITS"):
        flags = section["sh_flags"]
        if flags & SH_FLAGS.SHF_ALLOC and not flags & SH_FLAGS.SHF_EXECINSTR:
            yield section["sh_offset"], section["sh_offset"] + section["sh_size"]


def _build_ids(elf: ELFFile) -> Iterator[tuple[int, int]]:
    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes() if isinstance(segment, NoteSegment) else ():
            if note["n_type"] == "NT_GNU_BUILD_ID":
                yield note["n_offset"], note["n_offset"] + note["n_size"]
