"""PURE: what all charts look like: colours, letters, numbers.

All colours are those of `PALETTE`, written as six digits, so that a stylesheet can give each another one in the dark:
`svg [fill="#333a45"] { fill: … }`. They are those of Okabe and Ito where they mean something (blue good or shrunk,
vermilion bad or grown, orange the search), and differ in lightness too.
"""

from typing import Any

Json = dict[str, Any]

INK, MUTED, GRID = "#333a45", "#6b7480", "#e4e7eb"
GOOD, BAD, SEARCH = "#0072b2", "#d55e00", "#e69f00"
BAND, BLOCKED, PAPER = "#fbe7bd", "#d3d8de", "#ffffff"
ON_FRAME = "#1a1a1a"
CHANGES = {
    -3: "#4a9fd8",
    -2: "#93c6e8",
    -1: "#cfe4f3",
    0: "#dedede",
    1: "#fcdcc4",
    2: "#f5ae78",
    3: "#e8762d",
}
"""Fill of a frame by how far its cost shrank (below 0) or grew (above)."""

PALETTE = {
    "ink": INK,
    "muted": MUTED,
    "grid": GRID,
    "good": GOOD,
    "bad": BAD,
    "search": SEARCH,
    "band": BAND,
    "blocked": BLOCKED,
    "paper": PAPER,
    "on frame": ON_FRAME,
    **{f"change {level:+d}": colour for level, colour in CHANGES.items()},
}
"""Every colour of the charts: text and lines, lesser text, grid, good end, bad end and culprits, what is searched now
(edge and area), what cannot be built, the inside of rings, which is the page's own background, the text on the frames
of a flame graph, and the frames."""

IN_THE_DARK = {
    INK: "#e3e7ec",
    MUTED: "#9aa4b1",
    GRID: "#2c333d",
    GOOD: "#5cb3e6",
    BAD: "#f28a3c",
    SEARCH: "#e6b24d",
    BAND: "#5a4720",
    BLOCKED: "#4a525e",
    PAPER: "#15191f",
    ON_FRAME: "#f2f4f6",
    CHANGES[-3]: "#1670ad",
    CHANGES[-2]: "#1d527a",
    CHANGES[-1]: "#1f405c",
    CHANGES[0]: "#3a424d",
    CHANGES[1]: "#5c3b1f",
    CHANGES[2]: "#854814",
    CHANGES[3]: "#b3530c",
}
"""What each colour becomes on a dark page, whose background is that of PAPER."""

PLAIN, EVEN = "sans-serif", "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
"""Fonts: of charts, and of what has to fit into frames, all of whose letters are equally wide."""

FONT_RULE = f'svg [font-family="{PLAIN}"] {{ font-family: Arial, "Liberation Sans", Helvetica, sans-serif; }}'
"""A style rule that gives a chart letters as wide as those it was laid out for."""

NARROW = 600
"""Below this width, in pixels, labels are short and ticks few."""

SMALL, NORMAL = 10, 11
LETTER, BOLD_LETTER, EVEN_LETTER = 5.7, 6.8, 6.8
"""Pixels that a letter takes at most, on average, in the fonts a browser may choose."""


def dark_rules() -> str:
    """Style rules that give every chart its colours in the dark."""
    return "\n".join(
        f'svg [{part}="{light}"] {{ {part}: {dark}; }}'
        for light, dark in IN_THE_DARK.items()
        for part in ("fill", "stroke")
    )


def number(value: float) -> str:
    """A cost as it is written beside others: four digits at least."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"


def short(text: str, letters: int) -> str:
    """Text cut to so many letters."""
    return text if len(text) <= letters else text[: max(1, letters - 1)] + "…"
