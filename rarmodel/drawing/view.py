"""The window of a chart of schedules: rows by time, moved and zoomed together with others."""

from __future__ import annotations

from typing import Any, NamedTuple

import altair as alt

from .shown import Shown
from .style import ACROSS, WIDTH, rows, time_x

LOW = 7
"""Rows that are lower, in pixels, can be zoomed."""


class Window(NamedTuple):
    """The selections that several charts of schedules have in common.

    Attributes
    ----------
    slots
        The part of the time in view.
    gpus
        The rows of GPUs in view; of few rows the reader sees all.
    pointed
        The job at the pointer.
    find
        The name of a job that the reader looks for.
    """

    slots: alt.Parameter
    gpus: alt.Parameter
    pointed: alt.Parameter
    find: alt.Parameter


def new_window(name: str = "slots") -> Window:
    """Selections for linked charts: dragging moves, the wheel with Ctrl zooms, two clicks reset."""
    options: dict[str, Any] = {"bind": "scales", "zoom": "wheel![event.ctrlKey]"}
    return Window(
        alt.selection_interval(name=name, encodings=["x"], **options),
        alt.selection_interval(name="gpus", encodings=["y"], **options),
        alt.selection_point(
            name="pointed", fields=["job"], on="pointerover", clear="pointerout", empty=False
        ),
        alt.param(
            name="find", value="", bind=alt.binding(input="search", name="Find a job", debounce=200)
        ),
    )


def zooms_rows(shown: Shown, height: float) -> bool:
    """Whether the rows of a Gantt chart are so low that the reader can zoom in."""
    return shown.large or height / shown.instance.cluster.total_gpus < LOW


class View:
    """A chart with rows over time, of one schedule.

    Parameters
    ----------
    shown
        The schedules.
    which
        The index of the schedule, or the name of a parameter with it.
    height
        Height of the frame in pixels.
    rows
        Number of rows.
    linked
        The selections that charts have in common; None for a picture.
    legend, slots
        Whether there is a legend, and whether the axis of time has labels.
    gpus
        Whether rows are about GPUs: if they are low, the reader can zoom in.
    """

    def __init__(
        self,
        shown: Shown,
        which: int | str,
        height: int,
        rows: int,
        linked: Window | None,
        *,
        legend: bool,
        slots: bool,
        gpus: bool = True,
    ) -> None:
        self.shown, self.height, self.rows, self.linked = shown, height, rows, linked
        self.legend, self.slots = legend, slots
        # Of low rows the reader can see a part.
        self.zooms_rows = gpus and linked is not None and zooms_rows(shown, height)
        self.chosen = f"datum.schedule == {which}"
        ends = shown.ends
        self.end = f"{ends}[{which}]" if isinstance(which, str) else str(ends[which])
        self.own_end = self.end if isinstance(which, str) else ends[which]

    def time(self, field: str) -> alt.X:
        """The axis of time."""
        return time_x(field, self.own_end, self.shown.time, labels=self.slots)

    def y(self, field: str) -> alt.Y:
        """The axis of rows, from the top; labels are marks beside it."""
        scale = alt.Scale(domain=[self.rows, 0], nice=False, zero=False)
        return alt.Y(f"{field}:Q", scale=scale, axis=None)

    @property
    def sides(self) -> dict[str, Any]:
        """Where rectangles are."""
        x2, y2 = alt.X2("until:Q"), alt.Y2("bottom:Q")
        return {"x": self.time("slot"), "x2": x2, "y": self.y("top"), "y2": y2}

    def frame(self, name: str) -> alt.Chart:
        """Nothing, on the axes of the chart: the unit that selections are of."""
        nothing: dict[str, list[Any]] = {"slot": [], "until": [], "top": [], "bottom": []}
        return rows(nothing).mark_rect().encode(**self.sides).properties(name=name)

    @property
    def across(self) -> str:
        """Expression of the width of the frame in pixels."""
        return ACROSS if self.linked is not None else str(WIDTH)

    @property
    def begin(self) -> str:
        """Expression of the first slot in view."""
        name = self.linked and self.linked.slots.name
        return f"({name}.slot ? {name}.slot[0] : 0)" if name else "0"

    @property
    def until(self) -> str:
        """Expression of the end of the time in view."""
        name = self.linked and self.linked.slots.name
        whole = f"{self.end} * 1.02"
        return f"({name}.slot ? {name}.slot[1] : {whole})" if name else f"({whole})"

    @property
    def span(self) -> str:
        """Expression of the number of rows in view."""
        if not self.zooms_rows:
            return str(self.rows)
        return f"(gpus.top ? abs(gpus.top[1] - gpus.top[0]) : {self.rows})"

    @property
    def in_window(self) -> str:
        """Expression: whether a rectangle is in view."""
        in_time = f"datum.until > {self.begin} && datum.slot < {self.until}"
        if not self.zooms_rows:
            return in_time
        low, high = "min(gpus.top[0], gpus.top[1])", "max(gpus.top[0], gpus.top[1])"
        return f"{in_time} && (!gpus.top || (datum.bottom > {low} && datum.top < {high}))"

    @property
    def row_in_window(self) -> str:
        """Expression: whether a row is in view."""
        if not self.zooms_rows:
            return "true"
        low, high = "min(gpus.top[0], gpus.top[1])", "max(gpus.top[0], gpus.top[1])"
        return f"(!gpus.top || (datum.row >= {low} && datum.row <= {high}))"
