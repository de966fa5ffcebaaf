"""The panels of a plot, drawn with Matplotlib: bars, rings on links, and GPUs held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rarmodel.errors import one_line

from .aims import Aim, asks_for_length
from .colours import (
    BOUND,
    COOL,
    EDGE,
    FAULT,
    INK,
    NETWORK,
    PAPER,
    WARM,
    colouring,
    ink_on,
    mixed,
    ramp,
)
from .drawing import Drawing, Drawn
from .grids import Grid, busy_parts, contention_grid, utilisation_grid
from .marks import draw_away, draw_away_in_all, draw_moments, keys_of_marks
from .rows import Level, kinds_of, level_that_fits, levels, racks_of
from .words import counted, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 9.0
"""Size of letters, in points."""
LABEL = 0.118
"""Height of a row's label in inches."""
MAKESPAN: dict[str, Any] = {"color": INK, "linewidth": 1.5}
REASON: dict[str, Any] = {
    "color": "#3c4650",
    "bbox": {"facecolor": PAPER, "alpha": 0.8, "edgecolor": "none", "pad": 1},
}
LOWER_BOUND: dict[str, Any] = {"color": BOUND, "linewidth": 1.5, "linestyle": (0, (3, 2))}


class Panel(NamedTuple):
    """One part of one schedule.

    Attributes
    ----------
    part
        `gantt`, `contention` or `utilisation`.
    drawing
        The schedule.
    end
        End of its time axis, in slots.
    height
        Height in inches.
    """

    part: str
    drawing: Drawing
    end: int
    height: float


def height_of(drawing: Drawing, part: str, schedules: int, *, large: bool) -> float:
    """Height of a panel in inches: rows of limited height, lower if there are more.

    Parameters
    ----------
    drawing
        The schedule.
    part
        The part that the panel shows.
    schedules
        Number of schedules in the plot.
    large
        Whether rows are servers instead of GPUs.
    """
    if part == "utilisation":
        return 0.9
    highest = {1: 6.5, 2: 4.2}.get(schedules, 3.0)
    if part == "contention":
        highest *= 0.6
        rows, least, most = len(drawing.links), 0.012, 0.16
    elif large:
        rows, least, most = len(drawing.instance.cluster.servers), 0.012, 0.22
    else:
        rows, least, most = drawing.instance.cluster.total_gpus, 0.0135, 0.22
    return min(max(rows * least, min(rows * most, 2.4), 0.4), highest)


def gantt_panel(axis: Axes, panel: Panel, bound: float | None, *, large: bool) -> None:
    """A row for each GPU and a bar for each job; or GPUs held by server.

    Parameters
    ----------
    axis, panel
        Where to draw, and what.
    bound
        The bound on its makespan, if that is an objective and its bound is to be marked.
    large
        Whether rows are servers instead of GPUs.
    """
    drawing = panel.drawing
    cluster = drawing.instance.cluster
    names = [server.name for server in cluster.servers]
    if large:
        grid = utilisation_grid(drawing, panel.end)
        percent = Grid(grid.names, grid.per_row, grid.edges, np.rint(100 * grid.values))
        _image(axis, percent, COOL, 100)
        edges: Sequence[float] = range(len(names) + 1)
    else:
        _bars(axis, drawing, panel.end)
        edges = [*drawing.offsets, cluster.total_gpus]
    draw_away(axis, drawing, panel.end, large=large)
    draw_moments(axis, drawing, panel.end, large=large)
    _label_rows(axis, panel, levels(names, edges, racks_of(cluster), kinds=kinds_of(cluster)))
    if drawing.report.makespan is not None and asks_for_length(drawing):
        axis.axvline(drawing.report.makespan, zorder=6, **MAKESPAN)
    if bound is not None:
        axis.axvline(bound, zorder=7, **LOWER_BOUND)


def contention_panel(axis: Axes, panel: Panel, scale: int) -> None:
    """Rings on each link."""
    _image(axis, contention_grid(panel.drawing, panel.end), WARM, scale)
    names = [link.link for link in panel.drawing.links]
    _label_rows(axis, panel, levels(names, range(len(names) + 1)))


def usage_panel(axis: Axes, panel: Panel) -> None:
    """Share of the cluster's GPUs that is held."""
    slots, parts = busy_parts(panel.drawing, panel.end)
    draw_away_in_all(axis, panel.drawing, panel.end)
    axis.fill_between(slots, parts, step="post", color=COOL[1][:7], alpha=0.35, linewidth=0)
    axis.step(slots, parts, where="post", color=COOL[2][:7], linewidth=1.2)
    axis.set_ylim(0, max(1.0, float(parts.max())) * 1.03)
    axis.set_yticks([0, 0.5, 1.0], ["0%", "50%", "100%"])
    axis.tick_params(axis="y", length=0)


