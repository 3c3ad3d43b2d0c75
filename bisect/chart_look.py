"""PURE: what all charts look like: colours, letters, numbers.

All colours are those of `PALETTE`, written as six digits, so that a stylesheet can give each another one in the dark:
`svg [fill="#333a45"] { fill: … }`. They are those of Okabe and Ito where they mean something (blue good, vermilion bad,
orange the search), and differ in lightness too.
"""

from contextlib import ContextDecorator
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

Json = dict[str, Any]

INK, MUTED, GRID = "#333a45", "#6b7480", "#e4e7eb"
GOOD, BAD, SEARCH = "#0072b2", "#d55e00", "#e69f00"
BAND, BLOCKED, PAPER = "#fbe7bd", "#d3d8de", "#ffffff"
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
}
"""Every colour of the charts: text and lines, lesser text, grid, good end, bad end and culprits, what is searched now
(edge and area), what cannot be built, and the inside of rings, which is the page's own background."""

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
}
"""What each colour becomes on a dark page, whose background is the last one."""


def dark_rules() -> str:
    """Style rules that give every chart of a page its colours in the dark."""
    return "\n".join(
        f'svg [{part}="{light}"] {{ {part}: {dark}; }}'
        for light, dark in IN_THE_DARK.items()
        for part in ("fill", "stroke")
    )


NARROW = 600
"""Below this width, in pixels, labels are short and ticks few."""

SMALL, NORMAL = 10, 11
LETTER, BOLD_LETTER = 5.7, 6.8
"""Pixels that a letter takes at most, on average, in the fonts a browser may choose."""


def unchecked() -> ContextDecorator:
    """Parts of charts are not held against the schema of Vega-Lite as they are made, which takes half of the time."""
    return debug_mode(False)


def finished(chart: alt.LayerChart | alt.FacetChart) -> Json:
    """The specification of a chart, with the look of all; it is not checked against the schema, which takes longer."""
    spec: Json = chart.configure(
        background="transparent",
        font="sans-serif",
        padding={"left": 2, "right": 10, "top": 4, "bottom": 2},
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            gridColor=GRID,
            domainColor=MUTED,
            tickColor=MUTED,
            labelColor=MUTED,
            titleColor=INK,
            labelFontSize=SMALL,
            titleFontSize=NORMAL,
            titleFontWeight="normal",
            tickSize=4,
        ),
    ).to_dict(validate=False)
    return spec


def number(value: float) -> str:
    """A cost as it is written beside others: four digits at least."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"


def short(text: str, letters: int) -> str:
    """Text cut to so many letters."""
    return text if len(text) <= letters else text[: max(1, letters - 1)] + "…"
