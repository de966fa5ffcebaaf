"""The HTML page and charts that compare a campaign's methods, from its folder or its table."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarmodel.drawing import (
    Group,
    MethodTable,
    campaign_page,
    require_solve_parts,
    setting_table,
    simulations_page,
    solves_chart,
    summary_table,
)
from rarmodel.drawing.runs import Run, runs_of
from rarmodel.errors import InputError, Problem
from rarmodel.files import read_bytes, read_instance, read_schedule
from rarmodel.schema import Instance, Schedule
from rarmodel.table_files import arrow

from .campaign_arguments import asked
from .driver import INSTANCES, LEDGER, SCHEDULES
from .ledger import open_ledger
from .results_table import table_of, table_rows

if TYPE_CHECKING:
    from altair import VConcatChart


@asked
def campaign_report(source: str | os.PathLike[str]) -> str:
    """Compare the methods of a campaign, or of several in one folder, in one HTML page.

    Parameters
    ----------
    source
        The folder of a campaign, which may still be running; the page shows the runs so far. Or a
        Parquet file with its table, as `export` writes it.

    Returns
    -------
    str
        The page; see `rarmodel.drawing.campaign_page`.

    Raises
    ------
    InputError
        If there is no campaign or table, or no finished or failed run in it.
    UsageError
        If Altair or vl-convert is not installed.
    """
    with _named(source):
        return campaign_page(*_rows_of(source))


@asked
def campaign_plot(
    source: str | os.PathLike[str], parts: Sequence[str] | None = None
) -> VConcatChart:
    """Draw performance profiles of a campaign's methods, and their mean gaps over time.

    A problem is an instance with a seed. Those count that every method has tried.

    Parameters
    ----------
    source
        The folder of a campaign, or a Parquet file with its table, as `export` writes it.
    parts
        Parts to draw: `profile`, `time-profile`, `gap`, `own-gap`; see `Comparisons.plot`. By
        default all that say something.

    Returns
    -------
    VConcatChart
        A chart of Vega-Altair. `save` writes it as SVG, PNG, PDF or HTML.

    Raises
    ------
    InputError
        If there is no campaign or table.
    UsageError
        If a part does not exist, there is nothing to show, or Altair or vl-convert is not
        installed.
    """
    require_solve_parts(parts)
    with _named(source):
        found = runs_of(_rows_of(source)[0])
    groups = {}
    for name, runs in found.items():
        tried = {run.method for run in runs if not run.skipped}
        own = name if len(found) > 1 else ""
        groups[own] = [run.trial for run in runs if run.method in tried]
    return solves_chart(groups, parts)


@asked
def campaign_table(
    source: str | os.PathLike[str], over: str | None = None, measure: str = "value"
) -> MethodTable:
    """Compare the methods of a campaign in one table, also across the values of a setting.

    Parameters
    ----------
    source
        The folder of a campaign, or a Parquet file with its table, as `export` writes it.
    over
        A parameter, an option, or a setting of the instances that varies: each of its values has a
        column. By default the columns are all that is measured.
    measure
        With `over`, the mean in each cell: `value` of the most important objective, `ratio` to the
        least of the instance, `gap`, `seconds`, or `optimal`, the share of proven optima.

    Returns
    -------
    MethodTable
        A table, which a notebook shows; see its `to_frame` and `to_latex`.

    Raises
    ------
    InputError
        If there is no campaign or table.
    UsageError
        If no such setting varies, there is no such measure, or Altair or vl-convert is not
        installed.
    """
    with _named(source):
        found = runs_of(_rows_of(source)[0])
    done = {name: [run for run in runs if not run.skipped] for name, runs in found.items()}
    return summary_table(done) if over is None else setting_table(done, over, measure)


@contextmanager
def _named(source: str | os.PathLike[str]) -> Iterator[None]:
    """Name the folder or file in what is wrong with it."""
    try:
        yield
    except InputError as error:
        raise InputError(error.problems, error.source or os.fspath(source)) from error


def _rows_of(source: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], int | None]:
    """Rows of a campaign's table, and how many runs are still open, if that is known."""
    if not os.path.isdir(source):  # noqa: PTH112 - raises nothing
        return _read_table(source), None
    with open_ledger(Path(source) / LEDGER) as ledger:
        return table_rows(table_of(ledger)), list(ledger.states().values()).count("open")


@asked
def simulations_report(folder: str | os.PathLike[str]) -> str:
    """Compare what a campaign's schedules are like for arriving jobs, in one HTML page.

    Each source of instances with its settings has a tab. Simulations and solves stand side by side.

    Parameters
    ----------
    folder
        The folder of a campaign, which may still be running.

    Returns
    -------
    str
        The page; see `rarmodel.drawing.simulations_page`.

    Raises
    ------
    InputError
        If there is no campaign in the folder, or no run with a schedule.
    UsageError
        If Altair or vl-convert is not installed.
    """
    with open_ledger(Path(folder) / LEDGER) as ledger:
        rows = table_rows(table_of(ledger))
    groups: dict[str, dict[tuple[str, str], list[Run]]] = {}
    campaigns = runs_of(rows)
    for name, runs in campaigns.items():
        for run in runs:
            if run.makespan is not None:
                parts = ([name] if len(campaigns) > 1 else []) + [run.family]
                lines = groups.setdefault(": ".join(filter(None, parts)) or name, {})
                lines.setdefault((run.method, run.base), []).append(run)
    if not groups:
        raise InputError([Problem("", "no run has a schedule yet")], os.fspath(folder))
    title = ", ".join(dict.fromkeys(str(row["campaign"]) for row in rows))
    return simulations_page(
        title,
        [
            Group(name, {label: _loaded(Path(folder), runs) for label, runs in lines.items()})
            for name, lines in groups.items()
        ],
    )


def _loaded(folder: Path, runs: Sequence[Run]) -> Iterator[tuple[Instance, Schedule]]:
    """Instances and schedules of runs; one after the other, as they may be many."""
    for run in runs:
        instance = read_instance(folder / INSTANCES / f"{run.key}.json")
        yield instance, read_schedule(folder / SCHEDULES / f"{run.name}.json")


def _read_table(source: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Rows of a Parquet file."""
    pa = arrow()
    name, content = read_bytes(source)
    try:
        rows: list[dict[str, Any]] = pa.parquet.ParquetFile(io.BytesIO(content)).read().to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        message = "not a Parquet file; a campaign's folder or its table is expected"
        raise InputError([Problem("", message)], name) from error
    return rows
