"""The report on a campaign's table of runs: methods compared by makespan, gap and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rarmodel.errors import InputError, Problem

from .colours import Line
from .finding import Finding
from .frames import Chart
from .rendering import rendered, require_report_extra
from .rows import levels
from .runs import MethodRow, Run, groups_of, mean_makespans, method_rows, runs_of, setting_name
from .spreads import Measure, setting_chart, spread_chart, varied_settings
from .standing import standing

MAX_POINTS = 20_000
"""Most points in all charts of one kind, to limit the page's size; a method has at least 50."""
MAX_ROWS = 200
MAX_FAMILIES = 50
LETTERS = 44
"""Longest name of a method beside a chart; the table has the full name."""
MEASURES: Mapping[str, tuple[str, Measure, str]] = {
    "ratio": (
        "Makespan beside the least",
        lambda run: run.ratio,
        "Ratio of the makespan to the least of the instance.",
    ),
    "gap": (
        "Gap",
        lambda run: None if run.gap is None else 100 * run.gap,
        "Gap to the greatest lower bound in percent.",
    ),
    "seconds": ("Time", lambda run: run.seconds, "Seconds of the solve, on a logarithmic axis."),
}
"""The measures that charts compare: heading, value of a run, text of the axis."""


class Section(NamedTuple):
    """The content of the page for one campaign."""

    name: str
    finding: Finding
    runs: Sequence[Run]
    instances: int
    methods: Sequence[str]
    rows: Sequence[MethodRow]
    settings: Sequence[tuple[str, str, Sequence[Line]]]
    """For charts over a setting: name, setting, and lines."""
    charts: Sequence[tuple[str, str, str]]
    """For the other charts: name, heading, and text of the axis."""
    families: Sequence[tuple[str, Sequence[MethodRow]]]
    makespans: Sequence[tuple[str, float | None, Sequence[float | None]]]
    failed: Sequence[Run]


def campaign_page(rows: Sequence[Mapping[str, Any]], still_open: int | None = None) -> str:
    """Compare the methods of one or several campaigns in one HTML page that opens offline.

    The page names methods by the parameters, options and data that vary among their runs, and
    groups instances by the settings of their sources. Ratios are to the least makespan of the
    instance in the campaign. Gaps are to the greatest lower bound that any run proves for the
    instance; the bound of a formulation that adds constraints counts for this formulation only.

    Parameters
    ----------
    rows
        A row for each run, with the columns of the table that `rarmodel campaign export` writes.
        None and NaN mean unknown.
    still_open
        Number of planned runs that are not done yet; None if unknown.

    Raises
    ------
    InputError
        If there is no run, a required column is missing, or a column has invalid values.
    UsageError
        If Jinja2 or Bokeh is not installed.
    """
    require_report_extra()
    if not rows:
        raise InputError([Problem("", "no run has finished or failed yet")])
    campaigns = runs_of(rows)
    methods = {name: list(groups_of(own, lambda r: r.method)) for name, own in campaigns.items()}
    most = max(50, MAX_POINTS // sum(map(len, methods.values())))
    everything = [run for own in campaigns.values() for run in own]
    groups: dict[str, dict[str, Chart]] = {}
    labels = {}
    sections = []
    for i, (name, runs) in enumerate(campaigns.items()):
        own = methods[name]
        labels[f"methods-{i}"] = levels(own, range(len(own) + 1), letters=LETTERS)
        charts, settings = _charts(runs, f"methods-{i}", most)
        by_method = method_rows(runs)
        groups[f"campaign-{i}"] = {f"campaign-{i}-{key}": one for key, one in charts.items()}
        sections.append(
            Section(
                name=name,
                finding=standing(by_method),
                runs=runs,
                instances=len({run.key for run in runs}),
                methods=own,
                rows=by_method,
                settings=settings,
                charts=[
                    (key, heading, axis)
                    for key, (heading, _, axis) in MEASURES.items()
                    if key in charts
                ],
                families=[
                    (family, method_rows(members))
                    for family, members in groups_of(runs, lambda run: run.family).items()
                ],
                makespans=mean_makespans(runs, own, MAX_ROWS),
                failed=[run for run in runs if run.failure],
            )
        )
    return rendered(
        "campaign.html",
        groups,
        labels,
        sections=sections,
        runs=len({run.name for run in everything}),
        failed=len({run.name for run in everything if run.failure}),
        still_open=still_open,
        versions=_versions(rows),
        most=MAX_ROWS,
        most_families=MAX_FAMILIES,
    )


def _charts(
    runs: Sequence[Run], rows: str, most: int
) -> tuple[dict[str, Chart], list[tuple[str, str, list[Line]]]]:
    """Charts of a campaign by name; for charts over a setting: name, setting, and lines."""
    charts: dict[str, Chart] = {}
    settings = []
    for i, column in enumerate(varied_settings(runs)):
        charts[f"setting-{i}"], lines = setting_chart(runs, column)
        settings.append((f"setting-{i}", setting_name(column), lines))
    for key, (_, measure, _) in MEASURES.items():
        chart = spread_chart(runs, measure, rows, most, log=key == "seconds")
        if chart is not None:
            charts[key] = chart
    return charts, settings


def _versions(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Names and versions of the software of the runs, as far as known."""
    found = []
    for name in ("rarmodel", "python", "numpy", "numba", "pyomo"):
        known = dict.fromkeys(str(v) for row in rows if (v := row.get(name)) not in (None, ""))
        if known:
            found.append((name, " and ".join(known)))
    return found
