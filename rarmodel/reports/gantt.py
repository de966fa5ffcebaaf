"""Gantt charts: of GPUs with a bar for each job, or of servers in which jobs come into view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rarmodel.model import job_extremes

from .axes import AROUND, SLOTS, empty_chart, image_of, name_rows, row_height, tips_of
from .colours import COOL, FAULT, FOUND, INK, job_colour
from .drawing import Drawing
from .grids import Grid, utilisation_grid

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, for all that

RUN_TIP = "return rarmodelPage.ofRun(format, value, runs.data)"
BAR_TIP = "return rarmodelPage.ofBar(value, special_vars.index, bars.data, servers)"
SHOW_JOB = "rarmodelPage.showJobAt(cb_data.index, bars, marked)"
SHOW_BARS = "rarmodelPage.showBars(across, down, area, renderers, image, most, bars)"


def gantt_of_gpus(drawing: Drawing, end: int, time: Any) -> Figure:
    """A row for each GPU."""
    from bokeh.models import Range1d  # noqa: PLC0415

    rows = drawing.instance.cluster.total_gpus
    height = row_height(rows, 3.2, 26, 1600)
    chart = empty_chart(SLOTS, height, x_range=time, y_range=Range1d(rows, 0, bounds=(0, rows)))
    name_rows(
        chart,
        [server.name for server in drawing.instance.cluster.servers],
        [*drawing.offsets, rows],
    )
    top = [drawing.offsets[bar.server] + bar.first for bar in drawing.bars]
    bars = _bars(
        drawing, end, top, [t + bar.gpus for t, bar in zip(top, drawing.bars, strict=True)]
    )
    edge = 1.6 if height / rows > 6 else 0.6
    renderers = _draw_bars(chart, drawing, bars, edge)
    _write_names(chart, drawing, end, top, height)
    _hover(chart, drawing, bars, renderers)
    return chart


def gantt_of_servers(drawing: Drawing, end: int, time: Any, *, with_bars: bool) -> Figure:
    """A row for each server, or for several; jobs come into view on zooming in."""
    from bokeh.models import CustomJS, Range1d  # noqa: PLC0415

    servers = drawing.instance.cluster.servers
    rows = len(servers)
    grid = utilisation_grid(drawing, end)
    across = Range1d(rows, 0, bounds=(0, rows))
    chart = empty_chart(
        SLOTS, row_height(len(grid.names), 2.5, 22, 640), x_range=time, y_range=across
    )
    chart.yaxis.axis_label = "Server"
    name_rows(chart, [server.name for server in servers], range(rows + 1))
    percent = Grid(grid.names, grid.per_row, grid.edges, np.rint(100 * grid.values))
    tip = [("servers" if grid.per_row > 1 else "server", "$y{custom}"), ("slots", "$x{custom}")]
    image = image_of(chart, percent, (0, 100), COOL, [*tip, ("GPUs held", "@image{0}%")])
    if not with_bars:
        return chart
    chart.tags = ["zoom"]
    sizes = [server.gpus for server in servers]
    top = [bar.server + bar.first / sizes[bar.server] for bar in drawing.bars]
    bottom = [t + bar.gpus / sizes[bar.server] for t, bar in zip(top, drawing.bars, strict=True)]
    bars = _bars(drawing, end, top, bottom)
    renderers = _draw_bars(chart, drawing, bars, 0.6)
    for renderer in renderers:
        renderer.visible = False
    _hover(chart, drawing, bars, renderers)
    look = CustomJS(
        args={
            "across": time,
            "down": across,
            "area": end * 1.01 * rows,
            "renderers": renderers,
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


def _bars(
    drawing: Drawing, end: int, top: Sequence[float], bottom: Sequence[float]
) -> ColumnDataSource:
    """A quad for each bar."""
    from bokeh.models import ColumnDataSource  # noqa: PLC0415

    runs = [drawing.runs[bar.run] for bar in drawing.bars]
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
            "colour": [job_colour(drawing.numbers[run.job], spread=run.spread) for run in runs],
        },
    )


def _draw_bars(chart: Figure, drawing: Drawing, bars: ColumnDataSource, edge: float) -> list[Any]:
    """Bars: those of rings on several servers with a dark edge, those at fault hatched in red."""
    from bokeh.models import CDSView, IndexFilter  # noqa: PLC0415

    runs = [drawing.runs[bar.run] for bar in drawing.bars]
    kinds: Mapping[str, tuple[list[int], dict[str, Any]]] = {
        "one server": (
            [i for i, run in enumerate(runs) if not run.spread and not run.faulty],
            {"line_color": "#ffffff", "line_width": edge / 2},
        ),
        "several servers": (
            [i for i, run in enumerate(runs) if run.spread and not run.faulty],
            {"line_color": INK, "line_width": edge},
        ),
        "at fault": (
            [i for i, run in enumerate(runs) if run.faulty],
            {
                "fill_alpha": 0.6,  # It may lie over the job that holds the same GPUs.
                "line_color": FAULT,
                "line_width": edge + 0.6,
                "hatch_pattern": "/",
                "hatch_color": FAULT,
                "hatch_alpha": 0.7,
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
            **style,
        )
        for indices, style in kinds.values()
        if indices
    ]


def _write_names(
    chart: Figure, drawing: Drawing, end: int, top: Sequence[int], height: int
) -> None:
    """Names in the bars that have room for them in a window of usual width."""
    if len(drawing.bars) > 400:
        return
    across = 900 / end
    down = (height - AROUND) / drawing.instance.cluster.total_gpus
    texts: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for row, bar in zip(top, drawing.bars, strict=True):
        run = drawing.runs[bar.run]
        until = drawing.shown_until(run, end)
        if (until - run.start) * across >= 8 * len(run.job) + 6 and bar.gpus * down >= 14:
            texts["x"].append((run.start + until) / 2)
            texts["y"].append(row + bar.gpus / 2)
            texts["text"].append(run.job)
    if texts["text"]:
        chart.text(
            "x",
            "y",
            "text",
            source=texts,
            text_align="center",
            text_baseline="middle",
            text_color=INK,
            text_font_size="12px",
        )


def _hover(
    chart: Figure, drawing: Drawing, bars: ColumnDataSource, renderers: Sequence[Any]
) -> None:
    """Tell about the job under the pointer, and mark all of its blocks."""
    from bokeh.models import ColumnDataSource, CustomJS, CustomJSHover, HoverTool  # noqa: PLC0415

    least = [extreme.least_slots for extreme in job_extremes(drawing.instance)]
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
        },
    )
    marked, found = (
        ColumnDataSource(
            name=name, tags=[None], data={"left": [], "right": [], "top": [], "bottom": []}
        )
        for name in ("marked", "found")
    )
    for source, colour in ((marked, "#000000"), (found, FOUND)):
        chart.quad(
            left="left",
            right="right",
            top="top",
            bottom="bottom",
            source=source,
            fill_color=colour,
            fill_alpha=0.25,
            line_color=colour,
            line_width=3,
        )
    servers = [server.name for server in drawing.instance.cluster.servers]
    of_run = CustomJSHover(code=RUN_TIP, args={"runs": runs})
    of_bar = CustomJSHover(code=BAR_TIP, args={"bars": bars, "servers": servers})
    tips = [
        ("job", "@run{job}"),
        ("ring", "@run{ring}"),
        ("here", "@first{here}"),
        ("slots", "@run{slots}"),
        ("contention", "@run{rings}"),
    ]
    chart.add_tools(
        HoverTool(
            renderers=list(renderers),
            tooltips=tips_of(tips),
            formatters={"@run": of_run, "@first": of_bar},
            callback=CustomJS(args={"bars": bars, "marked": marked}, code=SHOW_JOB),
            point_policy="follow_mouse",
        )
    )
