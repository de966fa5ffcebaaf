"""What there is: the bundled instances, and the solvers."""

from __future__ import annotations

from typing import Any

from rarmodel import registry
from rarmodel.instances import catalogue

from .sources import load_instance


def bundled() -> list[dict[str, Any]]:
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


def engines() -> list[dict[str, Any]]:
    """One row of plain data for each solver: version if installed, models it solves, how to get it.

    Asks nothing of the solvers themselves, and takes no licence.
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
