"""Interactive charts of schedules, drawn with Bokeh on one time axis.

In a small schedule each GPU has a row and each job has a bar. In a large schedule each server has a
row, coloured by the share of its GPUs that is held; bars appear when you zoom in. The page itself
writes the text around the charts and in the bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .aims import asks_for_length
from .colours import OTHER, WARM
from .drawing import Drawing
from .frames import Chart, framed, image_of, row_height, slots_of, tips_of
from .gantt import gantt_of_gpus, gantt_of_servers
from .gantt_marks import draw_away_in_all, edge_marks
from .grids import busy_parts, completions, contention_grid, flow_parts, is_large, ring_scale
from .moments import few, waits

MAX_BARS = 100_000
"""Most bars in a page; if there are more, they are left out to limit its size."""


def charts_of(
    drawing: Drawing,
    end: int,
    bound: int | None,
    *,
    large: bool | None = None,
    scale: int | None = None,
    highest: int = 400,
    with_bars: bool = True,
) -> dict[str, Chart]:
    """The charts of one schedule: `gantt` and `contention`, on one time axis.

    Parameters
    ----------
    drawing
        The schedule.
    end
        End of the axis, in slots.
    bound
        A lower bound on the makespan in slots, which is marked; None for none.
    large
        Whether rows are servers instead of GPUs; the default depends on the schedule.
    scale
        The number of rings with the darkest colour; the default depends on the schedule.
    highest
        Height of the frame of the Gantt chart in pixels, before the reader asks for taller rows.
    with_bars
        Whether to draw single jobs if they are so many that they appear only when zoomed in.
    """
    time = time_axis(end, min([0.0, *(float(run.start) for run in drawing.runs)]))
    marks: list[dict[str, Any]] = []
    large = is_large([drawing]) if large is None else large
    if drawing.report.makespan is not None and asks_for_length(drawing):
        marks.append({"at": drawing.report.makespan, "kind": "makespan"})
    if bound is not None:
        marks.append({"at": bound, "kind": "bound"})
    if large or not few(drawing):
        marks += edge_marks(drawing, end)
    if large:
        gantt = gantt_of_servers(drawing, end, time, marks, highest, with_bars=with_bars)
    else:
        gantt = gantt_of_gpus(drawing, end, time, marks, highest)
    gantt.figure.name = "gantt"
    scale = ring_scale([drawing]) if scale is None else scale
    return {"gantt": gantt, "contention": _contention(drawing, end, time, scale)}


def overview_charts(drawings: Sequence[Drawing], end: int) -> dict[str, Chart]:
    """`utilisation`, `completion` and `flow`: one line per schedule.

    The first two are on one time axis; the third is over the time since the jobs' releases.
    """
    from bokeh.models import HoverTool, Range1d  # noqa: PLC0415 - an extra

    time = time_axis(end)
    busy = [busy_parts(drawing, end) for drawing in drawings]
    most = max(1.0, *(float(parts.max()) for _, parts in busy))
    done = [completions(drawing) for drawing in drawings]
    flows = [flow_parts(drawing) for drawing in drawings]
    longest = max(float(slots[-1]) for slots, _ in flows)
    since = Range1d(0, longest * 1.02 or 1, bounds=(0, longest * 1.05 or 1), name="since")
    charts = {}
    for name, curves, top, height, tip, axis in (
        ("utilisation", busy, most, 120, ("GPUs held", "@part{0.0%}"), time),
        ("completion", done, 1.0, 150, ("jobs complete", "@part{0.0%}"), time),
        ("flow", flows, 1.0, 150, ("jobs complete", "@part{0.0%}"), since),
    ):
        if name == "flow" and not waits(drawings[0].instance):
            continue
        chart = framed(
            {**slots_of(drawings[0]), **({"word": "after"} if name == "flow" else {})},
            {"kind": "percent"},
            height,
            x_range=axis,
            y_range=(0, top * 1.03),
        )
        if name == "utilisation":
            draw_away_in_all(chart.figure, drawings[0], end)
        lines = [
            chart.figure.step(
                "slot",
                "part",
                source={"slot": slots, "part": parts, "name": [drawing.label] * len(slots)},
                mode="after",
                name=f"line-{i}",
                line_width=1,
                line_color=OTHER,
            )
            for i, (drawing, (slots, parts)) in enumerate(zip(drawings, curves, strict=True))
        ]
        at = "within slots" if name == "flow" else "from slot"
        tips = [("schedule", "@name"), (at, "@slot{0,0}"), tip]
        chart.figure.add_tools(
            HoverTool(renderers=lines, tooltips=tips_of(tips), line_policy="prev")
        )
        charts[name] = chart
    return charts


def time_axis(end: int, first: float = 0.0) -> Any:
    """A range from 0 to slightly beyond the end, in slots; ranges with the same end are linked."""
    from bokeh.models import Range1d  # noqa: PLC0415

    return Range1d(
        0, end * 1.02, bounds=(min(0.0, first), end * 1.05), name="time", tags=[float(end)]
    )


def _contention(drawing: Drawing, end: int, time: Any, scale: int) -> Chart:
    """Rings on each link, over time."""
    from bokeh.models import Range1d  # noqa: PLC0415

    grid = contention_grid(drawing, end)
    links = len(drawing.links)
    chart = framed(
        slots_of(drawing),
        {"kind": "rows", "rows": "links"},
        row_height(len(grid.names), 1.25, 20, (32, 320)),
        tall=row_height(links, 12, 20, (32, 2400)),
        x_range=time,
        y_range=Range1d(links, 0, bounds=(0, links), name="links"),
    )
    seconds = drawing.instance.time.slot_seconds
    image_of(chart.figure, grid, scale, WARM, "link", ("rings", "@image"), seconds)
    return chart
