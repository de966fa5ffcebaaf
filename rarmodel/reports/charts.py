"""Interactive charts of a schedule, made with Bokeh.

In a small schedule each GPU has a row and each job a bar. In a large one the servers have
the rows, coloured by the part of their GPUs that is held, and the bars come into view on zooming
in. Names of jobs and servers are shown by formatters and plain ticks, which never take them for
HTML or TeX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rarmodel.model import job_extremes

from .colours import BOUND, COOL, FAULT, FOUND, INK, STRONG, WARM, job_colour, ramp
from .drawing import Drawing
from .grids import (
    Grid,
    busy_parts,
    completions,
    contention_grid,
    is_large,
    ring_scale,
    utilisation_grid,
)

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource, Model
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, for all that

SLOTS = "Time (slots)"
MAX_BARS = 100_000
"""With more bars than that in a page they are left out, lest it grow too large."""

RUN_TIP = "return rarmodelPage.ofRun(format, value, runs.data)"
BAR_TIP = "return rarmodelPage.ofBar(value, special_vars.index, bars.data, servers)"
ROW_TIP = "return rarmodelPage.ofRow(special_vars.y, names)"
BIN_TIP = "return rarmodelPage.ofBin(special_vars.x, end, bins)"
SHOW_JOB = "rarmodelPage.showJobAt(cb_data.index, bars, marked)"
SHOW_BARS = "rarmodelPage.showBars(across, down, area, renderers, image, most, bars)"


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

    time = Range1d(0, end * 1.01, bounds=(min(0, *_starts(drawing)), end * 1.05))
    gantt = (
        _gantt_of_servers(drawing, end, time, with_bars=with_bars)
        if is_large(drawing)
        else _gantt_of_gpus(drawing, end, time)
    )
    gantt.name = "gantt"
    _mark(gantt, bound, BOUND, "dashed")
    if drawing.report.makespan is not None:
        _mark(gantt, drawing.report.makespan, INK, "solid")
    return {
        "gantt": gantt,
        "utilisation": _utilisation(drawing, end, time),
        "contention": _contention(drawing, end, time),
    }


def completion_chart(drawings: Sequence[Drawing], end: int) -> Figure:
    """How many of the jobs are complete, over time, for each schedule."""
    from bokeh.models import HoverTool, NumeralTickFormatter  # noqa: PLC0415

    chart = empty_chart(SLOTS, 260, x_range=(0, end * 1.01), y_range=(0, 1.02))
    chart.yaxis.axis_label = "Jobs complete"
    chart.yaxis.formatter = NumeralTickFormatter(format="0%")
    dashes = ("solid", "dashed", "dotted", "dotdash")
    lines = []
    for i, drawing in enumerate(drawings):
        slots, parts = completions(drawing)
        source = {"slot": slots, "part": parts, "name": [drawing.label] * len(slots)}
        lines.append(
            chart.step(
                "slot",
                "part",
                source=source,
                mode="after",
                line_width=2.5,
                line_color=STRONG[i % len(STRONG)],
                line_dash=dashes[i // len(STRONG) % len(dashes)],
            )
        )
    tips = [("schedule", "@name"), ("complete", "@part{0.0%}"), ("by slot", "@slot{0,0}")]
    chart.add_tools(HoverTool(renderers=lines, tooltips=tips_of(tips), line_policy="prev"))
    return chart


def _starts(drawing: Drawing) -> list[int]:
    return [run.start for run in drawing.runs] or [0]


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
        min_border_left=120,  # Charts of one schedule have their axes of time below each other.
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


def _mark(chart: Figure, slot: int, colour: str, dash: str) -> None:
    """A line at a slot."""
    from bokeh.models import Span  # noqa: PLC0415

    chart.add_layout(
        Span(location=slot, dimension="height", line_color=colour, line_width=2, line_dash=dash)
    )


def tips_of(tips: Sequence[tuple[str, str]]) -> str:
    """What is shown beside the pointer, as Bokeh's template: dark on light, names before values."""
    rows = [
        f'<tr><th style="text-align: right; font-weight: 600">{name}</th><td>{value}</td></tr>'
        for name, value in tips
    ]
    return f'<table style="color: {INK}; font-size: 12px">{"".join(rows)}</table>'


