"""The chart and the page of what-if: the figures of alternatives beside those of the unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt

from rarmodel.tabular import is_number

from .colours import STRONG
from .extra import require_extra
from .rendering import rendered
from .row_labels import LETTERS
from .style import finished, rows, shade
from .words import shortened

WIDTH, ROW = 250, 24
"""Width of a panel, and height of an alternative in it, in pixels."""
IN_ROW = 3
"""Most panels beside each other."""
LETTER = 6.0
"""Width of a letter of a label, in pixels."""


class Panel(NamedTuple):
    """A figure of all alternatives, the unchanged instance first.

    Attributes
    ----------
    title
        The figure, with its unit.
    is_share
        Whether values are shares of 1.
    means
        Mean of each alternative; None where there is none.
    values
        Values of each alternative on its draws.
    told
        What a reader is told of each: the mean and the difference.
    """

    title: str
    is_share: bool
    means: Sequence[float | None]
    values: Sequence[Sequence[float]]
    told: Sequence[str]


def alternatives_chart(names: Sequence[str], panels: Sequence[Panel]) -> alt.VConcatChart:
    """Chart alternatives: a panel for each figure, and a row for each alternative.

    A bar leads from the unchanged instance's mean, where a line stands, to the alternative's. Dots
    are draws, if there are several.

    Parameters
    ----------
    names
        The alternatives, the unchanged instance first.
    panels
        The figures.
    """
    labels = _labels(names)
    lines = [
        alt.hconcat(
            *(
                _chart(labels, panel, named=place == 0)
                for place, panel in enumerate(panels[first : first + IN_ROW])
            ),
            spacing=18,
        )
        for first in range(0, len(panels), IN_ROW)
    ]
    return finished(alt.vconcat(*lines, spacing=22))


def alternatives_page(
    title: str,
    table: Sequence[Mapping[str, str]],
    names: Sequence[str],
    panels: Sequence[Panel],
) -> str:
    """The table and the chart of alternatives in one HTML page that opens offline.

    Parameters
    ----------
    title
        What was asked of what.
    table
        Rows of text.
    names, panels
        As for `alternatives_chart`.
    """
    require_extra()
    header = list(table[0])
    right = [all(is_number(row[name].partition(" ")[0]) for row in table) for name in header]
    return rendered(
        "alternatives.html",
        {"alternatives": alternatives_chart(names, panels)} if panels else {},
        title=title,
        header=header,
        right=right,
        table=[list(row.values()) for row in table],
    )


def _labels(names: Sequence[str]) -> list[str]:
    """Names that are short enough, and differ."""
    short = [shortened(name, 2 * LETTERS) for name in names]
    return [name if short.count(name) == 1 else f"{i}: {name}" for i, name in enumerate(short)]


def _chart(labels: Sequence[str], panel: Panel, *, named: bool) -> alt.LayerChart:
    """A panel; `named` if it has the names of the alternatives on its left."""
    known = [i for i, mean in enumerate(panel.means) if mean is not None]
    means = [panel.means[i] or 0.0 for i in known]
    before = panel.means[0]
    told = [panel.told[i] for i in known]
    dots = [(i, one) for i, own in enumerate(panel.values) if len(own) > 1 for one in own]
    every = [*means, *(one for _, one in dots)]
    low, high = min(every), max(every)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    scale = alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)
    form = ".0%" if panel.is_share else ",.4~g"
    x = alt.X("value:Q", title=None, scale=scale, axis=alt.Axis(format=form, tickCount=5))
    axis = alt.Axis(title=None, labels=named, ticks=False, labelLimit=LETTER * 2 * LETTERS + 20)
    y = alt.Y("name:N", sort=None, scale=alt.Scale(domain=list(labels)), axis=axis)
    tips = [alt.Tooltip("name:N", title="alternative"), alt.Tooltip("told:N", title=panel.title)]
    own = rows(
        {
            "name": [labels[i] for i in known],
            "value": means,
            "before": [before if before is not None else mean for mean in means],
            "told": told,
        }
    )
    layers = [
        own.mark_bar(height=8, opacity=0.45, color=STRONG[0]).encode(
            x=x, x2="before:Q", y=y, tooltip=tips
        ),
        own.mark_point(shape="diamond", size=70, filled=True, opacity=1, color=STRONG[0]).encode(
            x=x, y=y, tooltip=tips
        ),
    ]
    if before is not None:
        line = rows({"value": [before]})
        layers.insert(0, line.mark_rule(color=shade("quiet"), strokeDash=[4, 3]).encode(x=x))
    if dots:
        each = rows({"name": [labels[i] for i, _ in dots], "value": [one for _, one in dots]})
        layers.append(each.mark_circle(size=22, opacity=0.8, color=shade("ink")).encode(x=x, y=y))
    return alt.layer(*layers, width=WIDTH, height=ROW * len(labels), title=panel.title)
