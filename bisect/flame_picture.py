"""PURE: frames as a differential flame graph, one SVG without script or inline style.

The root is at the bottom, callees are on top of their callers, the largest to the left. A frame's width is the larger
of what its own code cost before and after, and that of its callees: what vanished has its place beside what is new,
with the width it had. Where cost only moved, the whole is therefore wider than the query was on either side; a frame's
title has the figures.

Colours are presentation attributes; a stylesheet can replace them by the classes of `PALETTE`, of `flame-ground`
(behind everything) and `flame-text`. They do not depend on telling red from green, and dark text is readable on all of
them (contrast above 6:1). A changed frame's text ends in its change where there is room.
"""

import math
import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap
from xml.etree import ElementTree

from cpubisect.costs import bare_name
from cpubisect.flame import Frame

PALETTE = {
    "flame-shrank-3": "#4a9fd8",
    "flame-shrank-2": "#93c6e8",
    "flame-shrank-1": "#cfe4f3",
    "flame-same": "#dedede",
    "flame-grew-1": "#fcdcc4",
    "flame-grew-2": "#f5ae78",
    "flame-grew-3": "#e8762d",
}
"""Fill by class: a blue where the cost shrank, an orange where it grew, darker the more it did."""

LEVELS = (0.05, 0.2, 0.5)
"""A change of this part of the whole query's has level 1, 2, 3; a smaller one counts as unchanged."""

NOISE = 1e-4
"""A change of less than this part of the whole counts as unchanged: two counts of one build agree to 0.01 %."""

NARROWEST = 300
"""A picture has so many pixels at least."""

LONGEST_NAME = 1000
"""Symbols are clipped to so many characters: those of nested templates have no limit of their own."""

CAPTION = (
    "A frame is a function on its path from the root. Width: instructions/query, the larger of before and after. "
    "Callgrind keeps calls, not stacks: what a function passes on is shared among its callees in proportion to what "
    "all of its calls cost, whatever the path. Frames at the root that pass on nearly all of it are left out, and so "
    "is what is too small to be seen."
)

_FILL = {**PALETTE, "flame-ground": "#ffffff"}
_TEXT, _TEXT_IN_THE_DARK = "#1a1a1a", "#dde1e5"
_ROW, _LINE, _MARGIN, _CELL = 18.0, 16.0, 4.0, 6.8
"""Pixels: the height of a frame and of a line of text, space at the edge, and the width of a monospaced character."""

_Box = tuple[float, float, float, float]


def flame_svg(root: Frame, width: int = 1200) -> str:
    """The picture, `width` pixels wide and as high as it must be; raises ValueError below NARROWEST."""
    if width < NARROWEST:
        raise ValueError(f"a flame graph of {width} pixels is narrower than {NARROWEST}")
    inner = width - 2 * _MARGIN
    steps = _steps(root)
    caption = wrap(CAPTION, int(inner / _CELL))
    top = 2 * _LINE + 2 * _ROW
    bottom = top + _ROW * _height(root)
    high = bottom + _LINE * len(caption) + 2 * _MARGIN
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "flame",
            "width": f"{width}",
            "height": f"{high:g}",
            "viewBox": f"0 0 {width} {high:g}",
            "font-family": "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
            "font-size": "11",
        },
    )
    _rect(svg, "flame-ground", (0, 0, width, high))
    whole = f"{_amount(root.before)} before, {_amount(root.after)} after, {_change(root, root)}"
    said = ElementTree.SubElement(svg, "g", {"class": "flame-said"})
    _text(said, _MARGIN, _LINE, f"instructions/query: {whole}", inner)
    _text(said, _MARGIN, 2 * _LINE, "colour: change of a frame in instructions/query", inner)
    _legend(svg, steps, (_MARGIN, 2 * _LINE + _MARGIN, inner / len(PALETTE)))
    whole_span = _span(root) or 1.0
    for frame, left, depth in _placed(root, 0.0, 0):
        place, part = left / whole_span * inner, _span(frame) / whole_span * inner
        box = (_MARGIN + place, bottom - _ROW * (depth + 1), part, _ROW)
        _draw(svg, frame, root, _class(frame.change, steps), box)
    for number, line in enumerate(caption, start=1):
        _text(said, _MARGIN, bottom + _LINE * number, line, inner)
    return ElementTree.tostring(svg, encoding="unicode")


