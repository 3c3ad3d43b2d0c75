"""The calibration plot: what was stated against what is true, drawn as the product draws its charts."""

from collections.abc import Sequence
from dataclasses import asdict

import altair as alt

from cpubisect.draw.chart import stacked
from cpubisect.draw.look import BAD, BAND, GOOD, INK, MUTED
from cpubisect.draw.picture import svg
from cpubisect.draw.theme import finished
from searching.audit import Bias, Point

SIZE = 320
"""Of the upper plot, in pixels; the lower one is as wide."""

ROW = 22
"""Height of a world in the lower plot, in pixels."""

NEAR = 0.002
"""Shares below this are drawn on a linear scale, larger ones on a logarithmic one."""

UNBIASED = 0.05
"""A mean stated step within this part of the true one counts as true."""

_TICKS = [0, 0.002, 0.01, 0.05, 0.2, 1]


def calibration(points: Sequence[Point], biases: Sequence[Bias]) -> str:
    """Both plots as an SVG on white."""
    spec = stacked([finished(_doubts(points)), finished(_steps(biases))])
    spec["config"] = {**spec["config"], "background": "white"}
    return svg(spec) + "\n"


def _doubts(points: Sequence[Point]) -> alt.LayerChart | alt.FacetChart:
    """The share that was wrong by the doubt that was stated."""
    scale = alt.Scale(type="symlog", constant=NEAR, domain=[0, 1], nice=False)
    axis = alt.Axis(values=_TICKS, format=".3~%")
    x = alt.X("doubt:Q", scale=scale, axis=axis, title="doubt that was stated, 1 − P")
    y = alt.Y("wrong:Q", scale=scale, axis=axis, title="share that was wrong, with its 90 % interval")
    sides = alt.Scale(domain=["without layout", "with layout"], range=[GOOD, BAD])
    colour = alt.Color("side:N", scale=sides, title=None)
    data = alt.Chart(alt.InlineData(values=[asdict(one) for one in points]))
    even = alt.InlineData(values=[{"doubt": place, "wrong": place} for place in (0, 1)])
    return alt.layer(
        alt.Chart(even).mark_line(color=MUTED, strokeDash=[4, 4]).encode(x=x, y=y),
        data.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=colour),
        data.mark_point(filled=True, opacity=1, size=50).encode(x=x, y=y, color=colour),
        data.mark_text(dx=6, dy=-6, align="left", color=INK).encode(x=x, y=y, text="count:Q"),
    ).properties(width=SIZE, height=SIZE)


def _steps(biases: Sequence[Bias]) -> alt.LayerChart | alt.FacetChart:
    """The stated step over the true one, by world."""
    title = "mean stated step over the true one, with its 99 % interval"
    x, low = alt.X("ratio:Q", scale=alt.Scale(zero=False), title=title), alt.X("low:Q", title=title)
    y = alt.Y("world:N", sort=None, title=None, axis=alt.Axis(labelLimit=260))
    data = alt.Chart(alt.InlineData(values=[asdict(one) for one in biases]))
    allowed = alt.InlineData(values=[{"low": 1 - UNBIASED, "high": 1 + UNBIASED, "ratio": 1}])
    return alt.layer(
        alt.Chart(allowed).mark_rect(color=BAND).encode(x=low, x2="high:Q"),
        alt.Chart(allowed).mark_rule(color=MUTED, strokeDash=[4, 4]).encode(x=x),
        data.mark_rule(strokeWidth=1.5, color=INK).encode(x=low, x2="high:Q", y=y),
        data.mark_point(filled=True, opacity=1, size=50, color=INK).encode(x=x, y=y),
    ).properties(width=SIZE, height=ROW * max(1, len(biases)))
