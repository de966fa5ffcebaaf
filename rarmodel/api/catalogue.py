"""Summarise an instance; list bundled instances, methods, formulations and solvers."""

from __future__ import annotations

from typing import Any

from rarmodel import registry
from rarmodel.defaults import DEFAULT_METHOD
from rarmodel.description import Description
from rarmodel.description import describe as _describe
from rarmodel.instances import catalogue

from .sources import Source, load_instance


def list_instances() -> list[dict[str, Any]]:
    """One row of plain data for each bundled instance: sizes, optimum, description."""
    rows = []
    for entry in catalogue():
        instance = load_instance(entry.name)
        rows.append(
            {
                "name": entry.name,
                "jobs": len(instance.jobs),
                "servers": len(instance.cluster.servers),
                "gpus": instance.cluster.total_gpus,
                "network": instance.cluster.network.kind,
                "horizon": instance.time.horizon,
                "optimum": entry.optimum,
                "best_known": entry.best_known,
                "source": entry.source,
                "description": instance.description,
            }
        )
    return rows


def describe(instance: Source) -> Description:
    """Summarise an instance, with the lower bounds that need no solver.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.

    Returns
    -------
    Description
        Sizes, execution times of the jobs by placement, load, lower bounds.

    Raises
    ------
    InputError
        If the instance is malformed.
    """
    return _describe(load_instance(instance))


def list_methods() -> list[dict[str, Any]]:
    """One row of plain data for each method: description, and whether it counts iterations."""
    found = [registry.find("policies", name) for name in registry.names("policies")]
    return [
        {
            "name": method.name,
            "description": getattr(method, "description", ""),
            "counts_iterations": bool(getattr(method, "counts_iterations", False)),
            "default": method.name == DEFAULT_METHOD,
        }
        for method in found
    ]


def list_formulations() -> list[dict[str, Any]]:
    """One row of plain data for each formulation: description, model class, solvers."""
    from rarmodel.solvers.choice import preferred  # noqa: PLC0415 - few need it

    solvers = [registry.find("solvers", name) for name in registry.names("solvers")]
    installed = [solver for solver in solvers if solver.version()]
    found = [registry.find("formulations", name) for name in registry.names("formulations")]
    return [
        {
            "name": formulation.name,
            "description": getattr(formulation, "description", ""),
            "model_class": formulation.model_class,
            "objective": formulation.objective,
            "restricts": formulation.restricts,
            "solvers": [
                solver.name
                for solver in preferred(installed, formulation.model_class)
                if formulation.model_class in solver.model_classes
            ],
        }
        for formulation in found
    ]


def list_solvers() -> list[dict[str, Any]]:
    """One row of plain data for each solver: version if installed, model classes, installation.

    This does not start a solver and takes no licence.
    """
    rows = []
    for name in registry.names("solvers"):
        solver = registry.find("solvers", name)
        rows.append(
            {
                "name": solver.name,
                "version": solver.version(),
                "model_classes": sorted(solver.model_classes),
                "install": getattr(solver, "install", None),
            }
        )
    return rows
