"""PURE: the layers of the chart of costs by commit, all in one pair of scales."""

from collections.abc import Callable, Sequence
from math import ceil
from statistics import median

import altair as alt

from cpubisect.draw.axis import Axis, Point
from cpubisect.draw.look import (
    BAD,
    BAND,
    BLOCKED,
    BOLD_LETTER,
    GOOD,
    INK,
    LETTER,
    MUTED,
    NORMAL,
    PAPER,
    SEARCH,
    Json,
    number,
    short,
)

Href = Callable[[str], str]

_STRIP = 4
_MOST_BANDS = 400
_MANY = 40
_MOST_LABELS = 6


class Layers:
    """`width` and `height` are those of the plot in pixels; `href` makes a commit's link, or is empty for none."""

    def __init__(
        self, axis: Axis, width: int, height: int, x: alt.Scale, y: alt.Scale, href: Href, narrow: bool
    ) -> None:
        self._axis, self._width, self._height, self._href, self._narrow = axis, width, height, href, narrow
        since = "the fork point" if axis.fork else f"good ({axis.good})"
        ticks = max(2, width // 90)
        whole = alt.Axis(title=f"commits since {since}", tickCount=ticks, grid=False, format=",d", tickMinStep=1)
        self._x, self._x_axis, self._y_scale = x, whole, y
        self._y_axis = alt.Axis(
            title=None,
            tickCount=max(3, height // 45),
            format="~s" if self._large() else ",.4~g",
            domain=False,
            ticks=False,
            labelPadding=7,
        )

    def _large(self) -> bool:
        """Whether costs are written as 66.5k."""
        return max(abs(edge) for edge in reach(self._axis)) >= 10_000

    def _across(self, field: str = "x") -> alt.X:
        return alt.X(f"{field}:Q", scale=self._x, axis=self._x_axis)

    def _up(self, field: str = "y") -> alt.Y:
        return alt.Y(f"{field}:Q", scale=self._y_scale, axis=self._y_axis)

    def _bands(self, rows: Sequence[Json], colour: str) -> alt.Chart:
        mark = alt.Chart(alt.InlineData(values=list(rows))).mark_rect(color=colour)
        strength = alt.Opacity("opacity:Q", scale=None)
        drawn: alt.Chart = mark.encode(
            x=self._across("from"),
            x2=alt.X2("to:Q"),
            opacity=strength,
            tooltip=alt.Tooltip("said:N"),
            description=alt.Description("said:N"),
        )
        return drawn

    def _wide(self, first: float, last: float) -> tuple[float, float]:
        """A band at least two pixels wide."""
        least = 2 * max(1, self._axis.size) / self._width
        middle = (first + last) / 2
        return min(first, middle - least / 2), max(last, middle + least / 2)

    def blocked(self) -> list[alt.Chart]:
        """Grey where nothing can be built, from between the neighbours on both sides."""
        rows = []
        for gap in self._axis.unbuildable[:_MOST_BANDS]:
            first, last = self._wide(gap.first - 0.5, gap.last + 0.5)
            said = f"{_range(gap.first, gap.last)} cannot be measured: {gap.why}"
            rows.append({"from": max(0, first), "to": min(self._axis.size, last), "said": said, "opacity": 0.6})
        return [self._bands(rows, BLOCKED)] if rows else []

    def searched(self) -> list[alt.Chart]:
        """Where the step may be; the likelier a commit, the stronger."""
        rows, edges = [], []
        best = max((found.per_commit or 0.0 for found in self._axis.intervals), default=0.0)
        for found in self._axis.intervals[:_MOST_BANDS]:
            chance = "" if found.probability is None else f", P = {found.probability:.3f}"
            first, last = self._wide(found.low, found.high)
            opacity = 0.75 if not best or found.per_commit is None else 0.15 + 0.7 * found.per_commit / best
            said = f"the step is in {_range(found.low + 1, found.high)}{chance}"
            rows.append({"from": first, "to": last, "said": said, "opacity": round(opacity, 3)})
            if found.per_commit in (None, best):
                edges += [{"x": found.low}, {"x": found.high}]
        if not rows:
            return []
        edge = alt.Chart(alt.InlineData(values=edges)).mark_rule(color=SEARCH, strokeWidth=1).encode(x=self._across())
        return [self._bands(rows, BAND), edge]

    def classes(self) -> list[alt.Chart]:
        """A strip along the bottom: commits that share one binary, as far as they are wide enough to see."""
        least = max(1, self._axis.size) / self._width
        rows = [
            {
                "from": max(0, run.first - 0.35),
                "to": min(self._axis.size, run.last + 0.35),
                "opacity": 0.45,
                "said": f"{_range(run.first, run.last)} share one binary",
            }
            for run in self._axis.classes
            if run.last - run.first + 0.7 >= least
        ][: 5 * _MOST_BANDS]
        if not rows:
            return []
        strip = self._bands(rows, MUTED)
        return [strip.encode(y=alt.value(self._height - _STRIP), y2=alt.value(self._height))]

    def references(self) -> list[alt.Chart]:
        """The cost of both ends as dashed lines, and above the plot what they are."""
        axis, layers, at = self._axis, [], 0.0
        for end, cost, name, colour in (
            ("good", axis.good_cost, axis.good, GOOD),
            ("bad", axis.bad_cost, axis.bad, BAD),
        ):
            if cost is None:
                continue
            told = f"- - {end} {short(name, 10 if self._narrow else 30)} {number(cost)}"
            if end == "bad" and axis.good_cost:
                told += f" {(cost / axis.good_cost - 1) * 100:+.2f} %"
            data = alt.Chart(alt.InlineData(values=[{"y": cost, "told": told}]))
            layers.append(data.mark_rule(color=colour, strokeDash=[5, 4], strokeWidth=1.2).encode(y=self._up()))
            text = data.mark_text(align="left", baseline="bottom", fontSize=NORMAL, color=colour, fontWeight=600)
            layers.append(text.encode(x=alt.value(at), y=alt.value(-6), text=alt.Text("told:N")))
            at += BOLD_LETTER * len(told) + 4
        return layers

    def line(self) -> list[alt.Chart]:
        """From one measured commit to the next, unchanged until there."""
        if len(self._axis.points) < 2:
            return []
        data = alt.InlineData(values=[{"x": point.position, "y": point.mean} for point in self._axis.points])
        line = alt.Chart(data).mark_line(interpolate="step-after", color=INK, strokeWidth=1.4, opacity=0.55)
        return [line.encode(x=self._across(), y=self._up())]

    def points(self) -> list[alt.Chart]:
        """The measured commits, each with its interval and its link."""
        axis = self._axis
        marked = {mark.sha for mark in axis.culprits}
        rows = [self._row(point, point.sha in marked) for point in axis.points]
        if not rows:
            return []
        whiskers = [row for row in rows if "low" in row]
        data = alt.Chart(alt.InlineData(values=whiskers))
        many = len(whiskers) > _MANY
        drawn = data.mark_rule(color=INK, clip=True, strokeWidth=1.0 if many else 1.4, opacity=0.45 if many else 1.0)
        rule = drawn.encode(x=self._across(), y=self._up("low"), y2=alt.Y2("high:Q"))
        linked = {"href": alt.Href("href:N")} if any(row["href"] for row in rows) else {}
        size = max(18, min(46, ceil(4000 / max(1, len(rows)))))
        dots = alt.Chart(alt.InlineData(values=rows)).mark_point(filled=True, opacity=1, strokeWidth=1.2, stroke=PAPER)
        dots = dots.encode(
            x=self._across(),
            y=self._up(),
            size=alt.condition("datum.culprit", alt.value(size * 2), alt.value(size)),
            fill=alt.Fill("colour:N", scale=None),
            tooltip=[alt.Tooltip(field) for field in ("sha:N", "subject:N", "cost:N", "samples:Q")],
            description=alt.Description("said:N"),
            **linked,
        )
        return [*([rule] if whiskers else []), dots]

    def _row(self, point: Point, culprit: bool) -> Json:
        spread = "" if point.low is None else f" [{number(point.low)}, {number(point.high or 0)}]"
        cost = f"{number(point.mean)}{spread} {self._axis.metric}"
        row = {
            "x": point.position,
            "y": point.mean,
            "sha": point.sha[:12],
            "subject": point.subject,
            "cost": cost,
            "samples": point.samples,
            "culprit": culprit,
            "colour": BAD if culprit else INK,
            "href": self._href(point.sha),
            "said": f"{point.sha[:12]} {short(point.subject, 72)}: {cost}, {point.samples} samples",
        }
        return row if point.low is None else {**row, "low": point.low, "high": point.high}

    def culprit_rules(self) -> list[alt.Chart]:
        """A line where each culprit is."""
        rows = [{"x": mark.position} for mark in self._axis.culprits]
        data = alt.Chart(alt.InlineData(values=rows))
        return [data.mark_rule(color=BAD, strokeWidth=1, strokeDash=[2, 2]).encode(x=self._across())] if rows else []

    def culprit_labels(self) -> list[alt.Chart]:
        """Sha, step and, where there is room, subject beside each culprit's line, half-way up its step."""
        layers = []
        marks = sorted(self._axis.culprits, key=lambda mark: -abs(mark.percent))[:_MOST_LABELS]
        for mark in marks:
            others = [other.position for other in marks if other.sha != mark.sha]
            before = mark.position - max((at for at in others if at <= mark.position), default=0)
            after = min((at for at in others if at > mark.position), default=self._axis.size) - mark.position
            left = before >= after
            letters = int(max(before, after) / max(1, self._axis.size) * (self._width - 12) / LETTER)
            lines = [f"{mark.sha[:12]} {mark.percent:+.2f} %"]
            if letters >= 24 and not (self._narrow and others):
                lines.append(short(mark.subject, min(90, letters)))
            row: Json = {"x": mark.position, "told": lines, "said": " ".join(lines), "href": self._href(mark.sha)}
            row |= self._beside(mark.position)
            text = alt.Chart(alt.InlineData(values=[row])).mark_text(
                align="right" if left else "left", dx=-7 if left else 7, dy=row["dy"], fontSize=NORMAL, color=INK,
                lineHeight=14, baseline="top",
            )  # fmt: skip
            height = self._up() if "y" in row else alt.value(self._height * 0.42)
            linked = {"href": alt.Href("href:N")} if row["href"] else {}
            described = {"text": alt.Text("told:N"), "description": alt.Description("said:N"), **linked}
            layers.append(text.encode(x=self._across(), y=height, **described))
        return layers

    def _beside(self, position: int) -> Json:
        """The height of a label in the middle of a step, or above one that is smaller than the label."""
        sides = (
            [point.mean for point in self._axis.points if point.position < position][-1:],
            [point.mean for point in self._axis.points if point.position >= position][:1],
        )
        costs = [cost for side in sides for cost in side]
        if not costs:
            return {"dy": 0}
        low, high = reach(self._axis)
        pixels = (max(costs) - min(costs)) / (high - low) * self._height
        return {"y": (max(costs) + min(costs)) / 2, "dy": -14} if pixels > 60 else {"y": max(costs), "dy": -36}

    def empty(self) -> list[alt.Chart]:
        """Says that nothing is measured yet, and keeps the axes."""
        if self._axis.points or self._axis.good_cost is not None or self._axis.bad_cost is not None:
            return []
        data = alt.Chart(alt.InlineData(values=[{"x": 0, "told": "nothing measured yet"}]))
        text = data.mark_text(align="center", fontSize=NORMAL, color=MUTED)
        at = {"x": alt.value(self._width / 2), "y": alt.value(self._height / 2)}
        return [
            data.mark_tick(opacity=0, color=MUTED).encode(x=self._across()),
            text.encode(text=alt.Text("told:N"), **at),
        ]


def reach(axis: Axis) -> tuple[float, float]:
    """From the least to the greatest cost shown, with room around it; a whisker much longer than the others is cut."""
    costs = [cost for cost in (axis.good_cost, axis.bad_cost) if cost is not None]
    costs += [point.mean for point in axis.points]
    if not costs:
        return 0.0, 1.0
    low, high = min(costs), max(costs)
    halves = [point.mean - point.low for point in axis.points if point.low is not None]
    room = max((high - low) * 0.12, 1.2 * median(halves) if halves else 0.0) or abs(high) * 0.02 or 1.0
    return low - room, high + room


def _range(first: int, last: int) -> str:
    return f"commit {first}" if first == last else f"commits {first} to {last}"
