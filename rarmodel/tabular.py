"""Values as text in tables, as HTML for notebooks, as data frames, and as files with tables."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from .errors import UsageError, one_line

if TYPE_CHECKING:
    import pandas as pd

NONE = "-"
"""The text for a missing value."""

MOST_ROWS = 10
"""Most rows of a list that a notebook shows."""

LONGEST = 120
"""Most characters of a cell that a notebook shows."""


def number(value: float | None, form: str = "") -> str:
    """A formatted number, or a dash for None."""
    return NONE if value is None else format(value, form)


def html_lines(title: str, lines: Mapping[str, object]) -> str:
    """Names and values as a small HTML table, for a notebook."""
    rows = "".join(
        f"<tr>{_cell('th', name, 'left')}{_cell('td', value, 'left')}</tr>"
        for name, value in lines.items()
    )
    return f"<table>{_caption(title)}<tbody>{rows}</tbody></table>"


def html_rows(title: str, rows: Sequence[Mapping[str, object]], total: int | None = None) -> str:
    """Rows as a small HTML table, for a notebook.

    Parameters
    ----------
    title
        Title of the table.
    rows
        Rows that map columns to text.
    total
        Number of all rows, if `rows` has only the first.
    """
    names = list(rows[0]) if rows else []
    sides = ["right" if all(_is_number(row[name]) for row in rows) else "left" for name in names]

    def line(tag: str, values: Iterable[object]) -> str:
        cells = (_cell(tag, value, side) for value, side in zip(values, sides, strict=True))
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row.values()) for row in rows)
    if total is not None and total > len(rows):
        title = f"{title}: the first {len(rows)} of {total:,}"
    return (
        f"<table>{_caption(title)}<thead>{line('th', names)}</thead><tbody>{body}</tbody></table>"
    )


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which each entry of a mapping has a column of its own, as `model_nodes`."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{key}": part for key, part in value.items()}
        else:
            found[name] = value
    return found


def frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Turn rows of plain data into a pandas data frame.

    Raises
    ------
    UsageError
        If pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - few need it
    except ImportError as error:
        message = "data frames need pandas, which is not installed; install it with: "
        raise UsageError(f"{message}pip install 'rarmodel[pandas]'") from error
    return pd.DataFrame(list(rows))


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

    Missing values are empty. In CSV and LaTeX, lists and the like are JSON.

    Raises
    ------
    UsageError
        If a library for the format is not installed, or the format cannot hold the rows.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    if ending == ".csv":
        return _csv(names, rows)
    if ending == ".parquet":
        import pyarrow as pa  # noqa: PLC0415 - takes a while to load
        import pyarrow.parquet as pq  # noqa: PLC0415

        written = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(list(rows)), written)
        return written.getvalue()
    try:
        if ending == ".tex":
            texts = [{name: _plain_text(row.get(name)) for name in names} for row in rows]
            latex: str = frame(texts).to_latex(index=False, escape=True)
            return latex.encode("utf-8", "backslashreplace")
        written = io.BytesIO()
        frame(rows).astype(object).to_excel(written, index=False)
    except ImportError as error:
        library = "jinja2" if ending == ".tex" else "openpyxl"
        raise UsageError(
            f"tables that end in {ending} need {library}, which is not installed; install it with: "
            f"pip install {library}"
        ) from error
    except ValueError as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"no {ending} file can hold this table: {one_line(str(error))}") from error
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


def _text(value: object) -> str:
    text = one_line(str(value))
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _caption(title: str) -> str:
    return f'<caption style="text-align: left; font-weight: bold">{_text(title)}</caption>'


def _cell(tag: str, value: object, side: str) -> str:
    text = _text(NONE if value is None else value)
    return f'<{tag} style="text-align: {side}; padding: 2px 8px">{text}</{tag}>'


def _is_number(value: object) -> bool:
    """Whether a column with this value is aligned to the right; numbers may already be text."""
    text = str(value).rstrip("%").replace(",", "").replace(".", "")
    return value is None or value == NONE or text.isdecimal()
