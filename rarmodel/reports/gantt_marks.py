"""Reserved GPUs, and marks of releases, due slots and deadlines, in interactive charts."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import TYPE_CHECKING, Any

from .colours import AWAY, INK, MOMENT, PAPER
from .drawing import Drawing
from .frames import tips_of
from .moments import (
    DEADLINE,
    DUE,
    RELEASE,
    late_parts,
    moments_of,
    ran_before,
    restored_parts,
    ticks_of,
)
from .words import counted

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, for all that

HATCHED: dict[str, Any] = {
    "fill_color": AWAY,
    "fill_alpha": 0.12,
    "line_color": None,
    "hatch_pattern": "right_diagonal_line",
    "hatch_color": AWAY,
    "hatch_alpha": 0.6,
    "hatch_scale": 14,
    "hatch_weight": 1,
    "level": "underlay",
}
SIDES = {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}


def draw_away(
    chart: Figure, drawing: Drawing, end: int, tops: Sequence[int], *, per_row: bool = False
) -> None:
    """Hatch the GPUs that are reserved.

    Parameters
    ----------
    chart, drawing, end
        Where to draw, what, and the end of the axis in slots.
    tops
        Row of each server's first GPU.
    per_row
        Whether a server has one row, and not one for each GPU.
    """
    from bokeh.models import ColumnDataSource, HoverTool  # noqa: PLC0415 - an extra

    if not drawing.away:
        return
    cluster = drawing.instance.cluster
    data: dict[str, list[Any]] = {side: [] for side in (*SIDES, "name", "what", "slots")}
    for area in drawing.away:
        one, server = cluster.reservations[area.reservation], cluster.servers[area.server]
        unit = server.gpus if per_row else 1
        data["left"].append(area.start)
        data["right"].append(max(2 * end, area.start) if area.end is None else area.end)
        data["top"].append(tops[area.server] + area.first / unit)
        data["bottom"].append(tops[area.server] + (area.first + area.gpus) / unit)
        data["name"].append(one.reason or "reserved")
        reason = f": {one.reason}" if one.reason else ""
        data["what"].append(f"{counted(one.gpus, 'GPU')} of {server.name}{reason}")
        data["slots"].append(_span(one.start, one.end))
    areas = chart.quad(**SIDES, source=ColumnDataSource(name="away", data=data), **HATCHED)
    tips = tips_of([("reserved", "@what"), ("slots", "@slots")])
    chart.add_tools(HoverTool(renderers=[areas], tooltips=tips, point_policy="follow_mouse"))


def draw_away_in_all(chart: Figure, drawing: Drawing, end: int) -> None:
    """Hatch the share of all GPUs that is reserved, from above."""
    steps, gpus = drawing.reserved_in_all, drawing.instance.cluster.total_gpus
    if steps.slots:
        left = list(steps.slots)
        right = [*left[1:], max(2 * end, left[-1])]
        bottom = [1 - value / gpus for value in steps.values]
        chart.quad(left=left, right=right, top=1, bottom=bottom, name="away", **HATCHED)


LATE: dict[str, Any] = {
    "fill_color": None,
    "line_color": None,
    "hatch_pattern": "left_diagonal_line",
    "hatch_color": INK,
    "hatch_alpha": 0.6,
    "hatch_scale": 10,
    "hatch_weight": 1,
}
RESTORED: dict[str, Any] = {
    "fill_color": PAPER,
    "fill_alpha": 0.55,
    "line_color": None,
    "hatch_pattern": "dot",
    "hatch_color": INK,
    "hatch_alpha": 0.7,
    "hatch_scale": 6,
}


def draw_parts(chart: Figure, drawing: Drawing, end: int, bars: ColumnDataSource) -> list[Any]:
    """Mark the parts of bars past due slots, and those in which jobs are restored."""
    found = []
    for parts, style in ((late_parts(drawing, end), LATE), (restored_parts(drawing), RESTORED)):
        if parts:
            data = {
                "left": [one.start for one in parts],
                "right": [one.end for one in parts],
                **{
                    side: [float(bars.data[side][one.bar]) for one in parts]
                    for side in ("top", "bottom")
                },
            }
            found.append(chart.quad(**SIDES, source=data, **style))
    return found


def draw_running(chart: Figure, drawing: Drawing, bars: ColumnDataSource) -> list[Any]:
    """Give bars of jobs that ran before slot 0 a thick left edge."""
    ran = [i for i, bar in enumerate(drawing.bars) if ran_before(drawing, drawing.runs[bar.run])]
    if not ran:
        return []
    top, bottom = ([float(bars.data[side][i]) for i in ran] for side in ("top", "bottom"))
    zero = [0] * len(ran)
    return [chart.segment(x0=zero, x1=zero, y0=top, y1=bottom, line_color=MOMENT, line_width=12)]


def draw_moments(chart: Figure, drawing: Drawing, bars: ColumnDataSource) -> None:
    """Mark releases, due slots and deadlines beside the bars of their jobs."""
    row: dict[int, float] = {}
    for i, bar in enumerate(drawing.bars):
        row.setdefault(bar.run, float(bars.data["bottom"][i]) - 0.22)
    found = [one for one in moments_of(drawing) if one.run in row]
    waits = [
        (one, run)
        for one in found
        if one.kind == RELEASE and (run := drawing.runs[one.run]).start > one.slot
    ]
    if waits:
        chart.segment(
            x0=[one.slot for one, _ in waits],
            x1=[run.start for _, run in waits],
            y0=[row[one.run] for one, _ in waits],
            y1=[row[one.run] for one, _ in waits],
            line_color=MOMENT,
            line_width=1.4,
        )
    for kind, style in SHAPES.items():
        if own := [one for one in found if one.kind == kind]:
            chart.scatter(
                x=[one.slot for one in own],
                y=[row[one.run] for one in own],
                fill_color=MOMENT,
                **style,
            )


SHAPES: dict[str, dict[str, Any]] = {
    RELEASE: {"marker": "triangle", "angle": -pi / 2, "size": 9, "line_color": PAPER},
    DUE: {"marker": "diamond", "size": 11, "line_color": PAPER},
    DEADLINE: {
        "marker": "dash",
        "angle": pi / 2,
        "size": 14,
        "line_color": MOMENT,
        "line_width": 3.5,
    },
}


def edge_marks(drawing: Drawing, end: int) -> list[dict[str, Any]]:
    """Releases, due slots and deadlines of many jobs, as marks on the edge of a frame."""
    return [
        {"at": slot, "kind": kind}
        for kind in (RELEASE, DUE, DEADLINE)
        for slot in ticks_of(drawing, kind, end)
    ]


def _span(start: int, end: int | None) -> str:
    if end is None:
        return f"from {start:,}"
    return f"{start:,} to {end - 1:,}" if end - start > 1 else f"{start:,}"
