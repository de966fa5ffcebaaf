"""Solve a formulation: heuristics first, then the model, then the verifier.

Where the makespan is minimised, the model is first asked for schedules barely longer than the lower
bound, then for longer ones, up to the best known: a short horizon makes a small model, and one
without a solution raises the bound. The best heuristic schedule ends the row, is the starting
solution there, and the answer if the solver finds no better one in time. Status, bound and gap come
from whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
import pyomo.environ as pyo

from rarmodel.bounds import LowerBound, best_bound, relative_gap, why_infeasible
from rarmodel.engine import Engine, placements_of
from rarmodel.errors import UsageError, VerificationError
from rarmodel.formulations import Formulation, Scope
from rarmodel.heuristics.policies import HEURISTICS
from rarmodel.limits import INTERRUPTED, TIME_LIMIT, Limits
from rarmodel.model import best_placements, job_extremes, topology
from rarmodel.results import Goal, Result, status_of
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers import Answer, Solver
from rarmodel.verifier import Report, require_feasible

from .admission import admit
from .diagnosis import explain
from .plans import one_by_one, schedule_of

TERMS_PER_SECOND = 40_000
"""About how many terms of a model Pyomo builds, writes and hands over in a second."""

MAX_TERMS = 20_000_000
"""About how many terms of a model fit the memory of a workstation."""

SHARE = 0.25
"""Part of the time left that a horizon below the best makespan may take."""

WORDS = {
    "finished": "the solver reached its gap",
    "infeasible": "the solver proved that there is no schedule within the horizon",
    "time-limit": TIME_LIMIT,
    "interrupted": INTERRUPTED,
}


@dataclass
class _Search:
    """What is asked, and what is known so far."""

    instance: Instance
    formulation: Formulation
    solver: Solver
    limits: Limits
    data: Mapping[str, Any]
    begun: float
    bound: LowerBound
    schedule: Schedule | None = None
    report: Report | None = None
    candidates: list[tuple[Schedule, int]] = field(default_factory=list)
    """Verified heuristic schedules with their makespans, best first."""
    value: float | None = None
    """Objective of the schedule, where that is not the makespan."""
    value_bound: float | None = None
    infeasible: bool = False
    stopped: str = ""

    @property
    def by_makespan(self) -> bool:
        return self.formulation.objective == "makespan"

    @property
    def makespan(self) -> int | None:
        return self.report.makespan if self.report else None

    @property
    def gap(self) -> float:
        """Relative gap; 1 where nothing is known."""
        if not self.by_makespan:
            goal = self.goal()
            return 1.0 if goal is None or goal.gap is None else goal.gap
        if self.makespan is None:
            return 1.0
        return relative_gap(self.makespan, self.bound.slots)

    @property
    def seconds_left(self) -> float | None:
        if self.limits.time_limit is None:
            return None
        return max(0.0, self.limits.time_limit - (perf_counter() - self.begun))

    def goal(self) -> Goal | None:
        if self.by_makespan:
            return None
        return Goal(self.formulation.objective, self.value, self.value_bound)

    def improve(self, schedule: Schedule, report: Report, value: float | None = None) -> None:
        """Keep a schedule if it is better than the one at hand."""
        if report.makespan is None:
            return
        if self.by_makespan:
            better = self.makespan is None or report.makespan < self.makespan
        else:
            better = self.value is None or (value is not None and value < self.value)
        if better:
            self.schedule, self.report, self.value = schedule, report, value

    def scope(self, horizon: int) -> Scope:
        return Scope(
            instance=self.instance,
            tree=topology(self.instance.cluster),
            extremes=job_extremes(self.instance),
            horizon=horizon,
            lower_bound=self.bound.slots,
            data=self.data,
            every_schedule=self.formulation.restricts,
        )


def solve_formulation(
    instance: Instance,
    formulation: Formulation,
    solver: Solver,
    limits: Limits,
    data: Mapping[str, Any] | None = None,
    *,
    strict: bool = True,
) -> Result:
    """Solve an instance by a formulation and a solver, within limits.

    Parameters
    ----------
    instance, formulation, solver, limits
        What to solve, and how.
    data
        What the formulation needs beside the instance: `Scope.data`.
    strict
        Whether a solver that refuses the model is an error; otherwise the result says why.

    Raises
    ------
    UsageError
        If the solver is not installed or cannot take the model.
    VerificationError
        If a heuristic's schedule fails verification. A solver's solution that does is dropped.
    """
    if formulation.model_class not in solver.model_classes:
        raise UsageError(
            f"solver {solver.name!r} solves {' and '.join(sorted(solver.model_classes))} models; "
            f"{formulation.name!r} is {formulation.model_class}"
        )
    if solver.version() is None:
        raise UsageError(f"solver {solver.name!r} is not installed")
    _prepare(instance)
    search = _Search(
        instance, formulation, solver, limits, data or {}, perf_counter(), best_bound(instance)
    )
    if search.bound.slots <= instance.time.horizon:
        try:
            _run_heuristics(search)
            if search.schedule is not None and search.gap <= limits.gap:
                search.stopped = "a heuristic schedule is within the gap of the lower bound"
            elif search.by_makespan:
                _minimise_makespan(search)
            else:
                _ask(search, instance.time.horizon, search.seconds_left)
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
        except UsageError as error:
            if strict:
                raise
            search.stopped = str(error)
    else:
        search.stopped = "the lower bound exceeds the horizon"
    status = status_of(search.makespan, search.bound.slots, instance.time.horizon)
    if not search.by_makespan:
        status = "unknown" if search.schedule is None else "feasible"
        if search.schedule is not None and search.gap <= 1e-6:
            status = "optimal"
    if search.infeasible and search.schedule is None:
        status = "infeasible"
    reasons: tuple[str, ...] = ()
    if status == "infeasible":
        reasons = _explain(search)
    return Result(
        instance=instance.name,
        method=None,
        formulation=formulation.name,
        solver=solver.name,
        solver_version=solver.version(),
        status=status,
        schedule=search.schedule,
        report=search.report,
        lower_bound=search.bound.slots,
        bound_name=search.bound.name,
        seconds=perf_counter() - search.begun,
        stopped=search.stopped,
        goal=search.goal(),
        restricted=formulation.restricts,
        reasons=reasons,
    )


def _explain(search: _Search) -> tuple[str, ...]:
    """Say why there is no schedule within the horizon."""
    if not search.infeasible:
        return why_infeasible(search.instance, search.bound)
    limits = replace(search.limits, time_limit=search.seconds_left)
    try:
        scope = search.scope(search.instance.time.horizon)
        # The bound that the solver has proven would itself be the conflict.
        scope = replace(scope, lower_bound=best_bound(search.instance).slots)
        return explain(search.formulation, scope, search.solver, limits)
    except KeyboardInterrupt:
        return ()


def _prepare(instance: Instance) -> None:
    """Compile policies and engine, once in an installation's life, before the clock starts."""
    for policy in HEURISTICS:
        policy.prepare(instance)
    starts = np.zeros(len(instance.jobs), np.int64)
    Engine(instance).evaluate(starts, placements_of(best_placements(instance)), limit=-1)


