"""Chart of what services trade: cost by latency, a line for each accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .style import finished, rows

PALE, DARK = "#8fd0c8", "#1c2a6b"
"""Colours of the least and of the greatest accuracy."""
WIDTH, HEIGHT = 520, 240
"""Frame of a service, in pixels."""


def frontier_chart(points: Sequence[Mapping[str, Any]], unit: str) -> alt.VConcatChart:
    """Chart the cost of services by latency and accuracy.

    Parameters
    ----------
    points
        Rows of `Frontier.rows`.
    unit
        The unit of costs.
    """
    names = list(dict.fromkeys(one["service"] for one in points))
    return finished(alt.vconcat(*(_service(name, points, unit) for name in names)))


def _service(name: str, points: Sequence[Mapping[str, Any]], unit: str) -> alt.LayerChart:
    own = [one for one in points if one["service"] == name and one["cost"] is not None]
    columns: dict[str, list[Any]] = {
        "latency": [one["latency_ms"] for one in own],
        "cost": [one["cost"] for one in own],
        "accuracy": [_accuracy(one["min_accuracy"]) for one in own],
        "replicas": [one["replicas"] for one in own],
        "efficient": [one["efficient"] for one in own],
    }
    order = sorted({one["min_accuracy"] or 0 for one in own})
    labels = [_accuracy(one or None) for one in order]
    data = rows(columns)
    x = alt.X("latency:Q", title="latency, ms", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("cost:Q", title=f"least cost, {unit}", scale=alt.Scale(zero=True))
    colour = alt.Color(
        "accuracy:N",
        title="accuracy at least",
        sort=labels,
        scale=alt.Scale(domain=labels, range=_shades(len(labels))),
    )
    tips = [
        alt.Tooltip("latency:Q", title="latency, ms"),
        alt.Tooltip("accuracy:N", title="accuracy at least"),
        alt.Tooltip("cost:Q", title="cost", format=".6g"),
        alt.Tooltip("replicas:Q", title="most replicas"),
    ]
    # A point holds for every longer latency until the next one.
    line = data.mark_line(interpolate="step-after", strokeWidth=1.6)
    dots = data.transform_filter("datum.efficient").mark_circle(size=60, opacity=1)
    return alt.layer(
        line.encode(x=x, y=y, color=colour, detail="accuracy:N"),
        dots.encode(x=x, y=y, color=colour, tooltip=tips),
        width=WIDTH,
        height=HEIGHT,
        title=f"{name}: dots are efficient",
    )


def _accuracy(value: float | None) -> str:
    return "any" if value is None else f"{value:.4g}"


def _shades(count: int) -> list[str]:
    """Colours from the least accuracy to the greatest: even steps."""
    ends = [[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in (PALE, DARK)]
    parts = [i / (count - 1) if count > 1 else 0.5 for i in range(count)]
    mixed = [[round(a + (b - a) * part) for a, b in zip(*ends, strict=True)] for part in parts]
    return ["#" + "".join(f"{one:02x}" for one in rgb) for rgb in mixed]
