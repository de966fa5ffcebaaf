"""Solve models of a formulation for better schedules and for proofs, objective by objective.

If the makespan is the objective, the first model looks for schedules barely longer than the lower
bound. Later models allow longer schedules, up to the best known. A short horizon makes a small
model, and a model without a solution raises the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import pyomo.environ as pyo

from rarmodel.bounds import LowerBound
from rarmodel.errors import VerificationError
from rarmodel.formulations import Scope
from rarmodel.formulations.aims import aim_of
from rarmodel.limits import INTERRUPTED, TIME_LIMIT
from rarmodel.methods import in_full
from rarmodel.model import horizon_of
from rarmodel.model.objectives import number
from rarmodel.solvers import Answer, first_answer
from rarmodel.solvers.choice import preferred

from .admission import ModelNeeded, Verdict, admit, judge
from .building import OutOfTime, built_until
from .known import Known
from .named_values import put_values
from .numbered_schedules import schedule_of

TERMS_PER_SECOND = 40_000
"""Approximate number of terms that Pyomo builds, writes and transfers in a second."""

MAX_TERMS = 20_000_000
"""Approximate number of terms that fit a workstation's memory."""

HAND_OVER_SHARE = 0.5
"""Least time to hand a model over to a solver, as a share of the time that it took to build it."""

SHARE = 0.25
"""Share of the time left for a horizon below the best makespan."""

WORDS = {
    "finished": "the solver reached its gap",
    "infeasible": "the solver proved that there is no schedule within the horizon",
    "time-limit": TIME_LIMIT,
    "interrupted": INTERRUPTED,
}


CHECK_SECONDS = 0.5
"""Least time of the check that a solver's solution keeps what a user has added."""


class _WrongModelError(VerificationError):
    """A solution of a model is no feasible schedule."""


def minimise(known: Known) -> None:
    """Minimise one objective after another, and keep the values of the earlier ones."""
    for stage in range(len(known.bounds)):
        known.stage = stage
        if known.infeasible or known.stopped == INTERRUPTED:
            return
        if known.closed_at(stage):
            continue
        if stage == 0 and not known.own and known.instance.objectives[0] == "makespan":
            _minimise_makespan(known)
        else:
            _minimise_objective(known)
        if known.schedule is None:
            return


def _minimise_makespan(known: Known) -> None:
    """Solve models with longer and longer horizons, up to the best known makespan.

    Models that must do alone have no bound to begin with: there is one, of all slots.
    """
    if known.alone:
        ask(known, horizon_of(known.instance), known.seconds_for_models)
        return
    judge_by_models(known)
    stride = 1
    while True:
        top = known.makespan or horizon_of(known.instance)
        horizon = min(known.bound.slots + stride - 1, top)
        left = known.seconds_for_models
        if not known.formulation.proves(known.scope(top)):
            horizon = top  # A bound within its pool says nothing of what lies outside.
        share = left if left is None or horizon == top else SHARE * left
        answer = ask(known, horizon, share)
        if answer is None or known.closed_at(0):
            if answer is not None and answer.termination == "infeasible":
                known.stopped = "the solver proved that no schedule is shorter"
            return
        if answer.termination == "infeasible" and horizon < top:
            stride *= 2
        elif answer.termination == "time-limit" and horizon < top:
            stride = top
        else:
            return


def _minimise_objective(known: Known) -> None:
    """Solve for the best schedule of all; if the model is too large, for one no longer than known.

    The shorter model proves nothing, but its solutions are valid schedules.
    """
    horizon = known.enough
    answer = ask(known, horizon, known.seconds_for_models)
    if answer is None:
        judge_by_models(known)
    if answer is None and known.makespan is not None and known.makespan < horizon:
        why = known.stopped
        if ask(known, known.makespan, known.seconds_for_models, proves=False) is not None:
            known.stopped = f"{why}; a model of {known.makespan:,} slots proves nothing"


def judge_by_models(known: Known) -> None:
    """Judge schedules by the smallest models that contain them, until one is admissible.

    The shortest schedules come first. A model of all slots of the instance may be too large.
    """
    while known.unjudged and known.schedule is None:
        scope = known.scope(min(report.makespan or 0 for _, report in known.unjudged))
        if too_large(known, scope):
            return
        model = _built(known, scope)
        if model is None:
            return
        _offer_start(known, model, scope)


