"""Empty charts in frames of equal size, and the data for the text around them.

Bokeh draws only the inside of a frame: no axis, no label and no border, so the chart is as wide as
its frame. The page places its own labels in columns and rows outside the frame. So no font can
shift one chart against another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .colours import ramp
from .drawing import Drawing
from .grids import Grid

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, for all that

ROW_TIP = "return rarmodelPage.ofRow(special_vars.y, names)"
BIN_TIP = "return rarmodelPage.ofBin(format, special_vars.x, end, bins, seconds)"
MOVED = "rarmodelPage.moved(cb_obj)"
TIP_STYLE = "color: var(--ink); font: 12px/1.45 var(--sans); border-spacing: 0"
NAME_STYLE = "text-align: right; font-weight: 600; padding-right: 0.6em; color: var(--quiet)"
"""CSS by which the page's own variables reach into Bokeh's charts."""


class Chart(NamedTuple):
    """A chart, and the data for the text around its frame.

    Attributes
    ----------
    figure
        The chart that Bokeh draws.
    frame
        The axes as JSON: `x` and `y`, each with its `kind`; marked lines; the height of the frame,
        and its height on demand, in pixels.
    """

    figure: Figure
    frame: Mapping[str, Any]


def framed(
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    height: int,
    *,
    tall: int | None = None,
    marks: Sequence[Mapping[str, Any]] = (),
    **options: Any,
) -> Chart:
    """An empty chart that fills its frame.

    Parameters
    ----------
    x, y
        The axes.
    height
        Height of the frame in pixels.
    tall
        Height if the reader asks for taller rows.
    marks
        Marked slots: `at`, `kind`.
    **options
        Options of Bokeh's figure: ranges, types of axes.
    """
    from bokeh.models import (  # noqa: PLC0415 - an extra
        BoxZoomTool,
        CustomJS,
        PanTool,
        WheelZoomTool,
    )
    from bokeh.plotting import figure  # noqa: PLC0415

    wheel = WheelZoomTool(dimensions="width", modifiers={"ctrl": True})
    chart = figure(
        height=height,
        sizing_mode="stretch_width",
        tools=[BoxZoomTool(name="zoom"), PanTool(name="pan"), wheel],
        active_scroll=wheel,
        toolbar_location=None,
        min_border=0,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        **options,
    )
    chart.axis.visible = False
    chart.grid.visible = False
    for side in (chart.x_range, chart.y_range):
        for end in ("start", "end"):
            side.js_on_change(end, CustomJS(code=MOVED))
    frame: dict[str, Any] = {"x": dict(x), "y": dict(y), "height": height}
    if tall is not None and tall > height:
        frame["tall"] = tall
    if marks:
        frame["marks"] = [dict(mark) for mark in marks]
    return Chart(chart, frame)


def slots_of(drawing: Drawing) -> dict[str, Any]:
    """A time axis: slots and their length."""
    return {"kind": "slots", "seconds": drawing.instance.time.slot_seconds}


def tips_of(tips: Sequence[tuple[str, str]]) -> str:
    """The tooltip at the pointer, as Bokeh's template: names before values."""
    rows = [
        f'<tr><th style="{NAME_STYLE}">{name}</th><td>{value}</td></tr>' for name, value in tips
    ]
    return f'<table style="{TIP_STYLE}">{"".join(rows)}</table>'


def row_height(rows: int, least: float, most: float, limits: tuple[int, int]) -> int:
    """Height of a frame in pixels: rows of limited height, and a limited total."""
    low, high = limits
    return round(min(max(rows * least, min(rows * most, 300), low), high))


def image_of(
    chart: Figure,
    grid: Grid,
    high: int,
    colours: tuple[str, ...],
    row: str,
    number: tuple[str, str],
    seconds: float,
) -> Any:
    """Draw a table of numbers as colours, from 0 (none) to `high`; return the renderer.

    Parameters
    ----------
    chart
        The chart in which to draw.
    grid
        The table.
    high
        The number with the last colour.
    colours
        Colours from 1 to the last.
    row
        Name of a row in the tooltip.
    number
        Name and format of the number.
    seconds
        Length of a slot.
    """
    from bokeh.models import CustomJSHover, HoverTool, LinearColorMapper  # noqa: PLC0415

    # Overfull servers of invalid schedules exceed the limits.
    values = grid.values.astype(np.uint8 if grid.values.max() < 256 else np.uint32)
    few = high <= 12  # A colour for each number.
    mapper = LinearColorMapper(
        palette=["#00000000", *ramp(colours, high if few else 255)],
        low=-0.5 if few else 0,
        high=high + 0.5 if few else high,
    )
    image = chart.image(
        image=[values],
        x=0,
        y=0,
        dw=float(grid.edges[-1]),
        dh=len(grid.names) * grid.per_row,
        color_mapper=mapper,
        level="underlay",
    )
    tips = [
        (f"{row}s" if grid.per_row > 1 else row, "$y{row}"),
        ("slots", "$x{slots}"),
        ("time", "$x{time}"),
    ]
    of_rows = [name for name in grid.names for _ in range(grid.per_row)]
    bins = {"end": float(grid.edges[-1]), "bins": len(grid.edges) - 1, "seconds": seconds}
    chart.add_tools(
        HoverTool(
            renderers=[image],
            tooltips=tips_of([*tips, number]),
            formatters={
                "$y": CustomJSHover(code=ROW_TIP, args={"names": of_rows}),
                "$x": CustomJSHover(code=BIN_TIP, args=bins),
            },
            point_policy="follow_mouse",
        )
    )
    return image
