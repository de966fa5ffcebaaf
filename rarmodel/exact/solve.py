"""Solve a formulation: schedules first, then models, then what can still help.

All methods and `search` come first. Their best schedule is the starting solution, and the answer if
the solver finds no better one. Their bound makes the model smaller. If time is left after the
models and optimality is not proven, `search` continues. Status, bound and gap are computed from
whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rarmodel.bounds import best_bound, impossible, with_bound, within
from rarmodel.errors import UsageError
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.entries import Entries
from rarmodel.formulations.guarded import guarded as guarded_formulation
from rarmodel.limits import INTERRUPTED, TIME_LIMIT, Limits
from rarmodel.methods import Result, Turns, proven_aim, status_of, ties_in
from rarmodel.model import handled, horizon_of, never_complete, unhandled
from rarmodel.model.features import plain
from rarmodel.model.objectives import ties_of
from rarmodel.schema import Instance
from rarmodel.search import (
    DEFAULT_SECONDS,
    SEARCH,
    SESSION_HANDLES,
    AnySession,
    Session,
    session_of,
)
from rarmodel.search.ties import LEAST_SECONDS, Ties, budget_after, seconds_before
from rarmodel.solvers import Solver
from rarmodel.solvers.answer import guarded
from rarmodel.solvers.choice import require_fitting

from .diagnosis import explain
from .known import NO_BOUND, OWN_GAP, Known, Start, recorder_of
from .models import TERMS_PER_SECOND, answer_of, minimise, note_model, too_large
from .orders import search_orders
from .prepare import prepare
from .restricted_models import RestrictedModels, can_restrict
from .schedules import close_gap_before_models, first_schedules, search_until
from .start import begin_from

if TYPE_CHECKING:
    import pyomo.environ as pyo

WORTH_A_SEARCH = 0.01
"""Least share of the time limit for a search at the end."""

TIES_CHECKS = 4.0
"""Least time for ties, as a multiple of a check: their search makes and checks schedules itself."""

SMALL_SHARE = 0.05
"""Share of the time left in which a model is built that is tried before restricted models."""

RESTRICTED_SHARE = 0.5
"""Most of the time left for restricted models before a model that is built, but is not small."""

BUILDS, MODEL_SHARE = 2.0, 0.8
"""What such a model needs for a bound, as a multiple of the time to build it; and up to which share
of the time left it has that."""

ORDERS_SHARE = 0.1
"""Share of the rest of the time for orders of the jobs, before restricted models."""

LAST_SHARE = 0.25
"""Most of the time left that is kept for judging a long schedule at the end, if there is no other.
"""


def solve_formulation(
    instance: Instance,
    formulation: Formulation,
    solvers: Sequence[Solver],
    limits: Limits,
    data: Mapping[str, Any] | None = None,
    *,
    strict: bool = True,
    model_only: bool = False,
    keep: Callable[[pyo.ConcreteModel, Scope], Any] | None = None,
    start: Start | None = None,
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
    model_only
        If True, the solver must do with the model alone: see `rarmodel.solve`.
    keep
        Makes of the last model and its scope what the result has of it; None if that is nothing.
    start
        What the user starts from.

    Raises
    ------
    UsageError
        If a solver is not installed or cannot take the model, or the formulation cannot take the
        instance.
    VerificationError
        If a heuristic's schedule fails verification. A solver's solution that fails is dropped.
    """
    formulation, solvers = guarded_formulation(formulation), [guarded(one) for one in solvers]
    if why := unhandled(instance, handled(formulation), f"formulation {formulation.name!r}"):
        raise UsageError(why)
    require_fitting(solvers, formulation, limits)
    entries = data if isinstance(data, Entries) else Entries(data)
    # A job that can never complete is told at once, and nothing need be compiled.
    if not model_only and not never_complete(instance):
        prepare(instance)
    begun = perf_counter()
    recorder = recorder_of(instance, formulation, limits, begun)
    limits = replace(limits, progress=recorder)
    with within(limits, begun):
        known = Known(
            instance=instance,
            formulation=formulation,
            solvers=list(solvers),
            limits=limits,
            data=entries,
            session=None if model_only else _search(instance, formulation, limits),
            recorder=recorder,
            begun=begun,
            bound=NO_BOUND if model_only else best_bound(instance),
            alone=model_only,
            keep=keep,
            start=start,
        )
    known.note()
    if (none := impossible(instance, known.bound)) is not None:
        known.stopped = none.stopped
    else:
        try:
            if start is not None:
                begin_from(known, start)
            if model_only:
                minimise(known)
            else:
                _solve(known)
                _turn_to_ties(known)
        except KeyboardInterrupt:
            known.stopped = INTERRUPTED
        except UsageError as error:
            if strict:
                raise
            known.stopped = str(error)
    return _result(known)


