"""The report on a campaign's table of runs: methods compared by objective, gap and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rarmodel import registry
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.model.objectives import MAKESPAN

from .extra import require_extra
from .finding import Finding
from .method_tables import by_value, setting_table
from .rendering import rendered
from .runs import Run, runs_of, setting_name
from .solve_charts import charts_of_solves
from .spreads import LETTERS, Measure, setting_chart, spread_chart, varied_settings
from .standing import standing
from .style import finished
from .summaries import MethodRow, groups_of, mean_values, method_rows
from .words import shortened

MAX_POINTS = 20_000
"""Most points in all charts of one kind, to limit the page's size; a method has at least 50."""
MAX_ROWS = 200
MAX_FAMILIES = 50


def _measures(objective: str) -> dict[str, tuple[str, Measure, str]]:
    """The measures that charts compare: heading, value of a run, text of the axis."""
    return {
        "ratio": (
            f"{objective[:1].upper()}{objective[1:]} beside the least",
            lambda run: run.ratio,
            f"ratio of the {objective} to the least of the instance",
        ),
        "gap": (
            "Gap",
            lambda run: None if run.gap is None else 100 * run.gap,
            "gap to the greatest lower bound, %",
        ),
        "seconds": (
            "Time",
            lambda run: run.seconds,
            "time of the solve, s (logarithmic)",
        ),
    }


class Section(NamedTuple):
    """The content of the page for one campaign."""

    name: str
    objective: str
    """Name of the most important objective."""
    unit: str
    finding: Finding
    runs: Sequence[Run]
    skipped: Sequence[tuple[str, int]]
    """Why runs were skipped, and how many."""
    borrowed: Sequence[tuple[tuple[str, str], int]]
    """Formulations with answers that are not their own: whose, and how many."""
    means: Sequence[tuple[str, str, int]]
    """Heading, field and decimals of the means in the table of methods."""
    instances: int
    methods: Sequence[str]
    rows: Sequence[MethodRow]
    settings: Sequence[tuple[str, str]]
    """For charts over a setting: name and setting."""
    over: Mapping[str, Sequence[Mapping[str, str]]]
    """By the name of a chart over a setting, the table of the same means: a row for each value."""
    charts: Sequence[tuple[str, str]]
    """For the other charts: name and heading."""
    solves: Sequence[str]
    """Names of the charts over all problems: profiles, and gaps over time."""
    families: Sequence[tuple[str, Sequence[MethodRow]]]
    values: Sequence[tuple[str, float | None, Sequence[float | None]]]
    failed: Sequence[Run]


def campaign_page(rows: Sequence[Mapping[str, Any]], still_open: int | None = None) -> str:
    """Compare the methods of one or several campaigns in one HTML page that opens offline.

    The page names methods by the parameters, options and data that vary among their runs, and
    groups instances by the settings of their sources. Each objective of a campaign has a part of
    the page, and ratios, gaps and charts are about the most important objective asked for. Ratios
    are to its least value on the instance in the campaign. Gaps are to the greatest lower bound
    that any run proves for the instance; the bound of a formulation that adds constraints counts
    for this formulation only.

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
        If Altair or vl-convert is not installed.
    """
    require_extra()
    if not rows:
        raise InputError([Problem("", "no run has finished or failed yet")])
    everything = runs_of(rows)
    campaigns = {
        name: [run for run in own if not run.skipped] or own for name, own in everything.items()
    }
    methods = {name: list(groups_of(own, lambda r: r.method)) for name, own in campaigns.items()}
    most = max(50, MAX_POINTS // sum(map(len, methods.values())))
    done = [run for own in campaigns.values() for run in own]
    drawn: dict[str, Any] = {}
    sections = []
    for i, (name, runs) in enumerate(campaigns.items()):
        own, first = methods[name], runs[0].objective.partition(",")[0]
        measures = _measures(first)
        charts, settings = _charts(runs, measures, first, most)
        # A skipped run is one without a schedule, where the method has other runs.
        solves = charts_of_solves([r.trial for r in everything[name] if r.method in own])
        charts |= {f"solves-{part}": chart for part, chart in solves.items()}
        by_method = method_rows(runs)
        drawn |= {f"campaign-{i}-{key}": finished(one) for key, one in charts.items()}
        sections.append(
            Section(
                name=name,
                objective=first,
                unit=_unit(first),
                finding=standing(by_method, runs[0].objective.replace(",", ", then ")),
                runs=runs,
                skipped=list(Counter(r.skipped for r in everything[name] if r.skipped).items()),
                borrowed=list(
                    Counter((r.method, r.by_others) for r in runs if r.by_others).items()
                ),
                means=_means(first, by_method),
                instances=len({run.key for run in runs}),
                methods=own,
                rows=by_method,
                settings=settings,
                over={
                    f"setting-{i}": by_value(setting_table({name: runs}, column), column)
                    for i, column in enumerate(varied_settings(runs))
                },
                charts=[(key, measures[key][0]) for key in measures if key in charts],
                solves=[f"solves-{part}" for part in solves],
                families=[
                    (family, method_rows(members))
                    for family, members in groups_of(runs, lambda run: run.family).items()
                ],
                values=mean_values(runs, own, MAX_ROWS),
                failed=[run for run in runs if run.failure],
            )
        )
    return rendered(
        "campaign.html",
        drawn,
        [shortened(name, LETTERS) for own in methods.values() for name in own],
        names=", ".join(dict.fromkeys(str(row["campaign"]) for row in rows)),
        sections=sections,
        runs=len({run.name for run in done}),
        failed=len({run.name for run in done if run.failure}),
        still_open=still_open,
        versions=_versions(rows),
        most=MAX_ROWS,
        most_families=MAX_FAMILIES,
    )


def _unit(objective: str) -> str:
    """Unit of an objective's values; empty for an objective that is not installed here."""
    try:
        unit: str = registry.find("objectives", objective).unit
    except UsageError:
        return ""
    return unit


def _means(objective: str, rows: Sequence[MethodRow]) -> list[tuple[str, str, int]]:
    """The means in the table of methods: of the objective, and what else the runs tell."""
    means = [("mean makespan", "makespan", 1), ("mean completion", "mean_completion", 1)]
    further = (
        *(("mean flow", "mean_flow", 1), ("p95 flow", "p95_flow", 1)),
        ("late jobs", "late_jobs", 2),
    )
    means += [one for one in further if any(getattr(row, one[1]) is not None for row in rows)]
    return means if objective == MAKESPAN.name else [(f"mean {objective}", "value", 2), *means]


def _charts(
    runs: Sequence[Run], measures: Mapping[str, tuple[str, Measure, str]], objective: str, most: int
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Charts of a campaign by name; for charts over a setting: name and setting."""
    charts: dict[str, Any] = {}
    settings = []
    unit = _unit(objective)
    of_objective = f"mean {objective}, {unit}" if unit else f"mean {objective}"
    for i, column in enumerate(varied_settings(runs)):
        charts[f"setting-{i}"] = setting_chart(runs, column, of_objective)
        settings.append((f"setting-{i}", setting_name(column)))
    for key, (_, measure, axis) in measures.items():
        chart = spread_chart(runs, measure, most, axis, log=key == "seconds")
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
