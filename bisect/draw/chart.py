"""PURE: charts as Vega-Lite specifications: the cost along the commits, and a culprit's step in every metric."""

from collections.abc import Mapping, Sequence
from math import isfinite

import altair as alt

from cpubisect.draw.axis import Axis
from cpubisect.draw.layers import Href, Layers, reach
from cpubisect.draw.look import INK, MUTED, NARROW, NORMAL, PAPER, SMALL, Json
from cpubisect.draw.theme import finished, unchecked
from cpubisect.search.stats import Step

INNER_HEIGHT = 232
"""Of the plot along the commits, in pixels; title and axis need some 90 more."""


@unchecked()
def commits(axis: Axis, width: int, href: Href | None = None) -> Json:
    """Cost per query by commit: points with 99 % intervals, both ends, what is shared, blocked, searched and found.

    `width` is of the whole picture in pixels; `href` makes a commit's link from its sha.
    """
    inner = max(120, width - 74)
    low, high = reach(axis)
    x = alt.Scale(domain=[0, max(1, axis.size)], nice=False, zero=False)
    y = alt.Scale(domain=[low, high], nice=False, zero=False)
    place = Layers(axis, inner, INNER_HEIGHT, x, y, href or (lambda sha: ""), width < NARROW)
    layers = [
        *place.blocked(),
        *place.searched(),
        *place.classes(),
        *place.references(),
        *place.line(),
        *place.culprit_rules(),
        *place.points(),
        *place.culprit_labels(),
        *place.empty(),
    ]
    chart = alt.layer(*layers).properties(
        width=inner, height=INNER_HEIGHT, title=alt.TitleParams(axis.metric, **_title(axis, width < NARROW))
    )
    return finished(chart)


@unchecked()
def steps(found: Mapping[str, Step], width: int = 560) -> Json:
    """A culprit's step in percent, metric by metric, with its 99 % interval around 0. An interval that includes 0 is
    drawn hollow, an unbounded one has no whisker."""
    rows = [_step_row(metric, step) for metric, step in found.items()]
    narrow = width < 480
    edge = max([1.0, *(abs(row[name]) for row in rows for name in ("percent", "low", "high"))]) * 1.08
    data = alt.InlineData(values=rows)
    x = alt.X("percent:Q", scale=alt.Scale(domain=[-edge, edge], nice=False), title=None)
    x = x.axis(labelExpr="(datum.value > 0 ? '+' : '') + datum.label + ' %'", tickCount=5 if narrow else 7)
    y = alt.Y("metric:N", sort=None, title=None).axis(ticks=False, domain=False, labelPadding=8, labelLimit=150)
    base = alt.Chart(data).encode(y=y, tooltip=alt.Tooltip("said:N"), description=alt.Description("said:N"))
    zero = alt.Chart(alt.InlineData(values=[{"percent": 0}])).mark_rule(color=MUTED).encode(x=x)
    whisker = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=None), x2=alt.X2("high:Q"), stroke=alt.Stroke("colour:N", scale=None)
    )
    dot = base.mark_point(size=60, filled=False, opacity=1, strokeWidth=1.8).encode(
        x=x, color=alt.Color("colour:N", scale=None), fill=alt.Fill("inside:N", scale=None)
    )
    text = base.mark_text(align="left", fontSize=NORMAL, color=INK).encode(
        x=alt.value(_steps_inner(width, narrow) + 10), text=alt.Text("short:N" if narrow else "label:N")
    )
    chart = alt.layer(zero, whisker, dot, text)
    return finished(chart.properties(width=_steps_inner(width, narrow), height=26 * len(rows)))


def stacked(charts: Sequence[Json]) -> Json:
    """Several charts, one below the other, as one."""
    if len(charts) == 1:
        return charts[0]
    common = {"config": charts[0]["config"]}
    # Only data at the top is found by name; names are digests of what they name.
    data = {name: rows for one in charts for name, rows in one.get("datasets", {}).items()}
    own = [{name: part for name, part in one.items() if name not in (*common, "datasets")} for one in charts]
    return {**common, "datasets": data, "vconcat": own, "spacing": 24}


def _steps_inner(width: int, narrow: bool) -> int:
    return max(100, width - (230 if narrow else 340))


def _step_row(metric: str, step: Step) -> Json:
    percent = step.percent
    sure = step.bounded and step.sure
    interval = f"[{step.low:+.2f}, {step.high:+.2f}]" if step.bounded else "[unbounded]"
    return {
        "metric": metric,
        "percent": percent,
        "low": step.low if isfinite(step.low) else percent,
        "high": step.high if isfinite(step.high) else percent,
        "colour": INK if sure else MUTED,
        "inside": INK if sure else PAPER,
        "label": f"{percent:+.2f} %  {interval}",
        "short": f"{percent:+.2f} %",
        "said": f"{metric}: {percent:+.2f} %, 99 % interval {interval} %",
    }


def _title(axis: Axis, narrow: bool) -> Json:
    about = "" if narrow else f"{axis.engine}, {axis.test}: {axis.good} to {axis.bad}"
    look = {"anchor": "start", "fontSize": NORMAL, "fontWeight": 600, "color": INK, "offset": 6}
    under = {"subtitle": about, "subtitleColor": MUTED, "subtitleFontSize": SMALL} if about else {}
    return {**look, **under}
