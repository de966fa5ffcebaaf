"""The parts of each kind as tables, for `rarmodel list`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rarmodel.model.features import WIDER, in_words
from rarmodel.registry import names
from rarmodel.tabular import NONE

from .text_tables import TextTable, prose, words


def methods(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The methods, each with its description."""
    table = TextTable(None, [words("method"), prose("description"), prose("features", 1)])
    for row in rows:
        default = " (the default)" if row["default"] else ""
        text = (row["description"] or NONE) + default
        table.add(row["name"], text, in_words(row["handles"], WIDER))
    return table


def policies(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The online policies, each with what it knows and does."""
    flags = [words(name, 1) for name in ("knows", "interrupts", "sizes")]
    table = TextTable(None, [words("policy"), *flags, prose("description")])
    for row in rows:
        does = ("yes" if row[field] else "no" for field in ("interrupts", "elastic"))
        table.add(row["name"], row["knows"], *does, row["description"] or NONE)
    return table


def placements(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The placements of online policies."""
    table = TextTable(None, [words("placement"), prose("description")])
    for row in rows:
        default = " (the default)" if row["default"] else ""
        table.add(row["name"], (row["description"] or NONE) + default)
    return table


def objectives(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The objectives, each with its unit."""
    table = TextTable(None, [words("objective"), words("unit"), prose("description")])
    for row in rows:
        table.add(*(row[field] for field in ("name", "unit", "description")))
    return table


def bounds(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The lower bounds, each with what it holds for."""
    what_for = [prose("objectives", 2), prose("features", 3)]
    columns = [words("bound"), words("takes", 1), *what_for, prose("description")]
    table = TextTable(None, columns)
    for row in rows:
        table.add(
            row["name"],
            row["cost"],
            in_words(row["objectives"], names("objectives")),
            in_words(row["handles"], WIDER),
            row["description"] or NONE,
        )
    return table


def neighbourhoods(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The neighbourhoods, each with what it is for."""
    what_for = [prose("objectives", 2), prose("features", 3)]
    columns = [words("neighbourhood"), words("runs", 1), *what_for, prose("description")]
    table = TextTable(None, columns)
    for row in rows:
        table.add(
            row["name"],
            row["runs"],
            in_words(row["objectives"], names("objectives")),
            in_words(row["handles"], WIDER),
            row["description"] or NONE,
        )
    return table


def formulations(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The formulations, each with its solvers."""
    solved = [words("model class", 2), prose("installed solvers", 1)]
    columns = [words("formulation"), *solved, prose("features", 3), prose("description")]
    table = TextTable(None, columns)
    for row in rows:
        table.add(
            row["name"],
            row["model_class"],
            ", ".join(row["solvers"]) or NONE,
            in_words(row["handles"], WIDER),
            row["description"] or NONE,
        )
    return table


def solvers(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The solvers, each with the models that it solves."""
    names = ("solver", "version", "model classes")
    table = TextTable(None, [*(words(name) for name in names), prose("install")])
    for row in rows:
        table.add(
            row["name"],
            row["version"] or "not installed",
            ", ".join(row["model_classes"]),
            row["install"] or NONE,
        )
    return table


def kinds(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The kinds of parts, each with a sentence."""
    table = TextTable(None, [words("kind"), prose("description")])
    for row in rows:
        table.add(row["name"], row["description"])
    return table


def reports(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """Commands that look at schedules and instances, each with what it handles."""
    table = TextTable(None, [words("report"), prose("description"), prose("features", 1)])
    for row in rows:
        table.add(row["name"], row["description"], in_words(row["handles"], WIDER))
    return table


def models(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """The models, with how far their profiles are off, and their rings beside others."""
    numbers = [words(name, 1) for name in ("sensitivity", "pressure", "error beside")]
    table = TextTable(None, [words("model"), prose("source"), prose("error"), *numbers])
    for row in rows:
        sources = ", ".join(f"{name} ({licence})" for name, licence in row["sources"].items())
        errors = [f"{kind} {error:.1%}" for kind, error in row["errors"].items() if error]
        beside = row["error_beside"]
        table.add(
            row["name"],
            sources,
            ", ".join(errors) or NONE,
            *(NONE if (value := row[name]) is None else f"{value:g}" for name in _PRESSURES),
            NONE if beside is None else f"{beside:.1%}",
        )
    return table


_PRESSURES = ("sensitivity", "pressure")


PARTS: dict[str | None, Callable[[Sequence[Mapping[str, Any]]], TextTable]] = {
    None: kinds,
    "methods": methods,
    "formulations": formulations,
    "solvers": solvers,
    "objectives": objectives,
    "bounds": bounds,
    "neighbourhoods": neighbourhoods,
    "policies": policies,
    "placements": placements,
    "reports": reports,
    "models": models,
}
"""The table of each kind of parts; that of the kinds themselves at None."""
