"""PURE: a report cut to what a tracker takes, before it is rendered, so that no markup has to be read again."""

from collections.abc import Callable
from dataclasses import replace

from cpubisect.report.blocks import Block, Code, Content, Facts, Paragraph, Section, Table

LEAST = 200
"""The smallest limit that a report can be cut to."""

WIDTHS = (1000, 100)
"""Characters that are left of a longer line; the smaller number where nothing fits otherwise. A report's own lines
have at most some hundreds."""


def size(text: str) -> int:
    """An upper bound of how a tracker may count a text: bytes of UTF-8, and line feeds twice, as CR LF.

    Characters and UTF-16 units, what GitHub's and Jira's limits are said to count, are never more.
    """
    return len(text.encode()) + text.count("\n")


def shortened(content: Content, limit: int, render: Callable[[Content], str]) -> str:
    """The report as `render` gives it if its `size` is at most `limit`, else as much of it as fits.

    All sections keep as many of their first lines, so that the longest lose most; a line is one of a paragraph or of
    code, a row of facts or of a table. Where that does not help, the last sections go. Each cut is told where it is.
    """
    whole = render(content)
    if size(whole) <= limit:
        return whole
    for width in WIDTHS:
        found = _fitting(_clipped(content, width), limit, render)
        if found:
            return found
    return render(Content((_left_out(len(content.sections) + 1, "section"),), ()))


def _fitting(content: Content, limit: int, render: Callable[[Content], str]) -> str:
    """As much as fits, "" if not even the first line of the opening does."""
    longest = max(len(content.opening), *(sum(map(_lines, section.blocks)) for section in content.sections), 0)

    def lines(kept: int) -> str:
        return render(_first_lines(content, kept))

    def sections(kept: int) -> str:
        few = _first_lines(content, 0)
        last = Section(_left_out(len(few.sections) - kept, "section"), ())
        return render(Content(few.opening, (*few.sections[:kept], last)))

    return _most(lines, longest, limit) or _most(sections, len(content.sections) - 1, limit)


def _most(rendered: Callable[[int], str], most: int, limit: int) -> str:
    """What is rendered with the largest number from 0 to `most` with which it fits, "" if it never does."""
    low, high, best = 0, most, ""
    while low <= high:
        middle = (low + high) // 2
        text = rendered(middle)
        if size(text) <= limit:
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best


def _first_lines(content: Content, kept: int) -> Content:
    """So many lines of each section; of the opening at least the first, which is the answer."""
    opening = content.opening[: max(1, kept)]
    if left := len(content.opening) - len(opening):
        opening = (*opening, _left_out(left, "line"))
    return Content(opening, tuple(_cut(section, kept) for section in content.sections))


def _cut(section: Section, kept: int) -> Section:
    blocks: list[Block] = []
    left = kept
    for block in section.blocks:
        if left > 0:
            blocks.append(_head(block, left))
        left -= _lines(block)
    return Section(section.title, (*blocks, Paragraph(_left_out(-left, "line"))) if left < 0 else section.blocks)


def _lines(block: Block) -> int:
    match block:
        case Paragraph(text):
            return text.count("\n") + 1
        case Facts(rows):
            return len(rows)
        case Table(_, rows, more):
            return len(rows) + bool(more)
        case Code(text):
            return len(text.splitlines())


def _head(block: Block, kept: int) -> Block:
    """The block with at most so many of its lines."""
    if kept >= _lines(block):
        return block
    match block:
        case Paragraph(text):
            return Paragraph("\n".join(text.split("\n")[:kept]))
        case Facts(rows):
            return Facts(rows[:kept])
        case Table(_, rows):
            return replace(block, rows=rows[:kept], tones=block.tones[:kept], more="")
        case Code(text):
            return replace(block, text="\n".join(text.splitlines()[:kept]))


def _clipped(content: Content, width: int) -> Content:
    """The same with each line, title and cell cut to so many characters; what a cut leaves out is counted in it."""

    def short(text: str) -> str:
        return text if len(text) <= width else f"{text[:width]}… ({len(text) - width:,} more characters)"

    def of(block: Block) -> Block:
        match block:
            case Paragraph(text):
                return Paragraph("\n".join(map(short, text.split("\n"))))
            case Facts(rows):
                return Facts(tuple((short(name), short(text)) for name, text in rows))
            case Table(_, rows, more):
                return replace(block, rows=tuple(tuple(map(short, row)) for row in rows), more=short(more))
            case Code(text):
                return replace(block, text="\n".join(map(short, text.splitlines())))

    sections = (Section(short(section.title), tuple(map(of, section.blocks))) for section in content.sections)
    return Content(tuple(map(short, content.opening)), tuple(sections))


def _left_out(count: int, what: str) -> str:
    return f"… {count:,} {what}{'' if count == 1 else 's'} left out here; the full report has them"