def dark_rules() -> str:
    """Style rules for a dark page: frames keep their colours, which carry dark text; what is beside them turns."""
    return f".flame .flame-ground {{ fill: transparent; }}\n.flame-said .flame-text {{ fill: {_TEXT_IN_THE_DARK}; }}"


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


def _class(change: float, steps: Sequence[float]) -> str:
    level = sum(abs(change) >= step for step in steps)
    return f"flame-{'grew' if change > 0 else 'shrank'}-{level}" if level else "flame-same"


def _legend(svg: ElementTree.Element, steps: Sequence[float], place: tuple[float, float, float]) -> None:
    left, top, width = place
    if math.isinf(steps[0]):
        words = {"flame-same": "unchanged"}
    else:
        words = {f"flame-shrank-{level}": f"\u2264 {_signed(-steps[level - 1])}" for level in (3, 2, 1)}
        words["flame-same"] = "unchanged"
        words |= {f"flame-grew-{level}": f"\u2265 {_signed(steps[level - 1])}" for level in (1, 2, 3)}
    for number, (name, text) in enumerate(words.items()):
        _rect(svg, name, (left + number * width, top, width, _ROW))
        _text(svg, left + number * width + 3, top + 13, text, width - 6)


def _draw(svg: ElementTree.Element, frame: Frame, root: Frame, name: str, box: _Box) -> None:
    left, top, width, _ = box
    group = ElementTree.SubElement(svg, "g", {"class": "flame-frame"})
    ElementTree.SubElement(group, "title").text = "\n".join(
        (
            _clean(frame.name),
            f"{_amount(frame.before)} before, {_amount(frame.after)} after, in instructions/query",
            f"change {_change(frame, root)}",
        )
    )
    _rect(group, name, box)
    change = "" if name == "flame-same" else f" {_signed(frame.change)}"
    _text(group, left + 3, top + 13, _label(frame.name, change, int((width - 6) / _CELL)), width - 6)


def _label(name: str, change: str, cells: int) -> str:
    """As much of a function's name as fits: without arguments, then without scopes, then without what its change is."""
    plain = _clean(bare_name(name))
    for text in (plain + change, plain.rpartition("::")[2] + change, plain, plain.rpartition("::")[2]):
        if _cells(text) <= cells:
            return text
    return plain.rpartition("::")[2]


def _rect(parent: ElementTree.Element, name: str, box: _Box) -> None:
    left, top, width, height = box
    # A gap between neighbours stands for their outline, which would cover the narrow ones.
    gap = 0.5 if name in PALETTE and width > 2 else 0.0
    place = {"x": left, "y": top, "width": max(width - gap, 0.1), "height": height - 2 * gap}
    attributes = {key: f"{value:.2f}" for key, value in place.items()}
    ElementTree.SubElement(parent, "rect", {"class": name, "fill": _FILL[name], **attributes})


def _text(parent: ElementTree.Element, left: float, line: float, text: str, width: float) -> None:
    """A line of text, clipped to a width in pixels; nothing if there is no room for three characters."""
    room = int(width / _CELL)
    if room < 3:
        return
    if _cells(text) > room:
        while _cells(text) > room - 1:
            text = text[:-1]
        text += "…"
    element = ElementTree.SubElement(
        parent, "text", {"class": "flame-text", "fill": _TEXT, "x": f"{left:.2f}", "y": f"{line:.2f}"}
    )
    element.text = text


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _clean(text: str) -> str:
    """Without what XML forbids or what changes how the rest is shown: control and format characters, surrogates."""
    clipped = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    return "".join("\ufffd" if unicodedata.category(one)[0] == "C" else one for one in clipped)


def _amount(cost: float) -> str:
    return f"{cost:,.0f}" if abs(cost) >= 100 else f"{cost:,.1f}"


def _signed(change: float) -> str:
    return f"{change:+,.0f}" if abs(change) >= 100 else f"{change:+,.1f}"


def _change(frame: Frame, root: Frame) -> str:
    whole = root.before or root.after
    part = f" ({frame.change / whole * 100:+.2f} % of the whole)" if whole else ""
    return _signed(frame.change) + part
