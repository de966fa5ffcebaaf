"""Rows of results for data frames and tables of campaigns: a cell holds one value, not a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .result import ModelRun

OF_OBJECTIVES = ("objective_value", "objective_bound", "proved_by")
"""Fields of `Result.summary()` that are lists where several objectives are minimised."""


def by_objective(row: Mapping[str, Any], names: str | list[str] | None) -> dict[str, Any]:
    """What is minimised; of several objectives the first, and each in columns of its own.

    Parameters
    ----------
    row
        A row with the fields of `Result.summary()`, which may be missing.
    names
        The objective, or several.
    """
    if not isinstance(names, list):
        return {"objective": names}
    found: dict[str, Any] = {"objective": ",".join(names)}
    for column in OF_OBJECTIVES:
        values = row.get(column) or [None] * len(names)
        pairs = zip(names, values, strict=True)
        found |= {column: values[0], **{f"{column}_{name}": value for name, value in pairs}}
    return found


def frame_row(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A row with the fields of `Result.summary()` as pandas has it: each cell is one value.

    `method` is the name of the row, for formulations too: the key of the log. Each tie, and each of
    several objectives, has columns of its own; so has what became of a model.

    Parameters
    ----------
    row
        The row.
    name
        The name of its result.
    """
    found: dict[str, Any] = {}
    model = row["model"] or {}
    for column, value in row.items():
        if column == "method":
            found[column] = name
        elif column == "model":
            found |= {f"model_{one.name}": model.get(one.name) for one in fields(ModelRun)}
        elif column == "ties":
            for tie in value:
                aim = tie["objective"]
                found |= {f"tie_{part}_{aim}": tie[part] for part in ("value", "bound")}
        elif column == "reasons":
            found[column] = "\n".join(value) or None
        elif column == "objective":
            found |= by_objective(row, value)
        elif column not in found:
            found[column] = value
    return found
