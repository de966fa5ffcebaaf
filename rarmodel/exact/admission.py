"""Decide whether a schedule satisfies a formulation with the user's additions, and its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables

from rarmodel.errors import one_line
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.guarded import without_pyomo_messages
from rarmodel.formulations.intervals import first_exceeded
from rarmodel.formulations.outcome import ScheduleOutcome
from rarmodel.formulations.restricted import judged_model, rules_of, slot_rules_of
from rarmodel.formulations.restriction import Choice
from rarmodel.formulations.values import first_changed, keeps_rules, keeps_slot_rules
from rarmodel.limits import Limits
from rarmodel.model import job_extremes, topology
from rarmodel.model.interruptions import interrupts
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers import Solver, first_answer
from rarmodel.solvers.choice import fitting_solvers, preferred

TOLERANCE = 1e-6
"""Tolerance of a constraint relative to its sides: float noise, not a violation."""

SECONDS = 10.0
"""Time for the solver to find values of added variables when all others are fixed."""


class Verdict(NamedTuple):
    """The constraint that a schedule breaks, or the value of the objective."""

    broken: str | None
    value: float = 0.0


class ModelNeeded(NamedTuple):
    """Only the model itself can judge a schedule; with the reason, if there is more to say."""

    why: str


def evaluated(
    formulation: Formulation, scope: Scope, schedule: Schedule
) -> pyo.ConcreteModel | ModelNeeded:
    """The values of a schedule in a formulation, with the user's additions."""
    evaluate = getattr(formulation, "evaluate", None)  # Others' formulations may do without.
    if evaluate is None:
        return ModelNeeded(f"{formulation.name} has no `evaluate`")
    try:
        return evaluate(scope, schedule)
    except (AttributeError, KeyError, TypeError) as error:
        if formulation.base is None:
            return ModelNeeded("")
        # An addition refers to what only the model has, or takes a slice of what is no component.
        said = one_line(str(error))
        return ModelNeeded(f"{formulation.name} refers to what only the model has ({said})")


def fixed_model(
    formulation: Formulation, scope: Scope, schedule: Schedule
) -> pyo.ConcreteModel | None:
    """A restricted model in which every job is fixed: the additions, and constants for the rest.

    It judges a schedule as `evaluated` does, and sooner. None if an addition does not take
    constants: where it fixes a component, say.
    """
    instance = scope.instance
    if not _can_be_constant(formulation, instance):
        return None
    outcome = ScheduleOutcome(scope, schedule)
    ruled = replace(
        scope,
        allowed=(*scope.allowed, *rules_of(formulation)),
        allowed_at=(*scope.allowed_at, *slot_rules_of(formulation)),
    )
    if outcome.latest > scope.horizon:
        return None
    if not all(keeps_rules(ruled, j, outcome.workers[j]) for j in scope.jobs):
        return None
    if not keeps_slot_rules(ruled, outcome):
        return None
    fixed = {
        j: (Choice(outcome.workers[j], outcome.end[j] - start, range(start, start + 1)),)
        for j, start in outcome.start.items()
    }
    model = built_on_constants(
        lambda variables: judged_model(formulation, scope, fixed, variables=variables)
    )
    return None if model is None or model.constants.changed else model


def _can_be_constant(formulation: Formulation, instance: Instance) -> bool:
    """Whether a formulation's additions are known, and jobs hold the same GPUs all the time."""
    if getattr(formulation, "evaluate", None) is None or formulation.base is None:
        return False
    if not formulation.states_additions or interrupts(instance):
        return False
    return all(job.running is None for job in instance.jobs)


def built_on_constants(build: Callable[[bool], Any]) -> Any:
    """What is built on constants, or else on fixed variables in their place; None if neither can.

    The additions of a user then ask for what only the whole model has, or are in error; who asks
    the whole model is told which.
    """
    with without_pyomo_messages():
        for variables in (False, True):
            with suppress(Exception, SystemExit):
                return build(variables)
    return None


def short_scope(instance: Instance, data: Mapping[str, Any]) -> Scope:
    """The scope of as many slots as the longest job needs, for `takes_constants`."""
    extremes = job_extremes(instance)
    slots = max(one.least_slots for one in extremes)
    tree = topology(instance.cluster)
    return Scope(instance, tree, extremes, slots, 0, data, every_schedule=True)


def takes_constants(formulation: Formulation, scope: Scope) -> bool:
    """Whether additions refer to documented components alone, and can stand in restricted models.

    They are tried on jobs that all begin at slot 0, whether the servers have room for that or not.
    """
    instance = scope.instance
    if not _can_be_constant(formulation, instance):
        return False
    first = next(iter(scope.servers))
    fixed = {
        j: (Choice({first: scope.jobs[j].sizes[-1]}, slots, range(1)),)
        for j, slots in scope.least_slots.items()
    }
    model = built_on_constants(
        lambda variables: judged_model(formulation, scope, fixed, variables=variables)
    )
    return model is not None and not model.constants.changed


def judge_values(model: pyo.ConcreteModel, solvers: list[Solver], limits: Limits) -> Verdict:
    """Judge a schedule by such a model; the solver finds values for variables that were added."""
    variables = list(model.component_data_objects(pyo.Var))
    added = [variable for variable in variables if not variable.fixed]
    return _with_added(model, variables, added, solvers, limits)