def solve_as_it_stands(known: Known, model: pyo.ConcreteModel, scope: Scope) -> Result:
    """Let the solver do with a model that is built; its bound holds for this model."""
    known.stage = scope.stage
    note_model(known, model, scope)
    try:
        answer_of(known, model, scope, known.seconds_left, proves=True)
    except KeyboardInterrupt:
        known.stopped = INTERRUPTED
    return _result(known)


def _search(instance: Instance, formulation: Formulation, limits: Limits) -> AnySession | None:
    """The search that takes an instance; None if it cannot.

    Additions of a user are judged apart, so for them the search for short schedules will do.
    """
    if unhandled(instance, SESSION_HANDLES, ""):
        return None
    if formulation.restricts:
        limits = replace(limits, progress=None)
        if plain(instance) and instance.objectives != ("makespan",):
            instance = instance.model_copy(update={"objective": "makespan"})
    return session_of(instance, limits, Turns(instance, limits))


def _solve(known: Known) -> None:
    smallest = known.scope(known.bound.slots)
    # A formulation that proves nothing outside its pool builds no model of the shortest horizon.
    by_horizon = not known.formulation.restricts and known.formulation.proves(smallest)
    if by_horizon and (why := too_large(known, smallest)):
        # No model of any horizon can be built: `search` has all of the time, as if it were asked.
        close_gap_before_models(known, models=False)
        known.stopped = f"{why}; {known.reached}" if known.closed else why
        _use_the_rest(known)
        if known.schedule is not None:
            return
    first_schedules(known)
    close_gap_before_models(known)
    if known.closed:
        known.stopped = f"no model was needed: {known.reached}"
        return
    try:
        if not _restrict_before_models(known):
            minimise(known)
        _use_the_rest(known)
    finally:
        if known.schedule is None and not known.infeasible:
            known.fall_back()
    if known.unjudged and known.schedule is None and known.model_needed:
        known.stopped += (
            f"; {len(known.unjudged):,} schedules are known that only the model can judge: "
            f"{known.model_needed}"
        )


def _restrict_before_models(known: Known) -> bool:
    """Whether the model of a formulation with additions is too large, so that none is tried.

    If it can be built but is not small, restricted models have a share of the time before it. That
    is less where the model needs more for a bound: only the model has one on a user's objective.
    """
    if not can_restrict(known):
        return False
    scope = known.scope((known.makespan if known.by_makespan else None) or known.enough)
    if why := too_large(known, scope):
        known.stopped = why
        return True
    left = known.seconds_left
    terms = known.formulation.size(scope)
    if left is None or terms <= SMALL_SHARE * TERMS_PER_SECOND * left:
        return False
    share, needed = RESTRICTED_SHARE * left, BUILDS * terms / TERMS_PER_SECOND
    if needed <= MODEL_SHARE * left:
        share = min(share, left - needed)
    RestrictedModels(known).run(perf_counter() + share)
    return False


def _use_the_rest(known: Known) -> None:
    """Search in the time that the models left; if there is no limit, only without a model."""
    why, left = known.stopped, known.seconds_left
    if known.closed or known.infeasible or why == INTERRUPTED or (left is None and known.solved):
        return
    if left is None:
        left = max(0.0, DEFAULT_SECONDS - known.searched)
    elif left < WORTH_A_SEARCH * (known.limits.time_limit or 0.0):
        return
    if known.searches:
        left = seconds_before(known.instance, left)
    deadline = perf_counter() + left
    if known.searches:
        search_until(known, deadline)
        ended = "" if known.stopped == TIME_LIMIT else f": {known.stopped}"
        known.stopped = f"{why}; search used the rest of the time{ended}"
        return
    on = []
    restricts = can_restrict(known)
    if isinstance(known.session, Session):
        until = perf_counter() + ORDERS_SHARE * left if restricts else deadline
        if trials := search_orders(known, until):
            on.append(f"{trials:,} orders of the jobs")
    obstacle = ""
    if restricts:
        restricted = RestrictedModels(known)
        if restricted.run(deadline - min(known.seconds_at_last, LAST_SHARE * left)):
            on.append(f"{restricted.solved:,} restricted models")
        obstacle = restricted.obstacle if known.schedule is None else ""
    if on:
        known.stopped = f"{why}; rarmodel spent the rest of the time on {' and '.join(on)}"
    if obstacle:
        known.stopped += f": {obstacle}"


