"""PURE: a report as plain text for a terminal or a bug tracker without markup."""

import textwrap
from collections.abc import Sequence

from cpubisect.report.blocks import Block, Code, Column, Content, Facts, Paragraph, Table

WIDTH = 76
INDENT = 2
_BODY = WIDTH - INDENT
_NARROWEST = 12


MARKS = {"worse": "-", "better": "+", "": " "}
"""What stands behind a cell of that tone: plain text has no colours."""

PAINT = {"worse": "\x1b[33m", "better": "\x1b[34m", "": ""}
"""Yellow and blue of a terminal."""

_PLAIN = "\x1b[0m"


def as_text(content: Content, *, coloured: bool = False) -> str:
    """Plain text, at most 76 columns wide where words and commands are not longer; cells that have a tone are marked,
    and `coloured` for a terminal if asked for."""
    lines = [line for paragraph in content.opening for line in (*_wrapped(paragraph, WIDTH), "")]
    for section in content.sections:
        lines.append(section.title if len(section.title) <= WIDTH else _clipped(section.title, WIDTH))
        for number, block in enumerate(section.blocks):
            lines += [""] if number else []
            lines += [f"{'':{INDENT}}{line}".rstrip() for line in _block(block, coloured)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _block(block: Block, coloured: bool) -> list[str]:
    match block:
        case Paragraph(text):
            return [line for part in text.split("\n") for line in _wrapped(part, _BODY)]
        case Facts(rows):
            return _facts(rows)
        case Table():
            return _table(block, coloured)
        case Code(text, language, caption):
            kept = text.splitlines() if language == "sh" else [line for row in text.splitlines() for line in _kept(row)]
            return [*([caption] if caption else []), *kept]


def _facts(rows: Sequence[tuple[str, str]]) -> list[str]:
    margin = max((len(name) for name, _ in rows), default=0) + 2
    lines = []
    for name, text in rows:
        for number, line in enumerate(_wrapped(text, max(_NARROWEST, _BODY - margin))):
            lines.append(f"{'' if number else name:<{margin}}{line}")
    return lines


def _table(table: Table, coloured: bool) -> list[str]:
    titles = [column.title for column in table.columns]
    widths = [max(map(len, cells)) for cells in zip(titles, *table.rows, strict=True)]
    over = sum(widths) + 2 * (len(widths) - 1) - _BODY
    loose = [number for number, column in enumerate(table.columns) if column.loose]
    for number in sorted(loose, key=lambda number: -widths[number]):
        cut = max(0, min(over, widths[number] - _NARROWEST))
        widths[number] -= cut
        over -= cut
    blank = ("",) * len(titles)
    lines = []
    for row, tones in zip((titles, *table.rows), (blank, *(table.tones or (blank,) * len(table.rows))), strict=True):
        cells = [
            _marked(_placed(cell, column, width), tone if table.tones else None, coloured)
            for column, cell, width, tone in zip(table.columns, row, widths, tones, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return [*lines, *([table.more] if table.more else [])]


def _placed(cell: str, column: Column, width: int) -> str:
    text = _clipped(cell, width)
    return f"{text:>{width}}" if column.right else f"{text:<{width}}"


def _marked(cell: str, tone: str | None, coloured: bool) -> str:
    """A cell with the mark of its tone, None in tables without tones, painted for a terminal."""
    if tone is None:
        return cell
    text = f"{cell}{MARKS[tone]}"
    return f"{PAINT[tone]}{text}{_PLAIN}" if coloured and tone else text


def _kept(line: str) -> list[str]:
    """A line as it is, broken only where it is too long."""
    return textwrap.wrap(line, _BODY, drop_whitespace=False, break_on_hyphens=False) or [""]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
