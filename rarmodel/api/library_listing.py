"""Summarise an instance; list the bundled ones, and their families."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from rarmodel import registry
from rarmodel.bounds import relative_gap
from rarmodel.description import Description
from rarmodel.description import describe as _describe
from rarmodel.errors import UsageError
from rarmodel.instances import bundled_library, entries, names_of_families
from rarmodel.model import horizon_of
from rarmodel.model.objectives import MAKESPAN

from .arguments import asked, asked_for_family
from .sources import Source, load_instance


@asked_for_family
def list_instances(family: str | None = None) -> list[dict[str, Any]]:
    """One row of plain data for each bundled instance: sizes, what is known of its makespan.

    Parameters
    ----------
    family
        Only instances of this family; by default all. `list_families` has the families.

    Raises
    ------
    UsageError
        If there is no such family.
    """
    families = names_of_families()
    if family is not None and family not in families:
        hint = registry.meant(family, families)
        raise UsageError(f"no family {family!r}; choose one of {', '.join(families)}{hint}")
    rows = []
    for _, of, listed in entries(bundled_library()):
        if family not in {None, of.name}:
            continue
        instance = load_instance(listed.name)
        known = next((one for one in listed.known if one.objective == MAKESPAN.name), None)
        rows.append(
            {
                "name": listed.name,
                "family": of.name,
                "seed": listed.seed,
                "jobs": len(instance.jobs),
                "servers": len(instance.cluster.servers),
                "gpus": instance.cluster.total_gpus,
                "network": instance.cluster.network.kind,
                "horizon": horizon_of(instance),
                "optimum": known and (known.best.exact if known.optimal else None),
                "best_known": known and known.best.exact,
                "found_by": known and known.best.by,
                "bound": known and known.bound.exact,
                "proven_by": known and known.bound.by,
                "version": known and known.bound.rarmodel,
                "date": known and known.bound.date.isoformat(),
                "claimed_bound": known and known.claimed and known.claimed.exact,
                "gap": known and relative_gap(known.best.exact, known.bound.exact),
                "description": instance.description,
            }
        )
    return rows


def list_families() -> list[dict[str, Any]]:
    """One row of plain data for each family of bundled instances: sizes, optima, gaps."""
    rows = list_instances()
    found = []
    for family in bundled_library().families:
        of = [row for row in rows if row["family"] == family.name]
        gaps = [row["gap"] for row in of if row["gap"] is not None]
        found.append(
            {
                "family": family.name,
                "description": family.description,
                "instances": len(of),
                "optima": sum(row["optimum"] is not None for row in of),
                "mean_gap": fmean(gaps) if gaps else None,
                "greatest_gap": max(gaps, default=None),
            }
        )
    return found


@asked
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