def _run_heuristics(search: _Search) -> None:
    """Collect heuristic schedules, and take the best one; they get at most a tenth of the time."""
    instance, limits = search.instance, search.limits
    try:
        for policy in HEURISTICS:
            left = None
            if limits.time_limit is not None:
                left = max(0.0, limits.time_limit / 10 - (perf_counter() - search.begun))
                if left == 0 and search.candidates:
                    break
            attempt = policy(instance, replace(limits, time_limit=left))
            if attempt.schedule is not None:
                _collect(search, attempt.schedule)
            if attempt.stopped == INTERRUPTED:
                raise KeyboardInterrupt
        else:
            alone = sum(extreme.least_slots for extreme in job_extremes(instance))
            best = min((makespan for _, makespan in search.candidates), default=None)
            if alone <= (instance.time.horizon if best is None else best - 1):
                _collect(search, one_by_one(instance))
    finally:
        search.candidates.sort(key=lambda candidate: candidate[1])


def _collect(search: _Search, schedule: Schedule) -> None:
    report = require_feasible(search.instance, schedule)
    if report.makespan is not None:
        search.candidates.append((schedule, report.makespan))
    if not search.formulation.restricts:
        search.improve(schedule, report)


def _minimise_makespan(search: _Search) -> None:
    """Ask for schedules within longer and longer horizons, up to the best known makespan."""
    stride = 1
    while True:
        top = search.makespan or search.instance.time.horizon
        horizon = min(search.bound.slots + stride - 1, top)
        left = search.seconds_left
        if not search.formulation.proves(search.scope(top)):
            horizon = top  # A bound within its pool says nothing of what lies outside.
        share = left if left is None or horizon == top else SHARE * left
        answer = _ask(search, horizon, share)
        if answer is None or search.gap <= search.limits.gap:
            if answer is not None and answer.termination == "infeasible":
                search.stopped = "the solver proved that no schedule is shorter"
            return
        if answer.termination == "infeasible" and horizon < top:
            stride *= 2
        elif answer.termination == "time-limit" and horizon < top:
            stride = top
        else:
            return


