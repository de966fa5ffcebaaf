"""Reserved GPUs, and marks of releases, due slots and deadlines, drawn with Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .colours import AWAY, INK, MOMENT, PAPER
from .drawing import Drawing
from .moments import (
    DEADLINE,
    DUE,
    NAMES,
    RELEASE,
    Part,
    few,
    late_parts,
    moments_of,
    ran_before,
    restored_parts,
    shown_in,
    ticks_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HATCHED: dict[str, Any] = {"edgecolor": (AWAY, 0.55), "hatch": "////", "linewidth": 0}
LATE: dict[str, Any] = {
    "facecolor": "none",
    "edgecolor": (INK, 0.6),
    "hatch": "\\\\\\\\",
    "linewidth": 0,
}
RESTORED: dict[str, Any] = {
    "facecolor": (PAPER, 0.55),
    "edgecolor": (INK, 0.7),
    "hatch": "....",
    "linewidth": 0,
}
SHAPES = {RELEASE: ">", DUE: "D", DEADLINE: "|"}
RAN = 8.0
"""Width of the left edge of a bar of a job that ran before, half of which is seen."""
EDGES = {RELEASE: (0.97, 1.0), DUE: (0.0, 0.03), DEADLINE: (0.0, 0.05)}
"""Where marks of many jobs are, as parts of the height from below."""


def draw_away(axis: Axes, drawing: Drawing, end: int, *, large: bool) -> None:
    """Hatch the GPUs that are reserved."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    servers = drawing.instance.cluster.servers
    for area in drawing.away:
        unit = servers[area.server].gpus if large else 1
        top = area.server if large else drawing.offsets[area.server]
        until = 2 * end if area.end is None else area.end
        axis.add_patch(
            Rectangle(
                (area.start, top + area.first / unit),
                until - area.start,
                area.gpus / unit,
                facecolor=(AWAY, 0.12),
                zorder=1.5,
                **HATCHED,
            )
        )


def draw_away_in_all(axis: Axes, drawing: Drawing, end: int) -> None:
    """Hatch the share of all GPUs that is reserved, from above."""
    steps, gpus = drawing.reserved_in_all, drawing.instance.cluster.total_gpus
    if not steps.slots:
        return
    slots = [*steps.slots, max(2 * end, steps.slots[-1])]
    left = 1 - np.array([*steps.values, steps.values[-1]]) / gpus
    axis.fill_between(slots, left, 1, step="post", facecolor=(AWAY, 0.12), **HATCHED)


def draw_moments(axis: Axes, drawing: Drawing, end: int, *, large: bool) -> None:
    """Parts of bars, jobs that ran before, and releases, due slots and deadlines."""
    if not large:
        _draw_parts(axis, drawing, late_parts(drawing, end), LATE)
        _draw_parts(axis, drawing, restored_parts(drawing), RESTORED)
        _draw_running(axis, drawing)
    if large or not few(drawing):
        for kind, (low, high) in EDGES.items():
            if slots := ticks_of(drawing, kind, end):
                axis.vlines(
                    slots,
                    low,
                    high,
                    transform=axis.get_xaxis_transform(),
                    color=MOMENT,
                    linewidth=0.8,
                    zorder=6,
                )
        return
    for one in moments_of(drawing):
        run = drawing.runs[one.run]
        bar = next((bar for bar in drawing.bars if bar.run == one.run), None)
        if bar is None:
            continue
        row = drawing.offsets[bar.server] + bar.first + bar.gpus - 0.22
        if one.kind == RELEASE and one.slot < run.start:
            axis.hlines(row, one.slot, run.start, color=MOMENT, linewidth=1, zorder=5.5)
        axis.plot([one.slot], [row], **_mark(SHAPES[one.kind]), zorder=6)


def _draw_parts(
    axis: Axes, drawing: Drawing, parts: Sequence[Part], style: Mapping[str, Any]
) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    for part in parts:
        bar = drawing.bars[part.bar]
        corner = part.start, drawing.offsets[bar.server] + bar.first
        axis.add_patch(Rectangle(corner, part.end - part.start, bar.gpus, zorder=3.5, **style))


def _draw_running(axis: Axes, drawing: Drawing) -> None:
    for bar in drawing.bars:
        if ran_before(drawing, drawing.runs[bar.run]):
            top = drawing.offsets[bar.server] + bar.first
            axis.vlines(0, top, top + bar.gpus, color=MOMENT, linewidth=RAN, zorder=5.5)


def keys_of_marks(drawings: Sequence[Drawing], *, large: bool) -> list[Any]:
    """The line of the legend about what wider instances ask for; empty where nothing is drawn."""
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    found: list[Any] = []
    shown = shown_in(drawings, large=large)
    if shown.away:
        found.append(Patch(facecolor=(AWAY, 0.12), **HATCHED, label="GPUs reserved"))
    if shown.late and not large:
        found.append(Patch(**LATE, label="past the due slot"))
    if shown.restored and not large:
        found.append(Patch(**RESTORED, label="restored, without progress"))
    if shown.running and not large:
        ran = _mark("|") | {"markeredgewidth": RAN / 2}
        found.append(Line2D([], [], **ran, label="runs at slot 0 already"))
    for kind in shown.kinds:
        edge = "upper" if kind == RELEASE else "lower"
        label = NAMES[kind] if shown.beside else f"{NAMES[kind]}, on the {edge} edge"
        shape = SHAPES[kind] if shown.beside else "|"
        found.append(Line2D([], [], **_mark(shape), label=label))
    return found


def _mark(shape: str) -> dict[str, Any]:
    thick = shape == "|"
    return {
        "linestyle": "none",
        "marker": shape,
        "markersize": {"|": 9, "D": 5}.get(shape, 6.5),
        "color": MOMENT,
        "markeredgecolor": MOMENT if thick else PAPER,
        "markeredgewidth": 2.4 if thick else 0.7,
    }
