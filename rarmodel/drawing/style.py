"""The look that all charts share: light and dark, fonts, lines, and time along an axis."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

import altair as alt
import numpy as np

from rarmodel.duration import duration
from rarmodel.schema import SlotTime

from .colours import COOL, STRONG, WARM

WIDTH = 960
"""Width of a chart's frame in pixels, where the reader's window does not say otherwise."""
DARK = "dark"
"""Name of the parameter that says whether charts are on a dark background."""
ACROSS = "across"
"""Name of the parameter with the width of a frame; names stand in bars that are wide enough."""
SHADES = {
    "paper": ("#ffffff", "#191f26"),
    "ink": ("#16202b", "#e7eaed"),
    "quiet": ("#5b6672", "#a0abb6"),
    "line": ("#d4d6d8", "#3b4550"),
    "grid": ("#eceef0", "#262d35"),
    "bound": ("#0b7a4b", "#4cc38a"),
    "found": ("#d6117f", "#ff5fb0"),
    "moment": ("#a3507f", "#c76fa0"),
    "fault": ("#c00000", "#ff6b60"),
}
"""Colours by what they are for: on light and on dark backgrounds."""


def rows(columns: Mapping[str, Iterable[Any]], **constants: Any) -> alt.Chart:
    """A chart whose data are columns: far shorter in a page than a record for each row.

    Parameters
    ----------
    columns
        Columns of equal length.
    **constants
        Further values that each row has, such as a list of names that an expression looks up.
    """
    values = {name: _plain(column) for name, column in columns.items()}
    # As text: Altair copies and checks whatever is a list, each time charts are put together.
    text = json.dumps([{**values, **constants}], ensure_ascii=False, separators=(",", ":"))
    data = alt.InlineData(values=text, format=alt.JsonDataFormat(type="json"))
    return alt.Chart(data).transform_flatten(list(columns))


def shade(name: str) -> alt.ExprRef:
    """A colour that is another one on a dark background."""
    return alt.ExprRef(shade_expression(name))


def shade_expression(name: str) -> str:
    """The same as text of an expression."""
    light, dark = SHADES[name]
    return f"{DARK} ? '{dark}' : '{light}'"


def one_of(values: Sequence[str], index: str) -> str:
    """An expression: the text at an index."""
    return f"{json.dumps(list(values), ensure_ascii=False)}[{index}]"


def time_x(
    field: str,
    end: float | str,
    time: SlotTime,
    *,
    labels: bool = True,
    since: str = "",
) -> alt.X:
    """An axis of time in slots, with the clock below each number of slots.

    Parameters
    ----------
    field
        The field along the axis.
    end
        The last slot to be seen, or an expression of it.
    time
        The length of slots, and when slot 0 begins.
    labels
        Whether the axis has labels and a title.
    since
        From when slots count, if not from slot 0.
    """
    limit = end * 1.02 if isinstance(end, int | float) else alt.ExprRef(f"{end} * 1.02")
    scale = alt.Scale(domain=[0, limit], nice=False, zero=False)
    of_clock = "clock" if time.origin else "time"
    told = f"slots of {duration(time.slot_seconds)}, and {of_clock}{since}"
    title = told if labels else None
    return alt.X(
        f"{field}:Q",
        scale=scale,
        axis=alt.Axis(
            title=title,
            labels=labels,
            ticks=labels,
            tickMinStep=1,
            tickCount=alt.ExprRef(f"max(2, floor({ACROSS} / 90))"),
            labelExpr=f"[format(datum.value, ',d'), {clock(time, 'datum.value')}]",
        ),
    )


def clock(time: SlotTime, slot: str) -> str:
    """An expression that tells a slot's time: since slot 0, or by the clock if it is known."""
    if time.origin is None:
        return duration_expression(f"({slot} * {time.slot_seconds!r})")
    begin = time.origin.replace(tzinfo=UTC).timestamp() * 1000
    return f"utcFormat({begin!r} + {slot} * {time.slot_seconds * 1000!r}, '%d %b %H:%M')"


def counted_expression(number: str, what: str) -> str:
    """An expression of a count with its noun: `1 slot`, `2,000 slots`."""
    return f"(format({number}, ',d') + ({number} == 1 ? ' {what}' : ' {what}s'))"


