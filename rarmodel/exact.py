"""Solve a formulation: heuristics first, then the model, then the verifier.

The best heuristic schedule gives the model its horizon and its starting solution, and is the answer
if the solver finds no better one in time. Status, bound and gap come from whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate
from time import perf_counter

import numpy as np

from .bounds import LowerBound, best_bound
from .engine import Engine, placements_of
from .errors import InputError, UsageError, VerificationError
from .formulations import Formulation, Plan, Scope
from .heuristics.policies import HEURISTICS
from .limits import INTERRUPTED, TIME_LIMIT, Limits
from .model import best_placements, job_extremes, topology
from .model.numbering import number_gpus
from .results import Result, status_of
from .schema import Instance, Schedule
from .solvers import Answer, Solver
from .verifier import Report, require_feasible

TERMS_PER_SECOND = 40_000
"""About how many terms of a model Pyomo builds, writes and hands over in a second."""

MAX_TERMS = 20_000_000
"""About how many terms of a model fit the memory of a workstation."""

WORDS = {
    "finished": "the solver reached its gap",
    "infeasible": "the solver proved that there is no schedule within the horizon",
    "time-limit": TIME_LIMIT,
    "interrupted": INTERRUPTED,
}


@dataclass
class _Search:
    """What is known so far."""

    schedule: Schedule | None
    report: Report | None
    bound: LowerBound
    stopped: str = ""

    @property
    def makespan(self) -> int | None:
        return self.report.makespan if self.report else None

    @property
    def gap(self) -> float:
        if self.makespan is None:
            return 1.0
        return (self.makespan - self.bound.slots) / self.makespan

    def improve(self, schedule: Schedule, report: Report) -> None:
        best, new = self.makespan, report.makespan
        if new is not None and (best is None or new < best):
            self.schedule, self.report = schedule, report


def solve_formulation(
    instance: Instance, formulation: Formulation, solver: Solver, limits: Limits
) -> Result:
    """Solve an instance by a formulation and a solver, within limits.

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
    begun = perf_counter()
    search = _Search(None, None, best_bound(instance))
    if search.bound.slots <= instance.time.horizon:
        try:
            _run_heuristics(instance, limits, search, begun)
            if search.makespan is not None and search.gap <= limits.gap:
                search.stopped = "a heuristic schedule is within the gap of the lower bound"
            else:
                _run_model(instance, formulation, solver, limits, search, begun)
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
    else:
        search.stopped = "the lower bound exceeds the horizon"
    return Result(
        instance=instance.name,
        method=None,
        formulation=formulation.name,
        solver=solver.name,
        solver_version=solver.version(),
        status=status_of(search.makespan, search.bound.slots, instance.time.horizon),
        schedule=search.schedule,
        report=search.report,
        lower_bound=search.bound.slots,
        bound_name=search.bound.name,
        seconds=perf_counter() - begun,
        stopped=search.stopped,
    )


def _prepare(instance: Instance) -> None:
    """Compile policies and engine, once in an installation's life, before the clock starts."""
    for policy in HEURISTICS:
        policy.prepare(instance)
    starts = np.zeros(len(instance.jobs), np.int64)
    Engine(instance).evaluate(starts, placements_of(best_placements(instance)), limit=-1)


def _run_heuristics(instance: Instance, limits: Limits, search: _Search, begun: float) -> None:
    """Take the best heuristic schedule; they get at most a tenth of the time."""
    for policy in HEURISTICS:
        left = None
        if limits.time_limit is not None:
            left = max(0.0, limits.time_limit / 10 - _since(begun))
            if left == 0 and search.schedule is not None:
                return
        attempt = policy(instance, replace(limits, time_limit=left))
        if attempt.schedule is not None:
            search.improve(attempt.schedule, require_feasible(instance, attempt.schedule))
        if attempt.stopped == INTERRUPTED:
            raise KeyboardInterrupt
    longest = instance.time.horizon if search.makespan is None else search.makespan - 1
    if sum(extreme.least_slots for extreme in job_extremes(instance)) <= longest:
        schedule = one_by_one(instance)
        search.improve(schedule, require_feasible(instance, schedule))


