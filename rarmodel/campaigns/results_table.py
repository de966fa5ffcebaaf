"""The table of a campaign: one row per finished or failed run, as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from rarmodel.files import write_bytes
from rarmodel.methods import by_objective
from rarmodel.table_files import arrow, check_table, parquet_bytes, table_bytes
from rarmodel.tabular import flat

from .ledger import Ledger
from .planned_runs import Planned
from .task import Outcome, canonical

RESULT_FIELDS = {
    "status": "string",
    "makespan": "int64",
    "mean_completion": "double",
    "mean_flow": "double",
    "p95_flow": "double",
    "max_flow": "int64",
    "late_jobs": "int64",
    "lower_bound": "int64",
    "bound_name": "string",
    "gap": "double",
    "stopped": "string",
    "objective": "string",
    "objective_value": "double",
    "objective_bound": "double",
    "restricted": "bool",
    "verified": "bool",
    "schedule_by": "string",
    "proved_by": "string",
    "by_others": "string",
}
"""Columns from `Result.summary()`, and from how long jobs wait."""

MODEL = {
    "model_built": "bool",
    **dict.fromkeys(("model_horizon", "model_variables", "model_constraints"), "int64"),
    "model_solver": "string",
    **dict.fromkeys(("model_solver_seconds", "model_solver_value", "model_solver_bound"), "double"),
    "model_nodes": "int64",
}
"""Columns from `ModelRun`: what became of a formulation's models."""

SIMULATION_FIELDS = {
    "median_flow": "double",
    "p99_flow": "double",
    "mean_queueing": "double",
    "utilisation": "double",
    "preemptions": "int64",
    "restore_slots": "int64",
    "lost_iterations": "int64",
    "lost_slots": "double",
    "total_tardiness": "int64",
    "max_stretch": "double",
    "finish_time_fairness": "double",
    "decisions": "int64",
}
"""Columns from `Simulation.summary()` beside those."""

BY_OBJECTIVE = ("objective_value_", "objective_bound_", "proved_by_")
"""Columns of each objective, where a run minimises several."""

PROVEN = ("bounds_", "ratios_")
"""Columns of each objective, where a run is a simulation."""

MEASURED = ("seconds", "process_seconds", "peak_memory_mb", "host", "log")
"""Columns that may differ if the same runs are repeated."""

VERSIONS = ("rarmodel", "solver_version", "python", "numpy", "numba", "pyomo")


def rows_of(ledger: Ledger) -> list[dict[str, Any]]:
    """One row of plain data for each finished or failed run, in the plan's order."""
    return [
        _row(entry.run, entry.planned, entry.outcome)
        for entry in ledger.entries()
        if entry.outcome is not None
    ]


def _row(run: str, planned: Planned, outcome: Outcome) -> dict[str, Any]:
    task, result = planned.task, outcome.result
    return {
        "campaign": planned.campaign,
        "run": run,
        "instance": planned.instance_name,
        "instance_hash": task.instance,
        "source": planned.source,
        **{f"source_{name}": value for name, value in planned.source_parameters.items()},
        "method": task.method,
        "formulation": task.formulation,
        "solver": task.solver,
        "policy": task.policy,
        **{f"parameter_{name}": value for name, value in task.parameters.items()},
        **{f"option_{name}": value for name, value in _options(task.options).items()},
        "data": None if task.data is None else canonical(task.data),
        "seed": task.seed,
        "state": _state(outcome),
        "failure": outcome.failure,
        "error": outcome.error or None,
        **{name: result.get(name) for name in (*RESULT_FIELDS, *SIMULATION_FIELDS)},
        **{
            f"{prefix}{name}": value
            for prefix in PROVEN
            for name, value in result.get(prefix[:-1], {}).items()
        },
        **by_objective(result, result.get("objective") or task.options.get("objective")),
        **flat({"model": result.get("model") or {}}),
        "reasons": "\n".join(result.get("reasons", ())) or None,
        **dict.fromkeys(VERSIONS),
        **{name: outcome.versions.get(name) for name in VERSIONS if name != "solver_version"},
        "rarmodel": task.rarmodel,
        "solver_version": task.solver_version,
        "seconds": result.get("seconds"),
        "process_seconds": outcome.process_seconds,
        "peak_memory_mb": outcome.peak_memory_mb,
        "host": outcome.host,
        "log": _log(result),
    }


