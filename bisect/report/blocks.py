"""PURE: what a report consists of, whatever it will look like: sections of paragraphs, facts, tables and code."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Short names with what they stand for."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Column:
    """One column: numbers stand at the `right`; a `loose` one is cut where there is no room."""

    title: str
    right: bool = False
    loose: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells; `more` says what was left out. Cells may be coloured: `tones` has as many rows, of `worse`,
    `better` or nothing, or none at all."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str = ""
    tones: tuple[tuple[str, ...], ...] = ()

    @property
    def lined(self) -> list[tuple[tuple[Column, str], ...]]:
        """The rows, each cell with its column."""
        return [tuple(zip(self.columns, row, strict=True)) for row in self.rows]

    @property
    def toned(self) -> list[tuple[tuple[Column, str, str], ...]]:
        """The rows, each cell with its column and its tone."""
        tones = self.tones or tuple(("",) * len(row) for row in self.rows)
        return [tuple(zip(self.columns, row, own, strict=True)) for row, own in zip(self.rows, tones, strict=True)]


@dataclass(frozen=True)
class Code:
    """Lines that are shown as they are, in a `language` (`sh`, `diff` or none); under a `caption` they may be folded
    away where that is possible."""

    text: str
    language: str = ""
    caption: str = ""


Block = Paragraph | Facts | Table | Code


@dataclass(frozen=True)
class Section:
    """A title and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Content:
    """All that a report says: the answer in sentences, the first of which is its headline, then the details."""

    opening: tuple[str, ...]
    sections: tuple[Section, ...]


def facts(rows: Sequence[tuple[str, str]]) -> Facts:
    """Facts without those that have nothing to say."""
    return Facts(tuple((name, text) for name, text in rows if text))


def clean(data: Any) -> Any:
    """The same data, plain or in dataclasses, with what could steer a terminal or turn text around shown as U+FFFD;
    line ends stay, and a tab becomes four spaces."""
    if data is None or isinstance(data, (Enum, int, float)):
        return data
    if isinstance(data, str):
        if data.isprintable():
            return data
        return "".join(_shown(character) for character in data.replace("\r\n", "\n"))
    if is_dataclass(data) and not isinstance(data, type):
        return replace(data, **{own.name: clean(getattr(data, own.name)) for own in fields(data)})
    if isinstance(data, dict):
        return {clean(key): clean(value) for key, value in data.items()}
    if isinstance(data, tuple):
        return tuple(clean(value) for value in data)
    if isinstance(data, list):
        return [clean(value) for value in data]
    return data


def _shown(character: str) -> str:
    if character == "\t":
        return "    "
    steering = character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return "\ufffd" if steering else character