def _turn_to_ties(known: Known) -> None:
    """Search for what decides between equal schedules, in the time that is left."""
    if known.formulation.restricts or known.schedule is None or known.stopped == INTERRUPTED:
        return
    if known.session is not None and known.session.criteria.reason:
        return
    if not ties_of(known.instance):
        return
    if unhandled(known.instance, SESSION_HANDLES, ""):
        return
    now = perf_counter()
    left = known.seconds_left
    if left is not None and left < TIES_CHECKS * known.checking:
        return
    end = now + (max(LEAST_SECONDS, now - known.begun) if left is None else left)
    ties = Ties(known.instance, known.schedule, known.limits)
    try:
        ties.run(budget_after(known.limits, known.begun, end))
    finally:
        if ties.schedule is not known.schedule:
            known.schedule, known.schedule_by = ties.schedule, SEARCH.name
            known.report = known.checked(ties.schedule)
            known.values = known.values_of(known.report, None)


def _result(known: Known) -> Result:
    """Make the result from what is known."""
    instance, formulation = known.instance, known.formulation
    none = impossible(instance, known.bound) is not None
    found = known.schedule is not None
    status = status_of(known.goals, found=found, infeasible=known.infeasible or none)
    if found and known.own and known.gap() <= OWN_GAP:
        status = "optimal"
    schedule = known.schedule
    if schedule is not None:
        # The bound of a formulation that asks for more is none on other schedules.
        everywhere = [best_bound(instance)]
        if not known.restricts:
            everywhere.append(known.bound)
        if known.session is not None:
            everywhere.append(known.session.bound)
        goals = () if known.restricts else known.goals
        aims = [
            proven_aim(goal, known.provers[i] or known.bound.name) for i, goal in enumerate(goals)
        ]
        schedule = with_bound(
            schedule.timed(instance.time),
            instance,
            max(everywhere, key=lambda bound: bound.slots),
            aims,
            [goal.value for goal in goals],
        )
    seconds, first = perf_counter() - known.begun, known.goals[0]
    return Result(
        instance=instance.name,
        time=instance.time,
        method=None,
        formulation=formulation.name,
        solver=known.model.solver,
        solver_version=known.versions.get(known.model.solver or ""),
        status=status,
        schedule=schedule,
        report=known.report,
        lower_bound=known.bound.slots or None,
        bound_name=known.bound.name or None,
        reasons=_explain(known) if status == "infeasible" else (),
        seconds=seconds,
        stopped=known.stopped,
        objective=known.goals,
        ties=() if known.restricts or known.alone else ties_in(instance, known.report),
        restricted=known.restricts,
        schedule_by=known.schedule_by,
        chosen_solver=known.solver.name,
        model=known.model,
        log=known.recorder.finished(first.value, first.bound, seconds),
        formulated=known.kept,
    )


def _explain(known: Known) -> tuple[str, ...]:
    """Explain why there is no schedule within the horizon.

    Nobody knows what has changed in a model that is solved as it stands.
    """
    if known.stands:
        return ()
    # The solver's own proof may be the bound.
    none = impossible(known.instance, None if known.infeasible else known.bound)
    if none is not None:
        return none.reasons
    # The bound that the solver has proven would itself be the conflict.
    quick = NO_BOUND if known.alone else best_bound(known.instance)
    scope = replace(known.scope(horizon_of(known.instance)), lower_bound=quick.slots)
    try:
        return explain(known.formulation, scope, known.solver, known.brief())
    except KeyboardInterrupt:
        return ()
