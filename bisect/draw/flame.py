"""PURE: the frames of a call tree as a differential flame graph, in the form of a Vega-Lite specification.

The root is at the bottom, callees are on top of their callers, the largest to the left. A frame's width is the larger
of what its own code cost before and after, and that of its callees: what vanished has its place beside what is new,
with the width it had. Where cost only moved, the whole is therefore wider than the query was on either side; a frame's
title has the figures.

Colours do not depend on telling red from green, and the text on all of them is readable (contrast above 4.5:1). A
changed frame's text ends in its change where there is room.
"""

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

import altair as alt

from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.draw.calltree import Frame
from cpubisect.draw.look import CHANGES, EVEN, EVEN_LETTER, INK, NORMAL, ON_FRAME, Json
from cpubisect.draw.theme import MARGIN, finished, unchecked
from cpubisect.search.costs import bare_name

LEVELS = (0.05, 0.2, 0.5)
"""A change of this part of the whole query's has level 1, 2, 3; a smaller one counts as unchanged."""

NOISE = 1e-4
"""A change of less than this part of the whole counts as unchanged: two counts of one build that only reads agree to
0.01 % (docs/repeatability.md)."""

NARROWEST = 300
"""A picture has so many pixels at least."""

LONGEST_NAME = 1000
"""Symbols are clipped to so many characters: those of nested templates have no limit of their own."""

CAPTION = (
    "A frame is a function on its path from the root. Width: {counted}, the larger of before and after. "
    "Callgrind keeps calls, not stacks: what a function passes on is shared among its callees in proportion to what "
    "all of its calls cost, whatever the path. Frames at the root that pass on nearly all of it are left out, and so "
    "is what is too small to be seen."
)

_ROW, _LINE, _INSET, _SYMBOL = 18, 16, 3, 12
"""Pixels: the height of a frame and of a line of text, from a frame's edge to its text, a colour of the legend."""

_LEAST_TEXT = 3
"""Characters that a frame has room for if it has any text."""


@unchecked()
def flame(root: Frame, width: int = 1200, counted: str = INSTRUCTIONS) -> Json:
    """The chart of what was counted, `width` pixels wide and as high as it must be; raises ValueError below
    NARROWEST."""
    if width < NARROWEST:
        raise ValueError(f"a flame graph of {width} pixels is narrower than {NARROWEST}")
    inner = width - MARGIN["left"] - MARGIN["right"]
    letters = int(inner / EVEN_LETTER)
    steps = _steps(root)
    high = _ROW * _height(root)
    rows = [_row(frame, root, steps, box, counted) for frame, box in _boxes(root, inner)]
    x_scale, y_scale = (alt.Scale(domain=[0, size], nice=False, zero=False) for size in (inner, high))
    x = alt.X("left:Q", scale=x_scale, axis=_below(wrap(CAPTION.format(counted=counted), letters)))
    y = alt.Y("low:Q", scale=y_scale, axis=None)
    boxes = alt.Chart(alt.InlineData(values=rows)).mark_rect()
    boxes = boxes.encode(
        x=x,
        x2=alt.X2("right:Q"),
        y=y,
        y2=alt.Y2("high:Q"),
        fill=_fill(steps, letters, counted),
        description=alt.Description("said:N"),
    )
    labelled = alt.Chart(alt.InlineData(values=[row for row in rows if row["text"]]))
    text = labelled.mark_text(
        align="left", baseline="middle", dx=_INSET, dy=-_ROW / 2, font=EVEN, fontSize=NORMAL, color=ON_FRAME
    ).encode(x=x, y=y, text=alt.Text("text:N"), description=alt.Description("said:N"))
    whole = f"{counted}: {_amount(root.before)} before, {_amount(root.after)} after, {_change(root, root)}"
    title = alt.TitleParams(
        wrap(whole, letters), anchor="start", font=EVEN, fontSize=NORMAL, fontWeight="normal", color=INK
    )
    return finished(alt.layer(boxes, text).properties(width=inner, height=high, title=title))


def _below(lines: list[str]) -> alt.Axis:
    """An axis that is nothing but some lines of text."""
    return alt.Axis(
        title=lines,
        titleAnchor="start",
        titleAlign="left",
        titleFont=EVEN,
        titleLineHeight=_LINE,
        titlePadding=4,
        labels=False,
        ticks=False,
        domain=False,
        grid=False,
    )


