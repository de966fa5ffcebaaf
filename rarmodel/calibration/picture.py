"""Plot a calibration: predicted against measured times, and the errors row by row."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError

from .calibration import Calibration, Residual
from .model_comparison import FIT, TEST, ModelComparison

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
_WIDTH, _LEAST_WIDTH, _HEIGHT = 9.0, 2.8, 3.6
_HEIGHT_OF_MODEL = 3.0
_MODELS_IN_ROW = 4
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
    groups: dict[str, list[Residual]] = {}
    for residual in (*calibration.residuals, *calibration.messages):
        groups.setdefault(residual.quantity, []).append(residual)
    with _drawing(kind, len(groups), 2, _HEIGHT) as (panels, file):
        for (left, right), (quantity, residuals) in zip(panels, groups.items(), strict=True):
            _against(left, _UNITS[quantity], _by_label(residuals))
            left.set(title="predicted against measured")
            _errors(right, residuals)
    return file.getvalue()


def picture_of_models(comparison: ModelComparison, kind: str) -> bytes:
    """Plot a comparison of models: predicted against measured times, a panel for each model.

    Parameters
    ----------
    comparison
        The comparison.
    kind
        One of `FORMATS`.

    Raises
    ------
    UsageError
        If Matplotlib is not installed.
    """
    rows = -(-len(comparison.models) // _MODELS_IN_ROW)
    with _drawing(kind, rows, _MODELS_IN_ROW, _HEIGHT_OF_MODEL) as (panels, file):
        for panel in panels.flat[len(comparison.models) :]:
            panel.remove()
        for panel, one in zip(panels.flat, comparison.models, strict=False):
            _against(panel, _UNITS[one.tested[0].quantity], {FIT: one.fitted, TEST: one.tested})
            panel.set(title=f"{one.model}\n{one.test.mean:.0%}, worst {one.test.worst:.0%}")
    return file.getvalue()


@contextmanager
def _drawing(kind: str, rows: int, columns: int, height: float) -> Iterator[tuple[Any, io.BytesIO]]:
    """A figure's panels, and the file into which the figure is written at the end."""
    kind_of(f"picture.{kind}")
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

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
        figure = Figure(
            figsize=(max(_WIDTH, _LEAST_WIDTH * columns), height * rows), layout="constrained"
        )
        file = io.BytesIO()
        yield figure.subplots(rows, columns, squeeze=False), file
        date = {} if kind == "png" else {"CreationDate" if kind == "pdf" else "Date": None}
        figure.savefig(file, format=kind, dpi=150, metadata=date)


def _against(axes: Axes, unit: str, groups: Mapping[str, Sequence[Residual]]) -> None:
    """Predicted against measured times, by label; they are equal on the line."""
    every = [row for rows in groups.values() for row in rows]
    both = [value for row in every for value in (row.measured, row.predicted)]
    ends = [min(both) / 1.1, max(both) * 1.1]
    axes.plot(ends, ends, color="0.7", linewidth=1, zorder=1)
    for label, rows in groups.items():
        axes.plot(
            [row.measured for row in rows],
            [row.predicted for row in rows],
            marker="o",
            markersize=4,
            linestyle="none",
            label=label,
        )
    if max(both) > 20 * min(both):
        _make_logarithmic(axes, (1.0, 2.0, 5.0) if max(both) < 100 * min(both) else (1.0,))
    axes.set(xlabel=f"measured {unit}", ylabel="predicted")
    if 1 < len(groups) <= 8:
        axes.legend(frameon=False)


def _make_logarithmic(axes: Axes, marks: Sequence[float]) -> None:
    """Powers of ten on both axes, as plain numbers instead of Matplotlib's formulas."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=marks))
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
