"""Empty charts in frames that are equal by construction, and what the page writes around them.

Bokeh draws what is inside of a frame, and nothing else: no axis, no label and no border, so that
the chart is as wide as its frame. The page's own labels stand in columns and rows of its layout,
outside of the frame, and are placed by parts of it. So no font can move one chart beside another.
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
"""The page's own variables reach into what Bokeh shows."""


class Chart(NamedTuple):
    """A chart, and what the page writes around its frame.

    Attributes
    ----------
    figure
        What Bokeh draws.
    frame
        What is along the axes, as JSON: `x` and `y`, each with its `kind`; lines to be marked; the
        height of the frame, and the one it has on demand, in pixels.
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
    """An empty chart, which fills its frame.

    Parameters
    ----------
    x, y
        What is along the axes.
    height
        Height of the frame in pixels.
    tall
        Its height if someone asks for taller rows.
    marks
        Slots to be marked: `at`, `kind`.
    **options
        Of Bokeh's figure: ranges, types of axes.
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
    """An axis of time: slots, and how long they are."""
    return {"kind": "slots", "seconds": drawing.instance.time.slot_seconds}


def tips_of(tips: Sequence[tuple[str, str]]) -> str:
    """What is shown beside the pointer, as Bokeh's template: names before values."""
    rows = [
        f'<tr><th style="{NAME_STYLE}">{name}</th><td>{value}</td></tr>' for name, value in tips
    ]
    return f'<table style="{TIP_STYLE}">{"".join(rows)}</table>'


def row_height(rows: int, least: float, most: float, limits: tuple[int, int]) -> int:
    """Height of a frame in pixels: rows of a size within limits, all of them within limits."""
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
    """A table of numbers as colours, from 0, which has none, to `high`; gives its renderer.

    Parameters
    ----------
    chart
        Where it is drawn.
    grid
        The table.
    high
        The number that has the last colour.
    colours
        From 1 to the last.
    row
        What a row is called beside the pointer.
    number
        What the number is called, and its form.
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