def _fill(steps: Sequence[float], letters: int, counted: str) -> alt.Fill:
    """The colour of a level, with a legend that says from which change on it has it, so many letters wide."""
    words = _words(steps)
    room = max(map(len, words.values())) + math.ceil(2 * _SYMBOL / EVEN_LETTER)
    return alt.Fill(
        "level:N",
        scale=alt.Scale(domain=list(words), range=[CHANGES[level] for level in words]),
        legend=alt.Legend(
            title=wrap(f"colour: change of a frame in {counted}", letters),
            orient="top",
            direction="horizontal",
            columns=max(1, min(len(words), letters // room)),
            labelExpr=f"{json.dumps(words)}[datum.value]",
            symbolType="square",
            symbolStrokeWidth=0,
            symbolSize=_SYMBOL**2,
            labelFont=EVEN,
            labelColor=INK,
            labelLimit=0,
            titleFont=EVEN,
            titleFontWeight="normal",
            titleColor=INK,
            titleLimit=0,
        ),
    )


def _row(frame: Frame, root: Frame, steps: Sequence[float], box: Mapping[str, float], counted: str) -> Json:
    """A frame as the chart's data, its box in pixels."""
    level = _level(frame.change, steps)
    said = (
        _clean(frame.name),
        f"{_amount(frame.before)} before, {_amount(frame.after)} after, in {counted}",
        f"change {_change(frame, root)}",
    )
    room = int((box["right"] - box["left"] - 2 * _INSET) / EVEN_LETTER)
    text = _label(frame.name, f" {_signed(frame.change)}" if level else "", room) if room >= _LEAST_TEXT else ""
    return {**box, "level": level, "text": text, "said": "\n".join(said)}


def _boxes(root: Frame, width: float) -> Iterator[tuple[Frame, Mapping[str, float]]]:
    """Every frame with its place in pixels, from the left and from below."""
    whole = _span(root) or 1.0
    for frame, start, depth in _placed(root, 0.0, 0):
        left, part = start / whole * width, _span(frame) / whole * width
        # A gap between neighbours stands for their outline, which would cover the narrow ones.
        gap = 0.5 if part > 2 else 0.0
        places = {"left": left, "right": left + max(part - gap, 0.1), "low": depth * _ROW, "high": (depth + 1) * _ROW}
        places["low"] += gap
        places["high"] -= gap
        yield frame, {name: round(place, 2) for name, place in places.items()}


def _span(frame: Frame) -> float:
    """A frame's width in instructions per query."""
    before = frame.before - sum(child.before for child in frame.children)
    after = frame.after - sum(child.after for child in frame.children)
    return max(before, after, 0.0) + sum(map(_span, frame.children))


def _height(frame: Frame) -> int:
    return 1 + max(map(_height, frame.children), default=0)


def _placed(frame: Frame, left: float, depth: int) -> Iterator[tuple[Frame, float, int]]:
    """Every frame with where it begins, in instructions per query, and how many it lies above the root."""
    yield frame, left, depth
    for child in frame.children:
        yield from _placed(child, left, depth + 1)
        left += _span(child)


def _steps(root: Frame) -> list[float]:
    """The change in instructions per query at which each level begins; all infinite if nothing changed.

    If changes cancel in the whole, the largest of a frame stands for it.
    """
    noise = NOISE * max(root.before, root.after)
    reference = abs(root.change)
    if reference <= noise:
        reference = max(abs(frame.change) for frame, _, _ in _placed(root, 0.0, 0))
    return [max(level * reference, noise) if reference > noise else math.inf for level in LEVELS]


def _level(change: float, steps: Sequence[float]) -> int:
    """How far a cost grew, or below 0 how far it shrank."""
    level = sum(abs(change) >= step for step in steps)
    return level if change > 0 else -level


def _words(steps: Sequence[float]) -> dict[int, str]:
    """What the legend says of each level, those that cannot occur left out."""
    if math.isinf(steps[0]):
        return {0: "unchanged"}
    shrunk = {-level: f"\u2264 {_signed(-steps[level - 1])}" for level in (3, 2, 1)}
    return {**shrunk, 0: "unchanged"} | {level: f"\u2265 {_signed(steps[level - 1])}" for level in (1, 2, 3)}


def _label(name: str, change: str, cells: int) -> str:
    """As much of a function's name as fits: without arguments, then without scopes, then without what its change is."""
    plain = _clean(bare_name(name))
    last = plain.rpartition("::")[2]
    for text in (plain + change, last + change, plain, last):
        if _cells(text) <= cells:
            return text
    while _cells(last) > cells - 1:
        last = last[:-1]
    return last + "…"


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _clean(text: str) -> str:
    """Without what XML forbids or what changes how the rest is shown: control and format characters, surrogates."""
    clipped = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    return "".join("\ufffd" if unicodedata.category(one)[0] == "C" else one for one in clipped)


def _amount(cost: float) -> str:
    return f"{cost:,.0f}" if abs(cost) >= 100 else f"{cost:,.1f}" if abs(cost) >= 1 else f"{cost:,.2f}"


def _signed(change: float) -> str:
    return f"{change:+,.0f}" if abs(change) >= 100 else f"{change:+,.1f}" if abs(change) >= 1 else f"{change:+,.2f}"


def _change(frame: Frame, root: Frame) -> str:
    whole = root.before or root.after
    part = f" ({frame.change / whole * 100:+.2f} % of the whole)" if whole else ""
    return _signed(frame.change) + part
