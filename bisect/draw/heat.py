"""PURE: relative values of versions as a heat map: a field for each test and version, with its value and colour."""

from collections.abc import Mapping, Sequence

import altair as alt

from cpubisect.draw.look import BAND, CHANGES, INK, MUTED, NORMAL, PAPER, SEARCH, SMALL, Json, short
from cpubisect.draw.theme import finished, unchecked
from cpubisect.search.comparing.relative import Cell, Group, MetricTable, Tone

FIELD_WIDTH, FIELD_HEIGHT = 92, 20
LONGEST_LABEL = 34
"""Letters; pixels are about six times as many."""

MUCH_WORSE, MUCH_BETTER = 0.8, 1.25
"""Beyond these a colour is stronger."""


@unchecked()
def heat_map(tables: Sequence[MetricTable], names: Sequence[str], titles: Mapping[str, str]) -> Json:
    """The maps of all metrics, one below the other, each group of tests a block; `names` are the versions."""
    blocks = [
        _block(group, names, titles.get(table.metric, table.metric) if first else "", group.name)
        for table in tables
        for first, group in _marked(table.groups)
    ]
    if not blocks:
        blocks = [_nothing()]
    return finished(alt.vconcat(*blocks, spacing=10))


def _marked(groups: Sequence[Group]) -> list[tuple[bool, Group]]:
    return [(number == 0, group) for number, group in enumerate(groups)]


def _block(group: Group, names: Sequence[str], metric: str, title: str) -> alt.LayerChart | alt.FacetChart:
    rows = [
        {"test": short(line.label, LONGEST_LABEL), "version": name, **_field(cell)}
        for line in group.lines
        for name, cell in zip(names, line.cells, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("version:N", sort=list(names), title=None).axis(
            orient="top", labelAngle=0, ticks=False, domain=False, labelFontSize=NORMAL, labelColor=INK
        ),
        y=alt.Y("test:N", sort=None, title=None).axis(
            ticks=False, domain=False, labelPadding=8, labelLimit=240, minExtent=215
        ),
        description=alt.Description("said:N"),
    )
    fields = base.mark_rect(stroke=PAPER, strokeWidth=2).encode(fill=alt.Fill("colour:N", scale=None))
    figures = base.mark_text(fontSize=SMALL, color=INK).encode(text=alt.Text("figure:N"))
    look: Json = {"anchor": "start", "fontSize": NORMAL, "offset": 4}
    look |= {"fontWeight": 600, "color": INK} if metric else {"fontWeight": "normal", "color": MUTED}
    look |= {"subtitle": title, "subtitleColor": MUTED, "subtitleFontSize": SMALL} if metric else {}
    heading = alt.TitleParams(metric or title, **look)
    return alt.layer(fields, figures).properties(
        width=FIELD_WIDTH * len(names), height=FIELD_HEIGHT * len(group.lines), title=heading
    )


def _field(cell: Cell) -> Json:
    """What a field shows; a value whose interval holds 1 has no colour."""
    if cell.relative is None:
        return {"figure": "-", "colour": PAPER, "said": "not measured"}
    interval = "" if cell.low is None or cell.high is None else f", 99 % interval [{cell.low:.2f}, {cell.high:.2f}]"
    return {"figure": f"{cell.relative:.2f}", "colour": colour(cell), "said": f"{cell.relative:.3f}{interval}"}


def colour(cell: Cell) -> str:
    """Yellow for what is worse, blue for what is better, grey for the rest."""
    if cell.relative is None or cell.tone is Tone.NONE:
        return CHANGES[0]
    if cell.tone is Tone.WORSE:
        return SEARCH if cell.relative < MUCH_WORSE else BAND
    return CHANGES[-2] if cell.relative > MUCH_BETTER else CHANGES[-1]


def _nothing() -> alt.LayerChart | alt.FacetChart:
    data = alt.InlineData(values=[{"said": "nothing is measured yet"}])
    text = alt.Chart(data).mark_text(fontSize=NORMAL, color=MUTED).encode(text=alt.Text("said:N"))
    return alt.layer(text).properties(width=FIELD_WIDTH * 3, height=FIELD_HEIGHT * 2)
