"""Plots of schedules as PNG or SVG, drawn with Matplotlib."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rarmodel import registry
from rarmodel.bounds import ValueBound
from rarmodel.duration import duration
from rarmodel.errors import UsageError

from .aims import Aim, aims_of, on_length, values_told
from .colours import FAULT, INK
from .comparison import ends_of
from .drawing import Drawing
from .finding import finding_of
from .grids import is_large, ring_scale
from .panels import (
    SIZE,
    Panel,
    contention_panel,
    gantt_panel,
    height_of,
    keys_of,
    usage_panel,
    write_names,
)
from .words import counted, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = ("gantt", "contention", "utilisation")
EXTRA = "pip install 'rarmodel[plot]'"
WIDTH = 10.0
"""Width of a plot, in inches."""
LINE = 0.23
"""Height of a line above or below the panels, in inches."""
BLUE = "#2f6fb5"
MINUTE, HOUR, DAY = 60, 3_600, 86_400
SECONDS = (
    *(10, 15, 30),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    DAY,
)
"""Steps between ticks of the clock; longer steps are a round number of days."""
_STYLE = {
    "font.size": SIZE,
    "text.color": INK,
    "axes.labelcolor": "#5b6672",
    "axes.edgecolor": "#c9ccd0",
    "axes.linewidth": 0.8,
    "xtick.color": "#9aa0a8",
    "ytick.color": "#9aa0a8",
    "xtick.labelcolor": "#3c4650",
    "ytick.labelcolor": "#3c4650",
    "grid.color": "#e4e5e7",
    "grid.linewidth": 0.6,
    "text.parse_math": False,  # A name is a name, whatever characters it has.
    "svg.hashsalt": "rarmodel",  # The same picture gives the same bytes.
    "svg.fonttype": "none",
}


def picture(
    drawings: Sequence[Drawing],
    bounds: Sequence[ValueBound] | None = None,
    *,
    form: str = "png",
    parts: Sequence[str] | None = None,
) -> bytes:
    """Plot schedules of one instance below each other, part by part, on one time axis.

    If you give bounds, the finding is above the plots. A schedule that breaks constraints and
    lasts longer than the valid ones has its own axis.

    Parameters
    ----------
    drawings
        The schedules; at least one.
    bounds
        A lower bound on each objective, the most important first; `shown_bounds` gives them. One on
        the makespan is named and marked in the Gantt charts.
    form
        Format of the picture, `png` or `svg`.
    parts
        Parts to draw of each schedule: `gantt`, a row for each GPU and a bar for each job (or, if
        they are too many, the share of each server's GPUs that is held); `contention`, the rings
        on each link; `utilisation`, the share of all GPUs that is held. All by default.

    Raises
    ------
    UsageError
        If there is nothing to draw, a part does not exist, or Matplotlib is not installed.
    """
    parts = PARTS if parts is None else parts
    if not drawings or not parts:
        raise UsageError("a picture needs at least one schedule, and one part of it")
    if unknown := [part for part in parts if part not in PARTS]:
        hint = registry.meant(unknown[0], PARTS)
        raise UsageError(f"no part {unknown[0]!r} of plots; choose from {', '.join(PARTS)}{hint}")
    try:
        import matplotlib as mpl  # noqa: PLC0415
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"pictures need {error.name}, which is not installed; install it with: {EXTRA}"
        raise UsageError(message) from error
    content = io.BytesIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A letter that the font lacks is a box in PNG; in SVG the viewer's fonts draw it.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure = Figure()
        FigureCanvasAgg(figure)
        _compose(figure, drawings, None if bounds is None else aims_of(drawings, bounds), parts)
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(content, format=form, dpi=130, metadata=metadata)
    return content.getvalue()


def _compose(
    figure: Figure, drawings: Sequence[Drawing], aims: Sequence[Aim] | None, parts: Sequence[str]
) -> None:
    """Place the text, the panels and the legend."""
    large, scale = is_large(drawings), ring_scale(drawings)
    panels = [
        Panel(part, drawing, end, height_of(drawing, part, len(drawings), large=large))
        for part in parts
        for drawing, end in zip(drawings, ends_of(drawings), strict=True)
    ]
    words, length = _words(drawings, aims), None if aims is None else on_length(aims)
    keys = keys_of(drawings, parts, length, scale, large=large)
    above, below = LINE * (len(words) + 0.5) if words else 0.05, LINE * len(keys) + 0.05
    height = above + below + sum(one.height for one in panels) + 0.48 * len(panels) + 0.4
    figure.set_size_inches(WIDTH, height)
    figure.set_layout_engine(
        "constrained", rect=(0, below / height, 1, 1 - (above + below) / height)
    )
    axes = figure.subplots(
        len(panels),
        1,
        squeeze=False,
        gridspec_kw={"height_ratios": [one.height for one in panels]},
    )[:, 0]
    for i, (panel, axis) in enumerate(zip(panels, axes, strict=True)):
        match panel.part:
            case "gantt":
                bounds = [] if length is None else [float(one.bound.value) for one in length.claims]
                bound = bounds[i % len(drawings)] if bounds else None
                gantt_panel(axis, panel, bound, large=large)
            case "contention":
                contention_panel(axis, panel, scale)
            case "utilisation":
                usage_panel(axis, panel)
        _title(axis, panel)
        # Panels of one part share their axis of time: the clock above, slots below.
        alone = panel.end != min(one.end for one in panels)
        first = i == 0 or panels[i - 1].part != panel.part
        last = i + 1 == len(panels) or panels[i + 1].part != panel.part
        _time(axis, panel, clock=first or alone, slots=last or alone)
    axes[-1].set_xlabel("Time (slots)")
    figure.draw_without_rendering()  # The frames have their places now.
    figure.set_layout_engine("none")
    for i, (text, style) in enumerate(words):
        figure.text(0.012, 1 - LINE * (i + 1) / height, text, **style)
    for i, handles in enumerate(keys):
        figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.004, (below - LINE * (i + 1)) / height),
            ncols=len(handles),
            frameon=False,
            fontsize=8,
            borderaxespad=0,
            handlelength=1.6,
            columnspacing=1.4,
        )
    for panel, axis in zip(panels, axes, strict=True):
        if panel.part == "gantt" and not large:
            box = axis.get_window_extent()
            write_names(axis, panel, (box.width / figure.dpi, box.height / figure.dpi))


def _words(
    drawings: Sequence[Drawing], aims: Sequence[Aim] | None
) -> list[tuple[str, dict[str, Any]]]:
    """The text above the panels, line by line, each line with its style."""
    if aims is None:
        return []
    found, instance = finding_of(drawings, aims), drawings[0].instance
    size = f"{counted(len(instance.jobs), 'job')}, {counted(instance.cluster.total_gpus, 'GPU')}"
    lines: list[tuple[str, dict[str, Any]]] = [
        (f"{shortened(instance.name, 100)}: {size}", {"color": BLUE, "weight": "bold"})
    ]
    lines += [(line, {"fontsize": 13, "weight": "bold"}) for line in wrap(found.lead, 90)]
    return [*lines, *((line, {"color": "#3c4650"}) for line in wrap(found.detail, 125))]


def _title(axis: Axes, panel: Panel) -> None:
    """The title of a panel: its schedule and part."""
    drawing, report = panel.drawing, panel.drawing.report
    name = shortened(drawing.label, 70)
    text = {"contention": "rings on each link", "utilisation": "GPUs held"}.get(panel.part, "")
    if not text:
        text = f"invalid, violations: {len(report.violations)}"
        if report.feasible:
            text = values_told(drawing)
    title = axis.set_title(f"{name}: {text}", loc="left", fontsize=SIZE + 0.5, weight="bold")
    if not report.feasible:
        title.set_color(FAULT)


def _time(axis: Axes, panel: Panel, *, clock: bool, slots: bool) -> None:
    """The time axis of a panel: slots below, clock time above."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator  # noqa: PLC0415

    seconds = panel.drawing.instance.time.slot_seconds
    axis.set_xlim(0, panel.end * 1.02)
    axis.set_axisbelow(True)
    axis.grid(axis="x")
    axis.xaxis.set_major_locator(
        MaxNLocator(nbins=max(1, min(12, 70 // len(str(panel.end)))), integer=True)
    )
    axis.tick_params(axis="x", labelbottom=slots, length=3 if slots else 0)
    axis.ticklabel_format(axis="x", style="plain", useOffset=False)
    if not clock:
        return
    above = axis.secondary_xaxis("top")
    step = nice_seconds(panel.end * seconds / 11) / seconds
    above.xaxis.set_major_locator(
        FixedLocator([k * step for k in range(int(panel.end / step) + 1)])
    )
    above.xaxis.set_major_formatter(
        FuncFormatter(lambda slot, _: duration(round(slot * seconds, 9)))
    )
    above.tick_params(length=3)
    above.spines["top"].set_visible(False)


def nice_seconds(least: float) -> float:
    """The shortest step between ticks of the clock, in seconds, that is at least `least`."""
    if 5 < least <= DAY:
        return next(float(step) for step in SECONDS if step >= least)
    unit = DAY if least > DAY else 1
    power = 10.0 ** math.floor(math.log10(least / unit))
    return unit * next(n * power for n in (1, 2, 5, 10) if n * power * unit >= least * 0.999999)
