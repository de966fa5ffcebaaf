"""Chart of the terms of the model on measured GPUs: held-out errors by group, and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from .calibrations import against
from .colours import STRONG
from .style import finished, rows, shade

if TYPE_CHECKING:
    from rarmodel.calibration import HeldOut, TermComparison

UNITS = {
    "step times by placement": "time of a step, s",
    "all-reduces by placement": "time of an all-reduce, s",
    "pairs of jobs": "throughput, as a part of that alone",
    "pairs of jobs on the same GPUs": "speed, as a part of that alone",
}
MOST_POINTS = 600
"""Most measurements that the chart shows: evenly chosen of all."""
WIDTH, HEIGHT, ROW = 300, 300, 15
MOST_GROUPS = 12
"""Most groups that have a colour of their own."""


def terms_chart(comparison: TermComparison) -> alt.VConcatChart:
    """Chart held-out errors by group, without terms and with them, and the predictions.

    Parameters
    ----------
    comparison
        The comparison.
    """
    charts = alt.hconcat(
        _errors(comparison),
        against(
            UNITS[comparison.layout],
            _chosen(comparison),
            "held out: predicted against measured",
            WIDTH,
        ),
    ).resolve_scale(color="independent")
    return finished(alt.vconcat(charts))


def _errors(comparison: TermComparison) -> alt.LayerChart:
    """A line for each group, from the error without terms to that with them."""
    first = {one.group: one.mean for one in comparison.terms[0].groups}
    ordered = sorted(comparison.best.groups, key=lambda one: -one.mean)
    names = [one.group for one in ordered]
    before = [100 * first[name] for name in names]
    after = [100 * one.mean for one in ordered]
    words = [comparison.terms[0].term, "with the terms that earn their place"]
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=words, range=[STRONG[1], STRONG[0]]),
        legend=alt.Legend(orient="bottom", labelLimit=400),
    )
    y = alt.Y("group:N", title=None, sort=names)
    x = alt.X("error:Q", title="mean held-out error, %", scale=alt.Scale(domainMin=0))
    points = rows(
        {
            "group": [*names, *names],
            "error": [*before, *after],
            "kind": [words[0]] * len(names) + [words[1]] * len(names),
        }
    )
    ends = rows({"group": names, "error": before, "after": after})
    return alt.layer(
        ends.mark_rule(color=shade("line"), strokeWidth=2).encode(x=x, x2="after:Q", y=y),
        points.mark_circle(size=60, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            tooltip=["group:N", "kind:N", alt.Tooltip("error:Q", format=".1f")],
        ),
        width=WIDTH,
        height=ROW * len(names),
        title="error by group",
    )


def _chosen(comparison: TermComparison) -> dict[str, list[HeldOut]]:
    """Evenly chosen rows by group, or by the first word of these where groups are many."""
    step = -(-len(comparison.rows) // MOST_POINTS)
    found: dict[str, list[HeldOut]] = {}
    many = len({row.group for row in comparison.rows}) > MOST_GROUPS
    for row in comparison.rows[::step]:
        found.setdefault(row.group.partition(" ")[0] if many else row.group, []).append(row)
    return found
