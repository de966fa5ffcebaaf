"""Charts of a calibration: predicted against measured times, and the errors row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from rarmodel.calibration.model_comparison import FIT, TEST

from .colours import lines_of
from .style import finished, rows, shade

if TYPE_CHECKING:
    from rarmodel.calibration import Calibration, HeldOut, ModelComparison, Residual

UNITS = {
    "iteration_ms": "time of an iteration, ms",
    "completion_s": "time of completion, s",
    "relative_time": "time relative to that alone",
    "exchange_ms": "time of an all-reduce, ms",
}
WIDTH, HEIGHT = 400, 290
HEIGHT_OF_MODEL = 200
MODELS_IN_ROW = 4
NAMED = 24
"""Most rows that the axis names."""
Groups = Mapping[str, Sequence["Residual"]] | Mapping[str, Sequence["HeldOut"]]


def calibration_chart(calibration: Calibration) -> alt.VConcatChart:
    """Chart a calibration: two charts for each measured quantity.

    Parameters
    ----------
    calibration
        The calibration.
    """
    groups: dict[str, list[Residual]] = {}
    for residual in (*calibration.residuals, *calibration.messages):
        groups.setdefault(residual.quantity, []).append(residual)
    pairs = [
        alt.hconcat(
            against(UNITS[quantity], _by_label(residuals), "predicted against measured", WIDTH),
            _errors(residuals),
        ).resolve_scale(color="independent")
        for quantity, residuals in groups.items()
    ]
    return finished(alt.vconcat(*pairs).resolve_scale(color="independent"))


def models_chart(comparison: ModelComparison) -> alt.VConcatChart:
    """Chart a comparison of models: predicted against measured times, a chart for each model.

    Parameters
    ----------
    comparison
        The comparison.
    """
    charts = [
        against(
            UNITS[one.tested[0].quantity],
            {FIT: one.fitted, TEST: one.tested},
            [one.model, f"{one.test.mean:.0%}, worst {one.test.worst:.0%}"],
            HEIGHT_OF_MODEL,
            HEIGHT_OF_MODEL,
        )
        for one in comparison.models
    ]
    lines = [
        alt.hconcat(*charts[first : first + MODELS_IN_ROW])
        for first in range(0, len(charts), MODELS_IN_ROW)
    ]
    return finished(alt.vconcat(*lines))


def against(
    unit: str, groups: Groups, title: str | list[str], width: int, height: int = HEIGHT
) -> alt.LayerChart:
    """Predicted against measured times, by label; they are equal on the line."""
    points: dict[str, list[Any]] = {"measured": [], "predicted": [], "label": [], "line": []}
    for label, own in groups.items():
        points["measured"] += [row.measured for row in own]
        points["predicted"] += [row.predicted for row in own]
        points["label"] += [label] * len(own)
        points["line"] += [row.line for row in own]
    both = [*points["measured"], *points["predicted"]]
    ends = [min(both) / 1.1, max(both) * 1.1]
    kind = "log" if max(both) > 20 * min(both) else "linear"
    linear = {"zero": False} if kind == "linear" else {}
    scale = alt.Scale(type=kind, domain=ends, nice=False, **linear)
    axis = alt.Axis(format=",~f", tickCount=5)
    x = alt.X("measured:Q", title=f"measured {unit}", scale=scale, axis=axis)
    y = alt.Y("predicted:Q", title="predicted", scale=scale, axis=axis)
    equal = rows({"measured": ends, "predicted": ends}).mark_line(color=shade("quiet"))
    return alt.layer(
        equal.encode(x=x, y=y),
        rows(points)
        .mark_circle(size=30, opacity=0.9)
        .encode(
            x=x,
            y=y,
            color=_colour(groups),
            tooltip=[
                *(alt.Tooltip("label:N"), alt.Tooltip("line:Q", title="line of the file")),
                *(alt.Tooltip(f"{name}:Q", format=",.4~r") for name in ("measured", "predicted")),
            ],
        ),
        width=width,
        height=height,
        title=title,
    )


def _errors(residuals: Sequence[Residual]) -> alt.LayerChart:
    """The error of each row in percent."""
    groups = _by_label(residuals)
    label_of = {id(row): label for label, own in groups.items() for row in own}
    named = len(residuals) <= NAMED
    found = rows(
        {
            "place": range(len(residuals)),
            "error": [100 * row.error for row in residuals],
            "line": [row.line for row in residuals],
            "label": [label_of[id(row)] for row in residuals],
            "zero": [0] * len(residuals),
        }
    )
    lines = [row.line for row in residuals]
    axis = (
        alt.Axis(values=list(range(len(lines))), labelExpr=f"{lines}[datum.value]", grid=False)
        if named
        else alt.Axis(grid=False)
    )
    title = "line of the file" if named else "row"
    scale = alt.Scale(domain=[-0.5, len(residuals) - 0.5], nice=False, zero=False)
    x = alt.X("place:Q", title=title, axis=axis, scale=scale)
    y = alt.Y("error:Q", title="error, %")
    return alt.layer(
        found.mark_rule(color=shade("line")).encode(x=x, y=y, y2="zero:Q"),
        found.mark_circle(size=30, opacity=0.9).encode(
            x=x,
            y=y,
            color=_colour(groups, legend=False),
            tooltip=[
                *("label:N", alt.Tooltip("line:Q", title="line of the file")),
                alt.Tooltip("error:Q", title="error, %", format="+.1f"),
            ],
        ),
        width=WIDTH,
        height=HEIGHT,
        title="error of what is predicted",
    )


def _colour(groups: Groups, *, legend: bool = True) -> alt.Color:
    names = list(groups)
    scale = alt.Scale(domain=names, range=[line.colour for line in lines_of(names)])
    shown = legend and 1 < len(names) <= 8
    return alt.Color("label:N", title=None, scale=scale, legend=alt.Legend() if shown else None)


def _by_label(residuals: Sequence[Residual]) -> dict[str, list[Residual]]:
    """Rows by job, or by the file for all-reduces."""
    groups: dict[str, list[Residual]] = {}
    for row in residuals:
        label = row.source if row.quantity == "exchange_ms" else row.label
        groups.setdefault(label, []).append(row)
    return groups
