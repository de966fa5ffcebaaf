"""Pictures of schedules as PNG or SVG, made with Matplotlib."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError

from .colours import BOUND, COOL, FAULT, INK, WARM, job_colour
from .comparison import ends_of, shortened
from .drawing import Drawing
from .grids import Grid, busy_parts, contention_grid, is_large, ring_scale, utilisation_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = ("gantt", "contention", "utilisation")
EXTRA = "pip install 'rarmodel[plot]'"
_WIDTH = 10.0
_STYLE = {
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8a8a8a",
    "xtick.color": INK,
    "ytick.color": INK,
    "text.parse_math": False,  # A name is a name, whatever characters it has.
    "hatch.color": FAULT,
    "svg.hashsalt": "rarmodel",  # The same picture gives the same bytes.
    "svg.fonttype": "none",
}


def picture(
    drawings: Sequence[Drawing],
    bound: int | None = None,
    *,
    form: str = "png",
    parts: Sequence[str] | None = None,
) -> bytes:
    """Draw schedules of one instance below each other; valid ones on one axis of time.

    Parameters
    ----------
    drawings
        The schedules; at least one.
    bound
        A lower bound on the makespan in slots, to be marked in the Gantt charts.
    form
        Format of the picture, `png` or `svg`.
    parts
        What to draw of each schedule: `gantt`, a row for each GPU and a bar for each job (or, if
        they are too many, the part of each server's GPUs that is held); `contention`, the rings
        on each link; `utilisation`, the part of all GPUs that is held. All by default.

    Raises
    ------
    UsageError
        If there is nothing to draw, no such part, or Matplotlib is not installed.
    """
    parts = PARTS if parts is None else parts
    if not drawings or not parts:
        raise UsageError("a picture needs at least one schedule, and one part of it")
    if unknown := [part for part in parts if part not in PARTS]:
        raise UsageError(f"no part {unknown[0]!r} of pictures; there are {', '.join(PARTS)}")
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415
    except ImportError as error:
        message = f"pictures need {error.name}, which is not installed; install it with: {EXTRA}"
        raise UsageError(message) from error
    heights = [_height(drawing, part) for drawing in drawings for part in parts]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, sum(heights) + 0.62 * len(heights)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(
            len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
        )[:, 0]
        for i, (drawing, end) in enumerate(zip(drawings, ends_of(drawings), strict=True)):
            for j, part in enumerate(parts):
                axis = axes[i * len(parts) + j]
                match part:
                    case "gantt":
                        _gantt(axis, drawing, end, bound)
                    case "contention":
                        _contention(axis, drawing, end)
                    case "utilisation":
                        _utilisation(axis, drawing, end)
                axis.set_xlim(0, end * 1.005)
                axis.xaxis.set_major_locator(MaxNLocator(nbins=_ticks(end), integer=True))
                axis.spines[["top", "right"]].set_visible(False)
                axis.ticklabel_format(axis="x", style="plain", useOffset=False)
        axes[-1].set_xlabel("Time (slots)")
        content = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else None
        with warnings.catch_warnings():
            # A letter that the font lacks is a box in PNG; in SVG the viewer's fonts draw it.
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(content, format=form, dpi=130, metadata=metadata)
    return content.getvalue()


def _ticks(end: int) -> int:
    """Numbers that have room along an axis of time."""
    return max(1, min(12, 70 // len(str(end))))


def _height(drawing: Drawing, part: str) -> float:
    """Height of a part in inches."""
    if part == "utilisation":
        return 1.1
    rows = len(drawing.links)
    least, most = 0.02, 0.22
    if part == "gantt":
        rows = drawing.instance.cluster.total_gpus
        least = 0.025
    return min(max(rows * least, min(rows * most, 2.5), 0.6), 9.0)


def _gantt(axis: Axes, drawing: Drawing, end: int, bound: int | None) -> None:
    """A row for each GPU and a bar for each job, or held GPUs by server."""
    servers = drawing.instance.cluster.servers
    rows = drawing.instance.cluster.total_gpus
    makespan, report = drawing.report.makespan, drawing.report
    verdict = f"invalid, violations: {len(report.violations)}"
    if report.feasible:
        verdict = f"{makespan:,} slots"
    title = axis.set_title(
        f"{shortened(drawing.label, 70)}: {verdict}", loc="left", fontsize=10, weight="bold"
    )
    if not report.feasible:
        title.set_color(FAULT)
    if is_large(drawing):
        grid = utilisation_grid(drawing, end)
        percent = replace(grid, values=100 * grid.values)
        _image(axis, percent, len(servers), COOL, 100, "GPUs held (%)")
        _name_rows(axis, [server.name for server in servers], range(len(servers) + 1))
    else:
        _bars(axis, drawing, end)
        axis.set_ylim(rows, 0)
        _name_rows(axis, [server.name for server in servers], [*drawing.offsets, rows])
    if bound is not None:
        axis.axvline(bound, color=BOUND, linestyle="--", linewidth=1.4, zorder=6)
    if makespan is not None:
        axis.axvline(makespan, color=INK, linewidth=1.4, zorder=6)


def _bars(axis: Axes, drawing: Drawing, end: int) -> None:
    """Bars: those of rings on several servers with a dark edge, those at fault hatched in red."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    rows = drawing.instance.cluster.total_gpus
    thin = rows > 100
    for bar in drawing.bars:
        run = drawing.runs[bar.run]
        top, until = drawing.offsets[bar.server] + bar.first, drawing.shown_until(run, end)
        style: dict[str, Any]
        if run.faulty:
            style = {"edgecolor": FAULT, "hatch": "///", "linewidth": 1.2, "zorder": 4}
        elif run.spread:
            style = {"edgecolor": INK, "linewidth": 0.4 if thin else 1.0, "zorder": 3}
        else:
            style = {"edgecolor": "white", "linewidth": 0.1 if thin else 0.6, "zorder": 2}
        colour = job_colour(drawing.numbers[run.job], spread=run.spread)
        axis.add_patch(
            Rectangle(
                (run.start, top),
                until - run.start,
                bar.gpus,
                facecolor=(colour, 0.6 if run.faulty else 1),
                **style,
            )
        )
        # A character is about 0.075 inches wide and 0.13 high.
        wide = (until - run.start) / end * (_WIDTH - 1) > 0.085 * len(run.job)
        middle = (run.start + until) / 2
        if wide and middle >= 0 and bar.gpus * _height(drawing, "gantt") / rows > 0.13:
            axis.text(
                middle,
                top + bar.gpus / 2,
                run.job,
                ha="center",
                va="center",
                fontsize=8,
                zorder=5,
            )


def _contention(axis: Axes, drawing: Drawing, end: int) -> None:
    """Rings on each link."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    grid = contention_grid(drawing, end)
    scale = _image(axis, grid, len(drawing.links), WARM, ring_scale(drawing), "Rings")
    axis.set_ylabel("Links")
    scale.locator = MaxNLocator(integer=True, nbins=4)
    scale.update_ticks()
    names = [link.link for link in drawing.links]
    _name_rows(axis, names, range(len(names) + 1))


def _utilisation(axis: Axes, drawing: Drawing, end: int) -> None:
    """Part of the cluster's GPUs that is held."""
    slots, parts = busy_parts(drawing, end)
    axis.fill_between(slots, parts, step="post", color="#9ecae1", linewidth=0)
    axis.step(slots, parts, where="post", color="#2171b5", linewidth=1)
    axis.set_ylim(0, max(1.0, float(parts.max())) * 1.03)
    axis.set_yticks([0, 0.5, 1.0], ["0%", "50%", "100%"])
    axis.set_ylabel("GPUs held")


def _image(
    axis: Axes, grid: Grid, rows: int, colours: tuple[str, ...], most: float, title: str
) -> Any:
    """A table of numbers as colours, with its scale."""
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

    image = axis.imshow(
        grid.values,
        cmap=LinearSegmentedColormap.from_list("rarmodel", colours),
        vmin=0,
        vmax=most,
        aspect="auto",
        interpolation="nearest",
        extent=(0, float(grid.edges[-1]), len(grid.names) * grid.per_row, 0),
    )
    axis.set_ylim(rows, 0)
    return axis.figure.colorbar(image, ax=axis, label=title, pad=0.01, fraction=0.02, aspect=12)


def _name_rows(axis: Axes, names: Sequence[str], edges: Sequence[float]) -> None:
    """Names at the middle of rows, as many as there is room for, and lines between the rows."""
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    step = -(-len(names) // 24)
    shown = [shortened(name, 20) for name in names]
    axis.set_yticks(middles[::step], shown[::step])
    axis.tick_params(axis="y", length=0)
    if len(names) <= 64:
        for edge in edges[1:-1]:
            axis.axhline(edge, color="#c4c4c4", linewidth=0.6, zorder=1)
