"""A report on a campaign's table of runs: methods compared by makespan, gap and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rarmodel.errors import UsageError

from .axes import empty_chart, name_rows, tips_of
from .colours import INK, STRONG
from .page import rendered, require_report_extra
from .steps import Floats

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.model import Model

NEEDED = ("instance", "makespan", "status")
OPTIONAL = (
    *("instance_hash", "family", "parameters", "method", "formulation", "solver", "seed"),
    *("lower_bound", "gap", "seconds", "error"),
)
MAX_POINTS = 2000
MAX_ROWS = 200
NARROW = 1e-4
"""Seconds below which times are drawn alike; their axis is logarithmic."""


class Spread(NamedTuple):
    """How numbers are spread; None where there are none."""

    least: float | None
    lower: float | None
    median: float | None
    upper: float | None
    greatest: float | None


class MethodRow(NamedTuple):
    """What the runs of one method have in common."""

    method: str
    runs: int
    solved: int
    failed: int
    best: int
    ratio: Spread
    gap: Spread
    seconds: Spread


def campaign_page(table: pd.DataFrame) -> str:
    """Compare the methods of a campaign in one HTML page that needs nothing else.

    Parameters
    ----------
    table
        A row for each run. Columns `instance`, `makespan` (in slots) and `status` are needed;
        `instance_hash`, `family`, `parameters`, `method`, `formulation`, `solver`, `seed`,
        `lower_bound`, `gap` (of 1), `seconds` and `error` are used if they are there. Empty cells
        are unknown. Gaps are to the greatest lower bound that any run of the instance proves, if
        there are bounds; else those of the table.

    Raises
    ------
    UsageError
        If a needed column is missing, there is no run, or Jinja2 or Bokeh is not installed.
    """
    require_report_extra()
    if missing := [name for name in NEEDED if name not in table.columns]:
        raise UsageError(f"the table of a campaign has no column {', '.join(map(repr, missing))}")
    if table.empty:
        raise UsageError("the table of a campaign has no runs")
    runs = _prepared(table)
    methods = list(dict.fromkeys(runs["label"]))
    groups: dict[str, Mapping[str, Model]] = {
        "overview": {
            f"overview-{name}": _spread_chart(runs, methods, name, axis, log=log)
            for name, axis, log in (
                ("ratio", "Makespan over the least of the instance", False),
                ("gap", "Gap to the greatest lower bound (%)", False),
                ("seconds", "Time (s, logarithmic)", True),
            )
            if runs[name].notna().any()
        }
    }
    families = [name for name in dict.fromkeys(runs["family"]) if name]
    return rendered(
        "campaign.html",
        groups,
        runs=len(runs),
        instances=runs["key"].nunique(),
        rows=_method_rows(runs, methods),
        charts=[name.removeprefix("overview-") for name in groups["overview"]],
        families=[
            (family, _method_rows(runs[runs["family"] == family], methods))
            for family in (families if len(families) > 1 else [])
        ],
        methods=methods,
        makespans=_makespans(runs, methods),
        errors=_errors(runs),
    )


def _prepared(table: pd.DataFrame) -> pd.DataFrame:
    """The table with every column, a label for each method, and what follows by instance."""
    import pandas as pd  # noqa: PLC0415 - loads slowly

    runs = table.reset_index(drop=True).copy()
    for name in OPTIONAL:
        if name not in runs.columns:
            runs[name] = None
    for name in ("makespan", "lower_bound", "gap", "seconds"):
        runs[name] = pd.to_numeric(runs[name], errors="coerce").astype(float)
    for name in ("instance", "family", "parameters", "method", "formulation", "solver", "error"):
        runs[name] = runs[name].map(_text)
    runs["key"] = (
        runs["instance_hash"].map(_text).where(runs["instance_hash"].notna(), runs["instance"])
    )
    runs["label"] = [
        method or (f"{formulation} ({solver})" if solver else formulation) or "unknown"
        for method, formulation, solver in zip(
            runs["method"], runs["formulation"], runs["solver"], strict=True
        )
    ]
    if (runs.groupby("label")["parameters"].nunique() > 1).any():
        runs["label"] = [
            f"{label} {parameters}" if parameters else label
            for label, parameters in zip(runs["label"], runs["parameters"], strict=True)
        ]
    by_instance = runs.groupby("key", sort=False)
    runs["ratio"] = runs["makespan"] / by_instance["makespan"].transform("min")
    bound = by_instance["lower_bound"].transform("max")
    runs["gap"] = ((runs["makespan"] - bound) / runs["makespan"]).where(bound.notna(), runs["gap"])
    return runs


def _text(value: Any) -> str:
    """A cell as a text; an unknown one is empty."""
    import pandas as pd  # noqa: PLC0415

    return "" if pd.isna(value) else str(value)


def _spread(values: pd.Series[float]) -> Spread:
    known = values.dropna().to_numpy()
    if len(known) == 0:
        return Spread(None, None, None, None, None)
    return Spread(*(float(value) for value in np.percentile(known, [0, 25, 50, 75, 100])))


def _method_rows(runs: pd.DataFrame, methods: list[str]) -> list[MethodRow]:
    """A row for each method that has runs here, in the order of the table."""
    rows = []
    for method in methods:
        own = runs[runs["label"] == method]
        if len(own):
            rows.append(
                MethodRow(
                    method=method,
                    runs=len(own),
                    solved=int(own["makespan"].notna().sum()),
                    failed=int((own["error"] != "").sum()),
                    best=int((own["ratio"] == 1).sum()),
                    ratio=_spread(own["ratio"]),
                    gap=_spread(own["gap"]),
                    seconds=_spread(own["seconds"]),
                )
            )
    return rows


def _makespans(runs: pd.DataFrame, methods: list[str]) -> list[tuple[str, list[float | None]]]:
    """Mean makespan of each method on each instance, for the first instances."""
    means = runs.groupby(["key", "label"])["makespan"].mean()
    names = dict(zip(runs["key"], runs["instance"], strict=True))
    rows = []
    for key in list(dict.fromkeys(runs["key"]))[:MAX_ROWS]:
        found = [float(means.get((key, method), np.nan)) for method in methods]
        rows.append((names[key], [None if np.isnan(value) else value for value in found]))
    return rows


def _errors(runs: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """Instance, method, seed and error of the first runs that failed."""
    failed = runs[runs["error"] != ""].head(MAX_ROWS)
    columns = (failed["instance"], failed["label"], failed["seed"].map(_text), failed["error"])
    return list(zip(*columns, strict=True))


def _spread_chart(
    runs: pd.DataFrame, methods: list[str], name: str, axis: str, *, log: bool
) -> Model:
    """A row for each method: each run as a point, a box from quartile to quartile, the median."""
    from bokeh.models import HoverTool, Range1d  # noqa: PLC0415 - an extra

    known = runs[runs[name].notna()]
    values = known[name].to_numpy() * (100 if name == "gap" else 1)
    if log:
        values = np.maximum(values, NARROW)
    low, high = float(values.min()), float(values.max())
    room = (high - low) * 0.04 or 0.05 * max(abs(high), 1.0)
    limits = (low / 1.3, high * 1.3) if log else (low - room, high + room)
    chart = empty_chart(
        axis,
        max(110, 34 * len(methods)) + 80,
        x_range=Range1d(*limits),
        y_range=Range1d(len(methods), 0),
        x_axis_type="log" if log else "linear",
    )
    name_rows(chart, methods, range(len(methods) + 1))
    points: dict[str, list[Any]] = {"x": [], "y": [], "colour": [], "instance": [], "seed": []}
    boxes: dict[str, list[Any]] = {key: [] for key in ("left", "right", "top", "bottom", "middle")}
    for i, method in enumerate(methods):
        chosen = (known["label"] == method).to_numpy()
        own, rows = values[chosen], known[chosen]
        if len(own) == 0:
            continue
        lower, middle, upper = (float(value) for value in np.percentile(own, [25, 50, 75]))
        for key, value in (
            *(("left", lower), ("right", upper), ("middle", middle)),
            *(("top", i + 0.18), ("bottom", i + 0.82)),
        ):
            boxes[key].append(value)
        some = _some(len(own))
        points["x"] += own[some].tolist()
        points["y"] += (i + 0.5 + _apart(len(some))).tolist()
        points["colour"] += [STRONG[i % len(STRONG)]] * len(some)
        points["instance"] += rows["instance"].iloc[some].tolist()
        points["seed"] += rows["seed"].map(_text).iloc[some].tolist()
    dots = chart.scatter(
        "x", "y", source=points, size=6, fill_color="colour", line_color=None, fill_alpha=0.65
    )
    chart.quad(
        **{side: side for side in ("left", "right", "top", "bottom")},
        source=boxes,
        fill_color=None,
        line_color=INK,
    )
    chart.segment("middle", "top", "middle", "bottom", source=boxes, line_color=INK, line_width=3)
    tips = [("instance", "@instance"), ("seed", "@seed"), ("value", "@x{0,0.[000]}")]
    chart.add_tools(HoverTool(renderers=[dots], tooltips=tips_of(tips)))
    return chart


def _some(number: int) -> list[int]:
    """Indices of all runs, or of evenly chosen ones."""
    if number <= MAX_POINTS:
        return list(range(number))
    chosen: list[int] = np.linspace(0, number - 1, MAX_POINTS).round().astype(int).tolist()
    return chosen


def _apart(number: int) -> Floats:
    """Offsets that keep points of one row apart, the same ones each time."""
    golden = 0.618033988749895
    offsets = ((np.arange(number) * golden + 0.5) % 1 - 0.5) * 0.5
    return offsets.astype(np.float64)
