"""List parts by kind, with what each of them is for and handles."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

from rarmodel import registry
from rarmodel.defaults import DEFAULT_METHOD, DEFAULT_PLACEMENT
from rarmodel.errors import UsageError
from rarmodel.kinds import KINDS, LISTED
from rarmodel.model import handled
from rarmodel.model.features import OBJECTIVES, WIDER
from rarmodel.model.objectives import MAKESPAN, Objective
from rarmodel.schema import Instance, Resource

from .arguments import asked_for_kind
from .sources import load_instance

Rows = list[dict[str, Any]]


@asked_for_kind
def parts(kind: str | None = None) -> Rows:
    """One row of plain data for each part of a kind: its name, what it is, what it is for.

    Parameters
    ----------
    kind
        `methods`, `formulations`, `solvers`, `objectives`, `bounds`, `neighbourhoods`, `policies`,
        `placements`, `reports` or `models`; by default the kinds themselves.

    Raises
    ------
    UsageError
        If there is no such kind, or an installed part cannot be imported.
    """
    if kind is None:
        return [{"name": name, "description": sentence} for name, sentence in LISTED.items()]
    if kind in _ROWS:
        return _ROWS[kind]()
    singular = {about.singular: name for name, about in KINDS.items()}
    hint = registry.meant(kind, LISTED, elsewhere=singular)
    raise UsageError(f"no kind of parts {kind!r}; choose one of {', '.join(LISTED)}{hint}")


def _methods() -> list[dict[str, Any]]:
    """One row of plain data for each method: description, and whether it counts iterations."""
    return [
        {
            "name": method.name,
            "description": getattr(method, "description", ""),
            "counts_iterations": bool(getattr(method, "counts_iterations", False)),
            "default": method.name == DEFAULT_METHOD,
            **_handled(method),
        }
        for method in registry.parts("methods")
    ]


def _formulations() -> list[dict[str, Any]]:
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


def _solvers() -> list[dict[str, Any]]:
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


def _objectives() -> list[dict[str, Any]]:
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


def _bounds() -> list[dict[str, Any]]:
    """One row of plain data for each lower bound: why it holds, how long it takes, and for what."""
    from rarmodel.bounds import bounds, objective_bounds  # noqa: PLC0415 - few need it

    proven = {
        one.name: {
            bound.name for sample in _samples(one.name) for bound in objective_bounds(sample, one)
        }
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


def _neighbourhoods() -> list[dict[str, Any]]:
    """One row of plain data for each neighbourhood of `search`: what it changes, and for what."""
    return [
        {
            "name": one.name,
            "description": one.description,
            "runs": one.runs,
            "by_turns": one.improve is not None,
            **_handled(one, one.objectives or _names()),
        }
        for one in registry.parts("neighbourhoods")
    ]


def _policies() -> list[dict[str, Any]]:
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
        for policy in registry.parts("policies")
    ]


def _placements() -> list[dict[str, Any]]:
    """One row of plain data for each placement of online policies."""
    return [
        {
            "name": placement.name,
            "description": getattr(placement, "description", ""),
            "default": placement.name == DEFAULT_PLACEMENT,
        }
        for placement in registry.parts("placements")
    ]


def _reports() -> list[dict[str, Any]]:
    """One row of plain data for each thing that looks at schedules or instances, and for what."""
    from rarmodel import auditor, description, drawing, verifier  # noqa: PLC0415 - few need them

    looking = {
        "verify": ("checks schedules", verifier.HANDLES),
        "describe": ("summarises instances", description.HANDLES),
        "plot": ("draws schedules", drawing.HANDLES),
        "report": ("compares schedules in a page", drawing.HANDLES),
        "audit": ("checks the paper's claims", auditor.HANDLES),
    }
    return [
        {"name": name, "description": words, **_handled(SimpleNamespace(handles=handles))}
        for name, (words, handles) in looking.items()
    ]


def _models() -> list[dict[str, Any]]:
    """One row of plain data for each model that has a profile, or was measured beside others."""
    from rarmodel.workloads.measured_pressures import measured_pressures  # noqa: PLC0415
    from rarmodel.workloads.model_profiles import LICENCES, profiles  # noqa: PLC0415

    known, beside = profiles(), measured_pressures()
    found = []
    for name in sorted({*known, *beside}):
        rows, pair = known.get(name, ()), beside.get(name)
        sources = dict.fromkeys([*(row.source for row in rows), *([pair.source] if pair else [])])
        found.append(
            {
                "name": name,
                "gradient_mb": rows[0].gradient_mb if rows else None,
                "batch_sizes": sorted({row.batch_size for row in rows}),
                "sources": {source: LICENCES[source] for source in sources},
                "errors": {row.hardware: row.error for row in rows},
                "sensitivity": pair.sensitivity if pair else None,
                "pressure": pair.pressure if pair else None,
                "error_beside": pair.error if pair else None,
            }
        )
    return found


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


def _samples(objective: str) -> tuple[Instance, Instance]:
    """Instances such that every bound on an objective has something to say about one of them.

    Jobs share the GPUs of the second one.
    """
    instance = load_instance("two-servers")
    alone = Resource(name="alone", capacity=1)
    jobs = tuple(
        job.model_copy(update={"due": 1, "resources": {alone.name: 1}}) for job in instance.jobs
    )
    update = {"jobs": jobs, "objective": objective, "resources": (alone,)}
    shared = {
        "jobs": tuple(job.model_copy(update={"slices": 1}) for job in jobs),
        "cluster": instance.cluster.model_copy(update={"gpu_slices": 2}),
    }
    return instance.model_copy(update=update), instance.model_copy(update=update | shared)


_ROWS: dict[str, Callable[[], Rows]] = {
    "methods": _methods,
    "formulations": _formulations,
    "solvers": _solvers,
    "objectives": _objectives,
    "bounds": _bounds,
    "neighbourhoods": _neighbourhoods,
    "policies": _policies,
    "placements": _placements,
    "reports": _reports,
    "models": _models,
}
