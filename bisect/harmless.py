"""PURE: text with strangers' words in it, made safe to show on a terminal and to post to a tracker."""

import re

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
"""A line that opens or closes a code block (CommonMark 0.31, section 4.5)."""
BREAK = "\u200b"
"""A zero-width space: not seen, and what it parts is no mention, reference or macro any more."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_LIVE = re.compile(r"@(?=\w)|#(?=\d)|\bGH-(?=\d)|/(?:issues|pulls?|discussions)/(?=\d)", re.IGNORECASE)
_NOFORMAT = re.compile(r"\{(?=noformat)", re.IGNORECASE)


def visible(text: str) -> str:
    """The text with its control characters, changes of writing direction and lone surrogates spelt out (`\\x1b`).

    Line feeds and tabs stay, so what is left is what a terminal shows, a tracker stores and UTF-8 can encode.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def fence_after(line: str, fence: str) -> str:
    """The fence of the code block that is open after a line of Markdown, "" if none, given the one open before it."""
    found = FENCE.fullmatch(line)
    if not found:
        return fence
    marks, rest = found.groups()
    if fence:
        return "" if marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip(" \t") else fence
    return "" if marks[0] == "`" and "`" in rest else marks


def inert(markdown: str) -> str:
    """Markdown in which nothing outside a code block names a person or refers to another ticket.

    A commit's subject may say `@someone` or `(#123)`: on GitHub that would call people, and leave a trace in a ticket
    of the wrong repository.
    """
    fence, lines = "", []
    for line in markdown.split("\n"):
        after = fence_after(line, fence)
        lines.append(line if fence or after else _LIVE.sub(lambda found: found[0] + BREAK, line))
        fence = after
    return "\n".join(lines)


def closed(markdown: str) -> str:
    """Markdown that leaves no code block open at its end."""
    fence = ""
    for line in markdown.split("\n"):
        fence = fence_after(line, fence)
    return f"{markdown}\n{fence}" if fence else markdown


def unbroken(text: str) -> str:
    """Text that nothing in can end a {noformat} block of Jira's wiki markup."""
    return _NOFORMAT.sub("{" + BREAK, text)