def _ask(search: _Search, horizon: int, seconds: float | None) -> Answer | None:
    """Build the model for a horizon, solve it, and take what it gives; None if that is over."""
    formulation, solver = search.formulation, search.solver
    scope = search.scope(horizon)
    if unfit := formulation.unfit(scope):
        search.stopped = unfit
        return None
    terms = formulation.size(scope)
    left = math.inf if search.seconds_left is None else search.seconds_left
    if terms > min(MAX_TERMS, TERMS_PER_SECOND * left):
        search.stopped = f"the model, with about {terms:,} terms, is too large for the time limit"
        if terms > MAX_TERMS:
            search.stopped = f"the model, with about {terms:,} terms, is too large to build"
        return None
    begun = perf_counter()
    model = formulation.build(scope)
    _offer_start(search, model, scope)
    if search.schedule is not None and search.gap <= search.limits.gap:
        search.stopped = "a heuristic schedule is within the gap of the lower bound"
        return None
    if seconds is not None:
        seconds = max(0.0, seconds - (perf_counter() - begun))
    answer = solver.solve(model, replace(search.limits, time_limit=seconds))
    search.stopped = WORDS.get(answer.termination, f"the solver says: {answer.message}")
    relaxed = False
    if answer.has_solution:
        try:
            relaxed = _take(search, model, scope)
        except VerificationError as error:
            search.stopped = f"the solver's solution is dropped, and its bound: {error}"
            return None
    if formulation.proves(scope):
        _raise_bound(search, scope, answer)
    elif answer.termination == "infeasible":
        search.stopped = "the pool has no schedule within the horizon"
    if answer.termination == "finished" and search.gap > search.limits.gap + 1e-9:
        search.stopped = "the solver finished, but its bound and its solution do not meet"
        if not formulation.proves(scope):
            search.stopped = "the solver found the best of the pool"
        elif relaxed:
            search.stopped = "the solver finished; the model is a relaxation"
    return answer


def _offer_start(search: _Search, model: pyo.ConcreteModel, scope: Scope) -> None:
    """Load the best schedule that satisfies the model as a starting solution, if there is one."""
    formulation = search.formulation
    if not formulation.restricts:
        if search.schedule is not None and search.makespan == scope.horizon:
            formulation.load(model, scope, search.schedule)
        return
    limits = replace(search.limits, time_limit=search.seconds_left)
    best = None
    for schedule, makespan in search.candidates:
        if makespan <= scope.horizon and (
            admit(model, formulation, scope, schedule, search.solver, limits) is None
        ):
            value = _value(model)
            report = require_feasible(search.instance, schedule)
            search.improve(schedule, report, None if search.by_makespan else value)
            best = search.schedule
            if search.by_makespan:
                break
    for variable in model.component_data_objects(pyo.Var):
        if not variable.fixed:
            variable.set_value(None, skip_validation=True)
    if best is not None:
        admit(model, formulation, scope, best, search.solver, limits)


def _take(search: _Search, model: pyo.ConcreteModel, scope: Scope) -> bool:
    """Take the solution that the model's variables hold; whether it is that of a relaxation.

    Raises
    ------
    VerificationError
        If it is no feasible schedule, or none that satisfies the model.
    """
    formulation = search.formulation
    plan = formulation.plan(model, scope)
    if plan is None:
        return True
    schedule = schedule_of(search.instance, plan, formulation.name)
    report = require_feasible(search.instance, schedule)
    value = None
    if formulation.restricts:
        limits = replace(search.limits, time_limit=search.seconds_left)
        broken = admit(model, formulation, scope, schedule, search.solver, limits)
        if broken is not None:
            raise VerificationError(
                f"{formulation.name}: with the completions that follow from the model of "
                f"contention, the schedule breaks {broken}"
            )
        value = None if search.by_makespan else _value(model)
    search.improve(schedule, report, value)
    return False


def _value(model: pyo.ConcreteModel) -> float:
    return float(pyo.value(next(model.component_data_objects(pyo.Objective, active=True))))


def _raise_bound(search: _Search, scope: Scope, answer: Answer) -> None:
    if answer.termination == "infeasible":
        if search.makespan is not None and search.makespan <= scope.horizon:
            search.stopped = "the solver calls the model infeasible, though a schedule is known"
            return
        search.infeasible = scope.horizon >= search.instance.time.horizon
        _raise_to(search, scope.horizon + 1)
    elif answer.bound is None:
        return
    elif search.by_makespan:
        # Any makespan is whole, so a bound of 7.2 means 8; noise must not make 8 of 7.0000001.
        slots = math.ceil(answer.bound - 1e-6 * max(1.0, abs(answer.bound)))
        if search.makespan is not None and slots > search.makespan:
            search.stopped = f"the solver's bound, {slots}, exceeds the makespan; it is ignored"
        else:
            _raise_to(search, slots)
    else:
        slack = 1e-6 * max(1.0, abs(answer.bound))
        if search.value is not None and answer.bound > search.value + slack:
            search.stopped = f"the solver's bound, {answer.bound:g}, exceeds the objective"
        else:
            search.value_bound = answer.bound


def _raise_to(search: _Search, slots: int) -> None:
    if slots > search.bound.slots:
        search.bound = LowerBound(slots, search.solver.name)
