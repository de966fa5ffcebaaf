"""Solve a formulation: schedules first, then models, then what can still help.

All methods and `search` come first. Their best schedule is the starting solution, and the answer if
the solver finds no better one. Their bound makes the model smaller. If time is left after the
models and optimality is not proven, `search` continues. Status, bound and gap are computed from
whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from rarmodel.bounds import best_bound, why_infeasible, with_bound
from rarmodel.errors import UsageError
from rarmodel.formulations import Formulation
from rarmodel.formulations.entries import Entries
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.results import Result, status_of
from rarmodel.schema import Instance
from rarmodel.search import DEFAULT_SECONDS, Session
from rarmodel.solvers import Solver

from .diagnosis import explain
from .known import Known
from .models import minimise_makespan, minimise_objective, too_large
from .orders import search_orders
from .prepare import prepare
from .schedules import first_schedules, search_until

WORTH_A_SEARCH = 0.01
"""Least share of the time limit for a search at the end."""


def solve_formulation(
    instance: Instance,
    formulation: Formulation,
    solvers: Sequence[Solver],
    limits: Limits,
    data: Mapping[str, Any] | None = None,
    *,
    strict: bool = True,
) -> Result:
    """Solve an instance by a formulation and a solver, within limits.

    Parameters
    ----------
    instance, formulation, limits
        The problem, its formulation and the limits.
    solvers
        Solvers, the preferred one first. If a solver refuses the model, the next one is tried.
    data
        Data that the formulation needs beside the instance: `Scope.data`.
    strict
        If True, a model that every solver refuses is an error; otherwise the result gives the
        reason.

    Raises
    ------
    UsageError
        If a solver is not installed or refuses the model.
    VerificationError
        If a heuristic's schedule fails verification. A solver's solution that fails is dropped.
    """
    for solver in solvers:
        if formulation.model_class not in solver.model_classes:
            raise UsageError(
                f"solver {solver.name!r} solves {' and '.join(sorted(solver.model_classes))} "
                f"models; {formulation.name!r} is {formulation.model_class}"
            )
        if solver.version() is None:
            raise UsageError(f"solver {solver.name!r} is not installed")
    entries = data if isinstance(data, Entries) else Entries(data)
    prepare(instance)
    quiet = replace(limits, progress=None) if formulation.restricts else limits
    known = Known(
        instance=instance,
        formulation=formulation,
        solvers=list(solvers),
        limits=limits,
        data=entries,
        session=Session(instance, quiet),
        begun=perf_counter(),
        bound=best_bound(instance),
    )
    if known.bound.slots > instance.time.horizon:
        known.stopped = "the lower bound exceeds the horizon"
    else:
        try:
            _solve(known)
        except KeyboardInterrupt:
            known.stopped = INTERRUPTED
        except UsageError as error:
            if strict:
                raise
            known.stopped = str(error)
    return _result(known)


def _solve(known: Known) -> None:
    smallest = known.scope(known.bound.slots)
    # A formulation that proves nothing outside its pool builds no model of the shortest horizon.
    by_horizon = not known.formulation.restricts and known.formulation.proves(smallest)
    if by_horizon and (why := too_large(known, smallest)):
        # No model of any horizon can be built: `search` has all of the time, as if it were asked.
        known.stopped = why
        _use_the_rest(known)
        if known.schedule is not None:
            return
    first_schedules(known)
    if known.closed:
        known.stopped = "the schedule of a method is within the gap of the lower bound"
        return
    if known.by_makespan:
        minimise_makespan(known)
    else:
        minimise_objective(known)
    _use_the_rest(known)
    if known.unjudged and known.schedule is None and known.model_needed:
        known.stopped += (
            f"; {len(known.unjudged):,} schedules are known that only the model can judge: "
            f"{known.model_needed}"
        )


def _use_the_rest(known: Known) -> None:
    """Search in the time that the models left; if there is no limit, only without a model."""
    why, left = known.stopped, known.seconds_left
    if known.closed or known.infeasible or why == INTERRUPTED or (left is None and known.solved):
        return
    if left is None:
        left = max(0.0, DEFAULT_SECONDS - known.searched)
    elif left < WORTH_A_SEARCH * (known.limits.time_limit or 0.0):
        return
    deadline = perf_counter() + left
    if not known.formulation.restricts:
        search_until(known, deadline)
        known.stopped = f"{why}; search used the rest of the time: {known.stopped}"
    elif trials := search_orders(known, deadline):
        known.stopped = (
            f"{why}; rarmodel spent the rest of the time on {trials:,} orders of the jobs"
        )


def _result(known: Known) -> Result:
    """Make the result from what is known."""
    instance, formulation = known.instance, known.formulation
    status = status_of(known.makespan, known.bound.slots, instance.time.horizon)
    if not known.by_makespan:
        status = "unknown" if known.schedule is None else "feasible"
        if known.schedule is not None and known.gap <= 1e-6:
            status = "optimal"
    if known.infeasible and known.schedule is None:
        status = "infeasible"
    schedule = known.schedule
    if schedule is not None:
        # The bound of a formulation that asks for more is none on other schedules.
        schedule = with_bound(schedule.timed(instance.time), instance, known.session.bound)
    return Result(
        instance=instance.name,
        time=instance.time,
        method=None,
        formulation=formulation.name,
        solver=known.solver.name,
        solver_version=known.solver.version(),
        status=status,
        schedule=schedule,
        report=known.report,
        lower_bound=known.bound.slots,
        bound_name=known.bound.name,
        reasons=_explain(known) if status == "infeasible" else (),
        seconds=perf_counter() - known.begun,
        stopped=known.stopped,
        goal=known.goal(),
        restricted=formulation.restricts,
    )


def _explain(known: Known) -> tuple[str, ...]:
    """Explain why there is no schedule within the horizon."""
    if not known.infeasible:
        return why_infeasible(known.instance, known.bound)
    # The bound that the solver has proven would itself be the conflict.
    scope = replace(
        known.scope(known.instance.time.horizon), lower_bound=best_bound(known.instance).slots
    )
    try:
        return explain(known.formulation, scope, known.solver, known.brief())
    except KeyboardInterrupt:
        return ()
