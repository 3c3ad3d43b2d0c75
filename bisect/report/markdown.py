"""PURE: a report as Markdown for GitHub. Nothing that a commit message says may become markup, mention or link."""

import re
from html import escape

from cpubisect.report.blocks import Block, Code, Content, Facts, Paragraph, Table

_MARKUP = re.compile(r"[\\`*_{}\[\]<>|~$&]|^[#+=-]|^\d+(?=[.)])")
_LINKING = re.compile(r"[@#](?=\w)|(?<=\w)://|\bwww\.|\bGH(?=-\d)|/(?:issues|pulls?|discussions)/(?=\d)", re.IGNORECASE)
_JOINER = "\u2060"
"""Word joiner: shows nothing, and keeps what stands beside it from being a mention or a link."""


def as_markdown(content: Content) -> str:
    """GitHub's Markdown, in which every code block is closed; outside of code nothing calls people or links."""
    first, *rest = content.opening
    lines = [f"**{plain(first)}**", ""]
    lines += [line for paragraph in rest for line in (plain(paragraph), "")]
    for section in content.sections:
        lines += [f"### {plain(section.title)}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines).rstrip() + "\n"


def plain(text: str) -> str:
    """Text that means nothing to Markdown, on one line."""
    return _MARKUP.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", _inert(text))


def _inert(text: str) -> str:
    """Text that calls nobody and leads nowhere, on one line."""
    return _LINKING.sub(lambda found: f"{found[0]}{_JOINER}", " ".join(text.split()))


def fenced(text: str, language: str = "") -> list[str]:
    """Lines as a code block, whose fence is longer than any in them."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.splitlines(), fence]


def code(text: str) -> str:
    """Text as a code span, on one line, also inside a table."""
    flat = " ".join(text.split()).replace("|", "¦")
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    gap = " " if longest else ""
    return f"{fence}{gap}{flat}{gap}{fence}" if flat else ""


MARKS = {"worse": "🟨 ", "better": "🟦 ", "": ""}
"""What stands before a cell of that tone: GitHub shows no colours of ours."""


def _cell(text: str, tone: str) -> str:
    return MARKS[tone] + (code(text) or " ")


def _block(block: Block) -> list[str]:
    match block:
        case Paragraph(text):
            return [plain(part) for part in text.split("\n")]
        case Facts(rows):
            return ["| | |", "|:--|:--|", *(f"| {plain(name)} | {code(text)} |" for name, text in rows)]
        case Table(columns, _, more):
            head = "|".join(plain(column.title) or " " for column in columns)
            rule = "|".join("--:" if column.right else ":--" for column in columns)
            body = ["|" + "|".join(_cell(cell, tone) for _, cell, tone in row) + "|" for row in block.toned]
            return [f"|{head}|", f"|{rule}|", *body, *(["", plain(more)] if more else [])]
        case Code(text, language, caption):
            if not caption:
                return fenced(text, language)
            return [
                f"<details><summary>{escape(_inert(caption))}</summary>",
                "",
                *fenced(text, language),
                "",
                "</details>",
            ]
