"""Interactive charts of a schedule, made with Bokeh.

In a small schedule each GPU has a row and each job a bar. In a large one the servers have
the rows, coloured by the part of their GPUs that is held, and the bars come into view on zooming
in. Names of jobs and servers are shown by formatters and plain ticks, which never take them for
HTML or TeX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .axes import LETTERS, MARGIN, SLOTS, empty_chart, image_of, name_rows, row_height, tips_of
from .colours import BOUND, INK, WARM, lines_of
from .drawing import Drawing
from .gantt import gantt_of_gpus, gantt_of_servers
from .grids import busy_parts, completions, contention_grid, is_large, ring_scale

if TYPE_CHECKING:
    from bokeh.models import Model
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, for all that

MAX_BARS = 100_000
"""With more bars than that in a page they are left out, lest it grow too large."""


def charts_of(
    drawing: Drawing, end: int, bound: int, *, with_bars: bool = True
) -> dict[str, Model]:
    """The charts of one schedule: `gantt`, `utilisation` and `contention`, on one axis of time.

    Parameters
    ----------
    drawing
        The schedule.
    end
        Where the axis ends, in slots.
    bound
        A lower bound on the makespan in slots, to be marked.
    with_bars
        Whether single jobs are drawn where there are so many that they need zooming in.
    """
    from bokeh.models import Range1d  # noqa: PLC0415 - an extra

    time = Range1d(0, end * 1.01, bounds=(min(0.0, *_starts(drawing)), end * 1.05))
    gantt = (
        gantt_of_servers(drawing, end, time, with_bars=with_bars)
        if is_large(drawing)
        else gantt_of_gpus(drawing, end, time)
    )
    gantt.name = "gantt"
    _mark(gantt, bound, BOUND, "dashed")
    if drawing.report.makespan is not None:
        _mark(gantt, drawing.report.makespan, INK, "solid")
    charts = {
        "gantt": gantt,
        "utilisation": _utilisation(drawing, end, time),
        "contention": _contention(drawing, end, time),
    }
    names = [server.name for server in drawing.instance.cluster.servers]
    names += [link.link for link in drawing.links]
    longest = min(max(map(len, names)), LETTERS)
    for chart in charts.values():  # The axes of time begin below each other.
        chart.min_border_left = max(MARGIN, 7 * longest + 40)
    return charts


def completion_chart(drawings: Sequence[Drawing], end: int) -> Figure:
    """How many of the jobs are complete, over time, for each schedule."""
    from bokeh.models import HoverTool, NumeralTickFormatter  # noqa: PLC0415

    chart = empty_chart(SLOTS, 260, x_range=(0, end * 1.01), y_range=(0, 1.02))
    chart.yaxis.axis_label = "Jobs complete"
    chart.yaxis.formatter = NumeralTickFormatter(format="0%")
    lines = []
    for drawing, line in zip(drawings, lines_of([d.label for d in drawings]), strict=True):
        slots, parts = completions(drawing)
        source = {"slot": slots, "part": parts, "name": [drawing.label] * len(slots)}
        lines.append(
            chart.step(
                "slot",
                "part",
                source=source,
                mode="after",
                line_width=2.5,
                line_color=line.colour,
                line_dash=line.dash,
            )
        )
    tips = [("schedule", "@name"), ("complete", "@part{0.0%}"), ("by slot", "@slot{0,0}")]
    chart.add_tools(HoverTool(renderers=lines, tooltips=tips_of(tips), line_policy="prev"))
    return chart


def _starts(drawing: Drawing) -> list[float]:
    return [float(run.start) for run in drawing.runs] or [0.0]


def _mark(chart: Figure, slot: int, colour: str, dash: str) -> None:
    """A line at a slot."""
    from bokeh.models import Span  # noqa: PLC0415

    chart.add_layout(
        Span(
            location=float(slot),
            dimension="height",
            line_color=colour,
            line_width=2,
            line_dash=dash,
        )
    )


def _utilisation(drawing: Drawing, end: int, time: Any) -> Figure:
    """Part of the cluster's GPUs that is held, over time."""
    from bokeh.models import HoverTool, NumeralTickFormatter  # noqa: PLC0415

    slots, parts = busy_parts(drawing, end)
    top = max(1.0, float(parts.max())) * 1.02
    chart = empty_chart(SLOTS, 190, x_range=time, y_range=(0, top))
    chart.yaxis.axis_label = "GPUs held"
    chart.yaxis.formatter = NumeralTickFormatter(format="0%")
    source = {"slot": slots, "part": parts}
    chart.varea_step(
        x="slot", y1=0, y2="part", source=source, step_mode="after", fill_color="#9ecae1"
    )
    line = chart.step("slot", "part", source=source, mode="after", line_color="#2171b5")
    tips = [("from slot", "@slot{0,0}"), ("GPUs held", "@part{0.0%}")]
    chart.add_tools(
        HoverTool(renderers=[line], tooltips=tips_of(tips), mode="vline", line_policy="prev")
    )
    return chart


def _contention(drawing: Drawing, end: int, time: Any) -> Figure:
    """Rings on each link, over time."""
    from bokeh.models import Range1d  # noqa: PLC0415

    grid = contention_grid(drawing, end)
    links = len(drawing.links)
    chart = empty_chart(
        SLOTS,
        row_height(len(grid.names), 2.5, 22, 560),
        x_range=time,
        y_range=Range1d(links, 0, bounds=(0, links)),
    )
    chart.yaxis.axis_label = "Link above"
    name_rows(chart, [link.link for link in drawing.links], range(links + 1))
    tips = [
        ("links" if grid.per_row > 1 else "link", "$y{custom}"),
        ("slots", "$x{custom}"),
        ("rings", "@image"),
    ]
    image_of(chart, grid, (0, ring_scale(drawing)), WARM, tips)
    return chart
