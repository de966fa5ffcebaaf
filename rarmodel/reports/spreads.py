"""Interactive charts of a campaign's runs: their spread by method, and over a setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np

from .colours import BOUND, EDGE, STRONG, Line, lines_of
from .frames import Chart, framed, tips_of
from .runs import OPTION, PARAMETER, SOURCE, Run, lines_over, setting_name
from .steps import Floats
from .summaries import groups_of

NARROW = 1e-4
"""Shortest time in seconds that is drawn: the axis of times is logarithmic."""

LOWER_BOUND = "lower bound"
MAX_LINES = 20
MAX_SETTINGS = 40
Measure = Callable[[Run], float | None]


def spread_chart(
    runs: Sequence[Run], measure: Measure, rows: str, most: int, *, log: bool = False
) -> Chart | None:
    """A row for each method: each run as a point, a box from quartile to quartile, the median.

    Parameters
    ----------
    runs
        The runs of a campaign.
    measure
        The measure of each run; runs without a value are left out.
    rows
        The page's name for the labels of the methods.
    most
        Most points in a row; of more runs, evenly chosen ones are drawn.
    log
        Whether the axis is logarithmic.

    Returns
    -------
    Chart | None
        None if no run has a value.
    """
    from bokeh.models import HoverTool, Range1d  # noqa: PLC0415 - an extra

    known = [(run, value) for run in runs if (value := measure(run)) is not None]
    if not known:
        return None
    if log:
        known = [(run, max(value, NARROW)) for run, value in known]
    methods = list(groups_of(runs, lambda run: run.method))
    bases = list(groups_of(runs, lambda run: run.base))
    low, high = min(value for _, value in known), max(value for _, value in known)
    room = (high - low) * 0.04 or 0.05 * max(abs(high), 1.0)
    limits = (low / 1.3, high * 1.3) if log else (low - room, high + room)
    framed_chart = framed(
        {"kind": "log" if log else "number"},
        {"kind": "rows", "rows": rows},
        (34 if len(methods) <= 20 else 22) * len(methods),
        x_range=Range1d(*limits),
        y_range=Range1d(len(methods), 0),
        x_axis_type="log" if log else "linear",
    )
    chart = framed_chart.figure
    points: dict[str, list[Any]] = {
        key: [] for key in ("x", "y", "colour", "method", "instance", "seed")
    }
    boxes: dict[str, list[Any]] = {key: [] for key in ("left", "right", "top", "bottom", "middle")}
    for i, method in enumerate(methods):
        own = [(run, value) for run, value in known if run.method == method]
        if not own:
            continue
        values = [value for _, value in own]
        lower, middle, upper = (float(value) for value in np.percentile(values, [25, 50, 75]))
        for key, value in (
            *(("left", lower), ("right", upper), ("middle", middle)),
            *(("top", i + 0.18), ("bottom", i + 0.82)),
        ):
            boxes[key].append(value)
        some = [own[index] for index in _some(len(own), most)]
        points["x"] += [value for _, value in some]
        points["y"] += (i + 0.5 + _apart(len(some))).tolist()
        points["colour"] += [_colour(bases.index(run.base)) for run, _ in some]
        points["method"] += [method] * len(some)
        points["instance"] += [run.instance for run, _ in some]
        points["seed"] += [run.seed for run, _ in some]
    dots = chart.scatter(
        "x", "y", source=points, size=6, fill_color="colour", line_color=None, fill_alpha=0.65
    )
    chart.quad(
        **{side: side for side in ("left", "right", "top", "bottom")},
        source=boxes,
        fill_color=None,
        line_color=EDGE,
        line_width=1.5,
    )
    chart.segment("middle", "top", "middle", "bottom", source=boxes, line_color=EDGE, line_width=4)
    tips = [
        *(("method", "@method"), ("instance", "@instance"), ("seed", "@seed")),
        ("value", "@x{0,0.[000]}"),
    ]
    chart.add_tools(HoverTool(renderers=[dots], tooltips=tips_of(tips)))
    return framed_chart


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


def setting_chart(runs: Sequence[Run], column: str) -> tuple[Chart, list[Line]]:
    """Mean value of the objective over a setting, a line for each method, and the lower bound.

    A method without the parameter has a level line. Bars extend one standard deviation of the
    sample up and down.
    """
    from bokeh.models import (  # noqa: PLC0415 - an extra
        ColumnDataSource,
        HoverTool,
        Range1d,
    )

    values = sorted({run.settings[column] for run in runs if column in run.settings})
    drawn = _lines(runs, column, values)
    framed_chart = framed(
        {"kind": "names", "names": [f"{value:.12g}" for value in values]},
        {"kind": "number"},
        340,
        x_range=Range1d(-0.5, len(values) - 0.5),
        y_range=Range1d(*_limits(drawn)),
    )
    chart = framed_chart.figure
    legend = [
        Line(line.name, BOUND, "dashed") if line.name == LOWER_BOUND else line
        for line in lines_of(list(drawn))
    ]
    dots = []
    for i, (line, found) in enumerate(zip(legend, drawn.values(), strict=True)):
        # Side by side, so that bars do not hide each other.
        aside = (i - (len(drawn) - 1) / 2) * min(0.03, 0.4 / len(drawn))
        means = [fmean(numbers) for numbers in found.values()]
        deviations = [_deviation(numbers) for numbers in found.values()]
        points = ColumnDataSource(
            {
                "x": [values.index(value) + aside for value in found],
                "at": [f"{value:.12g}" for value in found],
                "mean": means,
                "low": [mean - off for mean, off in zip(means, deviations, strict=True)],
                "high": [mean + off for mean, off in zip(means, deviations, strict=True)],
                "deviation": deviations,
                "number": [len(numbers) for numbers in found.values()],
                "name": [line.name] * len(found),
            }
        )
        chart.line(
            "x", "mean", source=points, line_color=line.colour, line_width=2, line_dash=line.dash
        )
        chart.segment(
            "x", "low", "x", "high", source=points, line_color=line.colour, line_width=1.5
        )
        dots.append(chart.scatter("x", "mean", source=points, size=8, color=line.colour))
    tips = [
        *(("method", "@name"), (setting_name(column), "@at"), ("mean", "@mean{0,0.0}")),
        *(("standard deviation", "@deviation{0,0.0}"), ("number", "@number{0,0}")),
    ]
    chart.add_tools(HoverTool(renderers=dots, tooltips=tips_of(tips)))
    return framed_chart, legend


def _lines(
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


def _limits(lines: dict[str, dict[float, list[float]]]) -> tuple[float, float]:
    """From the lowest to the highest bar, with a margin."""
    found = [numbers for line in lines.values() for numbers in line.values()]
    low = min(fmean(numbers) - _deviation(numbers) for numbers in found)
    high = max(fmean(numbers) + _deviation(numbers) for numbers in found)
    room = (high - low) * 0.06 or 0.05 * max(abs(high), 1.0)
    return low - room, high + room


def _deviation(numbers: Sequence[float]) -> float:
    """Standard deviation of a sample."""
    return stdev(numbers) if len(numbers) > 1 else 0.0


def _colour(index: int) -> str:
    return STRONG[index % len(STRONG)]


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
