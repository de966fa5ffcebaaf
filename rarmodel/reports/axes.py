"""An empty chart, its rows and their names, tables of colours, and what the pointer shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .colours import INK, ramp
from .comparison import shortened
from .grids import Grid

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, for all that

SLOTS = "Time (slots)"
LETTERS = 24
"""Longest name of a row."""
MARGIN = 120
"""Width of what is left of a chart, in pixels: axis and short names."""
AROUND = 90
"""Height of what is around the rows of a chart, in pixels: axis and tools."""
ROW_TIP = "return rarmodelPage.ofRow(special_vars.y, names)"
BIN_TIP = "return rarmodelPage.ofBin(special_vars.x, end, bins)"


def empty_chart(along: str, height: int, **options: Any) -> Figure:
    """An empty chart."""
    from bokeh.plotting import figure  # noqa: PLC0415

    chart = figure(
        height=height,
        sizing_mode="stretch_width",
        tools="pan,box_zoom,xwheel_zoom,reset,save",
        active_drag="box_zoom",
        active_scroll=None,  # The wheel scrolls the page until someone chooses otherwise.
        toolbar_location="above",
        background_fill_color="#ffffff",
        border_fill_color="#ffffff",
        min_border_left=MARGIN,
        min_border_right=20,
        **options,
    )
    chart.toolbar.logo = None
    chart.xaxis.axis_label = along
    if along == SLOTS:
        chart.xaxis.formatter.use_scientific = False
        chart.xaxis.ticker.min_interval = 1
    for axis in chart.axis:
        axis.axis_label_text_color = axis.major_label_text_color = INK
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
        axis.minor_tick_line_color = None
    chart.grid.grid_line_color = "#e4e4e4"
    return chart


def tips_of(tips: Sequence[tuple[str, str]]) -> str:
    """What is shown beside the pointer, as Bokeh's template: dark on light, names before values."""
    rows = [
        f'<tr><th style="text-align: right; font-weight: 600">{name}</th><td>{value}</td></tr>'
        for name, value in tips
    ]
    return f'<table style="color: {INK}; font-size: 12px">{"".join(rows)}</table>'


def name_rows(
    chart: Figure, names: Sequence[str], edges: Sequence[float], letters: int = LETTERS
) -> None:
    """Names at the middle of rows, as many as there is room for, and lines between the rows."""
    from bokeh.models import CustomJSTickFormatter, FixedTicker, NoOverlap  # noqa: PLC0415

    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    code = "return names[middles.indexOf(tick)] ?? ''"
    chart.yaxis.ticker = FixedTicker(ticks=middles)
    chart.yaxis.formatter = CustomJSTickFormatter(
        code=code, args={"names": [shortened(name, letters) for name in names], "middles": middles}
    )
    chart.yaxis.major_label_policy = NoOverlap(min_distance=2)
    chart.yaxis.major_tick_line_color = None
    chart.ygrid.ticker = FixedTicker(ticks=list(edges))
    chart.ygrid.grid_line_color = "#c4c4c4" if len(names) <= 64 else None
    chart.ygrid.level = chart.xgrid.level = "image"


def row_height(rows: int, least: float, most: float, limit: int) -> int:
    """Height of a chart in pixels: rows of a size within limits, and room for axis and tools."""
    return round(min(max(rows * least, min(rows * most, 360)), limit)) + AROUND


def image_of(
    chart: Figure,
    grid: Grid,
    limits: tuple[int, int],
    colours: tuple[str, ...],
    tips: list[tuple[str, str]],
) -> Any:
    """A table of numbers as colours; gives its renderer."""
    from bokeh.models import (  # noqa: PLC0415
        CustomJSHover,
        HoverTool,
        LinearColorMapper,
    )

    low, high = limits
    steps = high + 1 if high <= 12 else 256
    # Overfull servers of invalid schedules exceed the limits.
    values = grid.values.astype(np.uint8 if grid.values.max() < 256 else np.uint32)
    mapper = LinearColorMapper(palette=ramp(colours, steps), low=low, high=high)
    if high <= 12:  # A colour for each number.
        mapper.low, mapper.high = low - 0.5, high + 0.5
    image = chart.image(
        image=[values],
        x=0,
        y=0,
        dw=float(grid.edges[-1]),
        dh=len(grid.names) * grid.per_row,
        color_mapper=mapper,
        level="underlay",
    )
    chart.ygrid.level = "glyph"  # Lines between the rows go over the colours.
    names = [name for name in grid.names for _ in range(grid.per_row)]
    bins = len(grid.edges) - 1
    chart.add_tools(
        HoverTool(
            renderers=[image],
            tooltips=tips_of(tips),
            formatters={
                "$y": CustomJSHover(code=ROW_TIP, args={"names": names}),
                "$x": CustomJSHover(
                    code=BIN_TIP, args={"end": float(grid.edges[-1]), "bins": bins}
                ),
            },
            point_policy="follow_mouse",
        )
    )
    return image
