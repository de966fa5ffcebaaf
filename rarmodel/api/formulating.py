"""Build the models of formulations, and solve their LP relaxations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.model.features import SERVICES, handled

from .arguments import asked
from .formulation_choices import check_entries
from .sources import Data, Source, entries_of, load_instance, with_objective

if TYPE_CHECKING:
    from rarmodel.exact import FormulatedModel, Relaxation
    from rarmodel.formulations import Formulation


@asked
def formulate(
    instance: Source,
    formulation: str | Formulation,
    *,
    output: str | os.PathLike[str] | None = None,
    horizon: int | None = None,
    objective: str | Sequence[str] | None = None,
    data: Data | None = None,
    lower_bound: bool = True,
    every_schedule: bool = False,
) -> FormulatedModel:
    """Build the Pyomo model of an instance, and optionally write it to a file.

    Parameters
    ----------
    instance, formulation, objective, data
        As for `solve`. Of several objectives the model minimises the first.
    output
        A file that ends in `.lp`, `.mps` or `.nl`.
    horizon
        Number of slots of the model; by default the most that `solve` would use.
    lower_bound
        Whether rarmodel's lower bound on the makespan stands in the model. Without it, LP
        relaxations and duals are those of the formulation itself.
    every_schedule
        Whether the model has every feasible schedule. By default it may leave some out if equal or
        better ones remain: equal jobs in another order, or schedules longer than one that is known.
        Ask for it if you add constraints to the model or change its objective. Formulations with
        additions of yours always have every schedule.

    Returns
    -------
    FormulatedModel
        The model with its scope. Unpacks into the model and its size. `schedule()` turns a
        solution, from whatever solver, into a verified schedule; `solve()` solves the model as it
        stands; `load()` sets its variables to a schedule.

    Raises
    ------
    InputError
        If the instance is malformed, or the file cannot be written.
    UsageError
        If a name is unknown, the model is too large to build, or the file's format does not suit
        it.
    """
    from rarmodel.exact import MAX_TERMS, FormulatedModel  # noqa: PLC0415 - loads Numba and Pyomo
    from rarmodel.exact.formulate import scope_for, write_model  # noqa: PLC0415
    from rarmodel.formulations.built import without_rules  # noqa: PLC0415
    from rarmodel.formulations.guarded import guarded  # noqa: PLC0415
    from rarmodel.formulations.replicas_beside_jobs import why_apart  # noqa: PLC0415

    problem = with_objective(load_instance(instance), objective)
    found = registry.find("formulations", formulation)
    stated = guarded(found)
    known = handled(found) - getattr(found, "meant_for", frozenset())
    if SERVICES.name in known and (why := why_apart(problem, stated)):
        raise UsageError(
            f"formulation {found.name!r} does not handle services (services) in one model with "
            f"these jobs: {why}; 'cheapest-mix' has the services alone, and `solve` puts both "
            "together"
        )
    if SERVICES.name in known and problem.services and every_schedule:
        raise UsageError(
            "every_schedule: no model with services (services) has every schedule, as replicas of "
            "no use are left out"
        )
    entries = entries_of(data)
    check_entries([problem], [stated], entries)
    scope = scope_for(
        problem, stated, horizon, entries, lower_bound=lower_bound, every_schedule=every_schedule
    )
    if (terms := stated.size(scope)) > MAX_TERMS:
        raise UsageError(f"the model, with about {terms:,} terms, is too large to build")
    model = without_rules(stated.build(scope))
    if output is not None:
        write_model(model, output)
    return FormulatedModel(found, scope, model)


@asked
def relax(
    instance: Source,
    formulation: str | Formulation,
    *,
    horizon: int | None = None,
    objective: str | Sequence[str] | None = None,
    data: Data | None = None,
    lower_bound: bool = False,
    every_schedule: bool = False,
    time_limit: float | None = None,
) -> Relaxation:
    """Solve the LP relaxation of a formulation: its value, and the duals of its constraints.

    Parameters
    ----------
    instance, formulation, horizon, objective, data, every_schedule
        As for `formulate`.
    lower_bound
        Whether rarmodel's lower bound on the makespan stands in the model. Then value and duals say
        little of the formulation itself.
    time_limit
        Seconds for the LP; None for no limit.

    Returns
    -------
    Relaxation
        `value` is the optimum of the LP, and `bound` what it proves of schedules.

    Raises
    ------
    InputError
        If the instance is malformed.
    UsageError
        If a name is unknown, or the model is too large to build or not linear.
    """
    from rarmodel.exact import relaxation_of  # noqa: PLC0415 - loads Numba and Pyomo

    formulated = formulate(
        instance,
        formulation,
        horizon=horizon,
        objective=objective,
        data=data,
        lower_bound=lower_bound,
        every_schedule=every_schedule,
    )
    return relaxation_of(formulated, time_limit)
