"""Gantt charts: of GPUs with a bar for each job, or of servers with jobs on zooming in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rarmodel.model import job_extremes

from .colours import COOL, FAULT, INK, NETWORK, PAPER, colouring, ink_on
from .drawing import Drawing
from .frames import Chart, framed, image_of, row_height, slots_of, tips_of
from .gantt_marks import draw_away, draw_moments, draw_parts, draw_running
from .grids import Grid, utilisation_grid
from .moments import asked_for, few

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, for all that

Marks = Sequence[Mapping[str, Any]]
RUN_TIP = "return rarmodelPage.ofRun(format, value, runs.data, seconds)"
BAR_TIP = "return rarmodelPage.ofBar(value, special_vars.index, bars.data, servers)"
SHOW_JOB = "rarmodelPage.showJobAt(cb_data.geometry, bars, runs)"
SHOW_BARS = "rarmodelPage.showBars(across, down, area, renderers, image, most, bars)"


def gantt_of_gpus(drawing: Drawing, end: int, time: Any, marks: Marks, highest: int) -> Chart:
    """A Gantt chart with a row for each GPU."""
    from bokeh.models import Range1d  # noqa: PLC0415

    rows = drawing.instance.cluster.total_gpus
    chart = framed(
        slots_of(drawing),
        {"kind": "rows", "rows": "gpus", **_named(drawing)},
        row_height(rows, 2, 26, (72, highest)),
        tall=row_height(rows, 4, 26, (72, 2400)),
        marks=marks,
        x_range=time,
        y_range=Range1d(rows, 0, bounds=(0, rows), name="rows"),
    )
    top = [drawing.offsets[bar.server] + bar.first for bar in drawing.bars]
    bottom = [t + bar.gpus for t, bar in zip(top, drawing.bars, strict=True)]
    bars = _bars(drawing, end, top, bottom)
    draw_away(chart.figure, drawing, end, drawing.offsets)
    renderers = _draw_bars(chart.figure, drawing, bars)
    draw_parts(chart.figure, drawing, end, bars)
    draw_running(chart.figure, drawing, bars)
    if few(drawing):
        draw_moments(chart.figure, drawing, bars)
    _hover(chart.figure, drawing, bars, renderers)
    return chart


def gantt_of_servers(
    drawing: Drawing, end: int, time: Any, marks: Marks, highest: int, *, with_bars: bool
) -> Chart:
    """A Gantt chart with a row for each server or several; jobs appear on zooming in."""
    from bokeh.models import CustomJS, Range1d  # noqa: PLC0415

    servers = drawing.instance.cluster.servers
    rows = len(servers)
    grid = utilisation_grid(drawing, end)
    across = Range1d(rows, 0, bounds=(0, rows), name="rows")
    chart = framed(
        slots_of(drawing),
        {
            "kind": "rows",
            "rows": "servers",
            "gpus": drawing.instance.cluster.total_gpus / rows,
            **(_named(drawing) if with_bars else {}),
        },
        row_height(len(grid.names), 2.5, 22, (72, highest)),
        tall=row_height(rows, 12, 26, (72, 2400)),
        marks=marks,
        x_range=time,
        y_range=across,
    )
    figure = chart.figure
    percent = Grid(grid.names, grid.per_row, grid.edges, np.rint(100 * grid.values))
    seconds, number = drawing.instance.time.slot_seconds, ("GPUs held", "@image{0}%")
    image = image_of(figure, percent, 100, COOL, "server", number, seconds)
    draw_away(figure, drawing, end, range(rows), per_row=True)
    if not with_bars:
        return chart
    figure.tags = ["zoom"]
    sizes = [server.gpus for server in servers]
    top = [bar.server + bar.first / sizes[bar.server] for bar in drawing.bars]
    bottom = [t + bar.gpus / sizes[bar.server] for t, bar in zip(top, drawing.bars, strict=True)]
    bars = _bars(drawing, end, top, bottom)
    renderers = _draw_bars(figure, drawing, bars)
    over = [*draw_parts(figure, drawing, end, bars), *draw_running(figure, drawing, bars)]
    for renderer in (*renderers, *over):
        renderer.visible = False
    _hover(figure, drawing, bars, renderers)
    look = CustomJS(
        args={
            "across": time,
            "down": across,
            "area": time.end * rows,
            "renderers": [*renderers, *over],
            "image": image,
            "most": 800,
            "bars": bars,
        },
        code=SHOW_BARS,
    )
    for part in (time, across) if renderers else ():
        part.js_on_change("start", look)
        part.js_on_change("end", look)
    return chart


def _named(drawing: Drawing) -> dict[str, Any]:
    """Data for names in bars: the colours on which they are white."""
    found, jobs = colouring(drawing.instance), enumerate(drawing.instance.jobs)
    colours = dict.fromkeys(found.of(i, size) for i, job in jobs for size in job.sizes)
    return {"bars": True, "white": [colour for colour in colours if ink_on(colour) == PAPER]}


def _bars(
    drawing: Drawing, end: int, top: Sequence[float], bottom: Sequence[float]
) -> ColumnDataSource:
    """A rectangle for each bar."""
    from bokeh.models import ColumnDataSource  # noqa: PLC0415

    runs = [drawing.runs[bar.run] for bar in drawing.bars]
    colours = colouring(drawing.instance)
    return ColumnDataSource(
        name="bars",
        data={
            "run": np.array([bar.run for bar in drawing.bars], np.int32),
            "left": np.array([run.start for run in runs], float),
            "right": np.array([drawing.shown_until(run, end) for run in runs], float),
            "top": np.array(top, float),
            "bottom": np.array(bottom, float),
            "server": np.array([bar.server for bar in drawing.bars], np.int32),
            "first": np.array([bar.first for bar in drawing.bars], np.int32),
            "gpus": np.array([bar.gpus for bar in drawing.bars], np.int32),
            "colour": [colours.of(drawing.numbers[run.job], run.size) for run in runs],
        },
    )


def _draw_bars(chart: Figure, drawing: Drawing, bars: ColumnDataSource) -> list[Any]:
    """Bars: rings on several servers have a warm edge, faulty jobs are hatched in red."""
    from bokeh.models import CDSView, IndexFilter  # noqa: PLC0415

    runs = [drawing.runs[bar.run] for bar in drawing.bars]
    kinds: Mapping[str, tuple[list[int], dict[str, Any]]] = {
        "inside": (
            [i for i, run in enumerate(runs) if not run.spread and not run.faulty],
            {"line_color": INK, "line_alpha": 0.4, "line_width": 0.5},
        ),
        "spread": (
            [i for i, run in enumerate(runs) if run.spread and not run.faulty],
            {"line_color": NETWORK, "line_width": 1.4},
        ),
        "fault": (
            [i for i, run in enumerate(runs) if run.faulty],
            {
                "fill_alpha": 0.6,  # It may lie over the job that holds the same GPUs.
                "line_color": FAULT,
                "line_width": 2,
                "hatch_pattern": "/",
                "hatch_color": FAULT,
                "hatch_alpha": 0.8,
                "hatch_scale": 8,
            },
        ),
    }
    return [
        chart.quad(
            left="left",
            right="right",
            top="top",
            bottom="bottom",
            source=bars,
            view=CDSView(filter=IndexFilter(indices)),
            fill_color="colour",
            name=name,
            **style,
        )
        for name, (indices, style) in kinds.items()
        if indices
    ]


def _hover(
    chart: Figure, drawing: Drawing, bars: ColumnDataSource, renderers: Sequence[Any]
) -> None:
    """Show a tooltip for the job under the pointer, and mark all of its blocks."""
    from bokeh.models import ColumnDataSource, CustomJS, CustomJSHover, HoverTool  # noqa: PLC0415

    least = [extreme.least_slots for extreme in job_extremes(drawing.instance)]
    asked = [asked_for(drawing, run) for run in drawing.runs]
    runs = ColumnDataSource(
        name="runs",
        data={
            "job": [run.job for run in drawing.runs],
            "size": np.array([run.size or 0 for run in drawing.runs], np.int32),
            "start": np.array([run.start for run in drawing.runs], float),
            "end": [None if run.end is None else float(run.end) for run in drawing.runs],
            "servers": np.array([len(run.servers) for run in drawing.runs], np.int32),
            "rings": np.array([run.rings for run in drawing.runs], np.int32),
            "least": [
                least[number] if (number := drawing.numbers[run.job]) < len(least) else None
                for run in drawing.runs
            ],
            "carried": [run.carried_out for run in drawing.runs],
            "faulty": [run.faulty for run in drawing.runs],
            **({"asked": asked} if any(asked) else {}),
        },
    )
    marked, found = (
        ColumnDataSource(
            name=name,
            tags=[None],
            data={"left": [], "right": [], "top": [], "bottom": [], "colour": []},
        )
        for name in ("marked", "found")
    )
    for source in (marked, found):  # In the colours of the page as they are then.
        chart.quad(
            left="left",
            right="right",
            top="top",
            bottom="bottom",
            source=source,
            fill_color="colour",
            fill_alpha=0.3,
            line_color="colour",
            line_width=2.5,
        )
    servers = [server.name for server in drawing.instance.cluster.servers]
    seconds = drawing.instance.time.slot_seconds
    of_run = CustomJSHover(code=RUN_TIP, args={"runs": runs, "seconds": seconds})
    of_bar = CustomJSHover(code=BAR_TIP, args={"bars": bars, "servers": servers})
    tips = [
        ("job", "@run{job}"),
        ("ring", "@run{ring}"),
        ("here", "@first{here}"),
        ("slots", "@run{slots}"),
        ("time", "@run{time}"),
        ("contention", "@run{rings}"),
        *([("asked for", "@run{asked}")] if any(asked) else []),
    ]
    chart.add_tools(
        HoverTool(
            renderers=list(renderers),
            tooltips=tips_of(tips),
            formatters={"@run": of_run, "@first": of_bar},
            callback=CustomJS(args={"bars": bars, "runs": runs}, code=SHOW_JOB),
            point_policy="follow_mouse",
        )
    )
