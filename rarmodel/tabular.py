"""Values as text in tables, as HTML for notebooks, and as data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from .errors import one_line
from .extras import imported

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
    sides = ["right" if all(is_number(row[name]) for row in rows) else "left" for name in names]

    def line(tag: str, values: Iterable[object]) -> str:
        cells = (_cell(tag, value, side) for value, side in zip(values, sides, strict=True))
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row.values()) for row in rows)
    if total is not None and total > len(rows):
        title = f"{title}: the first {len(rows)} of {total:,}"
    return (
        f"<table>{_caption(title)}<thead>{line('th', names)}</thead><tbody>{body}</tbody></table>"
    )


def is_number(cell: object) -> bool:
    """Whether a cell is a number, or text of one: a sign, thousands, decimals, percent, or a dash.

    Columns of such cells are aligned to the right.
    """
    text = NONE if cell is None else str(cell)
    digits = text.removeprefix("-").rstrip("%").replace(",", "").replace(".", "", 1)
    return text == NONE or digits.isdecimal()


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
    made: pd.DataFrame = imported("pandas", "pandas", "data frames").DataFrame(list(rows))
    return made


def _text(value: object) -> str:
    text = one_line(str(value))
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _caption(title: str) -> str:
    return f'<caption style="text-align: left; font-weight: bold">{_text(title)}</caption>'


def _cell(tag: str, value: object, side: str) -> str:
    text = _text(NONE if value is None else value)
    return f'<{tag} style="text-align: {side}; padding: 2px 8px">{text}</{tag}>'