def judge(
    formulation: Formulation,
    scope: Scope,
    schedule: Schedule,
    solvers: list[Solver],
    limits: Limits,
    solved: pyo.ConcreteModel | None = None,
) -> Verdict | ModelNeeded:
    """Judge a schedule without the model, if possible.

    The schedule fixes all variables but those that were added to the formulation. They may keep
    the values of a solved model; the solver looks for better ones.
    """
    model = fixed_model(formulation, scope, schedule)
    if model is None:
        model = evaluated(formulation, scope, schedule)
        if isinstance(model, ModelNeeded):
            return model
        if changed := first_changed(model):
            return Verdict(f"{changed}, which is fixed")
    variables = list(model.component_data_objects(pyo.Var))
    added = [variable for variable in variables if not variable.fixed]
    if solved is not None:
        for variable in added:
            same = solved.find_component(variable.name)
            value = None if same is None else same.value
            variable.set_value(value, skip_validation=True)
    return _with_added(model, variables, added, solvers, limits)


def admit(
    model: pyo.ConcreteModel,
    formulation: Formulation,
    scope: Scope,
    schedule: Schedule,
    solvers: list[Solver],
    limits: Limits,
    *,
    enough: bool = False,
) -> Verdict:
    """Set the model's variables to a schedule, and judge it by the model.

    The schedule fixes all variables but those that were added to the formulation. They may keep
    the values that they have; the solver looks for better ones, unless values that suit are
    `enough`.
    """
    variables = list(model.component_data_objects(pyo.Var))
    free = [variable for variable in variables if not variable.fixed]
    before = [variable.value for variable in free]
    for variable in free:
        variable.set_value(None, skip_validation=True)
    formulation.load(model, scope, schedule)
    pairs = list(zip(free, before, strict=True))
    given = [variable for variable, _ in pairs if variable.value is not None]
    added = [(variable, value) for variable, value in pairs if variable.value is None]
    if not given:
        return Verdict("the formulation, which has no place for it")
    for variable, value in added:
        variable.set_value(value, skip_validation=True)
    for variable in given:
        variable.fix()
    try:
        some = [variable for variable, _ in added]
        return _with_added(model, variables, some, solvers, limits, enough=enough)
    finally:
        for variable in given:
            variable.unfix()


def satisfies(
    model: pyo.ConcreteModel, formulation: Formulation, scope: Scope, schedule: Schedule
) -> Verdict:
    """Judge a schedule by a model as it stands; the values of the variables stay as they are.

    Variables that were added keep their values where these suit the schedule. Otherwise an
    installed solver looks for others.
    """
    free = [v for v in model.component_data_objects(pyo.Var) if not v.fixed]
    before = [variable.value for variable in free]
    solvers = fitting_solvers(formulation.model_class)
    try:
        return admit(model, formulation, scope, schedule, solvers, Limits(), enough=True)
    finally:
        for variable, value in zip(free, before, strict=True):
            variable.set_value(value, skip_validation=True)


def _with_added(
    model: pyo.ConcreteModel,
    variables: list[Any],
    added: list[Any],
    solvers: list[Solver],
    limits: Limits,
    *,
    enough: bool = False,
) -> Verdict:
    """Judge the values of a model: with those that added variables have, or with better ones."""
    if not added:
        return _verdict(model, variables)
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        # A solver would say no more than that there are no values.
        if is_settled(constraint) and _is_broken(constraint):
            return Verdict(_told(constraint))
    known = None
    if all(variable.value is not None for variable in added):
        known = _verdict(model, variables)
        if enough and known.broken is None:
            return known
    values = [variable.value for variable in added]
    # These are small models: HiGHS begins before CP-SAT's process does.
    quick = preferred(solvers, "integer", 0)
    if quick and first_answer(quick, model, _brief(limits)).has_solution:
        found = _verdict(model, variables)
        if known is None or known.broken is not None:
            return found
        if found.broken is None and found.value < known.value:
            return found
        for variable, value in zip(added, values, strict=True):
            variable.set_value(value, skip_validation=True)
    return known or Verdict("the added variables have no values that suit it")


def _brief(limits: Limits) -> Limits:
    seconds = SECONDS if limits.time_limit is None else min(SECONDS, limits.time_limit)
    return replace(limits, time_limit=seconds, gap=0.0, log=None, progress=None)


def _verdict(model: pyo.ConcreteModel, variables: list[Any]) -> Verdict:
    """The first variable or constraint that the values break, or the value of the objective."""
    for variable in variables:
        if variable.value is None:
            # Nothing refers to it, or the solver would have given it a value.
            continue
        low, high = variable.bounds
        if _outside(variable.value, low, high):
            return Verdict(str(variable.name))
        if not variable.is_continuous() and abs(variable.value - round(variable.value)) > TOLERANCE:
            return Verdict(str(variable.name))
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        if _is_broken(constraint):
            return Verdict(_told(constraint))
    if exceeded := first_exceeded(model):
        return Verdict(exceeded)
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    return Verdict(None, float(pyo.value(objective)))


def _told(constraint: Any) -> str:
    """A constraint's name, and what its author says of it."""
    doc = constraint.parent_component().doc
    return f"{constraint.name} ({doc})" if doc else str(constraint.name)


def is_settled(constraint: Any) -> bool:
    """Whether no variable that is free has a part in a constraint."""
    return next(identify_variables(constraint.body, include_fixed=False), None) is None


def _is_broken(constraint: Any) -> bool:
    body = pyo.value(constraint.body, exception=False)
    if body is None:
        return True
    return _outside(body, pyo.value(constraint.lower), pyo.value(constraint.upper))


def _outside(value: float, low: float | None, high: float | None) -> bool:
    slack = TOLERANCE * max(1.0, abs(value))
    return (low is not None and value < low - slack) or (high is not None and value > high + slack)