def _log(result: Mapping[str, Any]) -> str | None:
    """Incumbents and bounds over time as JSON: a list of seconds, value and bound."""
    entries = result.get("log")
    return canonical([list(one.values()) for one in entries]) if entries else None


def _state(outcome: Outcome) -> str:
    if outcome.failure:
        return "failed"
    return "skipped" if outcome.result.get("status") == "skipped" else "done"


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run, each in a column: also each of the solver's own.

    Several objectives are as the command line takes them.
    """
    found: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": one for key, one in value.items()}
        else:
            found[name] = _as_option(value) if name == "objective" else value
    return found


def _as_option(names: str | Sequence[str]) -> str:
    """As the command line takes names; a comma makes a list of one."""
    if isinstance(names, str):
        return names
    return f"{names[0]}," if len(names) == 1 else ",".join(names)


def table_name() -> str:
    """The name of the table in a campaign's folder: Parquet where PyArrow is, or else CSV."""
    return "table.csv" if find_spec("pyarrow") is None else "table.parquet"


class Column(NamedTuple):
    """A column of the table."""

    kind: str
    """Its type, as PyArrow names it."""
    cells: list[Any]
    """Its values, of this type or None."""


def table_of(ledger: Ledger) -> dict[str, Column]:
    """The columns of a ledger's table, by name."""
    rows = rows_of(ledger)
    return {
        name: Column(kind, _cells([row.get(name) for row in rows], kind))
        for name, kind in _columns(rows).items()
    }


def table_rows(table: Mapping[str, Column]) -> list[dict[str, Any]]:
    """The rows of a table."""
    cells = zip(*(column.cells for column in table.values()), strict=True)
    return [dict(zip(table, row, strict=True)) for row in cells]


def export_table(ledger: Ledger, output: str | os.PathLike[str]) -> int:
    """Write the table of a ledger as its name's ending says; return the number of rows.

    Raises
    ------
    InputError
        If the file cannot be written.
    UsageError
        If no table is written to files of this name, or a library for it is not installed.
    """
    ending = check_table(output)
    table = table_of(ledger)
    if ending == ".parquet":  # with the type of each column
        pa = arrow()
        columns = {name: pa.array(column.cells, column.kind) for name, column in table.items()}
        content = parquet_bytes(pa.table(columns))
    else:
        content = table_bytes(table_rows(table), ending)
    write_bytes(output, content)
    return len(table["run"].cells)


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Name and type of each column, in the order of a row."""
    known: dict[str, str] = {
        **RESULT_FIELDS,
        **SIMULATION_FIELDS,
        **MODEL,
        "seed": "int64",
        **dict.fromkeys(("seconds", "process_seconds", "peak_memory_mb"), "double"),
    }
    groups = ("source_", "parameter_", "option_", *BY_OBJECTIVE, *PROVEN)
    own = {name: None for row in rows for name in row if name.startswith(groups)}
    order: list[str] = []
    for name in _row_order():
        if name in groups:
            order += [column for column in own if column.startswith(name)]
        else:
            order.append(name)
    return {
        name: _type_of([row.get(name) for row in rows])
        if name in own
        else known.get(name, "string")
        for name in order
    }


def _row_order() -> tuple[str, ...]:
    """The columns of every table, and the places of a campaign's own columns."""
    return (
        *("campaign", "run", "instance", "instance_hash", "source", "source_"),
        *("method", "formulation", "solver", "policy", "parameter_", "option_", "data", "seed"),
        *("state", "failure", "error", *RESULT_FIELDS, *BY_OBJECTIVE),
        *(*SIMULATION_FIELDS, *PROVEN, *MODEL, "reasons"),
        *(*VERSIONS, *MEASURED),
    )


def _type_of(values: Sequence[Any]) -> str:
    """The narrowest type of all values but None: whole number, number, truth value, or text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "bool"
    if kinds == {int} and all(abs(v) < 2**63 for v in values if v is not None):
        return "int64"
    return "double" if kinds and kinds <= {int, float} else "string"


def _cells(values: Sequence[Any], kind: str) -> list[Any]:
    """Values of a column; in a column of texts, other values become JSON."""
    if kind == "double":
        return [None if value is None else float(value) for value in values]
    if kind != "string":
        return list(values)
    return [None if v is None else _text(v) for v in values]


def _text(value: Any) -> str:
    """Text that Parquet can hold; halves of surrogate pairs (odd file names) become escapes."""
    text = value if isinstance(value, str) else canonical(value)
    return text.encode("utf-8", "backslashreplace").decode()
