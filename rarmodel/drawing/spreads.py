"""Charts of a campaign's runs: their spread by method, and over a setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import Any

import altair as alt
import numpy as np

from .colours import BOUND, EDGE, STRONG, Line, lines_of
from .row_labels import levels
from .runs import OPTION, PARAMETER, SOURCE, Run, lines_over, setting_name
from .steps import Floats
from .style import rows
from .summaries import groups_of

NARROW = 1e-4
"""Shortest time in seconds that is drawn: the axis of times is logarithmic."""
LETTERS = 34
"""Longest name of a method beside a chart; the table has the full name."""
LOWER_BOUND = "lower bound"
MAX_LINES = 20
MAX_SETTINGS = 40
Measure = Callable[[Run], float | None]


def spread_chart(
    runs: Sequence[Run], measure: Measure, most: int, title: str, *, log: bool = False
) -> alt.LayerChart | None:
    """A row for each method: each run as a point, a box from quartile to quartile, the median.

    Parameters
    ----------
    runs
        The runs of a campaign.
    measure
        The measure of each run; runs without a value are left out.
    most
        Most points in a row; of more runs, evenly chosen ones are drawn.
    title
        Title of the axis.
    log
        Whether the axis is logarithmic.

    Returns
    -------
    alt.LayerChart | None
        None if no run has a value.
    """
    known = [(run, value) for run in runs if (value := measure(run)) is not None]
    if not known:
        return None
    if log:
        known = [(run, max(value, NARROW)) for run, value in known]
    methods = list(groups_of(runs, lambda run: run.method))
    bases = list(groups_of(runs, lambda run: run.base))
    points: dict[str, list[Any]] = {
        key: [] for key in ("x", "row", "colour", "method", "instance", "seed")
    }
    boxes: dict[str, list[Any]] = {key: [] for key in ("lower", "middle", "upper", "top", "bottom")}
    for i, method in enumerate(methods):
        own = [(run, value) for run, value in known if run.method == method]
        if not own:
            continue
        quartiles = np.percentile([value for _, value in own], [25, 50, 75])
        for column, value in zip(
            boxes.values(), (*map(float, quartiles), i + 0.18, i + 0.82), strict=True
        ):
            column.append(value)
        some = [own[index] for index in _some(len(own), most)]
        points["x"] += [value for _, value in some]
        points["row"] += (i + 0.5 + _apart(len(some))).tolist()
        points["colour"] += [STRONG[bases.index(run.base) % len(STRONG)] for run, _ in some]
        points["method"] += [method] * len(some)
        points["instance"] += [run.instance for run, _ in some]
        points["seed"] += [run.seed for run, _ in some]
    height = (34 if len(methods) <= 20 else 22) * len(methods)
    limits = _limits([value for _, value in known], log=log)
    x = alt.X(
        "x:Q",
        title=title,
        scale=alt.Scale(
            type="log" if log else "linear",
            domain=limits,
            nice=False,
            zero=alt.Undefined if log else False,
        ),
        axis=alt.Axis(format=",~f", tickCount=6),
    )
    labels = levels(methods, range(len(methods) + 1), letters=LETTERS)[0].names
    y = alt.Y(
        "row:Q",
        scale=alt.Scale(domain=[len(methods), 0], nice=False, zero=False),
        axis=alt.Axis(
            title=None,
            values=[i + 0.5 for i in range(len(methods))],
            labelExpr=f"{list(labels)}[floor(datum.value)]",
            labelLimit=240,
            grid=False,
            ticks=False,
        ),
    )
    dots = (
        rows(points)
        .mark_circle(size=34, opacity=0.65)
        .encode(
            x=x,
            y=y,
            color=alt.Color("colour:N", scale=None),
            tooltip=[
                *("method:N", "instance:N", "seed:N"),
                alt.Tooltip("x:Q", title="value", format=",.4~r"),
            ],
        )
    )
    summary = rows(boxes)
    box = summary.mark_rect(filled=False, stroke=EDGE, strokeWidth=1.5).encode(
        x=alt.X("lower:Q"), x2="upper:Q", y=alt.Y("top:Q"), y2="bottom:Q"
    )
    median = summary.mark_rule(color=EDGE, strokeWidth=4).encode(
        x=alt.X("middle:Q"), y=alt.Y("top:Q"), y2="bottom:Q"
    )
    # Points last, so that nothing stands between them and the pointer.
    return alt.layer(box, median, dots.properties(name="spread"), height=height)


def varied_settings(runs: Sequence[Run]) -> list[str]:
    """Columns of the parameters, options and settings for charts of the objective.

    Their values are numbers, and at least one method has runs with several of them.
    """
    columns = dict.fromkeys(
        name
        for prefix in (SOURCE, PARAMETER, OPTION)
        for run in runs
        for name in run.settings
        if name.startswith(prefix)
    )
    found = []
    for column in columns:
        values = [run.settings[column] for run in runs if column in run.settings]
        if any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
            continue
        pairs = {
            (name, run.settings[column])
            for name, run in lines_over(runs, column)
            if column in run.settings and run.value is not None
        }
        names = [name for name, _ in pairs]
        several = len(names) > len(set(names))
        if several and len(set(values)) <= MAX_SETTINGS and len(set(names)) <= MAX_LINES:
            found.append(column)
    return found


def setting_chart(runs: Sequence[Run], column: str, title: str) -> alt.LayerChart:
    """Mean value of the objective over a setting, a line for each method, and the lower bound.

    A method without the parameter has a level line. Bars extend one standard deviation of the
    sample up and down.

    Parameters
    ----------
    runs
        The runs of a campaign.
    column
        The column of the setting.
    title
        Title of the axis of the objective.
    """
    values = sorted({run.settings[column] for run in runs if column in run.settings})
    drawn = lines_at(runs, column, values)
    lines = [
        Line(line.name, BOUND, (6, 3)) if line.name == LOWER_BOUND else line
        for line in lines_of(list(drawn))
    ]
    found: dict[str, list[Any]] = {
        key: [] for key in ("name", "place", "at", "mean", "low", "high", "deviation", "number")
    }
    for i, (name, own) in enumerate(drawn.items()):
        # Side by side, so that bars do not hide each other.
        aside = (i - (len(drawn) - 1) / 2) * min(0.03, 0.4 / len(drawn))
        for value, numbers in own.items():
            mean, off = fmean(numbers), stdev(numbers) if len(numbers) > 1 else 0.0
            place, text = values.index(value) + aside, f"{value:.12g}"
            row = (name, place, text, mean, mean - off, mean + off, off, len(numbers))
            for column_, cell in zip(found.values(), row, strict=True):
                column_.append(cell)
    names = [line.name for line in lines]
    x = alt.X(
        "place:Q",
        title=setting_name(column),
        scale=alt.Scale(domain=[-0.5, len(values) - 0.5], nice=False, zero=False),
        axis=alt.Axis(
            values=list(range(len(values))),
            labelExpr=f"{[f'{value:.12g}' for value in values]}[datum.value]",
            grid=False,
        ),
    )
    scale = alt.Scale(domain=names, range=[line.colour for line in lines])
    dashes = alt.Scale(domain=names, range=[list(line.dash) for line in lines])
    legend = alt.Legend(columns=2 if max(map(len, names)) > 40 else 4)
    limits = alt.Scale(domain=_limits([*found["low"], *found["high"]]), nice=False, zero=False)
    base = rows(found)
    line = base.mark_line(strokeWidth=2).encode(
        x=x,
        y=alt.Y("mean:Q", title=title, scale=limits),
        color=alt.Color("name:N", title=None, sort=None, scale=scale, legend=legend),
        strokeDash=alt.StrokeDash("name:N", title=None, sort=None, scale=dashes, legend=legend),
    )
    bars = base.mark_rule(strokeWidth=1.5).encode(
        x="place:Q", y="low:Q", y2="high:Q", color="name:N"
    )
    dots = base.mark_circle(size=60, opacity=1).encode(
        x="place:Q",
        y="mean:Q",
        color="name:N",
        tooltip=[
            alt.Tooltip("name:N", title="method"),
            alt.Tooltip("at:N", title=setting_name(column)),
            alt.Tooltip("mean:Q", format=",.1f"),
            alt.Tooltip("deviation:Q", title="standard deviation", format=",.1f"),
            alt.Tooltip("number:Q", format=",d"),
        ],
    )
    return alt.layer(line, bars, dots.properties(name="setting"), height=340)


def lines_at(
    runs: Sequence[Run], column: str, values: Sequence[float]
) -> dict[str, dict[float, list[float]]]:
    """Values of each line at each value of a setting, and the lower bounds of the instances."""
    lines: dict[str, dict[float, list[float]]] = {}
    bounds: dict[float, dict[str, float]] = {}
    for name, run in lines_over(runs, column):
        # A method without the parameter is the same at all of its values.
        for value in [run.settings[column]] if column in run.settings else values:
            if run.value is not None:
                lines.setdefault(name, {}).setdefault(value, []).append(run.value)
            if run.bound is not None:
                bounds.setdefault(value, {})[run.key] = run.bound
    if bounds:
        lines[LOWER_BOUND] = {value: list(own.values()) for value, own in bounds.items()}
    return {name: dict(sorted(found.items())) for name, found in lines.items()}


def _limits(values: Sequence[float], *, log: bool = False) -> list[float]:
    """From the least to the greatest value, with a margin."""
    low, high = min(values), max(values)
    if log:
        return [low / 1.3, high * 1.3]
    room = (high - low) * 0.04 or 0.05 * max(abs(high), 1.0)
    return [low - room, high + room]


def _some(number: int, most: int) -> list[int]:
    """Indices of all entries, or of evenly chosen ones."""
    if number <= most:
        return list(range(number))
    chosen: list[int] = np.linspace(0, number - 1, most).round().astype(int).tolist()
    return chosen


def _apart(number: int) -> Floats:
    """Offsets that keep points of one row apart; they are the same each time."""
    golden = 0.618033988749895
    offsets = ((np.arange(number) * golden + 0.5) % 1 - 0.5) * 0.5
    return offsets.astype(np.float64)