def too_large(known: Known, scope: Scope) -> str | None:
    """Why a model is not built; None if it can be built."""
    if unfit := known.formulation.unfit(scope):
        return unfit
    terms = known.formulation.size(scope)
    if terms > MAX_TERMS:
        return (
            f"the model, with about {terms:,} terms, is too large to build; longer slots "
            "(time.slot_seconds) or a shorter horizon make it smaller"
        )
    limit, left = known.limits.time_limit, known.seconds_for_models
    if limit is None or left is None or terms <= TERMS_PER_SECOND * left:
        return None
    room = _room(known, scope)
    if terms <= TERMS_PER_SECOND * limit:
        return f"too little time was left for a model with about {terms:,} terms; {room}"
    return f"the model, with about {terms:,} terms, is too large for the time limit; {room}"


def _room(known: Known, scope: Scope) -> str:
    """Advice on how a model finds time."""
    enough = 2 * known.formulation.size(scope) / TERMS_PER_SECOND
    if known.limits.time_limit is not None:
        enough = max(enough, 2 * known.limits.time_limit)
    return f"--time-limit {math.ceil(enough)} or longer slots (time.slot_seconds) make room for it"


def ask(known: Known, horizon: int, seconds: float | None, *, proves: bool = True) -> Answer | None:
    """Build the model for a horizon, solve it, and use the result; None if no solver ran."""
    formulation = known.formulation
    scope = known.scope(horizon)
    if reason := too_large(known, scope):
        known.stopped = reason
        return None
    known.solvers[:] = preferred(
        known.solvers,
        formulation.model_class,
        formulation.size(scope),
        tight=formulation.tight(scope),
    )
    proves = proves and formulation.proves(scope)
    begun = perf_counter()
    model = _built(known, scope)
    if model is None:
        return None
    handing_over = HAND_OVER_SHARE * (perf_counter() - begun)
    if not known.alone or known.start is not None:
        _offer_start(known, model, scope)
    if known.closed_at(known.stage):
        known.stopped = known.reached
        return None
    if seconds is not None:
        seconds = max(0.0, seconds - (perf_counter() - begun))
        if seconds < handing_over:
            known.stopped = f"the time was over when the model was built; {_room(known, scope)}"
            return None
    return answer_of(known, model, scope, seconds, proves=proves)


def answer_of(
    known: Known, model: pyo.ConcreteModel, scope: Scope, seconds: float | None, *, proves: bool
) -> Answer:
    """Solve a model that is built, from the values of its variables, and use the result."""
    limits = replace(known.limits, time_limit=seconds, progress=_told(known, scope, proves=proves))
    answer = first_answer(known.solvers, model, limits)
    _note_answer(known, answer)
    known.solved = answer.termination != "error"
    known.stopped = WORDS.get(answer.termination, f"the solver says: {answer.message}")
    relaxed = dropped = False
    if answer.has_solution:
        try:
            relaxed = _take(known, model, scope)
        except _WrongModelError as error:
            known.stopped = f"the solver's solution and its bound are dropped: {error}"
            return answer
        except VerificationError as error:
            known.stopped += f"; the solver's solution is dropped: {error}"
            dropped = True
    if proves:
        _raise_bound(known, scope, answer)
        known.note()
    elif answer.termination == "infeasible":
        known.stopped = "the pool has no schedule within the horizon"
    if answer.termination != "finished" or dropped:
        return answer
    if not known.closed_at(known.stage):
        known.stopped = "the solver finished, but its bound and its solution do not meet"
        if not proves:
            known.stopped = "the solver found the best of the pool"
        elif relaxed:
            known.stopped = "the solver finished; the model is a relaxation"
    elif proves and known.gap(known.stage) == 0 and known.stopped == WORDS["finished"]:
        known.stopped = "the solver proved it"
    return answer


def _told(
    known: Known, scope: Scope, *, proves: bool
) -> Callable[[float | None, float | None], None] | None:
    """What the solver tells its progress to: only the first objective has a log and progress."""
    if known.stage != 0:
        return None
    if known.own:
        return known.recorder.of_model(float, float if proves else None)
    aim = aim_of(scope, known.stage)
    return known.recorder.of_model(
        lambda value: aim.value(max(0, round(value - aim.shift))), aim.at_least if proves else None
    )


def _built(known: Known, scope: Scope) -> pyo.ConcreteModel | None:
    """Build the model of a scope; None if the time is over before it is built."""
    left = known.seconds_left
    deadline = None if left is None else perf_counter() + left
    try:
        model = built_until(deadline, lambda: known.formulation.build(scope))
    except OutOfTime:
        known.stopped = f"the time was over while the model was built; {_room(known, scope)}"
        return None
    note_model(known, model, scope)
    return model


def note_model(known: Known, model: pyo.ConcreteModel, scope: Scope) -> None:
    """Keep a model that was built, and its size."""
    if known.keep is not None:
        known.kept = known.keep(model, scope)
    known.model = replace(
        known.model,
        built=True,
        horizon=scope.horizon,
        variables=sum(map(len, model.component_objects(pyo.Var))),
        constraints=sum(map(len, model.component_objects(pyo.Constraint, active=True))),
    )


