"""PURE: a report cut down to what a tracker takes, at the ends of its longest sections, saying what was left out."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from cpubisect.harmless import FENCE, closed, fence_after

LONGEST_LINE = 1000
"""Characters that are left of a longer line; a report's own lines have at most some hundreds."""


def size(text: str) -> int:
    """An upper bound of how a tracker may count a text: bytes of UTF-8, and line feeds twice, as CR LF.

    Characters and UTF-16 units, what GitHub's and Jira's limits are said to count, are never more.
    """
    return len(text.encode()) + text.count("\n")


def shorten(text: str, limit: int, *, markdown: bool) -> str:
    """The text itself if its `size` is at most `limit`, else one as long as fits; `limit` is at least 200.

    All sections keep as many of their first lines, so that the longest lose most; where that does not help, the last
    sections go. Each cut is told where it is. In Markdown, headings outside of code blocks begin a section, and a code
    block is closed where it is cut; in plain text a section begins at each line that is not indented.
    """
    if size(text) <= limit:
        return text
    parts = [[_clipped(line) for line in part] for part in (_of_markdown(closed(text)) if markdown else _of_text(text))]
    low, high, best = 1, max(map(len, parts)), ""
    while low <= high:
        kept = (low + high) // 2
        shorter = "\n".join(line for part in parts for line in _cut(part, kept, fenced=markdown))
        if size(shorter) <= limit:
            best, low = shorter, kept + 1
        else:
            high = kept - 1
    return best or _first_sections(parts, limit, fenced=markdown)


def _of_markdown(text: str) -> list[list[str]]:
    fence, starts = "", []
    for line in text.split("\n"):
        starts.append(not fence and line.startswith("#"))
        fence = fence_after(line, fence)
    return _split(text, starts)


def _of_text(text: str) -> list[list[str]]:
    return _split(text, [bool(line) and not line[0].isspace() for line in text.split("\n")])


def _split(text: str, starts: Sequence[bool]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line, start in zip(text.split("\n"), starts, strict=True):
        if start and parts[-1]:
            parts.append([])
        parts[-1].append(line)
    return parts


def _clipped(line: str) -> str:
    if len(line) <= LONGEST_LINE or FENCE.fullmatch(line):
        return line
    return f"{line[:LONGEST_LINE]}… ({len(line) - LONGEST_LINE:,} more characters)"


def _cut(part: Sequence[str], kept: int, *, fenced: bool) -> Iterator[str]:
    fence = ""
    for line in part[:kept]:
        fence = fence_after(line, fence) if fenced else ""
        yield line
    if len(part) > kept:
        if fence:
            yield fence
        yield f"… {len(part) - kept:,} lines left out here; the full report has them"
        yield ""


def _first_sections(parts: Sequence[Sequence[str]], limit: int, *, fenced: bool) -> str:
    told = ["\n".join(_cut(part, 1, fenced=fenced)) for part in parts]
    sizes = accumulate(size(part) + 2 for part in told)
    kept = sum(total + size(_sections_left_out(len(parts))) <= limit for total in sizes)
    return "\n".join([*told[:kept], _sections_left_out(len(parts) - kept)])


def _sections_left_out(count: int) -> str:
    return f"… {count:,} sections left out here; the full report has them"