def duration_expression(seconds: str) -> str:
    """An expression that tells a time as `rarmodel.duration` does: in its two greatest units."""
    at = f"abs({seconds})"
    whole = _rounded(at)
    minutes, hours = (f"({_rounded(f'({whole} / {part})')} * {part})" for part in (60, 3600))

    def two(value: str, unit: str, size: int, smaller: str, part: int) -> str:
        rest = f"floor({value} % {size} / {part})"
        first = f"format(floor({value} / {size}), ',d') + ' {unit}'"
        return f"{first} + ({rest} > 0 ? ' ' + {rest} + ' {smaller}' : '')"

    told = (
        f"{at} < 10 ? format({at}, '.3~r') + ' s' : {whole} < 60 ? {whole} + ' s' : "
        f"{whole} < 3600 ? {two(whole, 'min', 60, 's', 1)} : "
        f"{minutes} < 86400 ? {two(minutes, 'h', 3600, 'min', 60)} : "
        f"{two(hours, 'd', 86400, 'h', 3600)}"
    )
    return f"(({seconds} < 0 ? '−' : '') + ({told}))"


def _rounded(value: str) -> str:
    """An expression that rounds as Python does: halves to the next even number."""
    return f"({value} % 1 == 0.5 ? 2 * round({value} / 2) : round({value}))"


def finished(
    chart: Any,
    params: Iterable[alt.Parameter] = (),
    selections: Mapping[str, Sequence[alt.Parameter]] | None = None,
    **options: Any,
) -> Any:
    """A chart with the look of all charts, and the parameters on which it rests.

    Parameters
    ----------
    chart
        A chart, or several together.
    params
        Further parameters that are no selections.
    selections
        Of units, by the beginning of their names, the selections that they take part in.
    **options
        Further options of Altair's `configure`.

    Notes
    -----
    Altair renames the units of charts that are put together, so selections get the names that the
    units have in the end.
    """
    names = [unit.name for unit in _units(chart) if isinstance(unit.name, str)]
    views: dict[str, tuple[alt.Parameter, list[str]]] = {}
    for kind, own in (selections or {}).items():
        found = [name for name in names if re.fullmatch(rf"{kind}(_.*)?", name)]
        for selection in own:
            views.setdefault(selection.name, (selection, []))[1].extend(found)
    dark = alt.param(name=DARK, value=False)
    across = alt.param(name=ACROSS, value=WIDTH)
    chart = chart.copy(deep=False)
    chart.params = [
        *(one.param for one in (dark, across, *params)),
        *(
            alt.TopLevelParameter(**selection.param.to_dict(), views=found)
            for selection, found in views.values()
        ),
    ]
    ranges = {"category": list(STRONG), "heatmap": list(WARM), "ramp": list(COOL)}
    ranges |= options.pop("range", {})
    return chart.configure(
        background=shade("paper"),
        padding=8,
        view=alt.ViewConfig(continuousWidth=WIDTH, stroke=shade("line")),
        range=ranges,
        axis=alt.AxisConfig(
            gridColor=shade("grid"), domainColor=shade("line"), tickColor=shade("line")
        ),
        text=alt.MarkConfig(color=shade("ink")),
        rule=alt.MarkConfig(color=shade("ink")),
        title=alt.TitleConfig(anchor="start", frame="group", offset=6),
        legend=alt.LegendConfig(
            orient="bottom",
            titleFontWeight="normal",
            labelLimit=520,
            titleLimit=520,
            symbolStrokeWidth=2,
        ),
        style={
            "guide-label": {"fill": shade("quiet"), "fontSize": 11},
            "guide-title": {"fill": shade("quiet"), "fontSize": 11, "fontWeight": "normal"},
            "group-title": {"fill": shade("ink"), "fontSize": 13},
            "group-subtitle": {"fill": shade("quiet"), "fontSize": 12},
        },
        **options,
    )


def _units(chart: Any) -> Iterator[Any]:
    """The charts without parts of which a chart consists."""
    for kind in ("vconcat", "hconcat", "concat", "layer"):
        parts = getattr(chart, kind, None)
        if isinstance(parts, list):
            for part in parts:
                yield from _units(part)
            return
    yield chart


def _plain(column: Iterable[Any]) -> list[Any]:
    """A column as JSON has it: whole numbers without a point, others with six digits."""
    if isinstance(column, np.ndarray):
        column = column.tolist()
    return [_number(value) if isinstance(value, float) else value for value in column]


def _number(value: float) -> float:
    return int(value) if value.is_integer() else float(f"{value:.6g}")