def name_rows(chart: Figure, names: Sequence[str], edges: Sequence[float]) -> None:
    """Names at the middle of rows, as many as there is room for, and lines between the rows."""
    from bokeh.models import CustomJSTickFormatter, FixedTicker, NoOverlap  # noqa: PLC0415

    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    code = "return names[middles.indexOf(tick)] ?? ''"
    chart.yaxis.ticker = FixedTicker(ticks=middles)
    chart.yaxis.formatter = CustomJSTickFormatter(
        code=code, args={"names": [_short(name) for name in names], "middles": middles}
    )
    chart.yaxis.major_label_policy = NoOverlap(min_distance=2)
    chart.yaxis.major_tick_line_color = None
    chart.ygrid.ticker = FixedTicker(ticks=list(edges))
    chart.ygrid.grid_line_color = "#c4c4c4" if len(names) <= 64 else None
    chart.ygrid.level = chart.xgrid.level = "image"


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"


def _height(rows: int, least: float, most: float, limit: int) -> int:
    """Height of a chart in pixels: rows of a size within limits, and room for axis and tools."""
    return round(min(max(rows * least, min(rows * most, 360)), limit)) + 90


def _gantt_of_gpus(drawing: Drawing, end: int, time: Any) -> Figure:
    """A row for each GPU."""
    from bokeh.models import Range1d  # noqa: PLC0415

    rows = drawing.instance.cluster.total_gpus
    height = _height(rows, 3.2, 26, 1600)
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
    _write_names(chart, drawing, end, top)
    _hover(chart, drawing, bars, renderers)
    return chart


def _gantt_of_servers(drawing: Drawing, end: int, time: Any, *, with_bars: bool) -> Figure:
    """A row for each server, or for several; jobs come into view on zooming in."""
    from bokeh.models import CustomJS, Range1d  # noqa: PLC0415

    servers = drawing.instance.cluster.servers
    rows = len(servers)
    grid = utilisation_grid(drawing, end)
    across = Range1d(rows, 0, bounds=(0, rows))
    chart = empty_chart(SLOTS, _height(len(grid.names), 2.5, 22, 640), x_range=time, y_range=across)
    chart.yaxis.axis_label = "Server"
    name_rows(chart, [server.name for server in servers], range(rows + 1))
    percent = Grid(grid.names, grid.per_row, grid.edges, np.rint(100 * grid.values))
    tip = [("servers" if grid.per_row > 1 else "server", "$y{custom}"), ("slots", "$x{custom}")]
    image = _image(chart, percent, (0, 100), COOL, [*tip, ("GPUs held", "@image{0}%")])
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


def _write_names(chart: Figure, drawing: Drawing, end: int, top: Sequence[int]) -> None:
    """Names in the bars that have room for them in a window of usual width."""
    if len(drawing.bars) > 400:
        return
    room = 900 / end
    texts: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for row, bar in zip(top, drawing.bars, strict=True):
        run = drawing.runs[bar.run]
        until = drawing.shown_until(run, end)
        if (until - run.start) * room >= 8 * len(run.job) + 6:
            texts["x"].append((run.start + until) / 2)
            texts["y"].append(row + bar.gpus / 2)
            texts["text"].append(run.job)
    if texts["text"] and drawing.instance.cluster.total_gpus <= 40:
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
            "end": [run.end for run in drawing.runs],
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


def _image(
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
    values = grid.values.astype(np.uint8 if high < 256 else np.uint32)
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
        _height(len(grid.names), 2.5, 22, 560),
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
    _image(chart, grid, (0, ring_scale(drawing)), WARM, tips)
    return chart
