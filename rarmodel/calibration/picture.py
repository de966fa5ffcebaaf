"""Plot a calibration: predicted against measured times, and the errors row by row."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from rarmodel.errors import UsageError

from .calibration import Calibration, Residual

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg", "pdf")
"""Formats of plots, by the ending of the file's name."""

_UNITS = {
    "iteration_ms": "time of an iteration, ms",
    "completion_s": "time of completion, s",
    "relative_time": "time relative to that alone",
    "exchange_ms": "time of an all-reduce, ms",
}
_WIDTH, _HEIGHT = 9.0, 3.6
_NAMED = 24
"""Most rows that the axis names."""


def kind_of(path: str) -> str:
    """The format of a plot, by the ending of a file's name.

    Raises
    ------
    UsageError
        If there is no such format, or Matplotlib is not installed.
    """
    kind = PurePath(path).suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        ends = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"{path}: a picture's name ends in one of {ends}")
    try:
        import matplotlib.figure  # noqa: F401, PLC0415 - an optional part, and slow to load
    except ImportError as error:
        message = 'pictures need Matplotlib: pip install "rarmodel[plot]"'
        raise UsageError(message) from error
    return kind


def picture(calibration: Calibration, kind: str) -> bytes:
    """Plot a calibration: two panels for each measured quantity.

    Parameters
    ----------
    calibration
        The calibration.
    kind
        One of `FORMATS`.

    Raises
    ------
    UsageError
        If Matplotlib is not installed.
    """
    kind_of(f"picture.{kind}")
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    groups: dict[str, list[Residual]] = {}
    for residual in (*calibration.residuals, *calibration.messages):
        groups.setdefault(residual.quantity, []).append(residual)
    # The same calibration gives the same file: no random names within it, and no date. A name
    # of a job is no formula, and one in a script that the font lacks is no reason to complain.
    # Text stays text in SVG.
    settings = {
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "rarmodel",
        "text.parse_math": False,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=(_WIDTH, _HEIGHT * len(groups)), layout="constrained")
        panels = figure.subplots(len(groups), 2, squeeze=False)
        for (left, right), (quantity, residuals) in zip(panels, groups.items(), strict=True):
            _against(left, _UNITS[quantity], residuals)
            _errors(right, residuals)
        file = io.BytesIO()
        date = {} if kind == "png" else {"CreationDate" if kind == "pdf" else "Date": None}
        figure.savefig(file, format=kind, dpi=150, metadata=date)
    return file.getvalue()


def _against(axes: Axes, unit: str, residuals: Sequence[Residual]) -> None:
    """Predicted against measured times; they are equal on the line."""
    both = [value for row in residuals for value in (row.measured, row.predicted)]
    ends = [min(both) / 1.1, max(both) * 1.1]
    axes.plot(ends, ends, color="0.7", linewidth=1, zorder=1)
    for label, rows in _by_label(residuals).items():
        axes.plot(
            [row.measured for row in rows],
            [row.predicted for row in rows],
            marker="o",
            markersize=4,
            linestyle="none",
            label=label,
        )
    if max(both) > 20 * min(both):
        _make_logarithmic(axes)
    axes.set(xlabel=f"measured {unit}", ylabel="predicted", title="predicted against measured")
    if 1 < len(_by_label(residuals)) <= 8:
        axes.legend(frameon=False)


def _make_logarithmic(axes: Axes) -> None:
    """Powers of ten on both axes, as plain numbers instead of Matplotlib's formulas."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _errors(axes: Axes, residuals: Sequence[Residual]) -> None:
    """The error of each row in percent."""
    places = range(len(residuals))
    axes.axhline(0, color="0.7", linewidth=1, zorder=1)
    axes.vlines(places, 0, [100 * row.error for row in residuals], color="0.7", linewidth=1)
    at = {id(row): place for place, row in zip(places, residuals, strict=True)}
    for rows in _by_label(residuals).values():
        errors = [100 * row.error for row in rows]
        axes.plot([at[id(row)] for row in rows], errors, "o", markersize=4)
    axes.set(xlabel="line of the file", ylabel="error, %", title="predicted over measured")
    if len(residuals) <= _NAMED:
        axes.set_xticks(list(places), [str(row.line) for row in residuals])
    else:
        axes.set_xlabel("row")


def _by_label(residuals: Sequence[Residual]) -> dict[str, list[Residual]]:
    """Rows by job, or by the file for all-reduces."""
    groups: dict[str, list[Residual]] = {}
    for row in residuals:
        # Underscores at the start would keep a label out of the legend.
        label = row.source if row.quantity == "exchange_ms" else row.label
        groups.setdefault(label.lstrip("_"), []).append(row)
    return groups
