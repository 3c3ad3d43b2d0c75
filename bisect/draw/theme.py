"""PURE: what the specifications of all charts have in common."""

from contextlib import ContextDecorator

import altair as alt
from altair.utils.schemapi import debug_mode

from cpubisect.draw.look import GRID, INK, MUTED, NORMAL, PLAIN, SMALL, Json

MARGIN = {"left": 2, "right": 10, "top": 4, "bottom": 2}
"""Pixels around every picture."""


def unchecked() -> ContextDecorator:
    """Parts of charts are not held against the schema of Vega-Lite as they are made, which takes half of the time."""
    return debug_mode(False)


def finished(chart: alt.LayerChart | alt.FacetChart | alt.VConcatChart) -> Json:
    """The specification of a chart, with the look of all; it is not checked against the schema, which takes longer."""
    spec: Json = chart.configure(
        background="transparent",
        font=PLAIN,
        padding=MARGIN,
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
    # The address of the schema: whoever reads the specification need not ask that host for it.
    spec.pop("$schema", None)
    return spec
