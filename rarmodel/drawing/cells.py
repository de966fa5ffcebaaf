"""Cells of a campaign's table: what a row says, or that this is unknown."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rarmodel.errors import InputError, Problem
from rarmodel.model.objectives import MAKESPAN

from .trials import LogEntry

Row = Mapping[str, Any]

LOG = "log"


def key_of(row: Row) -> str:
    """Hash of the instance."""
    return text(row, "instance_hash")


def first_of(objectives: str) -> str:
    """The most important of several objectives."""
    return objectives.partition(",")[0]


def about(row: Row, first: str) -> bool:
    """Whether a run minimised an objective, and nothing before that."""
    return first_of(text(row, "objective") or MAKESPAN.name) == first


def value_of(row: Row, first: str) -> float | None:
    """The value of an objective; of others than the makespan, only if the run minimised it."""
    if first == MAKESPAN.name:
        return number(row, "makespan", positive=True)
    return number(row, "objective_value") if about(row, first) else None


def values_of(row: Row, objectives: Sequence[str]) -> list[float]:
    """Values of the less important objectives; an unknown one counts as the worst."""
    found = (number(row, f"objective_value_{name}") for name in objectives)
    return [math.inf if value is None else value for value in found]


def bound_of(row: Row, first: str) -> float | None:
    """A run's bound on an objective."""
    if first == MAKESPAN.name:
        return number(row, "lower_bound")
    return number(row, "objective_bound") if about(row, first) else None


def log_of(row: Row) -> tuple[LogEntry, ...]:
    """Values and bounds over time: a cell with JSON, a list of seconds, value and bound."""
    told = text(row, LOG)
    if not told:
        return ()
    try:
        return tuple(LogEntry(*map(_number_or_none, entry)) for entry in json.loads(told))
    except (TypeError, ValueError) as error:
        message = f"{told[:40]!r}; JSON is expected, a list of [seconds, value, bound]"
        raise InputError([Problem(f"column {LOG!r}", message)]) from error


def _number_or_none(value: object) -> Any:
    if value is None or (type(value) in {int, float} and math.isfinite(value)):  # type: ignore[arg-type]
        return value
    raise TypeError(value)


def known(row: Row, column: str) -> Any:
    """A cell; None if unknown."""
    value = row.get(column)
    return None if isinstance(value, float) and math.isnan(value) else value


def text(row: Row, column: str) -> str:
    """A cell as text; unknown is empty, and a whole number has no point."""
    value = known(row, column)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.12g}"
    return "" if value is None else str(value)


def number(row: Row, column: str, *, positive: bool = False) -> float | None:
    """A cell with a number or nothing."""
    value = known(row, column)
    if value is None:
        return None
    wrong = isinstance(value, bool) or not isinstance(value, int | float)
    if wrong or not math.isfinite(value) or (positive and value <= 0):
        kind = "numbers above 0" if positive else "numbers"
        message = f"{str(value)[:40]!r}; {kind} are expected"
        raise InputError([Problem(f"column {column!r}", message)])
    return float(value)
