"""How much of a resource jobs use over time, beside its capacity."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from rarmodel.model.usage_limits import UsageLimit, usage_limits
from rarmodel.schema import Instance

from .colours import lines_of
from .drawing import Drawing
from .lines import Curve, step_lines
from .shown import Shown
from .steps import steps_of
from .style import rows, time_x

MOST_RESOURCES = 8
"""Most resources that have a chart; further ones are left out."""
HEIGHT = 90


def drawn_resources(instance: Instance) -> tuple[UsageLimit, ...]:
    """The resources that jobs use and that have a chart, in their order."""
    found = [limit for limit in usage_limits(instance) if not limit.of_tenant]
    return tuple(found[:MOST_RESOURCES])


def use_over_time(drawing: Drawing, limit: UsageLimit, end: int) -> Curve:
    """Slots, and what jobs use of a resource from each of them on, as the instance states it."""
    changes: list[tuple[int, int]] = []
    for run in drawing.runs:
        use = limit.uses.get(drawing.numbers[run.job])
        if use is not None and run.carried_out and run.size is not None:
            changes.append((run.start, use.at(run.size)))
            if run.end is not None:
                changes.append((run.end, -use.at(run.size)))
    steps = steps_of(changes)
    last = steps.values[-1] if steps.values else 0
    slots, values = (*steps.slots, end), (*steps.values, last)
    if slots[0] > 0:
        slots, values = (0, *slots), (0, *values)
    return np.array(slots, float), np.array(values, float) * float(limit.unit)


def resource_use(
    shown: Shown,
    which: Sequence[int],
    limit: UsageLimit,
    *,
    title: str,
    slots: bool = True,
    legend: bool = True,
    end: int | None = None,
    strong: str | None = None,
) -> alt.LayerChart:
    """The use of a resource over time, in some of the schedules; its capacity is a dashed line."""
    end = shown.end if end is None else end
    curves = [use_over_time(shown.drawings[i], limit, end) for i in which]
    windows = next(one.windows for one in shown.instance.resources if one.name == limit.name)
    far = max(2 * end, *(window.start + 1 for window in windows))
    capacities = rows(
        {
            "slot": [window.start for window in windows],
            "until": [far if window.end is None else window.end for window in windows],
            "value": [window.capacity for window in windows],
        }
    )
    used = max(float(values.max()) for _, values in curves)
    top = max([used, *(window.capacity for window in windows)]) or 1.0
    scale = alt.Scale(domain=[0, 1.05 * top], nice=False)
    axis = alt.Axis(title=limit.name, tickCount=4)
    x, y = time_x("slot", end, shown.time, labels=slots), alt.Y("value:Q", scale=scale, axis=axis)
    tips = [
        alt.Tooltip("slot:Q", title="from slot", format=",d"),
        alt.Tooltip("value:Q", title=f"use of {limit.name}"),
    ]
    there = capacities.mark_rule(clip=True, strokeDash=[6, 4], strokeWidth=1.4, color="#8a8f98")
    return step_lines(
        *(lines_of([shown.labels[i] for i in which]), curves, x, y, tips),
        height=HEIGHT,
        title=title,
        legend=legend,
        strong=strong,
        below=[there.encode(x=x, x2="until:Q", y=y)],
    )
