"""Rows of plain data as files: CSV, Parquet, LaTeX and Excel."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from .errors import UsageError, one_line
from .extras import imported
from .latex import latex_table
from .tabular import frame

TABLES = (".csv", ".parquet", ".tex", ".xlsx")
"""Endings of files with tables."""


def check_table(output: str | os.PathLike[str], endings: Sequence[str] = TABLES) -> str:
    """The ending of a table's name, which says what is written.

    Raises
    ------
    UsageError
        If no table is written to files of this name.
    """
    name = os.fspath(output)
    ending = os.path.splitext(name)[1].lower()  # noqa: PTH122 - the name may be no path
    if ending not in endings:
        *others, last = endings
        known = f"{', '.join(others)} or {last}" if others else last
        raise UsageError(f"{one_line(name)}: the name of a table ends in {known}")
    return ending


def table_bytes(rows: Sequence[Mapping[str, Any]], ending: str) -> bytes:
    """Rows of plain data as a file with this ending: CSV, Parquet, LaTeX or Excel.

    Missing values are empty, in LaTeX a dash. In CSV and LaTeX, lists and the like are JSON.

    Raises
    ------
    UsageError
        If a library for the format is not installed, or the format cannot hold the rows.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    if ending == ".csv":
        return _csv(names, rows)
    if ending == ".parquet":
        return parquet_bytes(arrow().Table.from_pylist(list(rows)))
    if ending == ".tex":
        texts = [{name: _plain_text(row.get(name)) for name in names} for row in rows]
        return latex_table(names, texts).encode("utf-8", "backslashreplace")
    table, written = frame(rows).astype(object), io.BytesIO()
    try:
        table.to_excel(written, index=False)
    except ImportError as error:
        raise UsageError(
            "tables that end in .xlsx need openpyxl, which is not installed; install it with: "
            "pip install openpyxl"
        ) from error
    except ValueError as error:
        raise UsageError(f"no .xlsx file can hold this table: {one_line(str(error))}") from error
    return written.getvalue()


def arrow() -> ModuleType:
    """PyArrow, which few need: it is an extra.

    Raises
    ------
    UsageError
        If it is not installed.
    """
    imported("pyarrow.parquet", "parquet", "Parquet files")
    return imported("pyarrow", "parquet", "Parquet files")


def parquet_bytes(table: Any) -> bytes:
    """A table of PyArrow as a Parquet file."""
    written = io.BytesIO()
    arrow().parquet.write_table(table, written)
    return written.getvalue()


def _csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(names)
    lines.writerows([_plain_text(row.get(name)) for name in names] for row in rows)
    return written.getvalue().encode("utf-8", "backslashreplace")


def _plain_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
