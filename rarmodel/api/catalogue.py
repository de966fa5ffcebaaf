"""Summarise an instance; list bundled instances, and parts with what each of them handles."""

from __future__ import annotations

from collections.abc import Collection
from statistics import fmean
from types import SimpleNamespace
from typing import Any

from rarmodel import registry
from rarmodel.bounds import relative_gap
from rarmodel.defaults import DEFAULT_METHOD, DEFAULT_PLACEMENT
from rarmodel.description import Description
from rarmodel.description import describe as _describe
from rarmodel.errors import UsageError
from rarmodel.instances import bundled_library, entries, names_of_families
from rarmodel.model import handled, horizon_of
from rarmodel.model.features import OBJECTIVES, WIDER
from rarmodel.model.objectives import MAKESPAN, Objective
from rarmodel.schema import Instance

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


def list_methods() -> list[dict[str, Any]]:
    """One row of plain data for each method: description, and whether it counts iterations."""
    return [
        {
            "name": method.name,
            "description": getattr(method, "description", ""),
            "counts_iterations": bool(getattr(method, "counts_iterations", False)),
            "default": method.name == DEFAULT_METHOD,
            **_handled(method),
        }
        for method in registry.parts("policies")
    ]


def list_policies() -> list[dict[str, Any]]:
    """One row of plain data for each online policy: what it knows, and what it does to jobs."""
    return [
        {
            "name": policy.name,
            "description": getattr(policy, "description", ""),
            "knows": policy.knows,
            "interrupts": policy.interrupts,
            "elastic": policy.elastic,
            "round_slots": policy.round_slots,
            "round_seconds": getattr(policy, "round_seconds", None),
        }
        for policy in registry.parts("online_policies")
    ]


def list_placements() -> list[dict[str, Any]]:
    """One row of plain data for each placement of online policies."""
    return [
        {
            "name": placement.name,
            "description": getattr(placement, "description", ""),
            "default": placement.name == DEFAULT_PLACEMENT,
        }
        for placement in registry.parts("placements")
    ]


def list_formulations() -> list[dict[str, Any]]:
    """One row of plain data for each formulation: description, model class, solvers."""
    from rarmodel.solvers.choice import preferred  # noqa: PLC0415 - few need it

    installed = [solver for solver in registry.parts("solvers") if solver.version()]
    rows = []
    for formulation in registry.parts("formulations"):
        own = formulation.objective if formulation.objective != MAKESPAN.name else None
        rows.append(
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
                **_handled(formulation, own and [own]),
            }
        )
    return rows


def list_objectives() -> list[dict[str, Any]]:
    """One row of plain data for each objective: description, unit, and how it is made of jobs."""
    return [
        {
            "name": one.name,
            "description": one.description,
            "unit": one.unit,
            "kind": _kind(one),
        }
        for one in registry.parts("objectives")
    ]


def _kind(one: Objective) -> str:
    """How an objective is made of jobs."""
    if one.prices is not None:
        return "price"
    if one.link_weights is not None:
        return "links"
    return "greatest" if one.greatest else "sum"


def list_bounds() -> list[dict[str, Any]]:
    """One row of plain data for each lower bound: why it holds, how long it takes, and for what."""
    from rarmodel.bounds import bounds, objective_bounds  # noqa: PLC0415 - few need it

    proven = {
        one.name: {bound.name for bound in objective_bounds(_sample(one.name), one)}
        for one in registry.parts("objectives")
    }
    return [
        {
            "name": bound.name,
            "description": bound.description,
            "cost": bound.cost,
            **_handled(
                bound,
                bound.objectives
                or [name for name, of in proven.items() if not bound.prove or bound.name in of],
            ),
        }
        for bound in bounds()
    ]


def list_neighbourhoods() -> list[dict[str, Any]]:
    """One row of plain data for each neighbourhood of `search`: what it changes, and for what."""
    return [
        {
            "name": one.name,
            "description": one.description,
            "by_turns": one.improve is not None,
            **_handled(one, one.objectives or _names()),
        }
        for one in registry.parts("neighbourhoods")
    ]


def list_reports() -> list[dict[str, Any]]:
    """One row of plain data for each thing that looks at schedules or instances, and for what."""
    from rarmodel import auditor, description, reports, verifier  # noqa: PLC0415 - few need them

    looking = {
        "verify": ("checks schedules", verifier.HANDLES),
        "describe": ("summarises instances", description.HANDLES),
        "plot": ("draws schedules", reports.HANDLES),
        "report": ("compares schedules in a page", reports.HANDLES),
        "audit": ("checks the paper's claims", auditor.HANDLES),
    }
    return [
        {"name": name, "description": words, **_handled(SimpleNamespace(handles=handles))}
        for name, (words, handles) in looking.items()
    ]


def _handled(part: object, objectives: Collection[str] | None = None) -> dict[str, list[str]]:
    """The objectives that a part is for, and the features that it handles."""
    found = handled(part)
    if objectives is None:
        objectives = _names() if OBJECTIVES.name in found else [MAKESPAN.name]
    return {
        "objectives": sorted(objectives),
        "handles": [name for name in WIDER if name in found],
    }


def _names() -> list[str]:
    return [one.name for one in registry.parts("objectives")]


def _sample(objective: str) -> Instance:
    """An instance about which every bound on an objective has something to say."""
    instance = load_instance("two-servers")
    due = (job.model_copy(update={"due": 1}) for job in instance.jobs)
    return instance.model_copy(update={"jobs": tuple(due), "objective": objective})


def list_solvers() -> list[dict[str, Any]]:
    """One row of plain data for each solver: version if installed, model classes, installation.

    This does not start a solver and takes no licence.
    """
    return [
        {
            "name": solver.name,
            "version": solver.version(),
            "model_classes": sorted(solver.model_classes),
            "install": getattr(solver, "install", None),
        }
        for solver in registry.parts("solvers")
    ]
