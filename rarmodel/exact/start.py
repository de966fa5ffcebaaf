"""The schedule that a user starts from: as such, or as the values of a formulation's model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo

from rarmodel.errors import UsageError, VerificationError
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.entries import Entries
from rarmodel.formulations.guarded import guarded
from rarmodel.formulations.plan import put
from rarmodel.methods import STARTED
from rarmodel.model import horizon_of, job_extremes, topology
from rarmodel.registry import meant
from rarmodel.schema import Instance
from rarmodel.search import Session
from rarmodel.verifier import require_feasible

from .admission import ModelNeeded, admit, judge
from .building import built_until
from .known import Known, Start
from .models import MAX_TERMS, too_large
from .named_values import put_values, values_by_name
from .numbered_schedules import schedule_of

_LAST_NUMBER = re.compile(r"[\[,](\d+)\]$")


def begin_from(known: Known, start: Start) -> None:
    """Keep the schedule that the user starts from.

    Raises
    ------
    UsageError
        If the formulation does not admit it.
    """
    schedule = start.schedule
    report = known.checked(schedule)
    if isinstance(known.session, Session) or (known.session and not known.formulation.restricts):
        known.session.take(schedule)
    value = None
    if known.formulation.restricts:
        scope = known.scope(horizon_of(known.instance))
        verdict = judge(known.formulation, scope, schedule, known.solvers, known.brief())
        if isinstance(verdict, ModelNeeded):
            shortest = known.scope(report.makespan or scope.horizon)
            if why := too_large(known, shortest):
                raise UsageError(f"start: only the model can judge the schedule: {why}")
            model = built_until(None, lambda: known.formulation.build(shortest))
            put_values(model, start.values)
            solvers, brief = known.solvers, known.brief()
            verdict = admit(model, known.formulation, shortest, schedule, solvers, brief)
        if verdict.broken is not None:
            raise UsageError(f"start: the schedule breaks {verdict.broken}")
        value = verdict.value
    known.improve(schedule, report, value, STARTED)


def start_of_values(
    instance: Instance, formulation: Formulation, given: Any, data: Mapping[str, Any]
) -> Start:
    """The schedule that values of a formulation's model stand for.

    Parameters
    ----------
    instance, formulation, data
        The problem, its formulation, and the data that the formulation reads.
    given
        A Pyomo model; or values by the names of variables (`placed[bert,ada:2]`), or by the names
        of components and then by index.

    Raises
    ------
    UsageError
        If the model is too large to build, has no such variable, or the values are no feasible
        schedule.
    """
    formulation = guarded(formulation)
    some = _scope_of(instance, given, data)
    try:
        scope, model = _with_values(formulation, some, given)
    except UsageError:
        # A model that leaves out schedules may be smaller, and have other variables.
        scope, model = _with_values(formulation, replace(some, every_schedule=True), given)
    if (plan := formulation.plan(model, scope)) is None:
        raise UsageError("start: the values are no solution of the model: they give no schedule")
    try:
        schedule = schedule_of(instance, plan, STARTED)
        require_feasible(instance, schedule)
    except VerificationError as error:
        raise UsageError(f"start: the values are no feasible schedule: {error}") from error
    return Start(schedule, values_by_name(model))


def _scope_of(instance: Instance, given: Any, data: Mapping[str, Any]) -> Scope:
    """The scope of a model that has the variables of the values."""
    most = horizon_of(instance)
    return Scope(
        instance=instance,
        tree=topology(instance.cluster),
        extremes=job_extremes(instance),
        horizon=min(most, 1 + max(_numbers(given), default=most)),
        lower_bound=0,
        data=data if isinstance(data, Entries) else Entries(data),
    )


def _with_values(
    formulation: Formulation, scope: Scope, given: Any
) -> tuple[Scope, pyo.ConcreteModel]:
    """The model of a scope with the values, and the scope.

    Raises
    ------
    UsageError
        If the model is too large to build, or lacks a variable.
    """
    why = formulation.unfit(scope)
    if why is None and (terms := formulation.size(scope)) > MAX_TERMS:
        why = f"the model, with about {terms:,} terms, is too large to build"
    if why is not None:
        raise UsageError(f"start: {why}; give a schedule instead of values")
    model = formulation.build(scope)
    _set(model, given)
    return scope, model


def _numbers(given: Any) -> Iterator[int]:
    """The last whole numbers in the indices of variables with a value: slots, most likely."""
    for name, index, value in _entries(given):
        if value is None:
            continue
        last = index[-1] if isinstance(index, tuple) and index else index
        if isinstance(last, int):
            yield last
        elif index is None and (found := _LAST_NUMBER.search(name)):
            yield int(found[1])


def _entries(given: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name of a variable or a component, the index in it if that is apart, and the value."""
    if not isinstance(given, Mapping):
        for variable in given.component_data_objects(pyo.Var):
            yield variable.parent_component().name, variable.index(), variable.value
        return
    for name, one in given.items():
        if isinstance(one, Mapping):
            yield from ((name, index, value) for index, value in one.items())
        else:
            yield name, None, one


def _set(model: pyo.ConcreteModel, given: Any) -> None:
    """Set a model's variables to values.

    Raises
    ------
    UsageError
        If there is no such variable, or a value is no number.
    """
    by_name = {variable.name: variable for variable in model.component_data_objects(pyo.Var)}
    by_name |= {name.replace("'", ""): one for name, one in by_name.items()}  # Pyomo puts quotes.
    for name, index, value in _entries(given):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"start: the value of {name} is {value!r}; a number is expected")
        variable = by_name.get(name)
        if index is not None:
            component = model.component(name)
            fits = component is not None and component.ctype is pyo.Var and index in component
            variable = component[index] if fits else None
        if variable is None:
            if not isinstance(given, Mapping):
                continue  # One that a user has added to the model.
            shown = name if index is None else f"{name}[{index}]"
            hint = meant(name, by_name if index is None else map(str, model.component_map(pyo.Var)))
            raise UsageError(f"start: the model has no variable {shown}{hint}")
        put(variable, value)