def write_names(axis: Axes, panel: Panel, inches: tuple[float, float]) -> None:
    """Write names of jobs into the bars that are wide enough.

    Parameters
    ----------
    axis
        The axes with the bars.
    panel
        The panel.
    inches
        Width and height of the axes.
    """
    drawing = panel.drawing
    colours = colouring(drawing.instance)
    slot = inches[0] / (axis.get_xlim()[1] - axis.get_xlim()[0])
    row = inches[1] / drawing.instance.cluster.total_gpus

    def write(
        text: str, span: tuple[float, float], rows: tuple[int, int], style: dict[str, Any]
    ) -> None:
        (from_, until), (first, gpus) = span, rows
        if gpus * row < 0.115 or (until - from_) * slot < 0.12:
            return
        if (until - from_) * slot < _width(text) + 0.06:
            return
        name = axis.text(
            (from_ + until) / 2,
            first + gpus / 2,
            text,
            ha="center",
            va="center",
            fontsize=8,
            zorder=5,
            clip_on=True,
            **style,
        )
        name.set_in_layout(False)

    for bar in drawing.bars:
        run = drawing.runs[bar.run]
        ink = ink_on(colours.of(drawing.numbers[run.job], run.size))
        span = max(run.start, 0), drawing.shown_until(run, panel.end)
        write(run.job, span, (drawing.offsets[bar.server] + bar.first, bar.gpus), {"color": ink})
    for area in drawing.away:
        reason = drawing.instance.cluster.reservations[area.reservation].reason
        limit = axis.get_xlim()[1]
        span = area.start, min(limit, limit if area.end is None else area.end)
        rows = drawing.offsets[area.server] + area.first, area.gpus
        write(one_line(reason or "reserved"), span, rows, REASON)


def keys_of(
    drawings: Sequence[Drawing],
    parts: Sequence[str],
    length: Aim | None,
    scale: int,
    *,
    large: bool,
) -> list[list[Any]]:
    """The legend, line by line: sizes of jobs, edges and lines, marks, numbers of rings."""
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    found: list[list[Any]] = []
    if "gantt" in parts:
        lines: list[Any] = []
        if asks_for_length(drawings[0]):
            lines.append(Line2D([], [], label="makespan", **MAKESPAN))
        if length is not None:
            slots = counted(int(length.bound.value), "slot")
            which = f", {length.condition}" if length.condition else ""
            name = f"lower bound{which}, {slots} ({shortened(length.bound.name, 40)})"
            lines.append(Line2D([], [], label=name, **LOWER_BOUND))
        if large:
            sizes = [
                Patch(color=_seen(colour), label=f"{25 * (i + 1)}% of the GPUs held")
                for i, colour in enumerate(ramp(COOL, 4))
            ]
        else:
            classes = colouring(drawings[0].instance).classes
            sizes = [Patch(facecolor=one.colour, label=one.name) for one in classes]
            spread = Patch(facecolor="none", edgecolor=NETWORK, label="ring over several servers")
            lines.insert(0, spread)
            if any(drawing.report.violations for drawing in drawings):
                fault = Patch(facecolor="none", edgecolor=FAULT, hatch="////")
                fault.set_label("job that breaks a constraint")
                lines.insert(1, fault)
        found += [one for one in (sizes, lines, keys_of_marks(drawings, large=large)) if one]
    if "contention" in parts:
        shown = sorted({round(1 + i * (scale - 1) / 4) for i in range(5)})
        colours = ramp(WARM, scale)
        found.append(
            [
                Patch(
                    color=_seen(colours[number - 1]),
                    label=f"{counted(number, 'ring')} on a link",
                )
                for number in shown
            ]
        )
    return found


def _bars(axis: Axes, drawing: Drawing, end: int) -> None:
    """Bars: rings on several servers have a warm edge, faulty jobs are hatched in red."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    thin = drawing.instance.cluster.total_gpus > 100
    colours = colouring(drawing.instance)
    for bar in drawing.bars:
        run = drawing.runs[bar.run]
        axis.add_patch(
            Rectangle(
                (run.start, drawing.offsets[bar.server] + bar.first),
                drawing.shown_until(run, end) - run.start,
                bar.gpus,
                facecolor=(
                    colours.of(drawing.numbers[run.job], run.size),
                    0.6 if run.faulty else 1,
                ),
                **_edge(run, thin=thin),
            )
        )


def _edge(run: Drawn, *, thin: bool) -> dict[str, Any]:
    if run.faulty:
        return {"edgecolor": FAULT, "hatch": "///", "linewidth": 1.2, "zorder": 4}
    if run.spread:
        return {"edgecolor": NETWORK, "linewidth": 0.5 if thin else 1.2, "zorder": 3}
    return {"edgecolor": (INK, 0.4), "linewidth": 0.15 if thin else 0.5, "zorder": 2}


def _image(axis: Axes, grid: Grid, colours: tuple[str, ...], high: int) -> None:
    """A table of numbers as colours; 0 has none."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415

    axis.imshow(
        grid.values,
        cmap=ListedColormap(["#00000000", *ramp(colours, high)]),
        vmin=-0.5,
        vmax=high + 0.5,
        aspect="auto",
        interpolation="nearest",
        extent=(0, float(grid.edges[-1]), len(grid.names) * grid.per_row, 0),
        zorder=2,
    )


def _label_rows(axis: Axes, panel: Panel, found: Sequence[Level]) -> None:
    """Names beside the rows, or beside ranges of rows, and lines between."""
    edges = found[0].edges
    level = level_that_fits(found, panel.height / (edges[-1] - edges[0]), LABEL)
    middles = [(a + b) / 2 for a, b in zip(level.edges, level.edges[1:], strict=False)]
    axis.set_ylim(edges[-1], edges[0])
    axis.set_yticks(middles, level.names)
    axis.tick_params(axis="y", length=0, labelsize=8)
    for edge in level.edges[1:-1]:
        axis.axhline(edge, color=EDGE, alpha=0.35, linewidth=0.6, zorder=1)


def _width(name: str) -> float:
    """Width of a job's name in inches."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415
    from matplotlib.textpath import text_to_path  # noqa: PLC0415

    width, _, _ = text_to_path.get_text_width_height_descent(
        shortened(name, 200), FontProperties(size=8), ismath=False
    )
    return float(width) / 72


def _seen(colour: str) -> str:
    """A partly transparent colour as it looks on white."""
    return mixed(PAPER, colour[:7], int(colour[7:9] or "ff", 16) / 255)
