"""Tables of a campaign's methods: all that is measured, or one measure over a setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.latex import latex_table
from rarmodel.tabular import frame, html_rows, number

from .parts import MEASURES
from .runs import OPTION, PARAMETER, SOURCE, Run, lines_over, setting_name
from .spreads import LOWER_BOUND
from .summaries import method_rows

OF_RUN: Mapping[str, tuple[Callable[[Run], float | None], str]] = {
    "value": (lambda run: run.value, ",.1f"),
    "ratio": (lambda run: run.ratio, ".3f"),
    "gap": (lambda run: run.gap, ".1%"),
    "seconds": (lambda run: run.seconds, ".2f"),
    "optimal": (lambda run: float(run.optimal), ".0%"),
}
"""What a table over a setting has in its cells, as means, and how it is written."""
CAMPAIGN, METHOD = "campaign", "method"


class MethodTable(NamedTuple):
    """A table of the methods of one or several campaigns.

    Attributes
    ----------
    title
        What the cells are.
    rows
        Rows of plain data: names, counts and means; None where there is no run with a value.
    forms
        How the numbers of each column are written.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    forms: Mapping[str, str]

    def table(self) -> list[dict[str, str]]:
        """The rows as dictionaries of names and formatted values."""
        return [
            {
                name: cell if isinstance(cell, str) else number(cell, self.forms.get(name, ",d"))
                for name, cell in row.items()
            }
            for row in self.rows
        ]

    def to_frame(self) -> Any:
        """The rows as a pandas data frame.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(self.rows)

    def to_latex(self) -> str:
        """The table as a `tabular` of LaTeX with the lines of the package booktabs."""
        names = list(self.rows[0]) if self.rows else []
        return latex_table(names, self.table(), CAMPAIGN if CAMPAIGN in names else None)

    def _repr_html_(self) -> str:
        return html_rows(self.title, self.table())


def summary_table(campaigns: Mapping[str, Sequence[Run]]) -> MethodTable:
    """A row for each method: its runs, and means or medians of what they reached."""
    rows = [
        {
            **({CAMPAIGN: name} if len(campaigns) > 1 else {}),
            METHOD: row.method,
            "runs": row.runs,
            "failed": row.failed,
            "with a schedule": row.solved,
            "proven optimal": row.optimal,
            "least": row.best,
            "mean value": row.value,
            "ratio to least": row.ratio.median,
            "gap": row.gap.median,
            "seconds": row.seconds.median,
        }
        for name, runs in campaigns.items()
        for row in method_rows(runs)
    ]
    forms = {"mean value": ",.1f", "ratio to least": ".3f", "gap": ".1%", "seconds": ".2f"}
    return MethodTable("Methods; ratio, gap and seconds are medians", rows, forms)


def setting_table(
    campaigns: Mapping[str, Sequence[Run]], over: str, measure: str = "value"
) -> MethodTable:
    """A row for each method, and a column for each value of a setting: means of a measure.

    A method without the setting has the same at all values. The last row is the mean lower bound,
    if the measure is the value.

    Parameters
    ----------
    campaigns
        The runs by campaign.
    over
        Name of a parameter, an option, or a setting of the source that varies.
    measure
        `value` of the most important objective, `ratio` to the least of the instance, `gap`,
        `seconds`, or `optimal`, the share of the runs that are proven optimal.

    Raises
    ------
    UsageError
        If there is no such measure, or no such setting varies.
    """
    if measure not in MEASURES:
        hint = registry.meant(measure, MEASURES)
        raise UsageError(f"no measure {measure!r}; choose from {', '.join(MEASURES)}{hint}")
    every = [run for runs in campaigns.values() for run in runs]
    columns = varying(every)
    named = [column for column in columns if over in {column, setting_name(column)}]
    if not named:
        known = [setting_name(column) for column in columns]
        choice = f"choose from {', '.join(known)}" if known else "nothing varies here"
        raise UsageError(f"no setting {over!r} varies; {choice}{registry.meant(over, known)}")
    column = named[0]
    values = _ordered(
        {
            _key(run.settings[column]): run.settings[column]
            for run in every
            if column in run.settings
        }
    )
    of_run, form = OF_RUN[measure]
    rows: list[dict[str, Any]] = []
    for name, runs in campaigns.items():
        first = {CAMPAIGN: name} if len(campaigns) > 1 else {}
        lines = lines_over(runs, column)
        by_line: dict[str, list[Run]] = {}
        for line, run in lines:
            by_line.setdefault(line, []).append(run)
        for line, own in by_line.items():
            cells = {
                value: _mean([of_run(run) for run in own if _is_at(run, column, value)])
                for value in values
            }
            rows.append({**first, METHOD: line, **cells})
        if measure == "value":
            bounds = {
                value: _mean(
                    list(
                        {
                            run.key: run.bound for _, run in lines if _is_at(run, column, value)
                        }.values()
                    )
                )
                for value in values
            }
            rows.append({**first, METHOD: LOWER_BOUND, **bounds})
    title = f"Mean {measure} over {setting_name(column)}"
    return MethodTable(title, rows, dict.fromkeys(values, form))


def by_value(table: MethodTable, over: str) -> list[dict[str, str]]:
    """A row for each value of a setting, and a column for each method, of one campaign."""
    rows = table.table()
    values = [name for name in rows[0] if name != METHOD]
    return [
        {setting_name(over): value, **{row[METHOD]: row[value] for row in rows}} for value in values
    ]


def varying(runs: Sequence[Run]) -> list[str]:
    """Columns of the settings that have several values."""
    values: dict[str, set[str]] = {}
    for prefix in (SOURCE, PARAMETER, OPTION):
        for run in runs:
            for name, cell in run.settings.items():
                if name.startswith(prefix):
                    values.setdefault(name, set()).add(_key(cell))
    return [name for name, own in values.items() if len(own) > 1]


def _is_at(run: Run, column: str, value: str) -> bool:
    return column not in run.settings or _key(run.settings[column]) == value


def _key(cell: Any) -> str:
    """A value of a setting as the heading of a column."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return f"{cell:.12g}" if isinstance(cell, int | float) else str(cell)


def _ordered(values: Mapping[str, Any]) -> list[str]:
    """Numbers ascending; others in the order of the runs."""
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values.values())
    return sorted(values, key=lambda key: values[key]) if numbers else list(values)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return fmean(known) if known else None
