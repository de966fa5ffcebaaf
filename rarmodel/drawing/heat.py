"""Rows over time coloured by a number: rings on links, and GPUs held on servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from rarmodel.counting import counted

from .colours import WARM
from .grids import Grid, contention_grid
from .row_labels import levels, row_labels, rows_title
from .shown import Shown
from .style import clock, one_of, rows
from .view import View, Window

LINKS = "links"
"""Beginning of the names of the units that selections are of."""


def links_height(shown: Shown, highest: float) -> int:
    """Height of the frame in pixels."""
    count = len(shown.drawings[0].links)
    return round(min(max(count * 1.25, min(count * 20, 300), 32), highest))


def links(
    shown: Shown,
    which: int | str,
    *,
    height: int,
    legend: bool = True,
    slots: bool = True,
    linked: Window | None = None,
    name: str = LINKS,
) -> alt.LayerChart:
    """Rings on each link over time; parameters as of `gantt`."""
    names = [link.link for link in shown.drawings[0].links]
    view = View(shown, which, height, len(names), linked, legend=legend, slots=slots, gpus=False)
    grids = [
        contention_grid(drawing, end)
        for drawing, end in zip(shown.drawings, shown.ends, strict=True)
    ]
    colour = alt.Color(
        "value:Q",
        title="rings on a link",
        scale=alt.Scale(domain=[1, shown.scale], range=list(WARM), clamp=True),
        legend=alt.Legend(gradientLength=160, format="d", tickMinStep=1) if legend else None,
    )
    found = levels(names, range(len(names) + 1))
    labels = row_labels(found, height, view.y("row"), view.span)
    titles = [
        f"{title}, at most {counted(drawing.most_rings, 'ring')} on a link"
        if drawing.most_rings
        else f"{title}: no ring on any link"
        for title, drawing in zip(shown.titles("rings on each link"), shown.drawings, strict=True)
    ]
    title = alt.expr(one_of(titles, which)) if isinstance(which, str) else titles[which]
    number = ("rings", "format(datum.value, ',d')")
    return alt.layer(
        view.frame(name),
        heat_map(view, grids, colour, "link", number),
        *labels,
        rows_title("links", found, height),
        height=height,
        title=alt.Title(title),
    )


def heat_map(
    view: View, grids: Sequence[Grid], colour: alt.Color, row: str, number: tuple[str, str]
) -> alt.Chart:
    """Tables of numbers as colours; 0 has none.

    Parameters
    ----------
    view
        The chart.
    grids
        One for each schedule.
    colour
        The colour of `value`.
    row
        Word for a row.
    number
        Word for the number, and an expression that tells it.
    """
    names = ("schedule", "line", "slot", "until", "value")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for i, grid in enumerate(grids):
        for rectangle in grid.rectangles():
            for column, value in zip(found.values(), (i, *rectangle), strict=True):
                column.append(value)
    per_row, total = grids[0].per_row, grids[0].total
    time = view.shown.time
    begin, end = "floor(datum.slot)", "ceil(datum.until)"
    told = {
        "top": f"datum.line * {per_row}",
        "bottom": f"min((datum.line + 1) * {per_row}, {total})",
        row: "datum.names[datum.line]",
        "slots": f"format({begin}, ',d') + ' to ' + format({end}, ',d')",
        "time": f"{clock(time, begin)} + ' to ' + {clock(time, end)}",
        "number": number[1],
    }
    return (
        rows(found, names=list(grids[0].names))
        .transform_filter(view.chosen)
        .transform_calculate(**told)
        .mark_rect(clip=True, stroke=None)
        .encode(
            **view.sides,
            color=colour,
            tooltip=[
                alt.Tooltip(f"{row}:N", title=f"{row}s" if per_row > 1 else row),
                alt.Tooltip("slots:N"),
                alt.Tooltip("time:N"),
                alt.Tooltip("number:N", title=number[0]),
            ],
        )
    )
