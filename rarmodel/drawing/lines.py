"""Lines of steps: GPUs held, jobs complete, and queues over time; distributions of flow times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from .colours import AWAY, Line, lines_of
from .grids import busy_parts, completions, flow_parts
from .shown import Shown
from .steps import Floats
from .style import rows, time_x

Curve = tuple[Floats, Floats]
"""Places along the axis, ascending, and the value from each of them on."""
LINES = "lines"
"""Beginning of the names of the units that selections are of."""
PERCENT = ".0%"


def step_lines(
    lines: Sequence[Line],
    curves: Sequence[Curve],
    x: alt.X,
    y: alt.Y,
    tips: Sequence[alt.Tooltip],
    *,
    height: int,
    title: str,
    legend: bool = True,
    strong: str | None = None,
    name: str = LINES,
    below: Sequence[alt.Chart] = (),
    named: str = "schedule",
) -> alt.LayerChart:
    """A line of steps for each curve.

    Parameters
    ----------
    lines
        Name and style of each line.
    curves
        The lines.
    x, y
        The axes, of the fields `slot` and `value`.
    tips
        Told beside the name of the line.
    height
        Height of the frame in pixels.
    title
        Title of the chart.
    legend
        Whether the chart has a legend.
    strong
        Expression: whether a line, `datum.line`, is before the others; by default all are.
    name
        Beginning of the name of the unit that selections are of.
    below
        What is drawn below the lines.
    named
        Of what a line is.
    """
    found: dict[str, list[Any]] = {"line": [], "slot": [], "value": []}
    for i, (at, values) in enumerate(curves):
        found["line"] += [i] * len(at)
        found["slot"] += at.tolist()
        found["value"] += values.tolist()
    names = [line.name for line in lines]
    drawn = rows(found, names=names).transform_calculate(name="datum.names[datum.line]")
    shared: dict[str, Any] = {"title": None, "legend": alt.Legend() if legend else None}
    # Both say the same, so they have one legend.
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=[line.colour for line in lines]),
        sort=None,
        **shared,
    )
    dash = alt.StrokeDash(
        "name:N",
        scale=alt.Scale(domain=names, range=[list(line.dash) for line in lines]),
        sort=None,
        **shared,
    )
    line = drawn.mark_line(interpolate="step-after", clip=True, strokeWidth=1.8).encode(
        x=x, y=y, color=colour, strokeDash=dash, detail="line:N"
    )
    if strong is not None:
        line = line.encode(
            opacity=alt.when(strong).then(alt.value(1)).otherwise(alt.value(0.3)),
        )
    points = drawn.mark_point(filled=True, opacity=0, size=90, clip=True).encode(
        x=x, y=y, tooltip=[alt.Tooltip("name:N", title=named), *tips]
    )
    layers = [*below, line, points.properties(name=name)]
    return alt.layer(*layers, height=height, title=alt.Title(title))


def share_y(title: str, top: float = 1.0) -> alt.Y:
    """An axis from 0 to a share, in percent."""
    scale = alt.Scale(domain=[0, max(1.0, top) * 1.03], nice=False)
    return alt.Y("value:Q", scale=scale, axis=alt.Axis(format=PERCENT, title=title, tickCount=4))


def utilisation(
    shown: Shown,
    which: Sequence[int],
    *,
    height: int = 110,
    title: str = "GPUs held",
    slots: bool = True,
    legend: bool = True,
    end: int | None = None,
    strong: str | None = None,
) -> alt.LayerChart:
    """The share of the cluster's GPUs that jobs hold over time, in some of the schedules."""
    end = shown.end if end is None else end
    curves = [busy_parts(shown.drawings[i], end) for i in which]
    top = max(float(values.max()) for _, values in curves)
    # Charts of one schedule each say in their title which it is.
    lines = lines_of(shown.labels if len(which) > 1 else [shown.labels[which[0]]])
    x, y = time_x("slot", end, shown.time, labels=slots), share_y("of all GPUs", top)
    away = _reserved(shown, end, x, y)
    return step_lines(
        *(lines, curves, x, y),
        [alt.Tooltip("slot:Q", title="from slot", format=",d"), _held(".1%", "GPUs held")],
        height=height,
        title=f"{title}; grey: reserved" if away else title,
        legend=legend,
        strong=strong,
        below=away,
    )


def _reserved(shown: Shown, end: int, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The share of all GPUs that is reserved, from above."""
    away = shown.drawings[0].reserved_in_all
    if not away.slots:
        return []
    drawn = rows(
        {
            "slot": away.slots,
            "until": [*away.slots[1:], max(2 * end, away.slots[-1] + 1)],
            "value": [1 - value / shown.instance.cluster.total_gpus for value in away.values],
        }
    )
    grey = drawn.mark_rect(clip=True, opacity=0.3, color=AWAY)
    return [grey.encode(x=x, x2="until:Q", y=y, y2=alt.datum(1))]


def completed(shown: Shown, *, slots: bool = True, strong: str | None = None) -> alt.LayerChart:
    """The share of the jobs that are complete, over time."""
    return step_lines(
        lines_of(shown.labels),
        [completions(drawing) for drawing in shown.drawings],
        time_x("slot", shown.end, shown.time, labels=slots),
        share_y("of the jobs"),
        [alt.Tooltip("slot:Q", title="from slot", format=",d"), _held(".1%", "jobs complete")],
        height=140,
        title="Jobs complete: the further left, the earlier",
        legend=False,
        strong=strong,
    )


def flow_times(shown: Shown) -> alt.LayerChart:
    """The share of the jobs that are complete so many slots after their release."""
    curves = [flow_parts(drawing) for drawing in shown.drawings]
    longest = max(1.0, *(float(slots[-1]) for slots, _ in curves))
    without = shown.time.model_copy(update={"origin": None})
    x = time_x("slot", longest, without, since=", since the release")
    return step_lines(
        lines_of(shown.labels),
        curves,
        x,
        share_y("of the jobs"),
        [alt.Tooltip("slot:Q", title="within slots", format=",d"), _held(".1%", "jobs complete")],
        height=150,
        title="Jobs complete so long after their release: the further left, the shorter",
    )


def _held(form: str, title: str) -> alt.Tooltip:
    return alt.Tooltip("value:Q", format=form, title=title)