def _run_model(
    instance: Instance,
    formulation: Formulation,
    solver: Solver,
    limits: Limits,
    search: _Search,
    begun: float,
) -> None:
    """Build the model, solve it, and take what it gives."""
    scope = Scope(
        instance=instance,
        tree=topology(instance.cluster),
        extremes=job_extremes(instance),
        horizon=search.makespan or instance.time.horizon,
        lower_bound=search.bound.slots,
    )
    if unfit := formulation.unfit(scope):
        search.stopped = unfit
        return
    terms = formulation.size(scope)
    seconds = math.inf if limits.time_limit is None else limits.time_limit - _since(begun)
    if terms > min(MAX_TERMS, TERMS_PER_SECOND * seconds):
        search.stopped = f"the model, with about {terms:,} terms, is too large for the time limit"
        if terms > MAX_TERMS:
            search.stopped = f"the model, with about {terms:,} terms, is too large to build"
        return
    model = formulation.build(scope)
    if search.schedule is not None:
        formulation.load(model, scope, search.schedule)
    left = None if limits.time_limit is None else max(0.0, limits.time_limit - _since(begun))
    answer = solver.solve(model, replace(limits, time_limit=left))
    search.stopped = WORDS.get(answer.termination, f"the solver says: {answer.message}")
    if answer.has_solution:
        try:
            plan = formulation.plan(model, scope)
            if plan is not None:
                schedule = schedule_of(instance, plan, formulation.name)
                search.improve(schedule, require_feasible(instance, schedule))
        except VerificationError as error:
            search.stopped = f"the solver's solution is dropped, and its bound: {error}"
            return
    _raise_bound(search, scope, answer, solver)
    if answer.termination == "finished" and search.gap > limits.gap + 1e-9:
        search.stopped = "the solver finished, but its bound and its solution do not meet"


def _raise_bound(search: _Search, scope: Scope, answer: Answer, solver: Solver) -> None:
    if answer.termination == "infeasible":
        if search.makespan is None:
            search.bound = LowerBound(scope.horizon + 1, solver.name)
        else:
            search.stopped = "the solver calls the model infeasible, though a schedule is known"
    elif answer.bound is not None:
        # Any makespan is whole, so a bound of 7.2 means 8; noise must not make 8 of 7.0000001.
        slots = math.ceil(answer.bound - 1e-6 * max(1.0, abs(answer.bound)))
        if search.makespan is not None and slots > search.makespan:
            search.stopped = f"the solver's bound, {slots}, exceeds the makespan; it is ignored"
        elif slots > search.bound.slots:
            search.bound = LowerBound(slots, solver.name)


def one_by_one(instance: Instance) -> Schedule:
    """Each job alone in its best placement, one after another: no contention, whatever the links.

    Where spreading stalls rings this may be the only schedule that is easy to find. It also says
    that the optimum is at most the sum of the least execution times.
    """
    ends = [0, *accumulate(extreme.least_slots for extreme in job_extremes(instance))]
    plan = Plan(tuple(ends[:-1]), best_placements(instance))
    return schedule_of(instance, plan, "one-by-one")


def schedule_of(instance: Instance, plan: Plan, method: str) -> Schedule:
    """A schedule with GPU indices from starts and workers.

    Raises
    ------
    VerificationError
        If the plan places a job wrongly, or some server would hold more workers than it has GPUs.
    """
    capacities = [server.gpus for server in instance.cluster.servers]
    if len(plan.starts) != len(instance.jobs) or len(plan.workers) != len(instance.jobs):
        raise VerificationError(f"{method}: a plan needs a start and workers for every job")
    for job, start, workers in zip(instance.jobs, plan.starts, plan.workers, strict=True):
        placed = all(
            0 <= server < len(capacities) and 1 <= count <= capacities[server]
            for server, count in workers.items()
        )
        if start < 0 or not placed or sum(workers.values()) != job.gpus:
            raise VerificationError(
                f"{method}: job {job.name!r} starts at slot {start} with workers "
                f"{dict(workers)} by server, and needs {job.gpus} GPUs"
            )
    evaluation = Engine(instance).evaluate(
        np.array(plan.starts, np.int64), placements_of(plan.workers)
    )
    try:
        assignments = number_gpus(
            instance, plan.starts, evaluation.completion.tolist(), plan.workers
        )
    except InputError as error:
        raise VerificationError(f"{method}: {error}") from error
    return Schedule(
        schema_version=1, instance=instance.name, method=method, assignments=assignments
    )


def _since(begun: float) -> float:
    return perf_counter() - begun