def _note_answer(known: Known, answer: Answer) -> None:
    """Keep what a solver says of a model."""
    before = known.model
    nodes = [count for count in (before.nodes, answer.nodes) if count is not None]
    known.model = replace(
        before,
        solver=known.solver.name,
        solver_seconds=(before.solver_seconds or 0.0) + answer.seconds,
        solver_value=answer.value,
        solver_bound=answer.bound,
        nodes=sum(nodes) if nodes else None,
    )


def _offer_start(known: Known, model: pyo.ConcreteModel, scope: Scope) -> None:
    """Load the best schedule that satisfies the model as a starting solution, if any."""
    formulation = known.formulation
    if not formulation.restricts:
        within = known.makespan is not None and known.makespan <= scope.horizon
        if known.schedule is not None and within:
            formulation.load(model, scope, known.schedule)
        return
    put_values(model, {} if known.start is None else known.start.values)
    longer = []
    for schedule, report in known.unjudged:
        too_long = report.makespan is not None and report.makespan > scope.horizon
        if too_long or known.seconds_left == 0:
            longer.append((schedule, report))
        else:
            verdict = admit(model, formulation, scope, schedule, known.solvers, known.brief())
            if verdict.broken is None:
                known.improve(schedule, report, verdict.value)
    known.unjudged = longer
    best = known.schedule
    if best is None or admit(model, formulation, scope, best, known.solvers, known.brief()).broken:
        for variable in model.component_data_objects(pyo.Var):
            if not variable.fixed:
                variable.set_value(None, skip_validation=True)


def _take(known: Known, model: pyo.ConcreteModel, scope: Scope) -> bool:
    """Use the solution in the model's variables; return whether the model is a relaxation.

    Raises
    ------
    VerificationError
        If the schedule does not satisfy the model with the completions that it really has.
    _WrongModelError
        If the solution is no feasible schedule, so that the model itself is in doubt.
    """
    formulation = known.formulation
    plan = formulation.plan(model, scope)
    if plan is None:
        return True
    try:
        schedule = schedule_of(known.instance, plan, formulation.name)
        report = known.checked(schedule)
    except VerificationError as error:
        raise _WrongModelError(error) from error
    value = None
    if known.restricts:
        # The time is over, most likely; so this has a little of its own.
        brief = known.brief(CHECK_SECONDS)
        # Only a model itself knows what a user has changed in it.
        verdict: Verdict | ModelNeeded = ModelNeeded("")
        if not known.stands:
            verdict = judge(formulation, scope, schedule, known.solvers, brief, solved=model)
        if isinstance(verdict, ModelNeeded):
            verdict = admit(model, formulation, scope, schedule, known.solvers, brief)
        if verdict.broken is not None:
            raise VerificationError(
                f"{formulation.name}: with the completions that follow from the model of "
                f"contention, the schedule breaks {verdict.broken}"
            )
        value = verdict.value
    by = in_full(known.solver.name, known.solver.version())
    known.improve(schedule, report, value, by)
    return False


def _raise_bound(known: Known, scope: Scope, answer: Answer) -> None:
    if answer.termination == "infeasible":
        if known.makespan is not None and known.makespan <= scope.horizon:
            known.stopped = "the solver reports an infeasible model, but a schedule is known"
            return
        known.infeasible = known.stands or scope.horizon >= known.enough
        known.raise_bound(LowerBound(scope.horizon + 1, known.solver.name))
    elif answer.bound is None:
        return
    elif known.own:
        slack = 1e-6 * max(1.0, abs(answer.bound))
        if known.values and answer.bound > known.values[0] + slack:
            known.stopped = f"the solver's bound, {answer.bound:g}, exceeds the objective"
        elif known.bounds[0] is None or answer.bound > known.bounds[0]:
            known.bounds[0], known.provers[0] = answer.bound, known.solver.name
    else:
        # Values rise in steps: a bound of 7.2 may mean 8; noise must not make 8 of 7.0000001.
        bound = aim_of(scope, known.stage).at_least(answer.bound)
        before = known.bounds[known.stage]
        if known.values and bound > known.values[known.stage]:
            what = "makespan" if known.by_makespan else "objective"
            known.stopped = (
                f"the solver's bound, {number(bound)}, exceeds the {what}; it is ignored"
            )
        elif known.instance.objectives[known.stage] == "makespan" and known.stage == 0:
            known.raise_bound(LowerBound(int(bound), known.solver.name))
        elif before is None or bound > before:
            known.bounds[known.stage], known.provers[known.stage] = bound, known.solver.name
