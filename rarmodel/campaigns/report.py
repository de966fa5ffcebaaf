"""The HTML page that compares the methods of a campaign, from its folder or its table."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from rarmodel.errors import InputError, Problem
from rarmodel.files import read_bytes
from rarmodel.reports import campaign_page

from .driver import LEDGER
from .ledger import open_ledger
from .table import table_of


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
        The page; see `rarmodel.reports.campaign_page`.

    Raises
    ------
    InputError
        If there is no campaign or table, or no finished or failed run in it.
    UsageError
        If Jinja2 or Bokeh is not installed.
    """
    try:
        if not os.path.isdir(source):  # noqa: PTH112 - raises nothing
            return campaign_page(_read_table(source))
        with open_ledger(Path(source) / LEDGER) as ledger:
            rows, states = table_of(ledger).to_pylist(), ledger.states()
        return campaign_page(rows, list(states.values()).count("open"))
    except InputError as error:
        raise InputError(error.problems, error.source or os.fspath(source)) from error


def _read_table(source: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Rows of a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415 - takes a while to load
    import pyarrow.parquet as pq  # noqa: PLC0415

    name, content = read_bytes(source)
    try:
        rows: list[dict[str, Any]] = pq.ParquetFile(io.BytesIO(content)).read().to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        message = "not a Parquet file; a campaign's folder or its table is expected"
        raise InputError([Problem("", message)], name) from error
    return rows
